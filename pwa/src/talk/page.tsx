/** Talk: what was said, one big button, and a field for those who type. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { agent } from "../house/agent.ts";
import { line, say as sayToHouse, story, talk } from "../house/house.ts";
import { may, me } from "../house/me.ts";
import { prefer, preferences } from "../house/preferences.ts";
import { refusalOf } from "../house/refused.ts";
import { AgentSwitch, agentName } from "../parts/agent-switch.tsx";
import { useFollow } from "../parts/follow.ts";
import { Icon } from "../parts/icon.tsx";
import { ZoneNote } from "../parts/zone-note.tsx";
import { hrefOf } from "../route.ts";
import type { Words } from "../strings/en.ts";
import { words, wordsOf } from "../strings/index.ts";
import { EntryView } from "./entry.tsx";
import { TalkButton } from "./talk-button.tsx";
import { WhileOut } from "./while-out.tsx";

export function TalkPage() {
  useEffect(() => {
    talk.setAloud(preferences.value.aloud);
    const stop = (event: KeyboardEvent) => event.key === "Escape" && void talk.stopAll();
    addEventListener("keydown", stop);
    return () => removeEventListener("keydown", stop);
  }, []);
  return (
    <div class="talk-page">
      <h1 class="unseen">{words.value.talk.title}</h1>
      <AgentSwitch />
      <WhileOut />
      <Log />
      <Controls />
    </div>
  );
}

function Log() {
  const list = useRef<HTMLDivElement>(null);
  const entries = story.entries.value;
  useFollow(list, entries.length === 0);
  if (!entries.length) return <Welcome />;
  return (
    <div ref={list} class="log" role="log" aria-label={words.value.talk.conversation} aria-live="off" tabIndex={0}>
      <ol>
        {entries.map((entry) => (
          <EntryView key={entry.key} entry={entry} />
        ))}
      </ol>
    </div>
  );
}

function Welcome() {
  const say = words.value.talk;
  const spoken = useSpoken();
  const { ideas: first, listIdea, helpIdea } = spoken.talk;
  const ideas = [...first, ...(refusalOf("lists.add") ? [] : [listIdea]), helpIdea];
  const isForeign = spoken.language !== words.value.language;
  return (
    <div class="welcome">
      <p class="hello">{say.hello[partOfDay(new Date().getHours())]}</p>
      <p>{say.welcome}</p>
      <ZoneNote />
      {isForeign && (
        <p>
          {say.houseSpeaks(nameOf(spoken.language))}{" "}
          {may("manage") && <a href={hrefOf("house", "settings")}>{say.changeLanguage}</a>}
        </p>
      )}
      <ul class="ideas" aria-label={say.ideasLabel} lang={spoken.language} translate={!isForeign}>
        {ideas.map((idea) => (
          <li key={idea}>
            <button type="button" onClick={() => sayToHouse(idea)}>
              {idea}
            </button>
          </li>
        ))}
      </ul>
      {may("manage") && (
        <>
          <p>{say.firstSteps}</p>
          <ul class="chips">
            <li>
              <a class="plain" href={hrefOf("house", "settings")}>
                {say.steps.settings}
              </a>
            </li>
            <li>
              <a class="plain" href={hrefOf("house", "devices")}>
                {say.steps.devices}
              </a>
            </li>
          </ul>
        </>
      )}
    </div>
  );
}

/** The words in which the house can be asked: those of this page where it understands them. */
function useSpoken(): Words {
  const languages = me.value?.languages ?? [];
  const language = languages.includes(words.value.language) ? "" : (languages[0] ?? "");
  const [others, setOthers] = useState<Words | null>(null);
  useEffect(() => {
    setOthers(null);
    if (language) void wordsOf(language).then(setOthers);
  }, [language]);
  return others ?? words.value;
}

const nameOf = (language: string) =>
  new Intl.DisplayNames([words.value.language], { type: "language" }).of(language) ?? language;

function partOfDay(hour: number): "night" | "morning" | "day" | "evening" {
  if (hour < 5 || hour >= 22) return "night";
  if (hour < 11) return "morning";
  return hour < 18 ? "day" : "evening";
}

function Controls() {
  const say = words.value.talk;
  const state = talk.state.value;
  const busy = state === "thinking" || state === "speaking";
  const isFree = talk.handsFree.value && (state !== "speaking" || talk.hearsOver.value);
  return (
    <div class="controls">
      <Trouble />
      <p class="hint">
        {agent.value && `${say.listens(agentName(agent.value))} · `}
        {isFree ? (say.free[state as keyof typeof say.free] ?? say.hint[state]) : say.hint[state]}
      </p>
      <div class="buttons">
        <button
          type="button"
          class="round"
          aria-pressed={talk.handsFree.value}
          title={say.handsFree}
          aria-label={say.handsFree}
          onClick={() => (talk.handsFree.value ? talk.endHandsFree() : void talk.beginHandsFree())}
        >
          <Icon name="free" />
        </button>
        <TalkButton />
        {busy ? (
          <button
            type="button"
            class="round stop"
            title={say.stop}
            aria-label={say.stop}
            onClick={() => talk.stopAll()}
          >
            <Icon name="stop" />
          </button>
        ) : (
          <SoundButton />
        )}
      </div>
      <TypeField />
    </div>
  );
}

function SoundButton() {
  const say = words.value.talk;
  const aloud = talk.aloud.value;
  function change(): void {
    talk.setAloud(!aloud);
    prefer({ aloud: !aloud });
  }
  return (
    <button type="button" class="round" aria-pressed={aloud} title={say.sound} aria-label={say.sound} onClick={change}>
      <Icon name={aloud ? "sound" : "mute"} />
    </button>
  );
}

function Trouble() {
  const trouble = talk.trouble.value;
  const say = words.value.talk.trouble;
  return (
    <p class="trouble" role="alert">
      {trouble && (typeof trouble === "string" ? say[trouble] : trouble.message || words.value.trouble.other)}
    </p>
  );
}

function TypeField() {
  const say = words.value.talk;
  const text = useSignal("");
  const unsent = useSignal(false);
  async function send(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const typed = text.value.trim();
    if (!typed) return;
    unsent.value = !talk.link?.ready;
    if (unsent.value) return;
    text.value = "";
    await sayToHouse(typed);
  }
  return (
    <form class="type" onSubmit={send}>
      {unsent.value && line.value.kind !== "open" && (
        <p class="trouble" role="alert">
          {say.notSent}
        </p>
      )}
      <label class="unseen" for="words">
        {say.type}
      </label>
      <input
        id="words"
        autocomplete="off"
        enterkeyhint="send"
        maxLength={2000}
        placeholder={say.placeholder}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <button type="submit" class="round solid" aria-label={say.send} title={say.send}>
        <Icon name="send" />
      </button>
    </form>
  );
}
