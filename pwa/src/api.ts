// The house's API, as its OpenAPI document has it. Made by scripts/api_types.py: do not edit.
/* eslint-disable */

/** One agent. */
export interface AgentItem {
  name: string;
  usual: boolean;
  model: string;
  roles: string[];
  wake_words: string[];
  devices: string[];
}

/** What one agent has used since the day began. */
export interface AgentUsage {
  sentence: string;
  receipt: ReceiptReply | null;
  agent: string;
  /** Units a day; null when there is no budget */
  budget: number | null;
  since: number | null;
  spent: number | null;
  left: number | null;
  calls: number | null;
  /** Calls of each tool */
  by_tool: Record<string, number>;
}

/** The agents that talk to the caller, the usual one first. */
export interface AgentsReply {
  agents: AgentItem[];
}

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
  sentence: string;
  receipt: ReceiptReply | null;
  alarms: AlarmItem[];
  alarm: AlarmItem | null;
}

/** What will be said. */
export interface AnnouncementItem {
  id: string;
  text: string;
  /** Empty for every room */
  room: string;
  person: string;
  /** Seconds since 1970 */
  at: number;
}

/** The announcement, which is said as soon as somebody can be reached. */
export interface AnnouncementReply {
  sentence: string;
  receipt: ReceiptReply | null;
  broadcast: AnnouncementItem;
}

/** A person's answer. Closing a question without one is a no. */
export interface Answer {
  answer: "yes" | "no";
}

