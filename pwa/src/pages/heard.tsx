/** One exchange as Atlas heard it: other readings, what was done, and "this is what I said". */

import { useState } from "preact/hooks";
import type { ForgottenReply, HeardReadings, SaidTurn, SentenceItem } from "../api.ts";
import { agentQuery } from "../house/agent.ts";
import { act, tell } from "../house/deeds.ts";
import { may } from "../house/me.ts";
import { deedsOf } from "../house/recall.ts";
import { Icon } from "../parts/icon.tsx";
import { Sheet } from "../parts/sheet.tsx";
import { words } from "../strings/index.ts";
import { DeedCard } from "../talk/entry.tsx";

const spokenText = (turn: SaidTurn) => turn.messages.find(({ author }) => author === "user")?.text ?? "";
export const isUnsure = ({ readings }: SaidTurn) =>
  Boolean(readings && (readings.doubtful || readings.possible.length));

export function HeardSheet({ turn, onClose }: { turn: SaidTurn; onClose: (gone: boolean) => void }) {
  const say = words.value.heard;
  const [teaching, setTeaching] = useState(false);
  const answer = turn.messages.findLast(({ author, text }) => author !== "user" && text)?.text ?? "";
  async function remove(): Promise<void> {
    const gone = await act<ForgottenReply>(
      "DELETE",
      `/api/conversations/turns/${encodeURIComponent(turn.turn)}${agentQuery("?")}`,
    );
    if (gone) tell(words.value.past.gone(gone.exchanges));
    onClose(gone !== null);
  }
  return (
    <Sheet title={turn.readings ? say.title : say.titleTyped} onClose={() => onClose(false)}>
      <div class="fields heard">
        <blockquote>{spokenText(turn) || say.noWords}</blockquote>
        {turn.readings && <Readings text={spokenText(turn)} readings={turn.readings} />}
        {answer && (
          <p>
            <span class="soft">{words.value.talk.house}: </span>
            {answer}
          </p>
        )}
        {deedsOf(turn).map((deed) => (
          <DeedCard key={deed.call} deed={deed} answer={answer} />
        ))}
        {teaching ? (
          <Teach text={spokenText(turn)} readings={turn.readings} onDone={() => onClose(false)} />
        ) : (
          <p class="answers">
            <button type="button" class="plain" onClick={remove}>
              <Icon name="bin" size={20} />
              {say.remove}
            </button>
            {may("manage") && (
              <button type="button" class="solid" onClick={() => setTeaching(true)}>
                {say.teach}
              </button>
            )}
          </p>
        )}
      </div>
    </Sheet>
  );
}

/** In words, by how much less likely a text was than what was read best; "" where nobody weighed it. */
export function marginOf(margin: number | undefined | null): string {
  if (margin === undefined || margin === null) return "";
  const say = words.value.heard.margins;
  return margin < 0.1 ? say.near : margin < 0.5 ? say.behind : say.far;
}

function Weighed({ texts, margins }: { texts: string[]; margins: HeardReadings["margins"] }) {
  return (
    <ul>
      {texts.map((text) => (
        <li key={text}>
          {text} <span class="soft">{marginOf(margins[text])}</span>
        </li>
      ))}
    </ul>
  );
}

function Readings({ text, readings }: { text: string; readings: HeardReadings }) {
  const { others, possible, doubtful, voice, margins } = readings;
  const say = words.value.heard;
  return (
    <>
      {voice && <p class="soft">{say.byVoice(voice)}</p>}
      {doubtful && <p class="trouble">{say.doubtful}</p>}
      {others.length > 0 && (
        <section aria-labelledby="others">
          <h3 id="others">{say.others}</h3>
          <Weighed texts={others} margins={margins} />
        </section>
      )}
      {possible.length > 0 && (
        <section aria-labelledby="possible">
          <h3 id="possible">{say.possible}</h3>
          <Weighed texts={possible} margins={margins} />
        </section>
      )}
      {margins[text] > 0 && <p class="soft">{say.nearest(marginOf(margins[text]))}</p>}
      {!others.length && !possible.length && !doubtful && <p class="soft">{say.sure}</p>}
    </>
  );
}

interface TeachProperties {
  text?: string;
  readings?: HeardReadings | null;
  onDone: () => void;
}

/** What somebody says, and what it is to do: from then on one of the house's own sentences. */
export function Teach({ text = "", readings = null, onDone }: TeachProperties) {
  const say = words.value.heard;
  const [spoken, setSpoken] = useState(readings?.possible[0] ?? text);
  const [meaning, setMeaning] = useState("");
  const choices = [...new Set([text, ...(readings?.possible ?? []), ...(readings?.others ?? [])])].filter(Boolean);
  async function save(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const draft = { text: spoken.trim(), meaning: meaning.trim() };
    const taught = await act<SentenceItem>("POST", "/api/sentences", draft);
    if (!taught) return;
    tell(say.taught(taught.text));
    setSpoken("");
    setMeaning("");
    onDone();
  }
  return (
    <form class="fields" onSubmit={save}>
      <label>
        {say.spoken}
        <input required maxLength={200} value={spoken} onInput={(event) => setSpoken(event.currentTarget.value)} />
      </label>
      {choices.length > 1 && (
        <ul class="chips" aria-label={say.choices}>
          {choices.map((choice) => (
            <li key={choice}>
              <button
                type="button"
                class="plain chip"
                aria-pressed={choice === spoken}
                onClick={() => setSpoken(choice)}
              >
                {choice}
              </button>
            </li>
          ))}
        </ul>
      )}
      <label>
        {say.meaning}
        <input
          maxLength={200}
          placeholder={say.meaningExample}
          value={meaning}
          onInput={(event) => setMeaning(event.currentTarget.value)}
        />
      </label>
      <p class="soft">{say.meaningHow}</p>
      <p class="answers">
        <button type="submit" class="solid">
          {words.value.shell.save}
        </button>
      </p>
    </form>
  );
}
