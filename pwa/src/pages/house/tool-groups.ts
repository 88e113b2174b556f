/** The tools as a household speaks of them: groups of choices, each of one tool or of several that are one thing. */

export const GROUPS = {
  locks: { unlock: ["home.unlock"], lock: ["home.lock"] },
  devices: {
    turn: ["home.turn"],
    set: ["home.set", "home.adjust"],
    cover: ["home.open", "home.close"],
    scene: ["home.scene"],
    robots: ["home.clean", "home.mow", "home.dock"],
    deviceLooks: ["home.list", "home.state"],
  },
  music: {
    play: ["home.play"],
    skip: ["home.next", "home.previous"],
    pause: ["home.pause", "home.mute"],
  },
  timers: {
    timerStart: ["timers.start"],
    timerChange: ["timers.add", "timers.pause", "timers.resume"],
    timerCancel: ["timers.cancel", "timers.cancel_all"],
    timerLooks: ["timers.list", "timers.left"],
  },
  alarms: {
    alarmSet: ["alarms.set"],
    alarmChange: ["alarms.change", "alarms.switch", "alarms.skip"],
    alarmStop: ["alarms.stop", "alarms.snooze"],
    alarmCancel: ["alarms.cancel", "alarms.cancel_all"],
    alarmLooks: ["alarms.list"],
  },
  reminders: {
    reminderAdd: ["reminders.add"],
    reminderChange: ["reminders.change", "reminders.snooze", "reminders.done"],
    reminderCancel: ["reminders.cancel"],
    reminderLooks: ["reminders.list"],
  },
  lists: {
    listAdd: ["lists.add"],
    listTick: ["lists.check", "lists.remove"],
    listClear: ["lists.clear", "lists.delete"],
    listLooks: ["lists.names", "lists.read"],
  },
  board: {
    taskAdd: ["tasks.add"],
    taskChange: ["tasks.change", "tasks.move", "tasks.done"],
    taskRemove: ["tasks.remove"],
    taskLooks: ["tasks.list"],
  },
  notes: {
    noteWrite: ["notes.create", "notes.append", "notes.write"],
    noteRemove: ["notes.remove"],
    noteLooks: ["notes.list", "notes.read", "notes.search"],
  },
  calendar: {
    eventAdd: ["calendar.add"],
    eventChange: ["calendar.change"],
    eventRemove: ["calendar.remove"],
    eventLooks: ["calendar.find", "calendar.free", "calendar.list", "calendar.next"],
  },
  messages: {
    announce: ["broadcast.say"],
    messageLeave: ["messages.leave"],
    messageHear: ["messages.list", "messages.heard"],
    messageDelete: ["messages.delete"],
  },
  mail: {
    mailSend: ["email.send", "email.reply"],
    mailRead: ["email.list", "email.read", "email.search"],
  },
  memory: {
    factRemember: ["facts.remember"],
    factForget: ["facts.forget"],
    factLooks: ["facts.list", "memory.search"],
  },
  files: {
    fileWrite: ["files.create", "files.append", "files.move", "files.write"],
    fileRemove: ["files.remove"],
    fileLooks: ["files.list", "files.read", "files.search"],
  },
  later: {
    laterDo: ["later.do"],
    laterCancel: ["later.cancel"],
    laterLooks: ["later.list"],
  },
  people: { whereabouts: ["presence.where"] },
  world: {
    clock: ["clock.date", "clock.difference", "clock.holidays", "clock.time", "clock.until"],
    weather: ["weather.forecast", "weather.now", "world.moon", "world.sun"],
    sums: ["world.calculate", "world.convert", "world.spell", "world.echo", "world.unknown"],
    chance: ["world.choose", "world.coin", "world.dice", "world.number"],
  },
  history: {
    undo: ["history.undo"],
    houseLooks: ["history.last", "ledger.show", "logs.read", "upstream.status"],
  },
} as const;

type OfGroup<Group> = Group extends Record<infer Choice, unknown> ? Choice : never;
export type GroupName = keyof typeof GROUPS;
export type ChoiceName = { [Name in GroupName]: OfGroup<(typeof GROUPS)[Name]> }[GroupName];

export interface Choice {
  group: GroupName;
  name: ChoiceName;
  tools: readonly string[];
}

export const CHOICES: readonly Choice[] = Object.entries(GROUPS).flatMap(([group, choices]) =>
  Object.entries<readonly string[]>(choices).map(([name, tools]) => ({
    group: group as GroupName,
    name: name as ChoiceName,
    tools,
  })),
);

/** The choice that a tool belongs to; what another tool server brings belongs to none. */
export const choiceOf = (tool: string) => CHOICES.find(({ tools }) => tools.includes(tool));

/** Whether a tool's name fits a pattern as the house compares them: "*" is anything, "?" one character. */
export function fits(tool: string, pattern: string): boolean {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "i").test(tool);
}

interface Chosen {
  choices: Choice[]; // all of whose tools are meant
  others: string[]; // patterns that are no whole choice, as they are written
}

/** What patterns of tools come to: whole choices, and what is left as a pattern. */
export function chosenOf(patterns: readonly string[]): Chosen {
  const means = (tool: string) => patterns.some((pattern) => fits(tool, pattern));
  const choices = CHOICES.filter(({ tools }) => tools.every(means));
  const known = choices.flatMap(({ tools }) => tools);
  const reach = (pattern: string) => CHOICES.flatMap(({ tools }) => tools).filter((tool) => fits(tool, pattern));
  const others = patterns.filter(
    (pattern) => !reach(pattern).length || reach(pattern).some((tool) => !known.includes(tool)),
  );
  return { choices, others };
}
