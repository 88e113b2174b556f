/** Rules in sentences that a family reads, and as they stand in their file. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  deedOf,
  NEW_RULE,
  neverHasASay,
  type RuleFields,
  rateSentence,
  ruleSentence,
  ruleText,
} from "../src/pages/house/rule-words.ts";
import { chosenOf, fits } from "../src/pages/house/tool-groups.ts";
import { de } from "../src/strings/de.ts";
import { de as deTools } from "../src/strings/de-tools.ts";
import { en } from "../src/strings/en.ts";
import { en as enTools } from "../src/strings/en-tools.ts";

const rule = (fields: Partial<RuleFields>): RuleFields => ({ ...NEW_RULE, then: "deny", ...fields });
const inEnglish = (fields: Partial<RuleFields>) => ruleSentence(rule(fields), en, enTools);
const inGerman = (fields: Partial<RuleFields>) => ruleSentence(rule(fields), de, deTools);

test("a rule reads as a sentence in both languages", () => {
  const doors = { tools: ["home.unlock"], roles: ["child", "teen"], hours: ["21:00-07:00"], days: ["sat", "sun"] };
  assert.equal(
    inEnglish(doors),
    "Unlocking doors and opening gates is refused for children and teens, on Sat and Sun, between 21:00 and 07:00.",
  );
  assert.equal(
    inGerman(doors),
    "Türen aufschließen und Tore öffnen ist für Kinder und Jugendliche verboten, am Sa und So, von 21:00 bis 07:00 Uhr.",
  );
  const music = { then: "confirm" as const, tools: ["home.play"], arguments: { room: ["kids*"] }, rooms: ["Hall"] };
  assert.equal(
    inEnglish(music),
    "Playing music and films needs a yes first, for everybody, in the room kids*, said in the room Hall.",
  );
  assert.equal(
    inGerman({ then: "explicit", risks: ["outward"] }),
    "Alles, was das Haus verlässt, braucht erst ein ausdrückliches Ja, für alle.",
  );
});

test("a rate reads as a sentence in both languages", () => {
  const often = { at_most: 20, per_seconds: 7200, agents: [], roles: ["guest"], tools: ["broadcast.say"], risks: [] };
  const announcing = rateSentence(often, en, enTools);
  assert.match(announcing, /^[A-Z].* is done at most 20 times in 2 hours, for guests\.$/);
  assert.match(rateSentence(often, de, deTools), /^[A-ZÄÖÜ].* wird für Gäste höchstens 20-mal in 2 Stunden getan\.$/);
  const kinds = { ...often, at_most: 1, per_seconds: 60, roles: [], tools: [], risks: ["outward"] };
  assert.equal(
    rateSentence(kinds, en, enTools),
    "What leaves the house is done at most once in 1 minute, for everybody.",
  );
  const never = { ...kinds, at_most: 0, per_seconds: 90 };
  assert.equal(rateSentence(never, de, deTools), "Alles, was das Haus verlässt, wird für alle gar nicht getan.");
  assert.match(rateSentence({ ...kinds, per_seconds: 90 }, en, enTools), /once in 90 seconds/);
});

test("tools that are one thing are one choice, and a whole group has its name", () => {
  assert.deepEqual(
    chosenOf(["timers.start", "timers.add"]).others,
    ["timers.add"],
    "half of a choice stays as it is written",
  );
  assert.match(inEnglish({ tools: ["timers.*"] }), /^Everything under “Timers” is refused for everybody\.$/);
  assert.match(inEnglish({ tools: ["acme.*"] }), /^“acme\.\*” is refused/);
  assert.equal(deedOf("home.unlock", enTools), "Unlocking doors and opening gates");
  assert.equal(deedOf("acme.run", enTools), "acme.run");
});

test("patterns mean what they mean to the house", () => {
  assert.ok(fits("home.play", "home.*") && fits("home.play", "HOME.pla?") && !fits("homexplay", "home.play"));
});

test("the record names in words what no rule is about", () => {
  assert.equal(deedOf("settings.change", enTools), "Changing settings");
});

test("the text of a rule is as the file has it", () => {
  const text = ruleText("no-music", rule({ tools: ["home.play"], arguments: { room: ['the "den"'] }, because: "No." }));
  assert.equal(
    text,
    [
      "[[rule]]",
      'id = "no-music"',
      'tools = ["home.play"]',
      'arguments = { room = ["the \\"den\\""] }',
      'then = "deny"',
      'because = "No."',
    ].join("\n"),
  );
});

test("a rule that would never have a say is named, with those before it, as the page names them", () => {
  const rules = [
    { id: "role:unlock-9", ...rule({ tools: ["home.unlock"], roles: ["guest"] }) },
    { id: "no-guests", ...rule({ then: "confirm", tools: ["home.unlock"], roles: ["guest"] }) },
  ];
  const before = { never: "no-guests", before: ["role:unlock-9"] };
  assert.equal(
    neverHasASay(before, rules, en, enTools),
    "All is as it was. “Unlocking doors and opening gates needs a yes first, for guests.” This rule would never have a say: " +
      "another always decides before it: “Unlocking doors and opening gates is refused for guests.” Change or remove one of them.",
  );
  for (const text of [neverHasASay(before, rules, de, deTools), neverHasASay(before, rules, en, enTools)]) {
    assert.doesNotMatch(text, /role:|no-guests/);
  }
  assert.match(neverHasASay({ ...before, before: null }, rules, en, enTools), /nothing fits all that it names/);
  assert.match(neverHasASay({ ...before, before: [] }, rules, en, enTools), /asks for as much by itself/);
  assert.equal(neverHasASay({}, rules, en, enTools), "");
});
