/** One entry of the conversation: who, the words, and what was done, with its undo. */

import { undo } from "../house/deeds.ts";
import { story } from "../house/house.ts";
import { capital } from "../parts/capital.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { words } from "../strings/index.ts";
import type { Deed, Entry } from "./story.ts";

const ICONS: Record<string, IconName> = {
  timers: "timer",
  alarms: "alarm",
  reminders: "bell",
  home: "home",
  lists: "lists",
  tasks: "board",
  notes: "notes",
  calendar: "calendar",
  weather: "weather",
  messages: "messages",
  broadcast: "sound",
  email: "messages",
  facts: "notes",
  files: "notes",
  history: "past",
  later: "alarm",
};

export function EntryView({ entry }: { entry: Entry }) {
  const say = words.value.talk;
  const state = entry.state.value;
  const text = entry.text.value;
  const waiting = state === "waiting" && !text && !entry.deeds.value.length;
  return (
    <li class={`entry ${entry.who}`} data-entry={state} aria-busy={state === "waiting"}>
      <p class="unseen">{entry.who === "person" ? say.you : say.house}</p>
      {waiting && (
        <p class="words pending">
          <span class="dots" aria-hidden="true" />
          <span class="unseen">{entry.who === "person" ? say.hint.listening : say.hint.thinking}</span>
        </p>
      )}
      {text && <p class="words">{text}</p>}
      {entry.deeds.value.map((deed) => (
        <DeedCard key={deed.call} deed={deed} answer={text} />
      ))}
      {state === "cut" && <p class="ending">{say.cut}</p>}
      {state === "failed" && <p class="ending">{say.failed}</p>}
    </li>
  );
}

/** What was done, where the answer has not said it in the same words. */
export function DeedCard({ deed, answer }: { deed: Deed; answer: string }) {
  const say = words.value.talk;
  const family = deed.tool.split(".")[0];
  const repeats = answer.toLocaleLowerCase().includes(deed.sentence.toLocaleLowerCase().replace(/[.!?]$/, ""));
  if (repeats && !deed.receipt && deed.state !== "running") return null;
  const sentence = deed.sentence || say.deed.running;
  return (
    <div class="deed" data-deed={deed.state}>
      <Icon name={ICONS[family] ?? "tool"} size={22} />
      <div>
        <p class="kind">{deed.state === "done" ? (say.kinds[family] ?? say.kinds.other) : say.deed[deed.state]}</p>
        {!repeats && <p class="sentence">{capital(sentence)}</p>}
      </div>
      {deed.receipt && <Undo deed={deed} />}
      {deed.state !== "running" && <Call deed={deed} />}
    </div>
  );
}

/** What was called, with what, and what came of it: for who wants to know, folded away. */
function Call({ deed }: { deed: Deed }) {
  const say = words.value.talk;
  const given = Object.entries(deed.arguments).filter(([, value]) => value !== null && value !== "");
  return (
    <details class="call">
      <summary aria-label={say.details} title={say.details}>
        <Icon name="next" size={18} />
      </summary>
      <dl class="facts">
        <div>
          <dt>{say.called}</dt>
          <dd translate={false}>{deed.tool}</dd>
        </div>
        {given.map(([name, value]) => (
          <div key={name} translate={false}>
            <dt>{name}</dt>
            <dd>{typeof value === "object" ? JSON.stringify(value) : String(value)}</dd>
          </div>
        ))}
        {deed.sentence && (
          <div>
            <dt>{say.result}</dt>
            <dd>{deed.sentence}</dd>
          </div>
        )}
      </dl>
    </details>
  );
}

function Undo({ deed }: { deed: Deed }) {
  const say = words.value.talk;
  if (deed.undone) return <p class="soft">{say.undone}</p>;
  return (
    <button type="button" class="quiet" onClick={async () => (await undo(deed.receipt)) && story.undone(deed.receipt)}>
      <Icon name="undo" size={18} />
      {say.undo}
    </button>
  );
}
