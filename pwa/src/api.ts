// The house's API, as its OpenAPI document has it. Made by scripts/api_types.py: do not edit.
/* eslint-disable */

/** What is to be different: its time, in words, or whether it is on. */
export interface AlarmChange {
  when?: string;
  on?: boolean | null;
}

/** One alarm. */
export interface AlarmItem {
  id: string;
  name: string;
  person: string;
  room: string;
  /** A recurrence rule of RFC 5545; empty for once */
  rule: string;
  /** Seconds since 1970 */
  at: number;
  due_at: number | null;
  state: string;
  /** In words */
  when: string;
}

/** The alarms, or those that changed. */
export interface AlarmsReply {
  text: string;
  receipt: ReceiptReply | null;
  alarms: AlarmItem[];
  alarm: AlarmItem | null;
}

/** A question that waits for a person's yes. Nothing was done; `POST /api/asks/{id}` answers it. */
export interface AskReply {
  id: string;
  /** The question, with what would be done read back */
  sentence: string;
  /** `explicit` when the button must name the deed, else `confirm` */
  level: string;
  tool: string;
  /** Seconds since 1970 */
  expires_at: number;
  /** For clients whose clock is not the house's */
  seconds_left: number;
}

/** What went wrong. */
export interface ErrorBody {
  /** A short reason for programs */
  code: string;
  /** For people */
  sentence: string;
  /** What to do about it; may be empty */
  hint: string;
  /** Which field of the request is meant; may be empty */
  field: string;
  /** What a tool knows of it, such as which of several could be meant */
  details: Record<string, unknown>;
}

/** The one shape of all errors. */
export interface ErrorReply {
  error: ErrorBody;
}

/** The caller as the house knows them, and what a page needs to begin. */
export interface MeReply {
  person: string;
  device: string;
  role: "owner" | "adult" | "child" | "guest" | "satellite";
  room: string;
  language: string;
  agents: string[];
  version: string;
}

/** An alarm to be set. */
export interface NewAlarm {
  /** In words of the house's language: at seven; every weekday at 6:30 */
  when: string;
  name?: string;
  room?: string;
}

/** A reminder to be added. */
export interface NewReminder {
  text: string;
  /** In words of the house's language: tomorrow at eight */
  when?: string;
  person?: string;
  room?: string;
}

/** A timer to be started. */
export interface NewTimer {
  seconds: number;
  name?: string;
  room?: string;
}

/** Proof that something changed; `history/undo` takes it back by this id. */
export interface ReceiptReply {
  id: string;
  changed: string;
}

/** What is to be different. */
export interface ReminderChange {
  text?: string;
  when?: string;
  person?: string;
  room?: string;
}

/** One reminder. */
export interface ReminderItem {
  id: string;
  text: string;
  person: string;
  room: string;
  /** A recurrence rule of RFC 5545; empty for once */
  rule: string;
  /** Whom it waits to hear; empty when it waits for a time */
  heard: string;
  /** Seconds since 1970 */
  due_at: number | null;
  state: string;
  /** In words */
  when: string;
}

/** The reminder that changed. */
export interface ReminderReply {
  text: string;
  receipt: ReceiptReply | null;
  reminder: ReminderItem;
}

/** In how many minutes it is said again. */
export interface ReminderSnooze {
  minutes?: number;
}

/** The reminders that the caller may see. */
export interface RemindersReply {
  text: string;
  receipt: ReceiptReply | null;
  reminders: ReminderItem[];
}

/** For how long what rings is to be silent. */
export interface Snooze {
  minutes?: number;
}

/** What is to be different: seconds added or taken away, or a pause begun or ended. */
export interface TimerChange {
  by_seconds?: number;
  paused?: boolean | null;
}

/** One timer. */
export interface TimerItem {
  id: string;
  name: string;
  room: string;
  /** The length it was given */
  seconds: number;
  left_seconds: number;
  state: "running" | "paused" | "ended";
  /** Seconds since 1970; null while paused */
  ends_at: number | null;
}

/** The timer that changed. */
export interface TimerReply {
  text: string;
  receipt: ReceiptReply | null;
  timer: TimerItem;
}

