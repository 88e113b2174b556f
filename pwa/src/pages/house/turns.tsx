/** Turns: where the time of an answer went, one by one and over days. */

import type { TurnDaysReply, TurnItem, TurnsReply } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { dayOf, momentOf } from "../../parts/when.ts";
import { words } from "../../strings/index.ts";

// From the end of the words to the first sound, as the house's clock has it: each stage ends at its mark.
const STAGES = [
  ["wait", "vad_ms"],
  ["hear", "words_at_ms"],
  ["know", "voice_at_ms"],
  ["think", "first_text_at_ms"],
  ["speak", "first_sound_at_ms"],
] as const;

type StageName = (typeof STAGES)[number][0];

export function Turns() {
  return (
    <>
      <Days />
      <Latest />
    </>
  );
}

interface Part {
  name: StageName;
  ms: number;
}

function partsOf(timings: Record<string, number>): Part[] {
  let until = 0;
  const parts: Part[] = [];
  for (const [name, mark] of STAGES) {
    const at = timings[mark];
    if (at === undefined || at < until || (name === "wait" && !at)) continue;
    parts.push({ name, ms: at - until });
    until = at;
  }
  return parts;
}

function spell(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toLocaleString(words.value.language, { maximumFractionDigits: 1 })} s`;
}

function Latest() {
  const live = useLive<TurnsReply>("/api/turns?limit=30");
  const say = words.value.house;
  return (
    <section aria-labelledby="latest">
      <h2 id="latest">{say.latest}</h2>
      <Loaded live={live}>
        {({ turns }) =>
          turns.length ? (
            <ol class="card rows">
              {turns.map((turn) => (
                <Turn key={turn.id} turn={turn} />
              ))}
            </ol>
          ) : (
            <p class="soft">{say.noTurns}</p>
          )
        }
      </Loaded>
    </section>
  );
}

function Turn({ turn }: { turn: TurnItem }) {
  const say = words.value.house;
  const parts = partsOf(turn.timings);
  const whole = parts.reduce((sum, { ms }) => sum + ms, 0);
  return (
    <li class="row column-row turn">
      <p>
        <span class="name">{momentOf(turn.began)}</span>
        <span class="soft">
          {" "}
          {turn.agent} · {turn.path === "command" ? say.byCommand : say.byModel} · {turn.device}
          {turn.end !== "done" && ` · ${say.ends[turn.end as keyof typeof say.ends] ?? turn.end}`}
        </span>
      </p>
      {parts.length > 0 && (
        <>
          <div class="waterfall" aria-hidden="true">
            {parts.map(({ name, ms }) => (
              <span key={name} data-stage={name} style={{ flexGrow: Math.max(1, ms) }} />
            ))}
          </div>
          <p class="soft legend">
            {parts.map(({ name, ms }) => (
              <span key={name} data-stage={name}>
                {say.stages[name]} {spell(ms)}
              </span>
            ))}
            <b>{say.inAll(spell(whole))}</b>
          </p>
        </>
      )}
      <details>
        <summary>{words.value.talk.details}</summary>
        <p>{turn.reason}</p>
        <dl class="facts">
          {Object.entries(turn.timings).map(([name, ms]) => (
            <div key={name}>
              <dt>{say.timings[name] ?? name.replace(/_ms$/, "").replaceAll("_", " ")}</dt>
              <dd>{spell(ms)}</dd>
            </div>
          ))}
          {turn.prompt_tokens > 0 && (
            <div>
              <dt>{say.tokens}</dt>
              <dd>{say.tokensOf(turn.prompt_tokens, turn.cached_tokens, turn.completion_tokens)}</dd>
            </div>
          )}
        </dl>
      </details>
    </li>
  );
}

function Days() {
  const live = useLive<TurnDaysReply>("/api/turns/percentiles?days=14");
  const say = words.value.house;
  return (
    <section aria-labelledby="days">
      <h2 id="days">{say.days14}</h2>
      <Loaded live={live}>
        {({ days }) => {
          const first = (day: (typeof days)[number]) => day.stages.find(({ stage }) => stage === "first_sound_at_ms");
          const longest = Math.max(1, ...days.map((day) => first(day)?.p95 ?? 0));
          return days.length ? (
            <section class="card table days" aria-label={say.firstSound} tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">{say.day}</th>
                    <th scope="col">{say.firstSound}</th>
                    <th scope="col">{say.answers}</th>
                    <th scope="col">{say.failed}</th>
                  </tr>
                </thead>
                <tbody>
                  {days.map((day) => {
                    const sound = first(day);
                    return (
                      <tr key={day.day}>
                        <th scope="row">{dayOf(new Date(`${day.day}T00:00`))}</th>
                        <td>
                          {sound ? (
                            <>
                              <span
                                class="range"
                                aria-hidden="true"
                                style={{ "--to": `${(100 * sound.p95) / longest}%` }}
                              >
                                <span style={{ width: `${(100 * sound.p50) / longest}%` }} />
                              </span>
                              {say.percentiles(spell(sound.p50), spell(sound.p95))}
                            </>
                          ) : (
                            "–"
                          )}
                        </td>
                        <td>{day.turns}</td>
                        <td>{day.failed}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </section>
          ) : (
            <p class="soft">{say.noTurns}</p>
          );
        }}
      </Loaded>
    </section>
  );
}
