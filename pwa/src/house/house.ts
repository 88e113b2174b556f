/** The one connection of this page: the line, the conversation on it, and what was said. */

import { effect, signal } from "@preact/signals";
import type { SaidTurnsReply } from "../api.ts";
import { route } from "../route.ts";
import { words } from "../strings/index.ts";
import { Story } from "../talk/story.ts";
import { Talk } from "../voice/talk.ts";
import { account, shutOut } from "./account.ts";
import { agent, agentQuery } from "./agent.ts";
import { HouseTrouble, request } from "./api.ts";
import { look } from "./confirmations.ts";
import { tellArrival } from "./deeds.ts";
import { announceChange } from "./events.ts";
import { Link } from "./link.ts";
import { fetchMe } from "./me.ts";
import { notifyHere } from "./notifications.ts";
import { changes, entriesOf } from "./recall.ts";

type LineState = { kind: "connecting" } | { kind: "open" } | { kind: "gone" };

export const line = signal<LineState>({ kind: "connecting" });
export const story = new Story();
export const talk = new Talk(
  (event) => {
    story.event(event);
    if (event.type === "response.done" && route.value.page !== "talk" && story.announcement.value) {
      tellArrival(story.announcement.value); // the conversation, where it stands, is not on this page
    }
    // Who looks elsewhere neither sees it nor, on many phones, hears it.
    if (event.type === "response.done" && document.hidden && story.announcement.value) {
      void notifyHere(words.value.talk.answered); // never what: it may be seen on a locked screen
    }
    if (event.type === "response.done" || (event.type === "atlas.tool_finished" && event.ask)) void look();
  },
  () => story.silenced(),
);

/** Open the line whenever somebody is signed in, and close it when nobody is. */
export function connect(): void {
  effect(() => {
    const present = account.value;
    if (!present) {
      agent.value = "";
      story.clear();
      return;
    }
    line.value = { kind: "connecting" };
    story.clear();
    const until = Date.now() + SETTLED_MS;
    void recall(until);
    const again = setTimeout(() => recall(until), SETTLED_MS);
    const link = new Link(present, agent.value || "atlas", {
      event: (event) => talk.event(event),
      open() {
        if (line.value.kind === "gone") {
          void fetchMe(); // this device may have got another name, person or room
          announceChange("everything"); // a page that had no answer has waited for this
        }
        line.value = { kind: "open" };
        talk.opened();
      },
      gone() {
        line.value = { kind: "gone" };
        story.lost();
        talk.lost();
      },
      refused() {
        talk.lost();
        shutOut();
      },
    });
    talk.link = link;
    return () => {
      clearTimeout(again);
      link.close();
      story.lost();
      talk.lost();
    };
  });
}

const REMEMBERED_MS = 12 * 3_600_000; // older talk is on the conversations page
const SETTLED_MS = 4_000; // an answer that the reload cut off is remembered by then, as far as it was heard

/** Show again what was said before the page was loaded anew. */
async function recall(until: number): Promise<void> {
  const whose = agent.value;
  try {
    const { turns } = await request<SaidTurnsReply>(`/api/conversations/turns?limit=30${agentQuery("&")}`);
    const here = new Set(story.entries.value.map(({ text }) => text.value));
    // What was cut off by the reload is remembered when its line is seen to be gone: a little after this page began.
    const earlier = turns.filter(
      ({ at, messages }) =>
        at * 1000 > Date.now() - REMEMBERED_MS &&
        at * 1000 < until &&
        !messages.some(({ text }) => text && here.has(text)),
    );
    if (!earlier.length) return;
    const known = earlier.some(({ deeds }) => deeds.length) ? await changes() : [];
    if (whose === agent.value) story.before(earlier.flatMap((turn) => entriesOf(turn, known)));
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble; // else nothing is remembered, or nobody answers
  }
}

/** Say typed words; return false where the line is down, so that the words stay where they were typed. */
export async function say(text: string): Promise<boolean> {
  if (!talk.link?.ready) return false;
  story.typed(text);
  return talk.type(text);
}
