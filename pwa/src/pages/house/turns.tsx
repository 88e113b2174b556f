/** Turns: where the time of an answer went, one by one and over days. */

import { useState } from "preact/hooks";
import type { HeardMargin, TurnDay, TurnDaysReply, TurnItem, TurnsReply } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { addDays, isoDay } from "../../parts/days.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { dayOf, momentOf } from "../../parts/when.ts";
import { words } from "../../strings/index.ts";
import { marginOf } from "../heard.tsx";

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
        <Bars timings={turn.timings} />
        <dl class="facts">
          {turn.heard && (
            <div>
              <dt>{say.heard}</dt>
              <dd>{heardOf(turn.heard)}</dd>
            </div>
          )}
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

/** How surely it was heard, in a sentence; the words themselves stand with what was said, for those who said them. */
function heardOf({ doubtful, rivals, questions, margin }: HeardMargin): string {
  const say = words.value.house;
  const apart = [say.rivals(rivals), marginOf(margin)].filter(Boolean).join(", ");
  return [apart, questions ? say.askedAbout(questions) : "", doubtful ? words.value.heard.doubtful : ""]
    .filter(Boolean)
    .join(" · ");
}

interface Bar {
  name: string;
  from: number;
  ms: number; // 0 for a mark
}

/** What a turn's timings say, as bars on one clock, the earliest first: stages with a length, marks without one. */
function barsOf(timings: Record<string, number>): Bar[] {
  const bars = Object.entries(timings).flatMap(([name, ms]): Bar[] => {
    if (name.endsWith("_began_at_ms")) return [];
    if (name.endsWith("_at_ms")) return [{ name, from: ms, ms: 0 }];
    const stage = name.replace(/_ms$/, "");
    // The pause begins with the clock; words are there where recognising ends, and were begun before the pause was over.
    const ended = stage === "stt" ? timings.words_at_ms : undefined;
    const from = timings[`${stage}_began_at_ms`] ?? (ended === undefined ? 0 : Math.max(0, ended - ms));
    return [{ name, from, ms }];
  });
  return bars.sort((one, other) => one.from - other.from || other.ms - one.ms);
}

/** The waterfall of one turn: when each part of it began, and how long it took. */
function Bars({ timings }: { timings: Record<string, number> }) {
  const say = words.value.house;
  const bars = barsOf(timings);
  const whole = Math.max(1, ...bars.map(({ from, ms }) => from + ms));
  const percent = (ms: number) => `${((100 * ms) / whole).toFixed(2)}%`;
  return (
    <ol class="bars">
      {bars.map(({ name, from, ms }) => (
        <li key={name}>
          <span class="soft">{say.timings[name] ?? name.replace(/_ms$/, "").replaceAll("_", " ")}</span>
          <span class="bar" aria-hidden="true">
            <span data-mark={ms === 0} style={{ insetInlineStart: percent(from), width: percent(ms) }} />
          </span>
          <span>{spell(ms || from)}</span>
        </li>
      ))}
    </ol>
  );
}

const COUNTED_DAYS = 14;
const STAGE_CHOICES = ["first_sound_at_ms", "words_at_ms", "stt_ms", "llm_ms", "tool_ms", "tts_ms", "whole"] as const;

/** How long a stage took on each of the last days: half of the answers, and 95 of a hundred. */
function Days() {
  const live = useLive<TurnDaysReply>(`/api/turns/percentiles?days=${COUNTED_DAYS}`);
  const say = words.value.house;
  const [stage, setStage] = useState<string>(STAGE_CHOICES[0]);
  return (
    <section aria-labelledby="days">
      <h2 id="days">{say.days14}</h2>
      <Loaded live={live}>
        {({ days }) => {
          const measured = STAGE_CHOICES.filter((name) => days.some((day) => stageOf(day, name)));
          if (!days.length) return <p class="soft">{say.noTurns}</p>;
          return (
            <>
              <label class="stage-choice">
                <span class="soft">{say.stage}</span>
                <select value={stage} onChange={(event) => setStage(event.currentTarget.value)}>
                  {measured.map((name) => (
                    <option key={name} value={name}>
                      {say.dayStages[name]}
                    </option>
                  ))}
                </select>
              </label>
              <Percentiles days={days} stage={stage} />
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

const stageOf = (day: TurnDay, name: string) => day.stages.find(({ stage }) => stage === name);

function Percentiles({ days, stage }: { days: TurnDay[]; stage: string }) {
  const say = words.value.house;
  const longest = Math.max(1, ...days.map((day) => stageOf(day, stage)?.p95 ?? 0));
  const height = (ms: number) => `${((100 * ms) / longest).toFixed(1)}%`;
  const dates = Array.from({ length: COUNTED_DAYS }, (_, ago) => addDays(new Date(), ago + 1 - COUNTED_DAYS));
  return (
    <div class="card padded">
      <p class="soft legend">
        <span data-share="half">{say.half}</span>
        <span data-share="most">{say.most}</span>
        <b>{say.upTo(spell(longest))}</b>
      </p>
      <ol class="day-bars" aria-hidden="true">
        {dates.map((at) => {
          const took = days.filter(({ day }) => day === isoDay(at)).map((day) => stageOf(day, stage))[0];
          return (
            <li key={isoDay(at)} title={took && `${dayOf(at)}: ${say.percentiles(spell(took.p50), spell(took.p95))}`}>
              <span class="day-bar">
                {took && <span data-share="most" style={{ height: height(took.p95) }} />}
                {took && <span data-share="half" style={{ height: height(took.p50) }} />}
              </span>
              <span class="soft">{at.getDate()}</span>
            </li>
          );
        })}
      </ol>
      <details>
        <summary>{say.everyDay}</summary>
        <ul class="rows">
          {days.map((day) => {
            const took = stageOf(day, stage);
            return (
              <li key={day.day} class="row column-row">
                <p class="name">{dayOf(new Date(`${day.day}T00:00`))}</p>
                <p class="soft">
                  {took ? say.percentiles(spell(took.p50), spell(took.p95)) : "–"} ·{" "}
                  {say.ofTurns(day.turns, day.failed)}
                </p>
              </li>
            );
          })}
        </ul>
      </details>
    </div>
  );
}
