/** The frame of every page: where one is, whether the house answers, and what waits for a yes. */

import type { ComponentType } from "preact";
import { Confirmations } from "./confirm.tsx";
import { Door } from "./door.tsx";
import { account } from "./house/account.ts";
import { agent } from "./house/agent.ts";
import { line, story, talk } from "./house/house.ts";
import { may, me } from "./house/me.ts";
import { newer } from "./house/offline.ts";
import { refusalOf } from "./house/refused.ts";
import { AccountOffer } from "./offer.tsx";
import { More } from "./pages/more.tsx";
import { Boundary } from "./parts/boundary.tsx";
import { Icon, type IconName } from "./parts/icon.tsx";
import { later } from "./parts/later.tsx";
import { OutcomeBar } from "./parts/outcome.tsx";
import { Ringing } from "./ringing.tsx";
import { hrefOf, route } from "./route.ts";
import { words } from "./strings/index.ts";
import { TalkPage } from "./talk/page.tsx";

interface Page {
  icon: IconName;
  view: ComponentType;
  inBar: boolean; // of a phone; the others are reached through "More"
  forOwner?: boolean;
  tool?: string; // who is refused this one finds nothing there
}

type PageName = keyof typeof words.value.pages;

const PAGES: Partial<Record<PageName, Page>> = {
  talk: { icon: "talk", view: TalkPage, inBar: true },
  home: { icon: "home", view: later(async () => (await import("./pages/home.tsx")).Home), inBar: true },
  time: { icon: "time", view: later(async () => (await import("./pages/time.tsx")).Time), inBar: true },
  lists: { icon: "lists", view: later(async () => (await import("./pages/lists.tsx")).Lists), inBar: true },
  board: { icon: "board", view: later(async () => (await import("./pages/board.tsx")).Board), inBar: false },
  notes: {
    icon: "notes",
    view: later(async () => (await import("./pages/notes.tsx")).Notes),
    inBar: false,
    tool: "notes.list",
  },
  messages: {
    icon: "messages",
    view: later(async () => (await import("./pages/messages.tsx")).Messages),
    inBar: false,
    tool: "messages.list",
  },
  calendar: {
    icon: "calendar",
    view: later(async () => (await import("./pages/calendar.tsx")).Calendar),
    inBar: false,
    tool: "calendar.list",
  },
  past: { icon: "past", view: later(async () => (await import("./pages/past.tsx")).Past), inBar: false },
  house: {
    icon: "shield",
    view: later(async () => (await import("./pages/house/page.tsx")).House),
    inBar: false,
    forOwner: true,
  },
  more: { icon: "more", view: More, inBar: true },
};

/** The pages that are for whoever looks. */
export function pagesOf(): [PageName, Page][] {
  const entries = Object.entries(PAGES) as [PageName, Page][];
  return entries.filter(([, { forOwner, tool }]) => (!forOwner || may("manage")) && !(tool && refusalOf(tool)));
}

export function App() {
  if (!account.value) return <Door />;
  const { page } = route.value;
  const shown = PAGES[page as PageName];
  const isForOthers = shown?.forOwner && !may("manage");
  const View = isForOthers ? ForOwners : (shown?.view ?? Lost);
  const title = words.value.pages[page as PageName] ?? "Atlas";
  document.title = page === "talk" ? "Atlas" : `${title} · Atlas`;
  return (
    <div class="frame" data-page={page} data-agent={agent.value ? "other" : undefined} data-state={talk.state.value}>
      <a class="skip" href="#page" onClick={skip}>
        {words.value.shell.skip}
      </a>
      <Pages />
      <div class="middle">
        <Line />
        <Ringing />
        <Update />
        <main id="page" tabIndex={-1} key={page}>
          <Boundary title={title}>
            <View />
          </Boundary>
        </main>
        <div class="dock">
          <OutcomeBar />
          <Confirmations />
        </div>
        <AccountOffer />
      </div>
      <p class="unseen" role="status">
        {story.announcement.value}
      </p>
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault(); // the address says which page is shown
  document.getElementById("page")?.focus();
}

function Pages() {
  const { page } = route.value;
  return (
    <nav class="pages" aria-label={words.value.shell.main}>
      <p class="brand">
        <img src="/icon.svg" alt="" width="32" height="32" />
        Atlas
      </p>
      <ul>
        {pagesOf().map(([name, { icon, inBar }]) => (
          <li key={name} class={inBar ? "" : "beyond"} data-holds={name === "more" && !PAGES[page as PageName]?.inBar}>
            <a href={hrefOf(name)} aria-current={page === name ? "page" : undefined}>
              <Icon name={icon} />
              <span>{words.value.pages[name]}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** How the line to the house stands: silent while all is well. */
function Line() {
  const state = line.value;
  const say = words.value.shell;
  if (state.kind === "open") return null;
  return (
    <div class="line" data-line={state.kind}>
      <Icon name={state.kind === "gone" ? "away" : "pulse"} size={20} />
      <p role="status">{state.kind === "gone" ? say.gone : say.connecting}</p>
      {state.kind === "gone" && (
        <button type="button" class="quiet" onClick={() => talk.link?.again()}>
          {say.tryNow}
        </button>
      )}
    </div>
  );
}

/** A newer app is offered when nobody is speaking, and taken only by a press. */
function Update() {
  const busy = talk.state.value === "listening" || talk.state.value === "thinking" || talk.state.value === "speaking";
  if (!newer.value || busy) return null;
  return (
    <div class="line" data-line="update">
      <p>{words.value.shell.update}</p>
      <button type="button" class="quiet" onClick={() => newer.value?.()}>
        {words.value.shell.updateNow}
      </button>
    </div>
  );
}

/** An owner's page, typed by somebody else; or nobody knows yet who that is. */
function ForOwners() {
  return me.value ? <NoPage title={words.value.trouble.denied} /> : <p class="loading">{words.value.shell.asking}</p>;
}

const Lost = () => <NoPage title={words.value.shell.noPage} />;

function NoPage({ title }: { title: string }) {
  return (
    <div class="empty">
      <h1>{title}</h1>
      <a class="button solid" href={hrefOf("talk")}>
        {words.value.shell.toTalk}
      </a>
    </div>
  );
}
