/** A rule of the house as a form: what it would have done to the last week is seen before it is saved. */

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { PreviewReply, RuleItem, RuleSaved, RuleValues } from "../../api.ts";
import { HouseTrouble, request, sentenceOf } from "../../house/api.ts";
import { tell } from "../../house/deeds.ts";
import { TextField } from "../../parts/fields.tsx";
import { Sheet } from "../../parts/sheet.tsx";
import { momentOf } from "../../parts/when.ts";
import { words } from "../../strings/index.ts";

export interface RuleWish {
  rule: RuleItem | null; // null is a new one
  removes: boolean;
}

interface RuleSheetProperties {
  wish: RuleWish;
  rules: RuleItem[];
  tools: string[];
  onClose: (saved: boolean) => void;
}

type Result =
  | { state: "none" }
  | { state: "working"; sentence: string }
  | { state: "previewed"; of: string; preview: PreviewReply }
  | { state: "refused"; sentence: string };

export function RuleSheet({ wish: { rule, removes }, rules, tools, onClose }: RuleSheetProperties) {
  const say = words.value.house.rule;
  const because = useSignal(rule?.because ?? "");
  const toolText = useSignal(rule?.tools.join(", ") ?? "");
  const people = useSignal(rule?.people.join(", ") ?? "");
  const rooms = useSignal(rule?.rooms.join(", ") ?? "");
  const devices = useSignal(rule?.devices.join(", ") ?? "");
  const hours = useSignal(rule?.hours.join(", ") ?? "");
  const [then, setThen] = useState<RuleValues["then"]>(rule?.then ?? "confirm");
  const [roles, setRoles] = useState<string[]>(rule?.roles ?? []);
  const [risks, setRisks] = useState<string[]>(rule?.risks ?? []);
  const [days, setDays] = useState<string[]>(rule?.days ?? []);
  const [result, setResult] = useState<Result>({ state: "none" });

  const id = rule?.id ?? idOf(because.value, rules);
  const values = removes
    ? null
    : ({
        then,
        because: because.value.trim(),
        agents: rule?.agents ?? [],
        roles,
        people: partsOf(people.value),
        rooms: partsOf(rooms.value),
        devices: partsOf(devices.value),
        tools: partsOf(toolText.value),
        risks,
        arguments: rule?.arguments ?? {},
        hours: partsOf(hours.value),
        days,
      } as RuleValues);
  const present = JSON.stringify({ id, values });
  const isPreviewed = result.state === "previewed" && result.of === present;
  const isWorking = result.state === "working";

  async function doing(sentence: string, work: () => Promise<void>): Promise<void> {
    if (isWorking) return;
    setResult({ state: "working", sentence });
    try {
      await work();
    } catch (trouble) {
      if (!(trouble instanceof HouseTrouble)) throw trouble;
      setResult({ state: "refused", sentence: sentenceOf(trouble) });
    }
  }
  async function preview(): Promise<void> {
    const reply = await request<PreviewReply>("/api/rules/preview", { id, values });
    setResult({ state: "previewed", of: present, preview: reply });
  }
  async function save(): Promise<void> {
    const saved = await request<RuleSaved>(`/api/rules/${id}`, values ?? undefined, values ? "PUT" : "DELETE");
    const { settings } = words.value;
    tell(saved.by_hand.length ? settings.byHand(saved.by_hand.join(", ")) : settings.saved);
    onClose(true);
  }
  const alsoWhen = Object.keys(rule?.arguments ?? {}).join(", ");
  return (
    <Sheet title={say.titles[removes ? "remove" : rule ? "change" : "add"]} onClose={() => onClose(false)}>
      <form
        class="fields rule-form"
        onSubmit={(event) => {
          event.preventDefault();
          void (isPreviewed ? doing(say.saving, save) : doing(say.looking, preview));
        }}
      >
        {removes ? (
          <p class="name">{rule?.because}</p>
        ) : (
          <>
            <TextField label={say.because} value={because} maxLength={300} placeholder={say.becauseExample} required />
            <label>
              {say.what}
              <select value={then} onChange={(event) => setThen(event.currentTarget.value as RuleValues["then"])}>
                {Object.entries(say.happens).map(([name, text]) => (
                  <option key={name} value={name}>
                    {text}
                  </option>
                ))}
              </select>
            </label>
            <Marks title={say.forWhat} choices={say.risks} marked={risks} onChange={setRisks} />
            <TextField
              label={say.tools}
              value={toolText}
              maxLength={1000}
              placeholder={say.toolsExample}
              list="tools-here"
            />
            <datalist id="tools-here">
              {tools.map((tool) => (
                <option key={tool} value={tool} />
              ))}
            </datalist>
            <Marks title={say.forWhom} choices={words.value.house.roles} marked={roles} onChange={setRoles} />
            <TextField label={say.people} value={people} maxLength={1000} />
            <Marks title={say.when} choices={say.days} marked={days} onChange={setDays} />
            <TextField label={say.hours} value={hours} maxLength={200} />
            <TextField label={say.rooms} value={rooms} maxLength={1000} />
            <TextField label={say.devices} value={devices} maxLength={1000} />
            {alsoWhen && <p class="soft">{say.alsoWhen(alsoWhen)}</p>}
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

interface MarksProperties {
  title: string;
  choices: Record<string, string>;
  marked: string[];
  onChange: (marked: string[]) => void;
}

function Marks({ title, choices, marked, onChange }: MarksProperties) {
  return (
    <fieldset class="marks">
      <legend>{title}</legend>
      {Object.entries(choices).map(([name, text]) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={marked.includes(name)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...marked, name] : marked.filter((one) => one !== name))
            }
          />
          <span>{text}</span>
        </label>
      ))}
      <p class="soft">{words.value.house.rule.anybody}</p>
    </fieldset>
  );
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
                {one.tool} · {one.person || one.device} · <span class="soft">{momentOf(one.at)}</span>
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

/** A name for a new rule, of its sentence: small letters, digits and hyphens, and like no other. */
function idOf(sentence: string, rules: RuleItem[]): string {
  const plain = sentence
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  const base =
    plain
      .replace(/^-+|-+$/g, "")
      .slice(0, 40)
      .replace(/-+$/, "") || "rule";
  const taken = new Set(rules.map(({ id }) => id));
  for (let number = 1; ; number++) {
    const id = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(id)) return id;
  }
}