/** The timers. */
export interface TimersReply {
  text: string;
  receipt: ReceiptReply | null;
  timers: TimerItem[];
}

/** 202: a person has to say yes first. */
export interface WaitingReply {
  ask: AskReply;
}

export interface Operations {
  /** Tell who the caller is, the agents they may talk to (the usual one first), and the house's language. */
  "GET /api/me": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: MeReply;
  };
  /** List the timers, the next to end first. */
  "GET /api/timers": {
    path: Record<string, never>;
    query: { agent?: string };
    body: undefined;
    reply: TimersReply;
  };
  /** Start a timer. */
  "POST /api/timers": {
    path: Record<string, never>;
    query: { agent?: string };
    body: NewTimer;
    reply: TimerReply;
  };
  /** Cancel every timer, or every one of a room. */
  "DELETE /api/timers": {
    path: Record<string, never>;
    query: { room?: string; agent?: string };
    body: undefined;
    reply: TimersReply;
  };
  /** Pause a timer, let it go on, or make it longer or shorter. */
  "PATCH /api/timers/{timer}": {
    path: { timer: string };
    query: { agent?: string };
    body: TimerChange;
    reply: TimerReply;
  };
  /** Cancel a timer. */
  "DELETE /api/timers/{timer}": {
    path: { timer: string };
    query: { agent?: string };
    body: undefined;
    reply: TimerReply;
  };
  /** List the alarms. */
  "GET /api/alarms": {
    path: Record<string, never>;
    query: { agent?: string };
    body: undefined;
    reply: AlarmsReply;
  };
  /** Set an alarm. */
  "POST /api/alarms": {
    path: Record<string, never>;
    query: { agent?: string };
    body: NewAlarm;
    reply: AlarmsReply;
  };
  /** Move an alarm to another time, or switch it on or off. */
  "PATCH /api/alarms/{alarm}": {
    path: { alarm: string };
    query: { agent?: string };
    body: AlarmChange;
    reply: AlarmsReply;
  };
  /** Cancel an alarm. */
  "DELETE /api/alarms/{alarm}": {
    path: { alarm: string };
    query: { agent?: string };
    body: undefined;
    reply: AlarmsReply;
  };
  /** Stop an alarm that rings. */
  "POST /api/alarms/{alarm}/stop": {
    path: { alarm: string };
    query: { agent?: string };
    body: undefined;
    reply: AlarmsReply;
  };
  /** Silence an alarm that rings for some minutes. */
  "POST /api/alarms/{alarm}/snooze": {
    path: { alarm: string };
    query: { agent?: string };
    body: Snooze;
    reply: AlarmsReply;
  };
  /** Leave out the next ring of a recurring alarm. */
  "POST /api/alarms/{alarm}/skip": {
    path: { alarm: string };
    query: { agent?: string };
    body: undefined;
    reply: AlarmsReply;
  };
  /** List the reminders, or those for a person. */
  "GET /api/reminders": {
    path: Record<string, never>;
    query: { person?: string; agent?: string };
    body: undefined;
    reply: RemindersReply;
  };
  /** Add a reminder. */
  "POST /api/reminders": {
    path: Record<string, never>;
    query: { agent?: string };
    body: NewReminder;
    reply: ReminderReply;
  };
  /** Change the words, the time, the person or the room of a reminder. */
  "PATCH /api/reminders/{reminder}": {
    path: { reminder: string };
    query: { agent?: string };
    body: ReminderChange;
    reply: ReminderReply;
  };
  /** Cancel a reminder. */
  "DELETE /api/reminders/{reminder}": {
    path: { reminder: string };
    query: { agent?: string };
    body: undefined;
    reply: ReminderReply;
  };
  /** Have a reminder said again later. */
  "POST /api/reminders/{reminder}/snooze": {
    path: { reminder: string };
    query: { agent?: string };
    body: ReminderSnooze;
    reply: ReminderReply;
  };
  /** Note that what a reminder is about was done. */
  "POST /api/reminders/{reminder}/done": {
    path: { reminder: string };
    query: { agent?: string };
    body: undefined;
    reply: ReminderReply;
  };
}
