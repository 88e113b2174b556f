/** Conversations: what was said, searched by words, downloaded, and forgotten. */

import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { ConversationsReply, ForgottenReply, SaidMatchesReply, SaidTurn, SaidTurnsReply } from "../api.ts";
import { agent, agentQuery } from "../house/agent.ts";
import { request } from "../house/api.ts";
import { inHouse } from "../house/clock.ts";
import { act, tell } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { me } from "../house/me.ts";
import { AgentSwitch } from "../parts/agent-switch.tsx";
import { midnight } from "../parts/days.ts";
import { download } from "../parts/download.ts";
import { SearchField } from "../parts/fields.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { Sheet } from "../parts/sheet.tsx";
import { dayOf, timeOf } from "../parts/when.ts";
import { hrefOf } from "../route.ts";
import { words } from "../strings/index.ts";
import { HeardSheet, isUnsure } from "./heard.tsx";

export function Past() {
  const say = words.value.past;
  const search = useSignal("");
  const query = useSettled(search.value.trim());
  const [forgetting, setForgetting] = useState(false);
  const [version, setVersion] = useState(0);
  return (
    <div class="page">
      <div class="head">
        <h1>{words.value.pages.past}</h1>
        <div class="chips">
          <button type="button" class="plain" onClick={exportAll}>
            {say.export}
          </button>
          <button type="button" class="plain" onClick={() => setForgetting(true)}>
            {say.forget}
          </button>
        </div>
      </div>
      <AgentSwitch />
      <Whose />
      <SearchField label={say.search} value={search} />
      {query ? <Matches query={query} /> : <Turns key={`${agent.value}${version}`} />}
      {forgetting && (
        <Forget
          onClose={() => {
            setForgetting(false);
            setVersion(version + 1);
          }}
        />
      )}
    </div>
  );
}

/** Whose words are shown: a person's of all their devices, or only those of a browser that is nobody's own. */
function Whose() {
  const say = words.value.past;
  const whose = useLive<ConversationsReply>(`/api/conversations${agentQuery("?")}`).data.value;
  if (!me.value || !whose) return null;
  const { role, room } = me.value;
  const { person, of_owners } = whose;
  const sentence = person
    ? (of_owners ? say.ofOwner : say.ofPerson)(person)
    : of_owners
      ? say.ofOwners
      : room
        ? say.ofRoom(room)
        : say.ofBrowser;
  return (
    <p class="soft">
      {sentence}{" "}
      {!me.value.person && (role === "owner" ? <a href={hrefOf("house", "devices")}>{say.giveIt}</a> : say.askForIt)}
    </p>
  );
}

const SETTLE_MS = 400; // a search costs the house something: not one for every letter

function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

const exportAll = () =>
  download(`/api/conversations/export?format=markdown${agentQuery("&")}`, "conversations.md", "text/markdown");

function Matches({ query }: { query: string }) {
  const live = useLive<SaidMatchesReply>(`/api/conversations/search?q=${encodeURIComponent(query)}${agentQuery("&")}`);
  return (
    <Loaded live={live}>
      {({ matches }) =>
        matches.length ? (
          <ul class="card rows">
            {matches.map((match) => (
              <li key={match.turn + match.author} class="row column-row">
                <span>{match.text}</span>
                <span class="soft">
                  {who(match.author)} · {dayOf(inHouse(match.at * 1000))}, {timeOf(inHouse(match.at * 1000))}
                  {match.room && ` · ${match.room}`}
                </span>
              </li>
            ))}
          </ul>
        ) : (
          <p class="soft">{words.value.past.noMatch}</p>
        )
      }
    </Loaded>
  );
}

const who = (author: string) => (author === "user" ? words.value.talk.you : words.value.talk.house);

