/** The rules: what each role may have done, as a table, and why; and how much of it in a day. */

import { Fragment } from "preact";
import { useState } from "preact/hooks";
import type { RuleItem, RulesReply, ToolVerdicts } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { words } from "../../strings/index.ts";
import { toolWords } from "../../strings/tool-words.ts";
import { BudgetSheet, Budgets, type BudgetWish } from "./budgets.tsx";
import { ChangeOrRemove } from "./policy-parts.tsx";
import { RateSheet, Rates, type RateWish } from "./rates.tsx";
import { RuleSheet, type RuleWish } from "./rule-form.tsx";
import { deedOf, ruleSentence, ruleText } from "./rule-words.ts";
import { choiceOf, GROUPS, type GroupName } from "./tool-groups.ts";

export function Rules() {
  const live = useLive<RulesReply>("/api/rules");
  const say = words.value.house;
  const [wish, setWish] = useState<RuleWish | null>(null);
  const [rateWish, setRateWish] = useState<RateWish | null>(null);
  const [budgetWish, setBudgetWish] = useState<BudgetWish | null>(null);
  async function close(saved: boolean): Promise<void> {
    setWish(null);
    setRateWish(null);
    setBudgetWish(null);
    if (saved) await live.refresh();
  }
  const known = live.data.value;
  return (
    <>
      {/* Outside of what is loaded: while the tools start again by other rules, that shows trouble. */}
      {wish && known && (
        <RuleSheet wish={wish} rules={known.rules} tools={known.tools.map(({ tool }) => tool)} onClose={close} />
      )}
      {rateWish && known && <RateSheet wish={rateWish} policy={known} onClose={close} />}
      {budgetWish && known && <BudgetSheet wish={budgetWish} budgets={known.budgets} onClose={close} />}
      <Loaded live={live}>
        {({ tools, rules, others_words, rates, budgets, costs }) => {
          const roles = Object.keys(tools[0]?.verdicts ?? {});
          return (
            <>
              <section aria-labelledby="own">
                <div class="head">
                  <h2 id="own">{say.rule.ours}</h2>
                  <button type="button" class="plain" onClick={() => setWish({ rule: null, removes: false })}>
                    {say.rule.add}
                  </button>
                </div>
                <p class="soft">{say.rule.how}</p>
                {rules.some(({ editable }) => editable) ? (
                  <ul class="card rows">
                    {rules
                      .filter(({ editable }) => editable)
                      .map((rule) => (
                        <OwnRule key={rule.id} rule={rule} onWish={setWish} />
                      ))}
                  </ul>
                ) : (
                  <p class="soft">{say.rule.none}</p>
                )}
              </section>
              <Rates rates={rates} onWish={setRateWish} />
              <Budgets budgets={budgets} costs={costs} onWish={setBudgetWish} />
              <section aria-labelledby="may">
                <h2 id="may">{say.whoMay}</h2>
                <section class="card table" aria-label={say.tabs.rules} tabIndex={0}>
                  <table>
                    <thead>
                      <tr>
                        <th scope="col">{say.tool}</th>
                        {roles.map((role) => (
                          <th key={role} scope="col">
                            {say.roles[role as keyof typeof say.roles] ?? role}
                          </th>
                        ))}
                      </tr>
                    </thead>
                    <tbody>
                      {groupsOf(tools).map(({ group, rows }) => (
                        <Fragment key={group}>
                          <tr class="group-row">
                            <th scope="rowgroup" colSpan={roles.length + 1}>
                              {group ? toolWords.value.groups[group] : say.otherTools}
                            </th>
                          </tr>
                          {rows.map(({ names, verdicts }) => (
                            <tr key={names[0]}>
                              <th scope="row">
                                {deedOf(names[0], toolWords.value)}
                                <span class="tool-name" translate={false}>
                                  {names.join(", ")}
                                </span>
                              </th>
                              {roles.map((role) => (
                                <td key={role}>{verdict(verdicts[role])}</td>
                              ))}
                            </tr>
                          ))}
                        </Fragment>
                      ))}
                    </tbody>
                  </table>
                </section>
                <p class="soft">{others_words}</p>
              </section>
              <section aria-labelledby="why">
                <h2 id="why">{say.why}</h2>
                <ul class="card rows">
                  {rules
                    .filter(({ editable }) => !editable)
                    .map((rule) => (
                      <li key={rule.id} class="row column-row">
                        <Rule rule={rule} />
                      </li>
                    ))}
                </ul>
                <p class="soft">{say.rulesHow}</p>
              </section>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

interface ToolRow {
  names: string[];
  verdicts: Record<string, string>;
}

/** The tools by their groups; those that are one choice, and the same to everybody, in one row. */
function groupsOf(tools: ToolVerdicts[]): { group: GroupName | ""; rows: ToolRow[] }[] {
  return ([...Object.keys(GROUPS), ""] as (GroupName | "")[])
    .map((group) => {
      const rows = new Map<string, ToolRow>();
      for (const { tool, verdicts } of tools) {
        const choice = choiceOf(tool);
        if ((choice?.group ?? "") !== group) continue;
        const key = `${choice?.name ?? tool} ${JSON.stringify(verdicts)}`;
        rows.set(key, { names: [...(rows.get(key)?.names ?? []), tool], verdicts });
      }
      return { group, rows: [...rows.values()] };
    })
    .filter(({ rows }) => rows.length);
}

function verdict(mark: string): string {
  const say = words.value.house;
  const star = mark.endsWith("*") ? "*" : "";
  const plain = mark.replace(/\*$/, "").trim();
  if (plain === "yes") return say.may + star;
  if (plain.startsWith("asks")) return say.asksFirst + star;
  return plain === "–" ? say.mayNot : mark;
}

function OwnRule({ rule, onWish }: { rule: RuleItem; onWish: (wish: RuleWish) => void }) {
  return (
    <li class="row">
      <div class="grow">
        <Rule rule={rule} />
      </div>
      <ChangeOrRemove what={rule.because} onPick={(removes) => onWish({ rule, removes })} />
    </li>
  );
}

function Rule({ rule }: { rule: RuleItem }) {
  const say = words.value.house.rule;
  return (
    <>
      <p class="name">{ruleSentence(rule, words.value, toolWords.value)}</p>
      {rule.because && <p class="soft">{say.says(rule.because)}</p>}
      {rule.editable && (
        <details>
          <summary>{say.text}</summary>
          <pre tabIndex={0} translate={false}>
            <code>{ruleText(rule.id, rule)}</code>
          </pre>
        </details>
      )}
    </>
  );
}
