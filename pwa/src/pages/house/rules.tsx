/** The rules: what each role may have done, as a table, and why. */

import { useState } from "preact/hooks";
import type { RuleItem, RulesReply } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { words } from "../../strings/index.ts";
import { toolWords } from "../../strings/tool-words.ts";
import { RuleSheet, type RuleWish } from "./rule-form.tsx";
import { deedOf, ruleSentence, ruleText } from "./rule-words.ts";

export function Rules() {
  const live = useLive<RulesReply>("/api/rules");
  const say = words.value.house;
  const [wish, setWish] = useState<RuleWish | null>(null);
  async function close(saved: boolean): Promise<void> {
    setWish(null);
    if (saved) await live.refresh();
  }
  const known = live.data.value;
  return (
    <>
      {/* Outside of what is loaded: while the tools start again by other rules, that shows trouble. */}
      {wish && known && (
        <RuleSheet wish={wish} rules={known.rules} tools={known.tools.map(({ tool }) => tool)} onClose={close} />
      )}
      <Loaded live={live}>
        {({ tools, rules, others_words }) => {
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
                      {tools.map(({ tool, verdicts }) => (
                        <tr key={tool}>
                          <th scope="row">
                            {deedOf(tool, toolWords.value)}
                            <span class="tool-name" translate={false}>
                              {tool}
                            </span>
                          </th>
                          {roles.map((role) => (
                            <td key={role}>{verdict(verdicts[role])}</td>
                          ))}
                        </tr>
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

function verdict(mark: string): string {
  const say = words.value.house;
  const star = mark.endsWith("*") ? "*" : "";
  const plain = mark.replace(/\*$/, "").trim();
  if (plain === "yes") return say.may + star;
  if (plain.startsWith("asks")) return say.asksFirst + star;
  return plain === "–" ? say.mayNot : mark;
}

function OwnRule({ rule, onWish }: { rule: RuleItem; onWish: (wish: RuleWish) => void }) {
  const say = words.value.house.rule;
  return (
    <li class="row">
      <div class="grow">
        <Rule rule={rule} />
      </div>
      <p class="ways">
        <button
          type="button"
          class="quiet"
          aria-label={`${say.change}: ${rule.because}`}
          onClick={() => onWish({ rule, removes: false })}
        >
          {say.change}
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={`${say.remove}: ${rule.because}`}
          onClick={() => onWish({ rule, removes: true })}
        >
          {say.remove}
        </button>
      </p>
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
