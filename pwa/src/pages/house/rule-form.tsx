/** A rule of the house as a form of plain choices: what it would have done to the last week is seen before it is saved. */

import { useState } from "preact/hooks";
import type { PeopleReply, PreviewReply, RoomsReply, RuleItem, RuleValues } from "../../api.ts";
import { HouseTrouble, request, sentenceOf } from "../../house/api.ts";
import { useLive } from "../../house/live.ts";
import { Icon } from "../../parts/icon.tsx";
import { Sheet } from "../../parts/sheet.tsx";
import { momentOf } from "../../parts/when.ts";
import { words } from "../../strings/index.ts";
import { toolWords } from "../../strings/tool-words.ts";
import { Chips, idOf, named, saveRow } from "./policy-parts.tsx";
import { deedOf, NEW_RULE, neverHasASay, type RuleFields, ruleSentence, ruleText, spanOf } from "./rule-words.ts";
import { CHOICES, type Choice, chosenOf, GROUPS, type GroupName } from "./tool-groups.ts";

export interface RuleWish {
  rule: RuleItem | null; // null is a new one
  removes: boolean;
}

interface RuleSheetProperties {
  wish: RuleWish;
  rules: RuleItem[];
  tools: string[]; // that there are here: nobody chooses others
  onClose: (saved: boolean) => void;
}

type Result =
  | { state: "none" }
  | { state: "working"; sentence: string }
  | { state: "previewed"; of: string; preview: PreviewReply }
  | { state: "refused"; sentence: string };

const fieldsOf = ({ id: _id, when: _when, editable: _editable, ...fields }: RuleItem): RuleFields => fields;

export function RuleSheet({ wish: { rule, removes }, rules, tools, onClose }: RuleSheetProperties) {
  const say = words.value.house.rule;
  const [fields, setFields] = useState<RuleFields>(rule ? fieldsOf(rule) : NEW_RULE);
  const [because, setBecause] = useState(rule?.because ?? null); // null until somebody writes it: then it is the sentence
  const [result, setResult] = useState<Result>({ state: "none" });

  const change = (some: Partial<RuleFields>) => setFields({ ...fields, ...some });
  const sentence = ruleSentence(fields, words.value, toolWords.value);
  const explanation = because ?? sentence;
  const id = rule?.id ?? idOf(explanation, rules);
  const values = removes ? null : ({ ...cleaned(fields), because: explanation.trim() } as RuleValues);
  const present = JSON.stringify({ id, values });
  const isPreviewed = result.state === "previewed" && result.of === present;
  const isWorking = result.state === "working";

  async function doing(text: string, work: () => Promise<void>): Promise<void> {
    if (isWorking) return;
    setResult({ state: "working", sentence: text });
    try {
      await work();
    } catch (trouble) {
      if (!(trouble instanceof HouseTrouble)) throw trouble;
      const all = [...rules.filter((one) => one.id !== id), { id, ...cleaned(fields) }];
      const never = neverHasASay(trouble.details, all, words.value, toolWords.value);
      setResult({ state: "refused", sentence: never || sentenceOf(trouble) });
    }
  }
  async function preview(): Promise<void> {
    const reply = await request<PreviewReply>("/api/rules/preview", { id, values });
    setResult({ state: "previewed", of: present, preview: reply });
  }
  async function save(): Promise<void> {
    await saveRow("rules", id, values ?? undefined);
    onClose(true);
  }
  return (
    <Sheet title={say.titles[removes ? "remove" : rule ? "change" : "add"]} onClose={() => onClose(false)}>
      <form
        class="fields rule-form"
        onSubmit={(event) => {
          event.preventDefault();
          void (isPreviewed ? doing(say.saving, save) : doing(say.looking, preview));
        }}
      >
        <p class="rule-sentence" role="status">
          {sentence}
        </p>
        {!removes && (
          <>
            <What fields={fields} tools={tools} onChange={change} />
            <Who fields={fields} onChange={change} />
            <When fields={fields} onChange={change} />
            <Where fields={fields} onChange={change} />
            <Chips
              title={say.what}
              choices={say.happens}
              marked={[fields.then]}
              one
              onChange={([then]) => change({ then: then as RuleFields["then"] })}
            />
            <label>
              {say.because}
              <input
                value={explanation}
                maxLength={300}
                placeholder={say.becauseExample}
                required
                onInput={(event) => setBecause(event.currentTarget.value)}
              />
            </label>
            <Text id={id} fields={{ ...cleaned(fields), because: explanation }} onChange={change} />
          </>
        )}
        <div role="status">
          {isWorking && <p class="soft">{result.sentence}</p>}
          {isPreviewed && <Previewed preview={result.preview} />}
          {!isPreviewed && !isWorking && result.state !== "refused" && <p class="soft">{say.first}</p>}
        </div>
        <p class="trouble" role="alert">
          {result.state === "refused" && result.sentence}
        </p>
        <p class="answers">
          <button type="submit" class="solid" aria-disabled={isWorking}>
            {isPreviewed ? (removes ? say.removeNow : say.save) : say.preview}
          </button>
        </p>
      </form>
    </Sheet>
  );
}

