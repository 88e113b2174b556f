/** Questions that wait for a yes, docked where the hands are. Closing one means no. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { WaitingAsk } from "./api.ts";
import { HouseTrouble } from "./house/api.ts";
import { answer, confirmations } from "./house/confirmations.ts";
import { tellChange } from "./house/deeds.ts";
import { story } from "./house/house.ts";
import { words } from "./strings/index.ts";

export function Confirmations() {
  const [trouble, setTrouble] = useState("");
  return (
    <section
      class="confirmations"
      aria-label={words.value.confirm.label}
      hidden={!confirmations.value.length && !trouble}
    >
      {confirmations.value.map((one) => (
        <Question key={one.id} one={one} onTrouble={setTrouble} />
      ))}
      <p class="trouble" role="alert">
        {trouble}
      </p>
    </section>
  );
}

function Question({ one, onTrouble }: { one: WaitingAsk; onTrouble: (text: string) => void }) {
  const say = words.value.confirm;
  const [answered, setAnswered] = useState(false);
  const card = useRef<HTMLDivElement>(null);
  const no = useRef<HTMLButtonElement>(null);
  const who = [one.person, one.device, one.room].filter(Boolean).join(", ") || one.agent;

  useEffect(() => {
    // Whoever asked is answered with the keyboard at once; somebody else's question takes nobody's focus away.
    if (one.mine) no.current?.focus();
    const gone = setTimeout(() => {
      confirmations.value = confirmations.value.filter((other) => other.id !== one.id);
    }, one.seconds_left * 1000);
    return () => {
      clearTimeout(gone);
      if (card.current?.contains(document.activeElement)) document.getElementById("page")?.focus();
    };
  }, []);

  async function reply(word: "yes" | "no"): Promise<void> {
    if (answered) return;
    setAnswered(true);
    document.getElementById("page")?.focus(); // the buttons go away, and the keyboard must not be lost with them
    onTrouble("");
    try {
      const { sentence, receipt } = await answer(one.id, word);
      story.house(sentence);
      if (receipt) tellChange(sentence, receipt);
    } catch (trouble) {
      if (!(trouble instanceof HouseTrouble)) throw trouble;
      onTrouble(trouble.sentence || say.unsure);
    }
  }

  return (
    <div
      ref={card}
      class="question"
      role="alertdialog"
      aria-labelledby={`ask-${one.id}`}
      onKeyDown={(event) => event.key === "Escape" && void reply("no")}
    >
      {!one.mine && <p class="soft">{say.by(who)}</p>}
      <p id={`ask-${one.id}`} class="words">
        {one.sentence}
      </p>
      <p class="answers">
        <button
          ref={no}
          type="button"
          class="plain"
          aria-label={`${say.no}: ${one.sentence}`}
          aria-disabled={answered}
          onClick={() => reply("no")}
        >
          {say.no}
        </button>
        <button
          type="button"
          class="solid"
          aria-label={`${say.yes}: ${one.sentence}`}
          aria-disabled={answered}
          onClick={() => reply("yes")}
        >
          {say.yes}
        </button>
      </p>
    </div>
  );
}
