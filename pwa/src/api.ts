// What the app needs of the house's API, by its OpenAPI document. Made by scripts/api_types.py: do not edit.

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
  /** `at` on the house's clocks, by ISO 8601 without an offset */
  iso: string;
  due_at: number | null;
  /** When it last rang to its end and nobody stopped it, or see `silent` */
  missed_at: number | null;
  /** Whether it was missed because it did not ring: the house was off, say */
  silent: boolean;
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

/** The last backup; null when none was ever made. */
export interface BackupsReply {
  last: LastBackupItem | null;
  /** Null when the day's backup was made, or none is wanted */
  failed: FailedBackupItem | null;
}

/** The board, and the files in it that nobody can read. */
export interface BoardReply {
  sentence: string;
  receipt: ReceiptReply | null;
  columns: string[];
  tasks: TaskItem[];
  problems: PaperProblem[];
}

/** One budget of policy.toml: what each of these agents may spend in a day. */
export interface BudgetItem {
  id: string;
  /** Patterns of their names */
  agents: string[];
  units_per_day: number;
}

/** One graphics card. */
export interface CardItem {
  name: string;
  /** Share of the time, 0 to 1; null where the driver does not tell */
  busy: number | null;
  used_bytes: number;
  memory_bytes: number;
}

/** What https is served with now; a new one takes its place while the house runs. */
export interface CertificateItem {
  /** In seconds since 1970 */
  ends_at: number;
  /** What other machines open */
  address: string;
  /** Names and addresses that it vouches for */
  names: string[];
  /** SHA-256 of the house's own authority, as people compare it */
  fingerprint: string;
}

/** The certificate; null where the house serves no https. */
export interface CertificateReply {
  certificate: CertificateItem | null;
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
  /** Whose words these are, beside those of owners; empty where that is nobody by name */
  person: string;
  /** Whether what was said in the terminal, and on owners' devices that are nobody's own, is in them */
  of_owners: boolean;
  rooms: RoomConversations[];
}

