/** The rules: what each role may have done, as a table, and why. */

import type { RuleItem, RulesReply } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { words } from "../../strings/index.ts";

export function Rules() {
  const live = useLive<RulesReply>("/api/rules");
  const say = words.value.house;
  return (
    <Loaded live={live}>
      {({ tools, rules, others_words }) => {
        const roles = Object.keys(tools[0]?.verdicts ?? {});
        return (
          <>
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
                        <th scope="row">{tool}</th>
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
                {rules.map((rule) => (
                  <Rule key={rule.id} rule={rule} />
                ))}
              </ul>
              <p class="soft">{say.rulesHow}</p>
            </section>
          </>
        );
      }}
    </Loaded>
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

function Rule({ rule }: { rule: RuleItem }) {
  const say = words.value.house;
  const whom = [...rule.roles, ...rule.agents, ...rule.tools, ...rule.risks].join(", ");
  return (
    <li class="row column-row">
      <p class="name">{rule.because || rule.id}</p>
      <p class="soft">
        {rule.then === "deny" ? say.mayNot : say.asksFirst}
        {whom && ` · ${whom}`}
        {rule.when && ` · ${rule.when}`}
      </p>
    </li>
  );
}
