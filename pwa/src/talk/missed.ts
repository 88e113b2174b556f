/** What the house stores that waits for somebody who was out. Pure. */

import type { AlarmItem, AnnouncementItem, MissedAsk, ReminderItem, TimerItem, VoiceMessage } from "../api.ts";

export interface Missed {
  id: string;
  kind:
    | "message"
    | "ask"
    | "reminder"
    | "lateReminder"
    | "timer"
    | "lateTimer"
    | "alarm"
    | "silentAlarm"
    | "announcement";
  text: string; // empty for a message: it is read, and heard, on its own page
  at?: number; // seconds since 1970, where the sentence says when
}

export interface WaitingThings {
  messages?: readonly VoiceMessage[];
  asks?: readonly MissedAsk[]; // that nobody answered
  reminders?: readonly ReminderItem[];
  timers?: readonly TimerItem[];
  lateTimers?: readonly TimerItem[]; // those that did not ring when they ended
  alarms?: readonly AlarmItem[];
  announcements?: readonly AnnouncementItem[]; // those that nobody could hear
}

/**
 * Return what waits for a person: messages and announcements that nobody heard, and what nobody answered or stopped.
 * What was before `since`, when the device came into the house, was not missed on it.
 */
export function missedOf(
  {
    messages = [],
    asks = [],
    reminders = [],
    timers = [],
    lateTimers = [],
    alarms = [],
    announcements = [],
  }: WaitingThings,
  person = "",
  since = 0,
): Missed[] {
  const isTheirs = (whose: string) => !whose || whose.toLowerCase() === person.toLowerCase();
  const isSince = (at: number | null | undefined) => (at ?? since) >= since;
  return [
    ...messages
      .filter(({ mine, heard_at, at }) => !mine && heard_at === null && isSince(at))
      .map(({ id }): Missed => ({ id, kind: "message", text: "" })),
    ...asks
      .filter(({ asked_at }) => isSince(asked_at))
      .map(({ id, sentence, asked_at }): Missed => ({ id, kind: "ask", text: sentence, at: asked_at })),
    ...reminders
      .filter(({ state, at }) => state === "unanswered" && isSince(at))
      .map(({ id, text }): Missed => ({ id, kind: "reminder", text })),
    // One that comes again and again and is missed again is something new, as is such an alarm.
    ...reminders
      .filter(({ state, missed_at }) => state !== "unanswered" && missed_at !== null && isSince(missed_at))
      .map(({ id, missed_at, text }): Missed => ({ id: `${id} ${missed_at}`, kind: "lateReminder", text })),
    ...timers
      .filter(({ state, ends_at }) => state === "ended" && isSince(ends_at))
      .map(({ id, name }): Missed => ({ id, kind: "timer", text: name })),
    ...lateTimers
      .filter(({ ends_at }) => isSince(ends_at))
      .map(({ id, name, ends_at }): Missed => ({ id, kind: "lateTimer", text: name, at: ends_at ?? 0 })),
    ...alarms
      .filter(({ missed_at, person: whose }) => missed_at !== null && isTheirs(whose) && isSince(missed_at))
      .map(
        ({ id, missed_at, silent, name, when }): Missed => ({
          id: `${id} ${missed_at}`,
          kind: silent ? "silentAlarm" : "alarm",
          text: name || when,
        }),
      ),
    ...announcements
      .filter(({ at }) => isSince(at))
      .map(({ id, text }): Missed => ({ id, kind: "announcement", text })),
  ];
}

/** Return what of it was not seen yet. */
export const unseenOf = (missed: readonly Missed[], seen: readonly string[]) =>
  missed.filter(({ id }) => !seen.includes(id));

/** Return which ids to remember as seen: what waits no more is forgotten, so that it is told when it waits anew. */
export const stillSeen = (missed: readonly Missed[], seen: readonly string[]) =>
  seen.filter((id) => missed.some((one) => one.id === id));
