/** What a day allows: how much agents may do, changed in a form that tells what the last week would have come to. */

import { useState } from "preact/hooks";
import type { AgentsReply, BudgetItem, RulesReply, UsageDaysReply } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { agentName } from "../../parts/agent-switch.tsx";
import { numberOf } from "../../parts/amounts.ts";
import { useFormResult } from "../../parts/form-result.ts";
import { words } from "../../strings/index.ts";
import { ChangeOrRemove, Chips, idOf, named, RowSheet, saveRow } from "./policy-parts.tsx";
import { fits } from "./tool-groups.ts";

export interface BudgetWish {
  budget: BudgetItem | null; // null is a new one
  removes: boolean;
}

interface BudgetsProperties extends Pick<RulesReply, "budgets" | "costs"> {
  onWish: (wish: BudgetWish) => void;
}

export function Budgets({ budgets, costs, onWish }: BudgetsProperties) {
  const say = words.value.house.budget;
  return (
    <section aria-labelledby="budgets">
      <div class="head">
        <h2 id="budgets">{say.title}</h2>
        <button type="button" class="plain" onClick={() => onWish({ budget: null, removes: false })}>
          {say.add}
        </button>
      </div>
      <p class="soft">{say.how(costs)}</p>
      {budgets.length > 0 ? (
        <ul class="card rows">
          {budgets.map((budget) => (
            <li key={budget.id} class="row">
              <div class="grow">
                <p class="name">{namesOf(budget)}</p>
                <p class="soft">{say.perDay(numberOf(budget.units_per_day))}</p>
              </div>
              <ChangeOrRemove what={namesOf(budget)} onPick={(removes) => onWish({ budget, removes })} />
            </li>
          ))}
        </ul>
      ) : (
        <p class="soft">{say.none}</p>
      )}
    </section>
  );
}

const namesOf = ({ agents }: BudgetItem) => agents.map(agentName).join(", ");

interface BudgetSheetProperties {
  wish: BudgetWish;
  budgets: BudgetItem[];
  onClose: (saved: boolean) => void;
}

export function BudgetSheet({ wish: { budget, removes }, budgets, onClose }: BudgetSheetProperties) {
  const say = words.value.house.budget;
  const { looking, notAll, saving } = words.value.house.rule;
  const known = useLive<AgentsReply>("/api/agents").data.value?.agents.map(({ name }) => name) ?? [];
  const week = useLive<UsageDaysReply>("/api/usage/days", "usage").data.value;
  const [agents, setAgents] = useState(budget?.agents ?? []);
  const [units, setUnits] = useState(budget?.units_per_day ?? 0);
  const [result, run] = useFormResult();
  const isWorking = result.state === "working";

  const days =
    week?.spent.filter(({ agent }) => agents.some((one) => fits(agent, one))).map(({ units }) => units) ?? [];
  const effect = removes ? say.unlimited : units > 0 && say.stops(days.filter((spent) => spent > units).length);
  function save(): void {
    void run(async () => {
      if (!agents.length) return { state: "done", ok: false, sentence: say.nobody };
      const id = budget?.id ?? idOf(`a day of ${agents.join(" ")}`, budgets);
      await saveRow("budgets", id, removes ? undefined : { agents, units_per_day: units });
      onClose(true);
      return { state: "none" };
    });
  }
  return (
    <RowSheet
      title={say.titles[removes ? "remove" : budget ? "change" : "add"]}
      submit={removes ? say.removeNow : say.save}
      result={result}
      onSubmit={save}
      onClose={() => onClose(false)}
    >
      {removes ? (
        budget && <p class="name">{namesOf(budget)}</p>
      ) : (
        <>
          <Chips title={say.whose} choices={named(known, agents, agentName)} marked={agents} onChange={setAgents} />
          <label>
            {say.units}
            <input
              type="text"
              inputMode="numeric"
              value={units || ""}
              maxLength={9}
              pattern="[0-9]*[1-9][0-9]*"
              required
              onInput={(event) => setUnits(Number(event.currentTarget.value.replace(/\D/g, "")))}
            />
          </label>
        </>
      )}
      <div role="status">
        {isWorking ? (
          <p class="soft">{saving}</p>
        ) : week ? (
          agents.length > 0 && (
            <p>
              {say.most(numberOf(Math.max(0, ...days)))} {effect} {!week.whole && notAll}
            </p>
          )
        ) : (
          <p class="soft">{looking}</p>
        )}
      </div>
    </RowSheet>
  );
}
