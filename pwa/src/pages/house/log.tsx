/** The house's own log, as it is written: the newest line last. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { LogLineItem, LogReply } from "../../api.ts";
import { HouseTrouble, request, sentenceOf } from "../../house/api.ts";
import { useFollow } from "../../parts/follow.ts";
import { Icon } from "../../parts/icon.tsx";
import { secondOf } from "../../parts/when.ts";
import { words } from "../../strings/index.ts";

const AGAIN_MS = 2_000;
const MOST_LINES = 1_000; // of this start of the house and of those before
const MOST_SHOWN = 300; // a phone draws no more at once without a pause
const LEVELS = ["info", "warning", "error"] as const;

interface KnownLine extends LogLineItem {
  began: number; // the start of the house that its number belongs to
}

interface LiveLog {
  lines: KnownLine[] | null; // null before the first answer
  trouble: HouseTrouble | null;
}

/** Ask for what came after the last line, while the page is seen. */
function useLog(paused: boolean): LiveLog {
  const [log, setLog] = useState<LiveLog>({ lines: null, trouble: null });
  const known = useRef<KnownLine[]>([]);
  const start = useRef(0);
  useEffect(() => {
    if (paused) return;
    let timer = 0;
    let over = false;
    async function ask(after: number): Promise<void> {
      const reply = await request<LogReply>(`/api/log?after=${after}`);
      if (over) return;
      if (reply.began !== start.current) {
        start.current = reply.began;
        if (after) return ask(0); // another start of the house: its numbers began anew
      }
      const lines = reply.lines.map((line) => ({ ...line, began: reply.began }));
      known.current = [...(after ? known.current : []), ...lines].slice(-MOST_LINES);
      setLog((before) => (before.lines && !before.trouble && !lines.length ? before : show(null)));
    }
    const show = (trouble: HouseTrouble | null): LiveLog => ({
      lines: trouble && !start.current ? null : known.current,
      trouble,
    });
    async function look(): Promise<void> {
      const last = known.current.at(-1);
      try {
        if (!document.hidden) await ask(last && last.began === start.current ? last.number : 0);
      } catch (trouble) {
        if (!(trouble instanceof HouseTrouble)) throw trouble;
        if (!over) setLog(show(trouble));
      }
      if (!over) timer = setTimeout(look, AGAIN_MS);
    }
    void look();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [paused]);
  return log;
}

export function Log() {
  const say = words.value.house.log;
  const [paused, setPaused] = useState(false);
  const [part, setPart] = useState("");
  const [level, setLevel] = useState(0);
  const [search, setSearch] = useState("");
  const { lines, trouble } = useLog(paused);
  const wanted = search.trim().toLowerCase();
  const fitting = (lines ?? []).filter(
    (line) =>
      (!part || line.part === part) &&
      LEVELS.indexOf(line.level) >= level &&
      (!wanted || line.text.toLowerCase().includes(wanted)),
  );
  const parts = [...new Set([...(lines ?? []).map((line) => line.part), ...(part ? [part] : [])])].sort();
  return (
    <section aria-labelledby="log">
      <h2 id="log">{say.title}</h2>
      <p class="soft">
        {say.how} <code translate={false}>{say.command}</code>
      </p>
      <div class="add">
        <label>
          <span class="unseen">{say.part}</span>
          <select value={part} onChange={(event) => setPart(event.currentTarget.value)}>
            <option value="">{say.everyPart}</option>
            {parts.map((name) => (
              <option key={name} value={name}>
                {partOf(name)}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="unseen">{say.level}</span>
          <select value={level} onChange={(event) => setLevel(Number(event.currentTarget.value))}>
            {LEVELS.map((name, at) => (
              <option key={name} value={at}>
                {say.levels[name]}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="unseen">{say.search}</span>
          <input
            type="search"
            placeholder={say.search}
            maxLength={100}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        <button type="button" class="plain" onClick={() => setPaused(!paused)}>
          {paused ? say.goOn : say.pause}
        </button>
      </div>
      {lines && <Count count={fitting.length} filter={`${part} ${level} ${wanted}`} paused={paused} />}
      {trouble && <Trouble trouble={trouble} hasLines={lines !== null} />}
      {!lines && !trouble && <p class="loading">{words.value.shell.asking}</p>}
      {lines && <Lines lines={fitting.slice(-MOST_SHOWN)} isAll={lines.length === fitting.length} />}
    </section>
  );
}

/** How many lines fit: seen at all times, and read out when a person, not the house, has changed it. */
function Count({ count, filter, paused }: { count: number; filter: string; paused: boolean }) {
  const say = words.value.house.log;
  const [announced, setAnnounced] = useState("");
  const isFirst = useRef(true);
  const text = count > MOST_SHOWN ? say.newest(MOST_SHOWN, count) : say.lines(count);
  const whole = paused ? `${text} · ${say.paused}` : text;
  useEffect(() => {
    if (!isFirst.current) setAnnounced(whole);
    isFirst.current = false;
  }, [filter, paused]);
  return (
    <>
      <p class="soft">{whole}</p>
      <p class="unseen" role="status">
        {announced}
      </p>
    </>
  );
}

function Trouble({ trouble, hasLines }: { trouble: HouseTrouble; hasLines: boolean }) {
  const isGone = trouble.status === 0 && hasLines;
  return (
    <div class="outcome-line" role="alert">
      <Icon name="away" size={20} />
      <p>{isGone ? words.value.house.log.gone : sentenceOf(trouble)}</p>
    </div>
  );
}

function Lines({ lines, isAll }: { lines: KnownLine[]; isAll: boolean }) {
  const say = words.value.house.log;
  const box = useRef<HTMLDivElement>(null);
  useFollow(box, lines.length === 0);
  if (!lines.length) return <p class="soft">{isAll ? say.none : say.noneFits}</p>;
  return (
    <div ref={box} class="card house-log" role="log" aria-label={say.title} aria-live="off" tabIndex={0}>
      <ol>
        {lines.map(({ began, number, at, part, level, text }) => (
          <li key={`${began} ${number}`} data-level={level}>
            <p class="soft">
              {level !== "info" && <strong>{say.marks[level]}</strong>} {secondOf(at)} · {partOf(part)}
            </p>
            <p class="text" lang="en" dir="ltr" translate={false}>
              {text}
            </p>
          </li>
        ))}
      </ol>
    </div>
  );
}

function partOf(name: string): string {
  const say = words.value.house;
  const known: Partial<Record<string, string>> = say.log.parts;
  return known[name] ?? (name.startsWith("llm-") ? say.modelOf(name.slice("llm-".length)) : name);
}