/** What came of it; with a receipt when it was a page that had asked. */
export interface AnswerReply {
  sentence: string;
  receipt: ReceiptReply | null;
  id: string;
  answer: "yes" | "no";
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

/** The questions that the caller may answer. */
export interface AsksReply {
  asks: WaitingAsk[];
}

/** The board, and the files in it that nobody can read. */
export interface BoardReply {
  sentence: string;
  receipt: ReceiptReply | null;
  columns: string[];
  tasks: TaskItem[];
  problems: PaperProblem[];
}

/** Event `changed`: ask for this again. `everything` when the house was away, or the page for too long. */
export interface ChangeEvent {
  /** timers, alarms, reminders, tasks, lists, notes, calendar, home, asks or everything */
  kind: string;
}

/** One change. */
export interface ChangeItem {
  receipt: string;
  /** Seconds since 1970 */
  at: number;
  tool: string;
  changed: string;
  actor: Record<string, unknown>;
  /** Whether it can be taken back */
  undo: boolean;
  undone: boolean;
}

/** One way out that was taken, or was barred. */
export interface ConnectionItem {
  /** When it began, in seconds since 1970 */
  at: number;
  /** Which process of the house asked */
  process: number | null;
  host: string;
  port: number;
  address: string;
  /** Why it was barred or ended; empty for an ordinary end, or while it is open */
  outcome: string;
  open: boolean;
  /** Bytes that left the house */
  sent: number;
  received: number;
}

/** The caller's conversations with an agent, the latest first. */
export interface ConversationsReply {
  agent: string;
  rooms: RoomConversations[];
}

/** What a device is to be: one thing, or several of a light, of heating or of a player. */
export interface DeviceChange {
  on?: boolean | null;
  /** Of a cover or valve */
  open?: boolean | null;
  /** Unlocking is asked about first */
  locked?: boolean | null;
  playing?: boolean | null;
  muted?: boolean | null;
  brightness?: number | null;
  colour?: string | null;
  kelvin?: number | null;
  /** In the unit of the device */
  temperature?: number | null;
  /** How far a cover is open */
  position?: number | null;
  volume?: number | null;
  speed?: number | null;
  mode?: string | null;
}

/** One device, as it is now. */
export interface DeviceItem {
  id: string;
  name: string;
  room: string;
  floor: string;
  /** light, switch, climate, cover, lock, media, fan, sensor, scene, vacuum … */
  kind: string;
  /** A kind within the kind: curtain, window, garage, motion */
  shape: string;
  aliases: string[];
  /** What can be set of it */
  can: string[];
  /** What is known of it: on, brightness, target, position, locked … */
  state: Record<string, unknown>;
  reachable: boolean;
  lacks: string;
}

/** Where a device stands now; empty for nowhere. */
export interface DeviceMove {
  room: string;
}

/** The devices that were set. */
export interface DevicesReply {
  sentence: string;
  receipt: ReceiptReply | null;
  devices: DeviceItem[];
  /** Those that did not say that they took it */
  silent: string[];
}

/** What left the house, the latest first. */
export interface EgressReply {
  /** Where anything may go at all; empty: nowhere */
  allowed: string[];
  since: number;
  connections: ConnectionItem[];
  sent: number;
  /** False when there were more than can be shown */
  whole: boolean;
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

/** What is to be different. */
export interface EventChange {
  title?: string;
  /** 2026-12-24T18:00, 2026-12-24 for all day, or words */
  start?: string;
  minutes?: number;
  place?: string;
  whole_series?: boolean;
}

/** One event of a calendar. */
export interface EventItem {
  /** Of the event, or of the whole series; with `day` it is one of them */
  id: string;
  title: string;
  /** A moment of ISO 8601, or a date when it lasts all day */
  start: string;
  end: string;
  all_day: boolean;
  place: string;
  series: boolean;
  calendar: string;
}

/** The event that changed. */
export interface EventReply {
  sentence: string;
  receipt: ReceiptReply | null;
  event: EventItem;
}

/** The events, in order. */
export interface EventsReply {
  sentence: string;
  receipt: ReceiptReply | null;
  events: EventItem[];
  problems: PaperProblem[];
  remarks: string[];
}

/** One thing that the doctor looked at. */
export interface FindingItem {
  what: string;
  seen: string;
  /** What to do; empty when it is well */
  advice: string;
  well: boolean;
}

/** What the doctor found. */
export interface FindingsReply {
  findings: FindingItem[];
  well: boolean;
}

/** One floor. */
export interface FloorItem {
  name: string;
  aliases: string[];
}

/** What is gone. What was done stays done, and in the tools' own record. */
export interface ForgottenReply {
  exchanges: number;
  with_deeds: number;
  /** Whether the last trace is off the disk; else it goes later, by itself */
  bytes_gone: boolean;
  model_forgot: boolean;
}

/** A note that holds some words. */
export interface FoundNote {
  title: string;
  file: string;
  created: string;
  snippet: string;
}

/** The notes that hold all the words. */
export interface FoundNotesReply {
  sentence: string;
  receipt: ReceiptReply | null;
  matches: FoundNote[];
  problems: PaperProblem[];
}

/** How the house is. */
export interface HealthReply {
  ok: boolean;
  version: string;
  uptime_seconds: number;
  parts: PartItem[];
}

/** The changes, the latest first. */
export interface HistoryReply {
  sentence: string;
  receipt: ReceiptReply | null;
  changes: ChangeItem[];
}

/** Every device, room and floor. */
export interface HomeReply {
  sentence: string;
  receipt: ReceiptReply | null;
  devices: DeviceItem[];
  rooms: RoomItem[];
  floors: FloorItem[];
}

/** The invitation. Its secret is shown this once. */
export interface InvitationReply {
  /** Goes behind the # of /pair, or is typed there */
  secret: string;
  /** The address below the house's own, with the secret where there is a link */
  path: string;
  /** How long it is open */
  seconds: number;
}

/** The device that shall be let in. */
export interface InvitationWish {
  name: string;
  role: "owner" | "adult" | "teen" | "child" | "guest" | "satellite";
  person?: string;
  room?: string;
  hours?: number | null;
  /** Six digits to be typed, for screens and satellites */
  digits?: boolean;
}

/** What became of the things. */
export interface ListChangeReply {
  sentence: string;
  receipt: ReceiptReply | null;
  name: string;
  added: string[];
  already: string[];
  checked: string[];
  removed: string[];
}

/** One thing on a list. */
export interface ListEntry {
  text: string;
  checked: boolean;
}

/** Things of a list. */
export interface ListItems {
  items: string[];
}

/** One list, and how many things on it are not ticked off. */
export interface ListName {
  name: string;
  left: number;
}

/** What is on a list. */
export interface ListReply {
  sentence: string;
  receipt: ReceiptReply | null;
  name: string;
  items: ListEntry[];
}

/** The lists there are. */
export interface ListsReply {
  sentence: string;
  receipt: ReceiptReply | null;
  lists: ListName[];
  problems: PaperProblem[];
}

/** The caller as the house knows them, and what a page needs to begin. */
export interface MeReply {
  person: string;
  device: string;
  role: "owner" | "adult" | "teen" | "child" | "guest" | "satellite";
  room: string;
  language: string;
  agents: string[];
  version: string;
}

/** A place that weights can be in. */
export interface MemoryItem {
  name: string;
  free_bytes: number;
}

/** One model of the catalogue. */
export interface ModelItem {
  name: string;
  /** llm, stt, tts, wake, embedding, understanding */
  role: string;
  title: string;
  licence: string;
  maker: string;
  bytes: number;
  languages: string[];
  /** In words: what it takes to run it well */
  needs: string;
  on_disk: boolean;
  in_use: boolean;
  /** Whether somebody has computed its hashes from the files */
  verified: boolean;
}

/** The models, and where there is room for them. */
export interface ModelsReply {
  models: ModelItem[];
  memory: MemoryItem[];
}

/** An alarm to be set. */
export interface NewAlarm {
  /** In words of the house's language: at seven; every weekday at 6:30 */
  when: string;
  name?: string;
  room?: string;
}

/** What is to be said, and where. */
export interface NewAnnouncement {
  text: string;
  room?: string;
}

/** An event to be added. */
export interface NewEvent {
  title: string;
  /** 2026-12-24T18:00, 2026-12-24 for all day, or words */
  start: string;
  /** 2026-12-24T18:00, 2026-12-24 for all day, or words */
  end?: string;
  minutes?: number;
  place?: string;
  /** In words: every week, on weekdays until Christmas */
  repeat?: string;
  calendar?: string;
}

/** A note to be written. */
export interface NewNote {
  title: string;
  text?: string;
}

/** A reminder to be added. */
export interface NewReminder {
  text: string;
  /** In words of the house's language: tomorrow at eight */
  when?: string;
  person?: string;
  room?: string;
}

/** A task to be added. */
export interface NewTask {
  title: string;
  due?: string;
  priority?: "high" | "medium" | "low";
  assignee?: string;
  description?: string;
}

/** A timer to be started. */
export interface NewTimer {
  seconds: number;
  name?: string;
  room?: string;
}

/** What is to be added at the end. */
export interface NoteAddition {
  text: string;
}

/** The whole text of a note, as it is to be. */
export interface NoteEdit {
  text: string;
}

/** One note, without its text. */
export interface NoteItem {
  title: string;
  file: string;
  created: string;
}

/** The note that changed. */
export interface NoteReply {
  sentence: string;
  receipt: ReceiptReply | null;
  note: NoteItem;
}

/** A note with its text, in Markdown. */
export interface NoteTextReply {
  sentence: string;
  receipt: ReceiptReply | null;
  note: NoteItem;
  text: string;
  truncated: boolean;
}

/** The notes, the newest first. */
export interface NotesReply {
  sentence: string;
  receipt: ReceiptReply | null;
  notes: NoteItem[];
  problems: PaperProblem[];
}

/** A paper of the house that nobody can read, and why. */
export interface PaperProblem {
  file: string;
  problem: string;
}

/** One part of the house. */
export interface PartItem {
  name: string;
  ok: boolean;
  what: string;
  /** What to do; empty when it is well */
  hint: string;
}

/** The people of the house. */
export interface PeopleReply {
  people: PersonItem[];
}

/** One person. */
export interface PersonItem {
  name: string;
  /** Of their devices */
  roles: ("owner" | "adult" | "teen" | "child" | "guest" | "satellite")[];
  devices: string[];
  /** When one of their devices was last used, in seconds since 1970 */
  seen: number | null;
}

/** Proof that something changed; `history/undo` takes it back by this id. */
export interface ReceiptReply {
  id: string;
  changed: string;
}

/** Rows of the record, the latest first. */
export interface RecordReply {
  sentence: string;
  receipt: ReceiptReply | null;
  /** seq, at, agent, actor, tool, risk, the hash of the arguments, verdict, rule, outcome, reason, ms … */
  rows: (Record<string, unknown>)[];
  /** What `before` is for the next page; null when there is none */
  next: number | null;
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
  sentence: string;
  receipt: ReceiptReply | null;
  reminder: ReminderItem;
}

/** In how many minutes it is said again. */
export interface ReminderSnooze {
  minutes?: number;
}

/** The reminders that the caller may see. */
export interface RemindersReply {
  sentence: string;
  receipt: ReceiptReply | null;
  reminders: ReminderItem[];
}

/** Event `ring`, for a page that asked for them: play a tone and show the words. */
export interface RingEvent {
  /** Of the timer or alarm; empty for an announcement */
  id: string;
  kind: "timer" | "alarm" | "announcement";
  text: string;
  /** How often it has rung before */
  times: number;
}

/** What was said in one room. */
export interface RoomConversations {
  room: string;
  turns: number;
  /** Seconds since 1970 */
  first_at: number;
  last_at: number;
}

/** One room. */
export interface RoomItem {
  name: string;
  floor: string;
  aliases: string[];
}

/** A room, and the phones, screens and satellites that stand in it. */
export interface RoomWithDevices {
  name: string;
  floor: string;
  aliases: string[];
  devices: string[];
}

/** The rooms. */
export interface RoomsReply {
  rooms: RoomWithDevices[];
}

/** One rule of policy.toml; an empty list is all of them. */
export interface RuleItem {
  id: string;
  then: "deny" | "confirm" | "explicit";
  because: string;
  agents: string[];
  roles: string[];
  tools: string[];
  risks: string[];
  /** What it depends on besides, in words */
  when: string;
}

/** What each role may have an agent do, and why. */
export interface RulesReply {
  sentence: string;
  receipt: ReceiptReply | null;
  agent: string;
  tools: ToolVerdicts[];
  rules: RuleItem[];
  /** What holds after words of others were read */
  others_words: string;
}

/** A message that holds the words. */
export interface SaidMatch {
  turn: string;
  at: number;
  room: string;
  author: string;
  text: string;
}

/** The messages that hold all the words, the latest first. */
export interface SaidMatchesReply {
  matches: SaidMatch[];
}

/** Something that was said. */
export interface SaidMessage {
  author: "user" | "assistant";
  text: string;
  /** What it used */
  tools: string[];
}

/** One exchange. */
export interface SaidTurn {
  /** Counts the turns of a memory: `before` takes it */
  number: number;
  turn: string;
  at: number;
  room: string;
  device: string;
  spoken: boolean;
  end: string;
  messages: SaidMessage[];
}

/** Exchanges, the oldest first. */
export interface SaidTurnsReply {
  turns: SaidTurn[];
  /** Whether there are older ones */
  more: boolean;
}

/** One setting. */
export interface SettingItem {
  /** section.name, as atlas.toml has it */
  key: string;
  value: string | number | boolean | string[] | null;
  /** The file, the variable of the environment, or `default` */
  origin: string;
}

/** Every setting, and the tools that have settings of their own, which are told to nobody but them. */
export interface SettingsReply {
  /** The atlas.toml that was read; empty when there is none */
  file: string;
  data: string;
  settings: SettingItem[];
  tools: string[];
}

/** For how long what rings is to be silent. */
export interface Snooze {
  minutes?: number;
}

/** How long a stage took on one day, in milliseconds. */
export interface StagePercentiles {
  stage: string;
  count: number;
  p50: number;
  p95: number;
  p99: number;
}

/** What is to be different; moving is `column` alone. */
export interface TaskChange {
  column?: "backlog" | "todo" | "doing" | "done" | null;
  title?: string;
  due?: string;
  priority?: "high" | "medium" | "low" | "";
  assignee?: string;
}

/** One task of the board. */
export interface TaskItem {
  id: string;
  title: string;
  column: string;
  priority: string;
  assignee: string;
  due: string;
  created: string;
  file: string;
  description: string;
}

/** The task that changed. */
export interface TaskReply {
  sentence: string;
  receipt: ReceiptReply | null;
  task: TaskItem;
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
  sentence: string;
  receipt: ReceiptReply | null;
  timer: TimerItem;
}

/** The timers. */
export interface TimersReply {
  sentence: string;
  receipt: ReceiptReply | null;
  timers: TimerItem[];
}

/** One device that may come in. */
export interface TokenDeviceItem {
  name: string;
  role: "owner" | "adult" | "teen" | "child" | "guest" | "satellite";
  /** Whose alone it is; empty when several use it */
  person: string;
  /** Where it stands; empty when it is carried about */
  room: string;
  /** Seconds since 1970 */
  created: number;
  /** When it was last seen, to the minute */
  used: number | null;
  /** Whether it is the caller's own */
  mine: boolean;
}

/** The devices that may come in. */
export interface TokenDevicesReply {
  devices: TokenDeviceItem[];
}

/** What a tool answered beside its data: a sentence in the house's language, and a receipt of what changed. */
export interface ToolReply {
  sentence: string;
  receipt: ReceiptReply | null;
}

/** What each role may do with one tool. */
export interface ToolVerdicts {
  tool: string;
  risk: string;
  /** yes, asks, asks! (by the deed's name), –; with * it depends on more */
  verdicts: Record<string, string>;
}

/** One day of the house. */
export interface TurnDay {
  /** A date of ISO 8601, on the house's clocks */
  day: string;
  turns: number;
  failed: number;
  stages: StagePercentiles[];
}

/** The days on which somebody was answered, the latest first. */
export interface TurnDaysReply {
  days: TurnDay[];
}

/** One turn: who was answered by whom and why, and how long it took. */
export interface TurnItem {
  id: string;
  agent: string;
  reason: string;
  path: string;
  device: string;
  spoken: boolean;
  /** Seconds since 1970 */
  began: number;
  ended: number;
  end: string;
  error: string;
  /** Milliseconds: NAME_ms by stage, NAME_at_ms by mark */
  timings: Record<string, number>;
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
}

/** Turns, the latest first. */
export interface TurnsReply {
  turns: TurnItem[];
}

/** Which change is to be taken back. */
export interface Undo {
  receipt: string;
}

/** What the agents have used today. */
export interface UsageReply {
  agents: AgentUsage[];
}

/** Whether the record is as it was written. */
export interface VerdictReply {
  sentence: string;
  receipt: ReceiptReply | null;
  rows: number;
  /** Empty when every row is as it was written */
  problems: string[];
}

/** A question that waits, and who asks. */
export interface WaitingAsk {
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
  agent: string;
  /** Who asks; empty when nobody knows who spoke */
  person: string;
  device: string;
  room: string;
  /** Whether the caller asked this, on this device */
  mine: boolean;
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
  /** Stop a timer that rings, in whatever room: by the id that its event had. One that runs is cancelled instead. */
  "POST /api/timers/{timer}/stop": {
    path: { timer: string };
    query: Record<string, never>;
    body: undefined;
    reply: undefined;
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
  /** Show every device with its state, or those of a room. */
  "GET /api/home": {
    path: Record<string, never>;
    query: { room?: string; agent?: string };
    body: undefined;
    reply: HomeReply;
  };
  /** Set a device. What its lock needs a yes for is answered with 202 and the question. */
  "PATCH /api/home/devices/{device}": {
    path: { device: string };
    query: { agent?: string };
    body: DeviceChange;
    reply: DevicesReply;
  };
  /** Start a scene, by its id or its name. */
  "POST /api/home/scenes/{scene}": {
    path: { scene: string };
    query: { agent?: string };
    body: undefined;
    reply: DevicesReply;
  };
  /** Tell which lists there are. */
  "GET /api/lists": {
    path: Record<string, never>;
    query: { agent?: string };
    body: undefined;
    reply: ListsReply;
  };
  /** Show what is on a list. */
  "GET /api/lists/{list_name}": {
    path: { list_name: string };
    query: { agent?: string };
    body: undefined;
    reply: ListReply;
  };
  /** Put things on a list, which is made when there is none; what was ticked off is wanted again. */
  "POST /api/lists/{list_name}/items": {
    path: { list_name: string };
    query: { agent?: string };
    body: ListItems;
    reply: ListChangeReply;
  };
  /** Clear a list, after a yes. */
  "DELETE /api/lists/{list_name}/items": {
    path: { list_name: string };
    query: { checked_only?: boolean; agent?: string };
    body: undefined;
    reply: ListChangeReply;
  };
  /** Tick things off. */
  "POST /api/lists/{list_name}/check": {
    path: { list_name: string };
    query: { agent?: string };
    body: ListItems;
    reply: ListChangeReply;
  };
  /** Take things off a list. */
  "POST /api/lists/{list_name}/remove": {
    path: { list_name: string };
    query: { agent?: string };
    body: ListItems;
    reply: ListChangeReply;
  };
  /** Show the whole board, or the tasks of a column, of somebody, or that are due. */
  "GET /api/tasks": {
    path: Record<string, never>;
    query: { column?: "backlog" | "todo" | "doing" | "done" | ""; assignee?: string; due?: string; agent?: string };
    body: undefined;
    reply: BoardReply;
  };
  /** Add a task. */
  "POST /api/tasks": {
    path: Record<string, never>;
    query: { agent?: string };
    body: NewTask;
    reply: TaskReply;
  };
  /** Move a task to another column, or change it. */
  "PATCH /api/tasks/{task}": {
    path: { task: string };
    query: { agent?: string };
    body: TaskChange;
    reply: TaskReply;
  };
  /** Remove a task for good, after a yes. */
  "DELETE /api/tasks/{task}": {
    path: { task: string };
    query: { agent?: string };
    body: undefined;
    reply: TaskReply;
  };
  /** Tell which notes there are. */
  "GET /api/notes": {
    path: Record<string, never>;
    query: { agent?: string };
    body: undefined;
    reply: NotesReply;
  };
  /** Write a note. */
  "POST /api/notes": {
    path: Record<string, never>;
    query: { agent?: string };
    body: NewNote;
    reply: NoteReply;
  };
  /** Find the notes that hold all of these words. */
  "GET /api/notes/search": {
    path: Record<string, never>;
    query: { q: string; agent?: string };
    body: undefined;
    reply: FoundNotesReply;
  };
  /** Show a note. */
  "GET /api/notes/note": {
    path: Record<string, never>;
    query: { note: string; agent?: string };
    body: undefined;
    reply: NoteTextReply;
  };
  /** Write the whole text of a note anew. */
  "PUT /api/notes/note": {
    path: Record<string, never>;
    query: { note: string; agent?: string };
    body: NoteEdit;
    reply: NoteReply;
  };
  /** Remove a note for good, after a yes. */
  "DELETE /api/notes/note": {
    path: Record<string, never>;
    query: { note: string; agent?: string };
    body: undefined;
    reply: NoteReply;
  };
  /** Add to the end of a note. */
  "POST /api/notes/note/append": {
    path: Record<string, never>;
    query: { note: string; agent?: string };
    body: NoteAddition;
    reply: NoteReply;
  };
  /** List the events from one day to another. */
  "GET /api/calendar": {
    path: Record<string, never>;
    query: { from: string; to: string; agent?: string };
    body: undefined;
    reply: EventsReply;
  };
  /** Add an event. */
  "POST /api/calendar": {
    path: Record<string, never>;
    query: { agent?: string };
    body: NewEvent;
    reply: EventReply;
  };
  /** Find events of the last month or the coming year. */
  "GET /api/calendar/search": {
    path: Record<string, never>;
    query: { q: string; agent?: string };
    body: undefined;
    reply: EventsReply;
  };
  /** Change an event, one of a series, or the whole series. */
  "PATCH /api/calendar/{event}": {
    path: { event: string };
    query: { day?: string | null; agent?: string };
    body: EventChange;
    reply: EventReply;
  };
  /** Remove an event, one of a series, or the whole series, after a yes. */
  "DELETE /api/calendar/{event}": {
    path: { event: string };
    query: { day?: string | null; whole_series?: boolean; agent?: string };
    body: undefined;
    reply: EventReply;
  };
  /** List the questions that wait and that the caller may answer. */
  "GET /api/asks": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: AsksReply;
  };
  /** Answer a question; what it was about is done, once, before this returns. */
  "POST /api/asks/{ask}": {
    path: { ask: string };
    query: Record<string, never>;
    body: Answer;
    reply: AnswerReply;
  };
  /** Send events as they happen: `changed` (resumable by Last-Event-ID) and, with `rings`, `ring`. */
  "GET /api/events": {
    path: Record<string, never>;
    query: { rings?: boolean };
    body: undefined;
    reply: ChangeEvent | RingEvent;
  };
  /** List what the caller changed lately, or what everybody did. */
  "GET /api/history": {
    path: Record<string, never>;
    query: { limit?: number; everyone?: boolean; agent?: string };
    body: undefined;
    reply: HistoryReply;
  };
  /** Take a change back. */
  "POST /api/history/undo": {
    path: Record<string, never>;
    query: { agent?: string };
    body: Undo;
    reply: ToolReply;
  };
  /** Tell in which rooms the caller has talked to an agent. */
  "GET /api/conversations": {
    path: Record<string, never>;
    query: { agent?: string; person?: string | null; device?: string | null; room?: string | null };
    body: undefined;
    reply: ConversationsReply;
  };
  /** Forget everything, the last turns, the last seconds, or from one moment until another: one of these. */
  "DELETE /api/conversations": {
    path: Record<string, never>;
    query: { everything?: boolean; last?: number | null; last_seconds?: number | null; since?: string | null; until?: string | null; agent?: string; person?: string | null; device?: string | null; room?: string | null };
    body: undefined;
    reply: ForgottenReply;
  };
  /** Show what was said last, or before a turn. */
  "GET /api/conversations/turns": {
    path: Record<string, never>;
    query: { before?: number | null; limit?: number; agent?: string; person?: string | null; device?: string | null; room?: string | null };
    body: undefined;
    reply: SaidTurnsReply;
  };
  /** Find what was said, by words. */
  "GET /api/conversations/search": {
    path: Record<string, never>;
    query: { q: string; limit?: number; agent?: string; person?: string | null; device?: string | null; room?: string | null };
    body: undefined;
    reply: SaidMatchesReply;
  };
  /** Download everything that was said, as JSON lines or as Markdown. */
  "GET /api/conversations/export": {
    path: Record<string, never>;
    query: { format?: "jsonl" | "markdown"; since?: string | null; until?: string | null; agent?: string; person?: string | null; device?: string | null; room?: string | null };
    body: undefined;
    reply: undefined;
  };
  /** List the agents that talk to the caller. */
  "GET /api/agents": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: AgentsReply;
  };
  /** List the people whom the house knows by a device of their own. */
  "GET /api/people": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: PeopleReply;
  };
  /** List the devices that may come in. */
  "GET /api/devices": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: TokenDevicesReply;
  };
  /** Say where a device stands, from its next connection on. */
  "PATCH /api/devices/{device}": {
    path: { device: string };
    query: Record<string, never>;
    body: DeviceMove;
    reply: TokenDeviceItem;
  };
  /** Take a device's token back, at once; what it has open is closed within a second. */
  "DELETE /api/devices/{device}": {
    path: { device: string };
    query: Record<string, never>;
    body: undefined;
    reply: undefined;
  };
  /** Open an invitation: a link for five minutes, or six digits for two; the first who has it comes in. */
  "POST /api/pairing": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: InvitationWish;
    reply: InvitationReply;
  };
  /** List the rooms of the home, and those that only a device says it stands in. */
  "GET /api/rooms": {
    path: Record<string, never>;
    query: { agent?: string };
    body: undefined;
    reply: RoomsReply;
  };
  /** List the latest turns of all agents, or those before a moment. */
  "GET /api/turns": {
    path: Record<string, never>;
    query: { limit?: number; before?: number | null };
    body: undefined;
    reply: TurnsReply;
  };
  /** Count, for each of the last days, how long every stage took. */
  "GET /api/turns/percentiles": {
    path: Record<string, never>;
    query: { days?: number };
    body: undefined;
    reply: TurnDaysReply;
  };
  /** Show what every agent has used today, and what is left. */
  "GET /api/usage": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: UsageReply;
  };
  /** Tell how every part of the house is. */
  "GET /api/health": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: HealthReply;
  };
  /** Have the doctor look at everything; this takes a while, and one looks at a time. */
  "POST /api/health/findings": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: FindingsReply;
  };
  /** Show every connection that left the house, or wanted to, in the last hours. */
  "GET /api/egress": {
    path: Record<string, never>;
    query: { hours?: number };
    body: undefined;
    reply: EgressReply;
  };
  /** List the models of the catalogue, and the memory of this machine. */
  "GET /api/models": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: ModelsReply;
  };
  /** Show rows of the record: of a tool, a person, a device, an outcome, a time. */
  "GET /api/record": {
    path: Record<string, never>;
    query: { tool?: string; person?: string; device?: string; outcome?: string; since?: number | null; until?: number | null; before?: number; limit?: number };
    body: undefined;
    reply: RecordReply;
  };
  /** Read the whole record, and tell whether every row is as it was written. */
  "POST /api/record/verify": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: VerdictReply;
  };
  /** Download every row, as JSON lines, the latest first. */
  "GET /api/record/export": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: undefined;
  };
  /** Explain who may do what through an agent. */
  "GET /api/rules": {
    path: Record<string, never>;
    query: { agent?: string };
    body: undefined;
    reply: RulesReply;
  };
  /** Say something through every speaker of the house, or through those of one room. */
  "POST /api/announcements": {
    path: Record<string, never>;
    query: { agent?: string };
    body: NewAnnouncement;
    reply: AnnouncementReply;
  };
  /** List every setting with its value and where that comes from. */
  "GET /api/settings": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    reply: SettingsReply;
  };
}