interface PartProperties {
  fields: RuleFields;
  onChange: (some: Partial<RuleFields>) => void;
}

interface WhatProperties {
  fields: Pick<RuleFields, "tools" | "risks">;
  tools: string[]; // that there are here
  onChange: (some: Partial<WhatProperties["fields"]>) => void;
}

/** What it is about: whole kinds of deeds, and choices by their groups, each taken away again by its cross. */
export function What({ fields, tools, onChange }: WhatProperties) {
  const say = words.value.house.rule;
  const { groups, choices, allOf } = toolWords.value;
  const risks: Record<string, string> = say.risks;
  const { choices: chosen, others } = chosenOf(fields.tools);
  const isHere = ({ tools: its }: Choice) => its.some((tool) => tools.includes(tool));
  const isChosen = (choice: Choice) => chosen.some(({ name }) => name === choice.name);
  function pick(picked: string): void {
    const [kind, name] = picked.split(":");
    if (kind === "risk") onChange({ risks: [...fields.risks, name] });
    const added = CHOICES.filter((one) =>
      kind === "group" ? one.group === name : kind === "choice" && one.name === name,
    );
    if (added.length) onChange({ tools: toolsOf([...chosen, ...added], others) });
  }
  return (
    <fieldset class="marks">
      <legend>{say.forWhat}</legend>
      <ul class="chips">
        {fields.risks.map((risk) => (
          <Taken
            key={risk}
            text={risks[risk] ?? risk}
            onRemove={() => onChange({ risks: fields.risks.filter((one) => one !== risk) })}
          />
        ))}
        {chosen.map((choice) => (
          <Taken
            key={choice.name}
            text={choices[choice.name]}
            onRemove={() =>
              onChange({
                tools: toolsOf(
                  chosen.filter(({ name }) => name !== choice.name),
                  others,
                ),
              })
            }
          />
        ))}
        {others.map((pattern) => (
          <Taken
            key={pattern}
            text={pattern}
            onRemove={() => onChange({ tools: fields.tools.filter((one) => one !== pattern) })}
          />
        ))}
      </ul>
      <select aria-label={say.forWhat} value="" onChange={(event) => pick(event.currentTarget.value)}>
        <option value="">{say.choose}</option>
        <optgroup label={say.kinds}>
          {Object.entries(risks)
            .filter(([name]) => !fields.risks.includes(name))
            .map(([name, text]) => (
              <option key={name} value={`risk:${name}`}>
                {text}
              </option>
            ))}
        </optgroup>
        {(Object.keys(GROUPS) as GroupName[]).map((group) => {
          const open = CHOICES.filter((choice) => choice.group === group && isHere(choice) && !isChosen(choice));
          return (
            open.length > 0 && (
              <optgroup key={group} label={groups[group]}>
                {open.map(({ name }) => (
                  <option key={name} value={`choice:${name}`}>
                    {choices[name]}
                  </option>
                ))}
                {open.length > 1 && <option value={`group:${group}`}>{allOf(groups[group])}</option>}
              </optgroup>
            )
          );
        })}
      </select>
      <p class="soft">{say.anything}</p>
    </fieldset>
  );
}

const toolsOf = (choices: readonly Choice[], others: string[]) => [
  ...new Set([...choices.flatMap(({ tools }) => tools), ...others]),
];

function Taken({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <li class="taken">
      {text}
      <button type="button" aria-label={`${words.value.house.rule.remove}: ${text}`} onClick={onRemove}>
        <Icon name="close" size={16} />
      </button>
    </li>
  );
}

function Who({ fields, onChange }: PartProperties) {
  const say = words.value.house.rule;
  const people = useLive<PeopleReply>("/api/people", "devices").data.value?.people.map(({ name }) => name) ?? [];
  return (
    <>
      <Chips
        title={say.forWhom}
        choices={words.value.house.roles}
        marked={fields.roles}
        onChange={(roles) => onChange({ roles })}
        note={people.length ? "" : say.anybody}
      />
      {(people.length > 0 || fields.people.length > 0) && (
        <Chips
          title={say.people}
          choices={named(people, fields.people)}
          marked={fields.people}
          onChange={(marked) => onChange({ people: marked })}
          note={say.anybody}
        />
      )}
    </>
  );
}