function Turns() {
  const live = useLive<SaidTurnsReply>(`/api/conversations/turns?limit=50${agentQuery("&")}`);
  const say = words.value.past;
  const [earlier, setEarlier] = useState<SaidTurn[]>([]);
  const [more, setMore] = useState<boolean | null>(null);
  const [unsure, setUnsure] = useState(false);
  const [shown, setShown] = useState<SaidTurn | null>(null);
  return (
    <Loaded live={live}>
      {(latest) => {
        const turns = [...earlier, ...latest.turns];
        const listed = unsure ? turns.filter(isUnsure) : turns;
        function closed(gone: boolean): void {
          setShown(null);
          if (!gone) return;
          setEarlier(earlier.filter(({ turn }) => turn !== shown?.turn));
          void live.refresh();
        }
        async function fetchEarlier(): Promise<void> {
          const reply = await request<SaidTurnsReply>(
            `/api/conversations/turns?limit=50&before=${turns[0].number}${agentQuery("&")}`,
          );
          setEarlier([...reply.turns, ...earlier]);
          setMore(reply.more);
        }
        if (!turns.length) {
          return (
            <Empty icon="past" title={say.none}>
              <p>{say.noneHow}</p>
            </Empty>
          );
        }
        return (
          <>
            <div class="chips">
              {[false, true].map((only) => (
                <button
                  key={String(only)}
                  type="button"
                  class="plain chip"
                  aria-pressed={unsure === only}
                  onClick={() => setUnsure(only)}
                >
                  {only ? words.value.heard.onlyUnsure : words.value.heard.all}
                </button>
              ))}
            </div>
            {!listed.length && <p class="soft">{words.value.heard.noneUnsure}</p>}
            {byDay(listed.toReversed()).map(([day, these]) => (
              <section key={day} aria-label={day}>
                <h2>{day}</h2>
                <ol class="card rows">
                  {these.map((turn) => (
                    <Turn key={turn.number} turn={turn} onShow={() => setShown(turn)} />
                  ))}
                </ol>
              </section>
            ))}
            {(more ?? latest.more) && (
              <button type="button" class="plain" onClick={fetchEarlier}>
                {say.earlier}
              </button>
            )}
            {shown && <HeardSheet turn={shown} onClose={closed} />}
          </>
        );
      }}
    </Loaded>
  );
}

function byDay(turns: SaidTurn[]): [string, SaidTurn[]][] {
  const days = new Map<number, SaidTurn[]>();
  for (const turn of turns) {
    const day = midnight(inHouse(turn.at * 1000));
    days.set(day, [...(days.get(day) ?? []), turn]);
  }
  return [...days].map(([day, these]) => [dayOf(new Date(day)), these]);
}

function Turn({ turn, onShow }: { turn: SaidTurn; onShow: () => void }) {
  const say = words.value.heard;
  return (
    <li>
      <button type="button" class="row column-row exchange" onClick={onShow}>
        {turn.messages
          .filter(({ text }) => text)
          .map((message, place) => (
            <span key={String(place)} class={message.author === "user" ? "name" : ""}>
              <span class="unseen">{who(message.author)}: </span>
              {message.text}
            </span>
          ))}
        <span class="soft">
          {timeOf(inHouse(turn.at * 1000))}
          {turn.room && ` · ${turn.room}`}
          {turn.device && ` · ${turn.device}`}
          {turn.readings && ` · ${isUnsure(turn) ? say.unsure : say.voice}`}
        </span>
      </button>
    </li>
  );
}

function Forget({ onClose }: { onClose: () => void }) {
  const say = words.value.past;
  const [sure, setSure] = useState(false);
  async function forget(query: string): Promise<void> {
    const gone = await act<ForgottenReply>("DELETE", `/api/conversations?${query}${agentQuery("&")}`);
    if (gone) tell(say.gone(gone.exchanges));
    onClose();
  }
  return (
    <Sheet title={say.forget} onClose={onClose}>
      <div class="fields">
        <p class="soft">{say.forgetHow}</p>
        <button type="button" class="plain" onClick={() => forget("last=1")}>
          {say.last}
        </button>
        <button type="button" class="plain" onClick={() => forget("last_seconds=600")}>
          {say.tenMinutes}
        </button>
        <button
          type="button"
          class={sure ? "solid" : "plain"}
          onClick={() => (sure ? forget("everything=true") : setSure(true))}
        >
          {sure ? say.everythingSure : say.everything}
        </button>
      </div>
    </Sheet>
  );
}
