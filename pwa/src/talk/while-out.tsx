/** While you were out: what came meanwhile and still waits, with a way to each, until it is dismissed. */

import { useEffect, useState } from "preact/hooks";
import type { MissedItem } from "../api.ts";
import { account } from "../house/account.ts";
import { onChange } from "../house/events.ts";
import { fetchMissed, rememberSeen, seen } from "../house/missed.ts";
import { stillSeen, unseenOf } from "../house/unseen.ts";
import { Icon } from "../parts/icon.tsx";
import { momentOf } from "../parts/when.ts";
import { hrefOf } from "../route.ts";
import { words } from "../strings/index.ts";

const KINDS = ["voice-messages", "asks", "reminders", "timers", "alarms", "everything"];

const ICONS = {
  ask: "shield",
  reminder: "bell",
  lateReminder: "bell",
  timer: "timer",
  lateTimer: "timer",
  alarm: "alarm",
  silentAlarm: "alarm",
  announcement: "sound",
} as const;

export function WhileOut() {
  const say = words.value.away;
  const [waiting, setWaiting] = useState<MissedItem[]>([]);
  useEffect(() => {
    let over = false;
    const look = async (returned: boolean): Promise<void> => {
      const missed = await fetchMissed();
      if (over || !missed) return;
      rememberSeen(stillSeen(missed, seen()));
      const unseen = unseenOf(missed, seen());
      // What comes while somebody looks is told in its own way; here it only goes away once it waits no more.
      // A message is for one person and played to nobody else, so it is told here at once.
      setWaiting((before) =>
        returned ? unseen : unseen.filter(({ id, kind }) => kind === "message" || before.some((one) => one.id === id)),
      );
    };
    const returned = () => document.hidden || void look(true);
    returned();
    document.addEventListener("visibilitychange", returned);
    const end = onChange((kind) => KINDS.includes(kind) && void look(false));
    return () => {
      over = true;
      document.removeEventListener("visibilitychange", returned);
      end();
    };
  }, [account.value]);
  if (!waiting.length) return null;
  const messages = waiting.filter(({ kind }) => kind === "message").length;
  function dismiss(): void {
    rememberSeen([...seen(), ...waiting.map(({ id }) => id)]);
    setWaiting([]);
  }
  return (
    <section class="card while-out" aria-labelledby="while-out">
      <h2 id="while-out">{say.title}</h2>
      <ul>
        {messages > 0 && (
          <li>
            <Icon name="messages" size={20} />
            <a href={hrefOf("messages")}>{say.messages(messages)}</a>
          </li>
        )}
        {waiting.map(
          ({ id, kind, text, at }) =>
            kind !== "message" && (
              <li key={id}>
                <Icon name={ICONS[kind]} size={20} />
                <Sentence kind={kind} text={say[kind](text, at ? momentOf(at) : "")} />
              </li>
            ),
        )}
      </ul>
      <button type="button" class="plain" onClick={dismiss}>
        {say.dismiss}
      </button>
    </section>
  );
}

/** What came, as a way to its page where there is one. */
function Sentence({ kind, text }: Pick<MissedItem, "kind" | "text">) {
  return kind === "ask" || kind === "announcement" ? <p>{text}</p> : <a href={hrefOf("time")}>{text}</a>;
}