/** What one agent spent on one day. */
export interface DaySpent {
  agent: string;
  /** YYYY-MM-DD, on the house's clocks */
  day: string;
  units: number;
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
  /** In words, of what only reports: open, at home, docked */
  status: string;
  lacks: string;
  /** What rules deny of it to the caller now: tool → why */
  refused: Record<string, string>;
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

/** Why the day's backup was not made; it is tried again every hour. */
export interface FailedBackupItem {
  /** In seconds since 1970 */
  at: number;
  why: string;
}

/** One thing that the doctor looked at. */
export interface FindingItem {
  what: string;
  seen: string;
  /** What to do; empty when it is well */
  advice: string;
  /** A part's own words, in English, where it is not well */
  log: string;
  well: boolean;
  /** Atlas cannot work like that; what is neither well nor grave is to be noted */
  grave: boolean;
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

/** One field of a form. A secret is never shown: only whether there is one. */
export interface FormFieldItem {
  name: string;
  kind: "text" | "number" | "secret" | "choice" | "list" | "switch";
  choices: string[];
  value: string | number | boolean | string[] | null;
  filled: boolean;
  /** The file, a variable of the environment, or `default` */
  origin: string;
  /** Whether it counts as soon as it is saved; else at the next start */
  at_once: boolean;
  /** Whether what stands there is not what the house runs with yet */
  waits: boolean;
}

/** What was saved counts now, but for what somebody has to start again. */
export interface FormSaved {
  form: SettingForm;
  /** Parts that somebody has to start again, such as by systemd */
  by_hand: string[];
}

/** What came of trying it. */
export interface FormTried {
  ok: boolean;
  sentence: string;
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
  /** Nothing is wrong, but parts of it are still loading */
  warming_up: boolean;
  version: string;
  uptime_seconds: number;
  parts: PartItem[];
}

/** How surely a spoken turn was heard. */
export interface HeardMargin {
  /** Whether the recogniser hardly believed the words */
  doubtful: boolean;
  /** How many other readings and commands there were */
  rivals: number;
  /** How many commands it may have been and was asked about */
  questions: number;
  /** By how many nats a token the likeliest of those was less likely than what was read best */
  margin: number | null;
}

/** What a recogniser made of what was spoken, beside the words that were taken for it. */
export interface HeardReadings {
  /** Other readings, the best first */
  others: string[];
  /** Commands that it may have been, which were asked about */
  possible: string[];
  /** Whether it hardly believed these words */
  doubtful: boolean;
  /** The person whose voice it was taken for; empty where nobody's was known */
  voice: string;
  /** By how many nats a token a text is less likely than what was read best; of those that were weighed */
  margins: Record<string, number>;
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
  /** Where other devices open it; the same path at an address of the house */
  link: ScannedLink;
  /** Where a phone learns to trust the house; null without https */
  guide: ScannedLink | null;
}

/** Which backup was made last, wherever it lies now. */
export interface LastBackupItem {
  /** In seconds since 1970 */
  at: number;
  file: string;
  bytes: number;
  /** How keys and passwords lie in it */
  secrets: "none" | "sealed" | "plain";
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

/** How busy the machine was just before a moment. */
export interface LoadItem {
  /** Seconds since 1970 */
  at: number;
  /** Share of all cores, 0 to 1 */
  processor: number;
  /** Memory that is not available to others */
  used_bytes: number;
  /** Empty where there are none, and until somebody has looked for a moment */
  cards: CardItem[];
  /** By model, while it spoke; 0 where it did not */
  tokens_per_second: Record<string, number>;
}

/** The last minutes, the oldest first. */
export interface LoadReply {
  every_seconds: number;
  cores: number;
  memory_bytes: number;
  samples: LoadItem[];
}

/** One line, in English whatever the house speaks. */
export interface LogLineItem {
  /** What `after` is for those that follow */
  number: number;
  /** Seconds since 1970 */
  at: number;
  /** Which process wrote it: house, tools, egress, satellite, llm-NAME; app is a page */
  part: string;
  level: "info" | "warning" | "error";
  /** More than one line where a failure is told with its place */
  text: string;
}

/** The latest lines, the newest last: of this start of the house, and of those before. */
export interface LogReply {
  /** When the house began to write; another one, and numbers began anew */
  began: number;
  lines: LogLineItem[];
}

/** The caller as the house knows them, and what a page needs to begin. */
export interface MeReply {
  person: string;
  device: string;
  role: "owner" | "adult" | "teen" | "child" | "guest" | "satellite";
  /** What the role may, by the one table of roles: a page offers nothing else */
  rights: ("manage" | "assent" | "reside" | "household" | "papers" | "lists" | "presence" | "announce" | "mail" | "remove" | "send" | "unlock")[];
  room: string;
  /** By which the house's clocks go, such as Europe/Berlin; empty where it is unknown */
  timezone: string;
  /** That the house understands, the usual one first */
  languages: string[];
  agents: string[];
  version: string;
  /** Whether a cookie of the browser lets the caller in, which no page can show */
  by_cookie: boolean;
}

/** A place that weights can be in. */
export interface MemoryItem {
  name: string;
  free_bytes: number;
}

/** One thing that waits; what comes again and again and is missed again is something new. */
export interface MissedItem {
  id: string;
  kind: "message" | "ask" | "reminder" | "lateReminder" | "timer" | "lateTimer" | "alarm" | "silentAlarm" | "announcement";
  /** Empty for a message: it is read, and heard, among the messages */
  text: string;
  /** When it was asked, or ended, in seconds since 1970 */
  at: number;
}

/** What was missed on this device since it came into the house. */
export interface MissedReply {
  missed: MissedItem[];
}

/** What was written; it counts when Atlas is started again. */
export interface ModelChosen {
  model: string;
  role: string;
  /** Whose it is; empty for ears and voices, which are the house's */
  agent: string;
  /** Whether there is memory for it */
  fits: boolean;
  layers_on_gpu: number;
  gpu_bytes: number;
  ram_bytes: number;
  /** An estimate, where it is known how fast memory is read */
  tokens_per_second: number | null;
}

/** One model of the catalogue. */
export interface ModelItem {
  name: string;
  /** llm, stt, tts, wake, embedding, understanding */
  role: string;
  title: string;
  /** In one plain sentence: what it is good for */
  summary: string;
  licence: string;
  maker: string;
  bytes: number;
  languages: string[];
  /** In words: what it takes to run it well */
  needs: string;
  /** About how much it takes while it is in use */
  memory_bytes: number;
  /** Whether there is as much of memory now, or it is in use already */
  fits: boolean;
  /** About, on this machine; of a language model */
  tokens_per_second: number | null;
  /** About, on this machine's processors; of a recogniser */
  command_seconds: number | null;
  on_disk: boolean;
  /** Whether any part of the running house reads it */
  in_use: boolean;
  /** The agents that think with it from the next start on */
  chosen_for: string[];
  /** Whether it can be pulled from here: others come by the terminal */
  pullable: boolean;
  /** Whether it is chosen in the settings */
  usable: boolean;
  /** How its pull stands, where one was begun */
  pull: PullItem | null;
  /** Whether somebody has computed its hashes from the files */
  verified: boolean;
}

/** The models, and where there is room for them. */
export interface ModelsReply {
  models: ModelItem[];
  memory: MemoryItem[];
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
  /** Another one whenever the text is another one; empty when it is truncated */
  revision: string;
}

/** The notes, the newest first. */
export interface NotesReply {
  sentence: string;
  receipt: ReceiptReply | null;
  notes: NoteItem[];
  problems: PaperProblem[];
}

/** What failed in a page of the app, and where in the app's own files. */
export interface PageFailure {
  /** Such as TypeError */
  kind: string;
  /** Which was shown, such as lists */
  page?: string;
  /** File, line and column, the innermost first */
  at?: string[];
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
  /** What to do; of a part that is well, what would be better still */
  hint: string;
  /** The part's own words, in English, where it is not well */
  log: string;
  /** It is not well yet, and will be by itself */
  warming_up: boolean;
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

/** It counts now, but for what somebody has to start again. */
export interface PolicySaved {
  /** Parts that somebody has to start again, such as by systemd */
  by_hand: string[];
}

/** A device that is connected now. */
export interface PresentItem {
  name: string;
  /** Where it stands; empty when it is carried about */
  room: string;
  /** Whether a request is answered there now */
  talking: boolean;
  /** Who talks; empty when nobody does or is known by name */
  person: string;
}

/** The devices that are connected now: phones whose app is open, screens, satellites of any make. */
export interface PresentReply {
  devices: PresentItem[];
}

/** What the calls of the last days would have got. */
export interface PreviewReply {
  sentence: string;
  receipt: ReceiptReply | null;
  calls: number;
  changed: number;
  counts: VerdictCount[];
  /** The latest of them, fifty at most */
  changes: VerdictChange[];
  /** Calls for which it depends on words that the record does not hold */
  perhaps: number;
  /** False when there were more calls than were looked at */
  whole: boolean;
}

/** How a pull stands. */
export interface PullItem {
  /** Others come first */
  waiting: boolean;
  /** Bytes that were brought and checked */
  done: number;
  total: number;
  left_seconds: number | null;
  /** Why it stopped; a new one goes on from there */
  error: string;
}

/** How a device stands, and what it could ask for. */
export interface PushReply {
  /** Push services that the owner allows; empty: nobody is told anything */
  services: string[];
  /** What a browser subscribes with (applicationServerKey); empty where nothing is sent */
  key: string;
  /** HOST:PORT of the service by which this device is told; empty: it is not */
  service: string;
  /** The address there, for the browser to know its own */
  endpoint: string;
  /** Seconds since 1970 */
  since: number | null;
  /** Rooms that are connected now, in which what waits is said aloud */
  rooms: string[];
}

/** Whether the service took a message; the device shows it when it comes. */
export interface PushTried {
  sent: boolean;
}

/** One limit of policy.toml: so many calls in so many seconds, for each who calls; an empty list is all of them. */
export interface RateItem {
  id: string;
  at_most: number;
  per_seconds: number;
  /** Patterns of their names; empty is what the house does by itself, too */
  agents: string[];
  roles: string[];
  tools: string[];
  risks: string[];
}

/** Proof that something changed; `history/undo` takes it back by this id. */
export interface ReceiptReply {
  id: string;
  changed: string;
}

/** On whose behalf a tool was called; empty where nobody knows. */
export interface RecordActor {
  person: string;
  device: string;
  room: string;
}

/** Rows of the record, the latest first. */
export interface RecordReply {
  sentence: string;
  receipt: ReceiptReply | null;
  rows: RecordRow[];
  /** What `before` is for the next page; null when there is none */
  next: number | null;
}

/** A call of a tool; also risk, the hash of the arguments, verdict, rule, ms … */
export interface RecordRow {
  seq: number;
  /** Seconds since 1970 */
  at: number;
  agent: string;
  actor: RecordActor;
  tool: string;
  outcome: string;
  reason: string;
}

/** What rules deny to the caller now, whatever it is about; of one device its own reply says more. */
export interface RefusalsReply {
  /** The names of tools → why, as a sentence */
  refused: Record<string, string>;
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
  /** The moment that it is about, in seconds since 1970 */
  at: number | null;
  /** `at` on the house's clocks, by ISO 8601 without an offset */
  iso: string;
  /** When it is said next; null when it was said in vain, or waits for a voice */
  due_at: number | null;
  /** When it was said long after its moment, for the house was off then */
  missed_at: number | null;
  state: string;
  /** In words */
  when: string;
}

/** The reminders that the caller may see. */
export interface RemindersReply {
  sentence: string;
  receipt: ReceiptReply | null;
  reminders: ReminderItem[];
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
  /** Whether a message for it would ever be played there */
  plays: boolean;
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
  /** It stands in the house's own file, and may be changed; others are the roles' */
  editable: boolean;
  people: string[];
  rooms: string[];
  devices: string[];
  /** Patterns of what an argument says, by its name */
  arguments: Record<string, string[]>;
  /** HH:MM-HH:MM, on the house's clocks */
  hours: string[];
  days: string[];
}

/** A rule as its form has it. An empty list is all of them. */
export interface RuleValues {
  then: "deny" | "confirm" | "explicit";
  /** What people are told */
  because: string;
  agents?: string[];
  roles?: ("owner" | "adult" | "teen" | "child" | "guest" | "satellite")[];
  people?: string[];
  rooms?: string[];
  devices?: string[];
  tools?: string[];
  risks?: ("read" | "change" | "destructive" | "outward")[];
  arguments?: Record<string, string[]>;
  hours?: string[];
  days?: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
}

/** What each role may have an agent do, and why; and how much of it. */
export interface RulesReply {
  sentence: string;
  receipt: ReceiptReply | null;
  agent: string;
  tools: ToolVerdicts[];
  rules: RuleItem[];
  rates: RateItem[];
  budgets: BudgetItem[];
  /** Units that a call is counted as, by its risk */
  costs: Record<string, number>;
  /** What holds after words of others were read */
  others_words: string;
}

/** What one call of a tool came to. */
export interface SaidDeed {
  call: string;
  tool: string;
  arguments: Record<string, unknown>;
  state: "done" | "asks" | "refused" | "failed";
  sentence: string;
  /** Proves a change, and takes it back by `history/undo`; may be empty */
  receipt: string;
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
  /** Null when it was typed */
  readings: HeardReadings | null;
  deeds: SaidDeed[];
  messages: SaidMessage[];
}

/** Exchanges, the oldest first. */
export interface SaidTurnsReply {
  turns: SaidTurn[];
  /** Whether there are older ones */
  more: boolean;
}

/** An address that a phone opens by its camera. */
export interface ScannedLink {
  address: string;
  /** Its QR code: the address of an image that holds itself */
  qr: string;
}

/** One call that a sentence stands for. */
export interface SentenceCall {
  tool: string;
  arguments: Record<string, unknown>;
}

/** One sentence that was taught. */
export interface SentenceItem {
  id: string;
  text: string;
  /** The sentence by which its meaning was given */
  meaning: string;
  calls: SentenceCall[];
}

/** The sentences that were taught, the oldest first. */
export interface SentencesReply {
  sentences: SentenceItem[];
}

/** One form, and what of it has to be allowed to leave the house. */
export interface SettingForm {
  form: "house" | "wake" | "room" | "gpu" | "weather" | "home_assistant" | "mqtt" | "mail" | "calendar" | "push" | "egress" | "backup";
  /** Which entry of its kind it is; -1 is one that is not there yet */
  number: number;
  /** Whether there can be more entries of its kind */
  several: boolean;
  fields: FormFieldItem[];
  /** Whether a tool can try it, and it alone */
  triable: boolean;
  /** Whether its settings need to reach somebody */
  reaches: boolean;
  /** What these settings need to reach */
  hosts: string[];
  /** Those of them that [egress] does not list */
  barred: string[];
}

/** All forms. */
export interface SettingFormsReply {
  /** The file that is written */
  file: string;
  forms: SettingForm[];
}

/** How long a stage took on one day, in milliseconds. */
export interface StagePercentiles {
  stage: string;
  count: number;
  p50: number;
  p95: number;
  p99: number;
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
  /** When it was started, paused, or last given another end; in seconds since 1970 */
  set_at: number;
}

/** The timers. */
export interface TimersReply {
  sentence: string;
  receipt: ReceiptReply | null;
  timers: TimerItem[];
}

/** The device as it is now. */
export interface TokenDeviceChanged {
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
  /** Whether it is the house's own terminal, which keeps its name */
  terminal: boolean;
  /** Parts that somebody has to start again to go by its new name */
  by_hand: string[];
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
  /** Whether it is the house's own terminal, which keeps its name */
  terminal: boolean;
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
  /** Null when it was typed */
  heard: HeardMargin | null;
}

/** Turns, the latest first. */
export interface TurnsReply {
  turns: TurnItem[];
}

/** What a server says of one of its tools that waits for approval. */
export interface UpstreamDefinition {
  sentence: string;
  receipt: ReceiptReply | null;
  server: string;
  tool: string;
  /** Of just this definition */
  sha256: string;
  /** Whether another one was approved before */
  changed: boolean;
  /** That definition; where another one was approved, how it differs */
  lines: string[];
}

/** Another tool server, as the settings of the tools call it. */
export interface UpstreamItem {
  connected: boolean;
  /** Its tools whose definitions are as they were when a person approved them */
  tools: string[];
  /** Its other tools, which nobody can call, each with why */
  waiting: Record<string, "not_approved" | "changed" | "same_name" | "no_json" | "odd_name" | "no_object" | "too_long" | "no_json_schema" | "too_deep" | "refers_elsewhere" | "odd_argument" | "hidden_text" | "odd_choice" | "too_many_tools">;
  /** Those of them that an owner may approve */
  offered: string[];
  name: string;
  /** Who may call its tools */
  agents: string[];
}

/** The other tool servers that are set up, in the order of their names. */
export interface UpstreamReply {
  servers: UpstreamItem[];
}

/** What the agents spent on the last days, days without anything left out. */
export interface UsageDaysReply {
  sentence: string;
  receipt: ReceiptReply | null;
  spent: DaySpent[];
  /** False when there were more calls than were looked at */
  whole: boolean;
}

/** What the agents have used today. */
export interface UsageReply {
  agents: AgentUsage[];
}

/** One call that would have got another verdict. */
export interface VerdictChange {
  /** Seconds since 1970 */
  at: number;
  tool: string;
  person: string;
  device: string;
  role: string;
  before: string;
  after: string;
}

/** How many calls would have got another verdict. */
export interface VerdictCount {
  /** allow, confirm, explicit or deny */
  before: string;
  after: string;
  count: number;
}

/** Whether the record is as it was written. */
export interface VerdictReply {
  sentence: string;
  receipt: ReceiptReply | null;
  rows: number;
  /** Empty when every row is as it was written */
  problems: string[];
}

/** A person whose voice is known; nobody gets the voiceprint itself. */
export interface VoiceItem {
  person: string;
  /** Of how many sentences */
  sentences: number;
  /** Seconds since 1970 */
  recorded: number;
  mine: boolean;
}

/** One message, without its sound. */
export interface VoiceMessage {
  id: string;
  /** Its words, as far as they were understood */
  text: string;
  /** The room that it is for; empty, with no person, is everybody */
  room: string;
  /** The person whom it is for */
  person: string;
  /** The person who left it; empty when nobody knows */
  sender: string;
  sender_room: string;
  /** Seconds since 1970 */
  at: number;
  /** When it was played to whom it is for */
  heard_at: number | null;
  /** Whether the caller left it */
  mine: boolean;
  /** Of its sound; 0 for one that is words alone */
  seconds: number;
}

/** The message that was left, heard or deleted. */
export interface VoiceMessageReply {
  sentence: string;
  receipt: ReceiptReply | null;
  message: VoiceMessage;
}

/** The messages for the caller and those that they left, the oldest first. */
export interface VoiceMessagesReply {
  sentence: string;
  receipt: ReceiptReply | null;
  messages: VoiceMessage[];
  /** What others have not heard yet: for an owner, who may delete it */
  others: WaitingVoiceMessage[];
}

/** Whose voices are known: for an owner everybody's, for others their own. */
export interface VoicesReply {
  /** Whether this house knows anybody by voice: [voices] in atlas.toml */
  enabled: boolean;
  /** How many sentences are to be recorded */
  sentences: number;
  /** Whether a room would call the caller by name: not an owner, nor a nameless device */
  named: boolean;
  voices: VoiceItem[];
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

/** One that waits for somebody else, of which even an owner is told no more. */
export interface WaitingVoiceMessage {
  id: string;
  person: string;
  /** Seconds since 1970 */
  at: number;
}

/** One time that a wake word was heard, or nearly. */
export interface WakeItem {
  id: string;
  /** Seconds since 1970 */
  at: number;
  phrase: string;
  /** How sure the house was of it: 0 to 1 */
  score: number;
  /** How sure it had to be, then */
  threshold: number;
  woke: boolean;
  /** Was it for the house? null until somebody said */
  meant: boolean | null;
  /** Whether it may be heard: for a day */
  sound: boolean;
}

/** One wake word of a room. */
export interface WakePhraseItem {
  phrase: string;
  /** That holds now */
  threshold: number;
  /** Whether it was set here; else it is that of the settings, or the wake word's own */
  tuned: boolean;
  /** Of how many somebody said whether they were meant, in the last month */
  labels: number;
  proposal: WakeProposalItem;
}

/** What the labels of a wake word in a room propose, and what that would have changed of them. */
export interface WakeProposalItem {
  threshold: number;
  /** Why nothing is proposed; empty where something is */
  reason: "" | "few" | "right" | "no_better";
  /** That were meant and missed, and would have woken it */
  heard: number;
  /** That were meant and woke it, and would have been missed */
  lost: number;
  /** That were not meant and woke it, and would not have */
  silenced: number;
  /** That were not meant, and would have woken it */
  disturbed: number;
}

/** What is known of wake words. */
export interface WakeReply {
  /** Whether what wakes rooms is stored: near_misses in [speech] or [satellite] */
  stored: boolean;
  /** Below which nothing is proposed */
  fewest_labels: number;
  rooms: WakeRoomItem[];
}

/** One room: its wake words, and what was heard there in the last day, the newest first. */
export interface WakeRoomItem {
  room: string;
  phrases: WakePhraseItem[];
  heard: WakeItem[];
}

/** What holds now. */
export interface WakeThresholdReply {
  /** Whether the room goes by it now; else when it is connected again */
  at_once: boolean;
}
