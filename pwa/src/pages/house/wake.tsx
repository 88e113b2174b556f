/** Wake words: what woke each room and what nearly did, was it meant, and the threshold that the answers propose. */

import type { WakeItem, WakePhraseItem, WakeReply, WakeRoomItem, WakeThresholdReply } from "../../api.ts";
import { act, tell } from "../../house/deeds.ts";
import { useLive } from "../../house/live.ts";
import { Icon } from "../../parts/icon.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { useSound } from "../../parts/use-sound.ts";
import { secondOf } from "../../parts/when.ts";
import { hrefOf } from "../../route.ts";
import { words } from "../../strings/index.ts";

const WAKE = "/api/wake";
const percentNumber = (share: number) => Math.round(share * 100);
const pathOf = (...parts: string[]) => [WAKE, ...parts.map(encodeURIComponent)].join("/");

export function Wake() {
  const say = words.value.house.wake;
  const live = useLive<WakeReply>(WAKE);
  const refresh = () => live.refresh();
  return (
    <>
      <section aria-labelledby="wake">
        <h2 id="wake">{words.value.house.tabs.wake}</h2>
        <p class="soft">{say.how}</p>
      </section>
      <Loaded live={live}>
        {({ stored, fewest_labels, rooms }) => (
          <>
            {!stored && (
              <p>
                {say.off} <a href={hrefOf("house", "settings")}>{words.value.house.tabs.settings}</a>.
              </p>
            )}
            {stored && !rooms.length && <Empty icon="sound" title={say.none} />}
            {rooms.map((room) => (
              <Room key={room.room} room={room} fewest={fewest_labels} onChange={refresh} />
            ))}
          </>
        )}
      </Loaded>
    </>
  );
}

interface RoomProperties {
  room: WakeRoomItem;
  fewest: number;
  onChange: () => Promise<void>;
}

function Room({ room: { room, phrases, heard }, fewest, onChange }: RoomProperties) {
  const say = words.value.house.wake;
  const heading = `wake-${room}`;
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>{room}</h2>
      <ul class="card rows">
        {phrases.map((phrase) => (
          <li key={phrase.phrase} class="row column-row">
            <Phrase room={room} phrase={phrase} fewest={fewest} onChange={onChange} />
          </li>
        ))}
        {heard.map((entry) => (
          <li key={entry.id} class="row column-row">
            <Entry room={room} entry={entry} onChange={onChange} />
          </li>
        ))}
      </ul>
      {!heard.length && <p class="soft">{say.noneToday}</p>}
    </section>
  );
}

interface PhraseProperties {
  room: string;
  phrase: WakePhraseItem;
  fewest: number;
  onChange: () => Promise<void>;
}

/** How sure a room has to be of a wake word, what the answers propose, and what that would have changed. */
function Phrase({ room, phrase: { phrase, threshold, tuned, labels, proposal }, fewest, onChange }: PhraseProperties) {
  const say = words.value.house.wake;
  const path = pathOf(room, "thresholds", phrase);
  const proposed = percentNumber(proposal.threshold);
  async function apply(): Promise<void> {
    const body = { threshold: proposal.threshold };
    const done = await act<WakeThresholdReply>("PUT", path, body);
    if (done) tell(say.applied(room, phrase, proposed, done.at_once));
    await onChange();
  }
  async function reset(): Promise<void> {
    const done = await act<WakeThresholdReply>("DELETE", path);
    if (done) tell(say.wasReset(room, phrase, done.at_once));
    await onChange();
  }
  return (
    <>
      <p class="name">{say.needs(phrase, percentNumber(threshold))}</p>
      <p class="soft">
        {proposal.reason
          ? say.reasons[proposal.reason](labels, fewest)
          : say.proposes(proposed, effectsOf(proposal), labels)}
      </p>
      {(tuned || !proposal.reason) && (
        <p class="answers">
          {tuned && (
            <button type="button" class="plain" onClick={reset}>
              {say.reset}
            </button>
          )}
          {!proposal.reason && (
            <button type="button" class="solid" onClick={apply}>
              {say.apply(proposed)}
            </button>
          )}
        </p>
      )}
    </>
  );
}

/** What would have been otherwise, as the parts of one sentence. */
function effectsOf({ silenced, heard, lost, disturbed }: WakePhraseItem["proposal"]): string {
  const { effects } = words.value.house.wake;
  const parts = [
    silenced > 0 && effects.silenced(silenced),
    heard > 0 && effects.heard(heard),
    disturbed > 0 && effects.disturbed(disturbed),
    lost > 0 ? effects.lost(lost) : silenced > 0 && effects.noneLost,
  ].filter((part) => part !== false);
  return new Intl.ListFormat(words.value.language).format(parts);
}

interface EntryProperties {
  room: string;
  entry: WakeItem;
  onChange: () => Promise<void>;
}

function Entry({ room, entry: { id, at, phrase, score, threshold, woke, meant, sound }, onChange }: EntryProperties) {
  const say = words.value.house.wake;
  const [played, load] = useSound(pathOf(room, id, "sound"));
  const time = secondOf(at);
  async function label(answer: boolean): Promise<void> {
    await act("POST", pathOf(room, id, "label"), { meant: answer });
    await onChange();
  }
  return (
    <>
      <p class="name">{woke ? say.woke(phrase) : say.nearly(phrase)}</p>
      <p class="soft">
        {time} · {say.sure(percentNumber(score), percentNumber(threshold))}
      </p>
      {/* biome-ignore lint/a11y/useMediaCaption: nobody knows its words */}
      {played.value && <audio controls autoplay src={played.value} aria-label={`${say.play}: ${time}`} />}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset draws a frame, and its legend stands in the frame */}
      <div class="chips" role="group" aria-label={say.question(time)}>
        {sound && !played.value && (
          <button type="button" class="plain" aria-label={`${say.play}: ${time}`} onClick={load}>
            <Icon name="play" size={20} />
            {say.play}
          </button>
        )}
        <button type="button" class="plain chip" aria-pressed={meant === true} onClick={() => label(true)}>
          {say.mine}
        </button>
        <button type="button" class="plain chip" aria-pressed={meant === false} onClick={() => label(false)}>
          {say.notMine}
        </button>
      </div>
    </>
  );
}