function When({ fields, onChange }: PartProperties) {
  const say = words.value.house.rule;
  const spans = fields.hours.length ? fields.hours.map(spanOf) : [spanOf("")];
  const put = (place: number, from: string, to: string) =>
    onChange({ hours: spans.map((span, at) => (at === place ? `${from}-${to}` : span.join("-"))) });
  return (
    <>
      <Chips title={say.when} choices={say.days} marked={fields.days} onChange={(days) => onChange({ days })} note="" />
      <div class="spans">
        {spans.map(([from, to], place) => (
          <div key={place} class="side-by-side">
            <label>
              {say.fromHour}
              <input type="time" value={from} onInput={(event) => put(place, event.currentTarget.value, to)} />
            </label>
            <label>
              {say.toHour}
              <input type="time" value={to} onInput={(event) => put(place, from, event.currentTarget.value)} />
            </label>
          </div>
        ))}
        <p class="chips">
          {!fields.hours.some(isWhole) && !fields.days.length && <span class="soft">{say.always}</span>}
          {isWhole(fields.hours.at(-1)) && (
            <button type="button" class="quiet" onClick={() => onChange({ hours: [...fields.hours, "-"] })}>
              {say.anotherSpan}
            </button>
          )}
        </p>
      </div>
    </>
  );
}

const isWhole = (span = "") => spanOf(span).every(Boolean);

function Where({ fields, onChange }: PartProperties) {
  const say = words.value.house.rule;
  const rooms = useLive<RoomsReply>("/api/rooms").data.value?.rooms.map(({ name }) => name) ?? [];
  const { room = [], device = [], ...others } = fields.arguments;
  const put = (name: "room" | "device", values: string[]) =>
    onChange({ arguments: { ...others, ...given("room", room), ...given("device", device), [name]: values } });
  const isKnown = rooms.length > 0 || room.length > 0 || fields.rooms.length > 0;
  return (
    <>
      {isKnown && (
        <>
          <Chips
            title={say.rooms}
            choices={named(rooms, fields.rooms)}
            marked={fields.rooms}
            onChange={(marked) => onChange({ rooms: marked })}
            note={say.anywhere}
          />
          <Chips
            title={say.aboutRooms}
            choices={named(rooms, room)}
            marked={room}
            onChange={(marked) => put("room", marked)}
            note={say.anywhere}
          />
        </>
      )}
      <Parts
        label={say.aboutDevices}
        placeholder={say.aboutExample}
        parts={device}
        onChange={(parts) => put("device", parts)}
      />
    </>
  );
}

const given = (name: string, values: string[]) => (values.length ? { [name]: values } : {});

/** What the form has no choices for, and the whole of it as the file will have it. */
function Text({ id, fields, onChange }: PartProperties & { id: string }) {
  const say = words.value.house.rule;
  const { choices, others } = chosenOf(fields.tools);
  const also = Object.keys(fields.arguments).filter((name) => name !== "room" && name !== "device");
  return (
    <details>
      <summary>{say.text}</summary>
      <div class="fields">
        <Parts
          label={say.tools}
          placeholder={say.toolsExample}
          parts={others}
          onChange={(parts) => onChange({ tools: toolsOf(choices, parts) })}
        />
        <Parts label={say.devices} parts={fields.devices} onChange={(devices) => onChange({ devices })} />
        {also.length > 0 && <p class="soft">{say.alsoWhen(also.join(", "))}</p>}
        <pre tabIndex={0} translate={false}>
          <code>{ruleText(id, fields)}</code>
        </pre>
      </div>
    </details>
  );
}

interface PartsProperties {
  label: string;
  placeholder?: string;
  parts: string[];
  onChange: (parts: string[]) => void;
}

/** Several texts with commas between them: what is typed stays as it is while it is typed. */
function Parts({ label, placeholder, parts, onChange }: PartsProperties) {
  const [typed, setTyped] = useState(parts.join(", "));
  const shown = partsOf(typed).join() === parts.join() ? typed : parts.join(", ");
  return (
    <label>
      {label}
      <input
        value={shown}
        maxLength={1000}
        placeholder={placeholder}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          onChange(partsOf(event.currentTarget.value));
        }}
      />
    </label>
  );
}

/** Without what is empty or half: nothing is a condition that nobody has finished. */
function cleaned(fields: RuleFields): RuleFields {
  const filled = Object.entries(fields.arguments).filter(([, values]) => values.length);
  return { ...fields, hours: fields.hours.filter(isWhole), arguments: Object.fromEntries(filled) };
}

function Previewed({ preview }: { preview: PreviewReply }) {
  const say = words.value.house.rule;
  const verdict = (name: string) => say.verdicts[name as keyof typeof say.verdicts] ?? name;
  return (
    <div class="previewed">
      <p class="name">{preview.changed ? say.changed(preview.changed, preview.calls) : say.nothing(preview.calls)}</p>
      {preview.changed > 0 && (
        <>
          <ul>
            {preview.counts.map(({ before, after, count }) => (
              <li key={`${before} ${after}`}>{say.from(count, verdict(before), verdict(after))}</li>
            ))}
          </ul>
          <ul class="rows changes">
            {preview.changes.slice(0, 8).map((one) => (
              <li key={`${one.at} ${one.tool}`}>
                {deedOf(one.tool, toolWords.value)} · {one.person || one.device} ·{" "}
                <span class="soft">{momentOf(one.at)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {preview.perhaps > 0 && <p class="soft">{say.perhaps(preview.perhaps)}</p>}
      {!preview.whole && <p class="soft">{say.notAll}</p>}
    </div>
  );
}

const partsOf = (text: string) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
