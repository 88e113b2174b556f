/** How often something may be done: the rates of the house, changed in a form like the rules. */

import { useState } from "preact/hooks";
import type { AgentsReply, RateItem, RulesReply } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { agentName } from "../../parts/agent-switch.tsx";
import { useFormResult } from "../../parts/form-result.ts";
import { words } from "../../strings/index.ts";
import { toolWords } from "../../strings/tool-words.ts";
import { ChangeOrRemove, Chips, idOf, named, RowSheet, saveRow } from "./policy-parts.tsx";
import { What } from "./rule-form.tsx";
import { rateSentence, UNITS, unitOf } from "./rule-words.ts";

export interface RateWish {
  rate: RateItem | null; // null is a new one
  removes: boolean;
}

interface RatesProperties extends Pick<RulesReply, "rates"> {
  onWish: (wish: RateWish) => void;
}

export function Rates({ rates, onWish }: RatesProperties) {
  const say = words.value.house.rate;
  return (
    <section aria-labelledby="rates">
      <div class="head">
        <h2 id="rates">{say.title}</h2>
        <button type="button" class="plain" onClick={() => onWish({ rate: null, removes: false })}>
          {say.add}
        </button>
      </div>
      <p class="soft">{say.how}</p>
      {rates.length > 0 ? (
        <ul class="card rows">
          {rates.map((rate) => {
            const sentence = rateSentence(rate, words.value, toolWords.value);
            return (
              <li key={rate.id} class="row">
                <div class="grow">
                  <p class="name">{sentence}</p>
                  {rate.agents.length > 0 && <p class="soft">{rate.agents.map(agentName).join(", ")}</p>}
                </div>
                <ChangeOrRemove what={sentence} onPick={(removes) => onWish({ rate, removes })} />
              </li>
            );
          })}
        </ul>
      ) : (
        <p class="soft">{say.none}</p>
      )}
    </section>
  );
}

const LONGEST_SECONDS = 86_400; // so far back the house counts
const NEW_RATE: RateItem = { id: "", at_most: 10, per_seconds: 3600, agents: [], roles: [], tools: [], risks: [] };

interface RateSheetProperties {
  wish: RateWish;
  policy: RulesReply;
  onClose: (saved: boolean) => void;
}

export function RateSheet({ wish: { rate, removes }, policy, onClose }: RateSheetProperties) {
  const say = words.value.house.rate;
  const { saving, forWhom, anybody } = words.value.house.rule;
  const known = useLive<AgentsReply>("/api/agents").data.value?.agents.map(({ name }) => name) ?? [];
  const [fields, setFields] = useState<RateItem>(rate ?? NEW_RATE);
  const [unit, setUnit] = useState(unitOf(fields.per_seconds));
  const [times, setTimes] = useState(String(fields.at_most));
  const [length, setLength] = useState(String(fields.per_seconds / UNITS[unit]));
  const [result, run] = useFormResult();

  const change = (some: Partial<RateItem>) => setFields({ ...fields, ...some });
  const { id: _id, ...values } = { ...fields, at_most: Number(times), per_seconds: Number(length) * UNITS[unit] };
  const sentence = rateSentence(values, words.value, toolWords.value);
  function save(): void {
    void run(async () => {
      if (values.per_seconds > LONGEST_SECONDS) return { state: "done", ok: false, sentence: say.tooLong };
      const id = rate?.id ?? idOf(sentence, [...policy.rules, ...policy.rates, ...policy.budgets]);
      await saveRow("rates", id, removes ? undefined : values);
      onClose(true);
      return { state: "none" };
    });
  }
  return (
    <RowSheet
      title={say.titles[removes ? "remove" : rate ? "change" : "add"]}
      submit={removes ? say.removeNow : say.save}
      result={result}
      wide
      onSubmit={save}
      onClose={() => onClose(false)}
    >
      <p class="rule-sentence" role="status">
        {sentence}
      </p>
      {removes ? (
        <p>{say.unlimited}</p>
      ) : (
        <>
          <What fields={fields} tools={policy.tools.map(({ tool }) => tool)} onChange={change} />
          <WholeNumber label={say.times} value={times} pattern="[0-9]{1,6}" onChange={setTimes} />
          <div class="side-by-side">
            <WholeNumber label={say.length} value={length} pattern="0*[1-9][0-9]{0,4}" onChange={setLength} />
            <label>
              {say.unit}
              <select value={unit} onChange={(event) => setUnit(event.currentTarget.value as typeof unit)}>
                {Object.entries(say.units).map(([name, text]) => (
                  <option key={name} value={name}>
                    {text}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <Chips
            title={forWhom}
            choices={words.value.house.roles}
            marked={fields.roles}
            onChange={(roles) => change({ roles })}
            note={anybody}
          />
          <Chips
            title={say.through}
            choices={named(known, fields.agents, agentName)}
            marked={fields.agents}
            onChange={(agents) => change({ agents })}
            note={say.everyAgent}
          />
        </>
      )}
      <p class="soft" role="status">
        {result.state === "working" && saving}
      </p>
    </RowSheet>
  );
}

interface WholeNumberProperties {
  label: string;
  value: string;
  pattern: string;
  onChange: (value: string) => void;
}

function WholeNumber({ label, value, pattern, onChange }: WholeNumberProperties) {
  return (
    <label>
      {label}
      <input
        type="text"
        inputMode="numeric"
        value={value}
        maxLength={6}
        pattern={pattern}
        required
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
