/** One's own voice: sentences to read aloud, by which rooms know who speaks; and deleting voices. */

import { useSignal } from "@preact/signals";
import type { VoiceItem, VoicesReply } from "../api.ts";
import { act, tell } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { me } from "../house/me.ts";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { useRecording } from "../parts/use-recording.ts";
import { momentOf } from "../parts/when.ts";
import { words } from "../strings/index.ts";

const VOICES = "/api/voices";

export function Voice() {
  const say = words.value.ownVoice;
  const live = useLive<VoicesReply>(VOICES);
  if (live.data.value && !live.data.value.enabled && !live.data.value.voices.length) return null;
  return (
    <section aria-labelledby="own-voice">
      <h2 id="own-voice">{say.title}</h2>
      <Loaded live={live}>
        {({ enabled, voices, sentences, named }) => (
          <>
            {voices.length > 0 && (
              <ul class="card rows">
                {voices.map((voice) => (
                  <KnownVoice key={voice.person} voice={voice} onGone={() => void live.refresh()} />
                ))}
              </ul>
            )}
            {!enabled && <p class="soft">{say.off}</p>}
            {enabled && !me.value?.person && <p class="soft">{say.nobodys}</p>}
            {enabled && me.value?.person && !named && <p class="soft">{say.owner}</p>}
            {enabled && named && <Record sentences={sentences} onDone={() => void live.refresh()} />}
          </>
        )}
      </Loaded>
    </section>
  );
}

function KnownVoice({ voice, onGone }: { voice: VoiceItem; onGone: () => void }) {
  const say = words.value.ownVoice;
  async function remove(): Promise<void> {
    await act("DELETE", `${VOICES}/${encodeURIComponent(voice.person)}`);
    onGone();
  }
  return (
    <li class="row">
      <span class="grow">
        <span class="name">{voice.person}</span>
        <br />
        <span class="soft">{say.recorded(momentOf(voice.recorded))}</span>
      </span>
      <button type="button" class="plain" onClick={remove}>
        <Icon name="bin" size={20} />
        {say.remove}
      </button>
    </li>
  );
}

/** One sentence after the other: shown, recorded, and all sent at the end. */
function Record({ sentences, onDone }: { sentences: number; onDone: () => void }) {
  const say = words.value.ownVoice;
  const sounds = useSignal<string[]>([]);
  const sending = useSignal(false);
  const [recording, press] = useRecording(add);

  async function add(sound: string): Promise<void> {
    sounds.value = [...sounds.value, sound];
    if (sounds.value.length < sentences) return;
    sending.value = true;
    const made = await act<VoiceItem>("POST", VOICES, { sounds: sounds.value });
    sending.value = false;
    sounds.value = [];
    if (made) tell(say.done);
    onDone();
  }

  const number = sounds.value.length;
  return (
    <div class="fields">
      <p class="soft">{say.how}</p>
      {(recording.value || number > 0) && (
        <>
          <p role="status">{say.sentence(Math.min(number + 1, sentences), sentences)}</p>
          <blockquote>{say.sentences[number % say.sentences.length]}</blockquote>
        </>
      )}
      <p class="answers">
        <button
          type="button"
          class="solid"
          disabled={sending.value}
          aria-pressed={recording.value !== null}
          onClick={press}
        >
          <Icon name={recording.value ? "stop" : "talk"} size={20} />
          {recording.value ? say.next : number ? say.read : say.begin}
        </button>
        {number > 0 && !recording.value && (
          <button
            type="button"
            class="plain"
            onClick={() => {
              sounds.value = [];
            }}
          >
            {words.value.shell.cancel}
          </button>
        )}
      </p>
    </div>
  );
}
