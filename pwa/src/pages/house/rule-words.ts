/** A rule in a sentence, and as it stands in its file. Pure: values and words in, text out. */

import type { RateItem, RuleItem } from "../../api.ts";
import type { Words } from "../../strings/en.ts";
import type { ToolWords } from "../../strings/en-tools.ts";
import { choiceOf, chosenOf, GROUPS, type GroupName } from "./tool-groups.ts";

export type RuleFields = Omit<RuleItem, "id" | "when" | "editable">;

/** A rule that holds for everything and everybody, and asks. */
export const NEW_RULE: RuleFields = {
  then: "confirm",
  because: "",
  agents: [],
  roles: [],
  people: [],
  rooms: [],
  devices: [],
  tools: [],
  risks: [],
  arguments: {},
  hours: [],
  days: [],
};

/** "Unlocking doors and opening gates is refused for children, between 21:00 and 7:00." */
export function ruleSentence(rule: RuleFields, words: Words, toolWords: ToolWords): string {
  const say = words.house.rule;
  const or = listOf(words, "disjunction");
  const and = listOf(words, "conjunction");
  const what = whatOf(rule, words, toolWords);
  const roles = rolesOf(rule, words);
  const people = and(rule.people);
  const who = people && roles ? say.sentence.both(people, roles) : people || roles || say.sentence.everybody;
  const { room = [], device = [], name = [], ...others } = rule.arguments;
  const named = [...device, ...name];
  const conditions = [
    named.length > 0 && say.sentence.about(or(named)),
    room.length > 0 && say.sentence.aboutRoom(or(room)),
    ...Object.entries(others).map(([argument, values]) => say.sentence.where(argument, or(values))),
    rule.rooms.length > 0 && say.sentence.saidIn(or(rule.rooms)),
    rule.devices.length > 0 && say.sentence.through(or(rule.devices)),
    rule.agents.length > 0 && say.sentence.by(or(rule.agents)),
    rule.days.length > 0 && say.sentence.on(and(rule.days.map((day) => say.days[day as keyof typeof say.days] ?? day))),
    rule.hours.length > 0 && say.sentence.between(or(rule.hours.map((span) => say.sentence.span(...spanOf(span))))),
  ].filter((part) => typeof part === "string");
  return capitalised(say.sentence.happens[rule.then](what, who, conditions.map((part) => `, ${part}`).join("")), words);
}

export const UNITS = { hour: 3600, minute: 60, second: 1 } as const;

/** The largest unit that a length is a whole number of. */
export const unitOf = (seconds: number) =>
  (Object.keys(UNITS) as (keyof typeof UNITS)[]).find((unit) => seconds % UNITS[unit] === 0) ?? "second";

/** "Announcing something is done at most 20 times in 1 hour, for guests." */
export function rateSentence(rate: Omit<RateItem, "id">, words: Words, toolWords: ToolWords): string {
  const say = words.house.rate;
  const unit = unitOf(rate.per_seconds);
  const format = new Intl.NumberFormat(words.language, { style: "unit", unit, unitDisplay: "long" });
  const often = rate.at_most ? say.often(rate.at_most, format.format(rate.per_seconds / UNITS[unit])) : say.never;
  const who = rolesOf(rate, words) || words.house.rule.sentence.everybody;
  return capitalised(say.sentence(whatOf(rate, words, toolWords), often, who), words);
}

const capitalised = (sentence: string, words: Words) =>
  sentence.charAt(0).toLocaleUpperCase(words.language) + sentence.slice(1);

function whatOf({ tools, risks }: Pick<RuleFields, "tools" | "risks">, words: Words, toolWords: ToolWords): string {
  const say = words.house.rule;
  const or = listOf(words, "disjunction");
  const kinds = or(risks.map((risk) => say.risks[risk as keyof typeof say.risks] ?? risk));
  const things = or(thingsOf(tools, toolWords));
  if (things && kinds) return say.sentence.both(things, kinds);
  return things || (kinds && say.sentence.ofKind(kinds)) || say.sentence.everything;
}

function rolesOf({ roles }: Pick<RuleFields, "roles">, words: Words): string {
  const say = words.house.rule.sentence.roles;
  return listOf(words, "conjunction")(roles.map((role) => say[role as keyof typeof say] ?? role));
}

/** Why a rule would never have a say, with all rules named as the page names them; "" for any other refusal. */
export function neverHasASay(
  { never, before }: Record<string, unknown>, // what the refusal says of it: wall/unsound_rules.py
  rules: readonly Pick<RuleItem, "id" | keyof RuleFields>[],
  words: Words,
  toolWords: ToolWords,
): string {
  if (typeof never !== "string") return "";
  const say = words.house.rule.never;
  const named = (id: string) => {
    const rule = rules.find((one) => one.id === id);
    return say.quoted(rule ? ruleSentence(rule, words, toolWords) : id);
  };
  if (!Array.isArray(before)) return say.fitsNothing(named(never));
  const others = before.map(named);
  if (!others.length) return say.asksAnyway(named(never));
  return say.others(named(never), listOf(words, "conjunction")(others), others.length);
}

/** What some patterns of tools mean: whole groups by their names, choices by theirs, the rest as it is written. */
function thingsOf(patterns: readonly string[], toolWords: ToolWords): string[] {
  const { choices, others } = chosenOf(patterns);
  const whole = (Object.keys(GROUPS) as GroupName[]).filter((group) => {
    const size = Object.keys(GROUPS[group]).length;
    return size > 1 && choices.filter((one) => one.group === group).length === size;
  });
  return [
    ...whole.map((group) => toolWords.allOf(toolWords.groups[group])),
    ...choices.filter(({ group }) => !whole.includes(group)).map(({ name }) => toolWords.choices[name]),
    ...others.map(toolWords.named),
  ];
}

/** What a tool does, in words; its own name where nobody has given it any. */
export function deedOf(tool: string, toolWords: ToolWords): string {
  if (tool === "settings.change") return toolWords.settingsChange; // the house's own, and no rule's choice
  const choice = choiceOf(tool);
  const text = choice ? toolWords.choices[choice.name] : tool;
  return choice ? text.charAt(0).toLocaleUpperCase() + text.slice(1) : text;
}

/** "21:00-07:00" → its two ends. */
export function spanOf(span: string): [string, string] {
  const [from = "", to = ""] = span.split("-").map((end) => end.trim());
  return [from, to];
}

/** The rule as it stands in policy.toml. */
export function ruleText(id: string, rule: RuleFields): string {
  const lines = [`[[rule]]`, `id = ${quoted(id)}`];
  for (const name of ["agents", "roles", "people", "rooms", "devices", "tools", "risks", "hours", "days"] as const) {
    if (rule[name].length) lines.push(`${name} = ${quoted(rule[name])}`);
  }
  const rows = Object.entries(rule.arguments).map(([name, values]) => `${name} = ${quoted(values)}`);
  if (rows.length) lines.push(`arguments = { ${rows.join(", ")} }`);
  return [...lines, `then = ${quoted(rule.then)}`, `because = ${quoted(rule.because)}`].join("\n");
}

const quoted = (value: string | string[]): string =>
  typeof value === "string" ? JSON.stringify(value) : `[${value.map(quoted).join(", ")}]`; // as TOML has it too

function listOf(words: Words, type: "conjunction" | "disjunction"): (parts: string[]) => string {
  const format = new Intl.ListFormat(words.language, { type });
  return (parts) => format.format(parts);
}
