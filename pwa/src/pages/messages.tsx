/** Voice messages: recorded or written for somebody, heard, and deleted with their sound. */

import { useSignal } from "@preact/signals";
import type {
  PeopleReply,
  RoomsReply,
  VoiceMessage,
  VoiceMessageReply,
  VoiceMessagesReply,
  WaitingVoiceMessage,
} from "../api.ts";
import { inHouse } from "../house/clock.ts";
import { act } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { may } from "../house/me.ts";
import { refusalOf } from "../house/refused.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { useRecording } from "../parts/use-recording.ts";
import { useSound } from "../parts/use-sound.ts";
import { dateOf, momentOf, timeOf } from "../parts/when.ts";
import { words } from "../strings/index.ts";

const MESSAGES = "/api/voice-messages";
const pathOf = (id: string) => `${MESSAGES}/${encodeURIComponent(id)}`;

export function Messages() {
  const say = words.value.messages;
  const live = useLive<VoiceMessagesReply>(MESSAGES, "voice-messages");
  return (
    <div class="page">
      <h1>{words.value.pages.messages}</h1>
      {!refusalOf("messages.leave") && <Leave />}
      <Loaded live={live}>
        {({ messages, others }) => (
          <>
            {messages.length ? (
              <ul class="card rows">
                {messages.toReversed().map((message) => (
                  <li key={message.id} class="row message">
                    <OneMessage message={message} />
                  </li>
                ))}
              </ul>
            ) : (
              <Empty icon="messages" title={say.none}>
                <p>{say.noneHow}</p>
              </Empty>
            )}
            {others.length > 0 && <Others messages={others} />}
          </>
        )}
      </Loaded>
    </div>
  );
}

/** Whom it is for, what it says, and the one button that records and sends. */
function Leave() {
  const say = words.value.messages;
  const isOwner = may("manage"); // whom else the house knows, it tells nobody else
  const people = useLive<PeopleReply>(isOwner ? "/api/people" : "");
  const rooms = useLive<RoomsReply>(isOwner ? "/api/rooms" : "");
  const to = useSignal("");
  const text = useSignal("");
  const sending = useSignal(false);
  const [recording, press] = useRecording((sound) => send({ sound }));

  async function send(body: { text?: string; sound?: string }): Promise<void> {
    const [kind, name] = to.value.split(/:(.*)/s);
    sending.value = true;
    const done = await act<VoiceMessageReply>("POST", MESSAGES, { ...body, ...(name ? { [kind]: name } : {}) });
    sending.value = false;
    if (done) text.value = "";
  }

  return (
    <section class="card padded fields" aria-label={say.leave}>
      <label>
        {say.to}
        <select value={to.value} onChange={(event) => (to.value = event.currentTarget.value)}>
          <option value="">{say.everybody}</option>
          {people.data.value?.people.map(({ name }) => (
            <option key={name} value={`person:${name}`}>
              {name}
            </option>
          ))}
          {rooms.data.value?.rooms
            .filter(({ plays }) => plays)
            .map(({ name }) => (
              <option key={name} value={`room:${name}`}>
                {name}
              </option>
            ))}
        </select>
      </label>
      <p class="answers">
        <button
          type="button"
          class="solid"
          disabled={sending.value}
          aria-pressed={recording.value !== null}
          onClick={press}
        >
          <Icon name={recording.value ? "stop" : "talk"} size={20} />
          {recording.value ? say.send : say.record}
        </button>
        {recording.value && (
          <button type="button" class="plain" onClick={() => recording.value?.drop()}>
            {words.value.shell.cancel}
          </button>
        )}
      </p>
      {recording.value && <p role="status">{say.recording}</p>}
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.value.trim()) void send({ text: text.value.trim() });
        }}
      >
        <label>
          {say.inWords}
          <input maxLength={1900} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
        <p class="answers">
          <button type="submit" class="plain" disabled={sending.value || !text.value.trim()}>
            {say.sendWords}
          </button>
        </p>
      </form>
    </section>
  );
}

function OneMessage({ message }: { message: VoiceMessage }) {
  const say = words.value.messages;
  const path = pathOf(message.id);
  const [sound, load] = useSound(`${path}/sound`);

  function heard(): void {
    if (!message.mine && message.heard_at === null) void act("POST", `${path}/heard`, undefined, true);
  }

  const at = inHouse(message.at * 1000);
  const fresh = !message.mine && message.heard_at === null;
  return (
    <>
      <div class="grow">
        <p class="soft">
          {message.mine
            ? say.toWhom(message.person || message.room || say.everybody)
            : say.from(message.sender || say.somebody)}
          {` · ${dateOf(at)} ${timeOf(at)}`}
          {fresh && ` · ${say.fresh}`}
        </p>
        <p class="name">{message.text || say.noWords}</p>
        {/* biome-ignore lint/a11y/useMediaCaption: its words stand above it */}
        {sound.value && <audio controls autoplay src={sound.value} aria-label={say.play} onEnded={heard} />}
        {message.seconds > 0 && !sound.value && (
          <button type="button" class="plain" onClick={load}>
            <Icon name="play" size={20} />
            {say.playSeconds(Math.max(1, Math.round(message.seconds)))}
          </button>
        )}
        {fresh && !message.seconds && (
          <button type="button" class="plain" onClick={heard}>
            {say.gotIt}
          </button>
        )}
      </div>
      <Remove path={path} label={say.remove} />
    </>
  );
}

/** What waits for others: an owner sees for whom, never what it says. */
function Others({ messages }: { messages: WaitingVoiceMessage[] }) {
  const say = words.value.messages;
  return (
    <section aria-labelledby="others">
      <h2 id="others">{say.others}</h2>
      <p class="soft">{say.othersHow}</p>
      <ul class="card rows">
        {messages.map(({ id, person, at }) => (
          <li key={id} class="row">
            <div class="grow">
              <p class="name">{say.toWhom(person)}</p>
              <p class="soft">{momentOf(at)}</p>
            </div>
            <Remove path={pathOf(id)} label={`${say.remove}: ${say.toWhom(person)}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Remove({ path, label }: { path: string; label: string }) {
  return (
    <button type="button" class="round bare" aria-label={label} title={label} onClick={() => act("DELETE", path)}>
      <Icon name="bin" />
    </button>
  );
}
