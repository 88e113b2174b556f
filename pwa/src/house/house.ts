/** The one connection of this page: the line, the conversation on it, and what was said. */

import { effect, signal } from "@preact/signals";
import type { SaidTurn, SaidTurnsReply } from "../api.ts";
import { type EarlierEntry, Story } from "../talk/story.ts";
import { Talk } from "../voice/talk.ts";
import { shutOut, token } from "./account.ts";
import { ask, HouseTrouble } from "./api.ts";
import { look } from "./confirmations.ts";
import { Link } from "./link.ts";

export type LineState = { kind: "connecting" } | { kind: "open" } | { kind: "gone"; seconds: number };

export const line = signal<LineState>({ kind: "connecting" });
export const story = new Story();
export const talk = new Talk(
  (event) => {
    story.event(event);
    if (event.type === "response.done" || (event.type === "atlas.tool_finished" && event.ask)) void look();
  },
  () => story.silenced(),
);

/** Open the line whenever somebody is signed in, and close it when nobody is. */
export function connect(): void {
  effect(() => {
    const value = token.value;
    if (!value) return;
    line.value = { kind: "connecting" };
    story.clear();
    void recall();
    const again = setTimeout(recall, SETTLED_MS);
    const link = new Link(value, {
      event: (event) => talk.event(event),
      open() {
        line.value = { kind: "open" };
        talk.opened();
      },
      gone(seconds) {
        line.value = { kind: "gone", seconds };
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
    };
  });
}

const REMEMBERED_MS = 12 * 3_600_000; // older talk is on the conversations page
const SETTLED_MS = 4_000; // an answer that the reload cut off is remembered by then, as far as it was heard

/** Show again what was said before the page was loaded anew. */
async function recall(): Promise<void> {
  try {
    const { turns } = await ask<SaidTurnsReply>("/api/conversations/turns?limit=30");
    const here = new Set(story.entries.value.map(({ text }) => text.value));
    // What was cut off by the reload is remembered when its line is seen to be gone: a little after this page began.
    const until = performance.timeOrigin + SETTLED_MS;
    const earlier = turns.filter(
      ({ at, messages }) =>
        at * 1000 > Date.now() - REMEMBERED_MS &&
        at * 1000 < until &&
        !messages.some(({ text }) => text && here.has(text)),
    );
    story.before(earlier.flatMap(entriesOf));
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble; // else nothing is remembered, or nobody answers
  }
}

function entriesOf({ turn, at, messages }: SaidTurn): EarlierEntry[] {
  return messages
    .filter(({ text }) => text)
    .map(({ author, text }, place) => ({
      key: `${turn}-${place}`,
      who: author === "user" ? "person" : "house",
      text,
      at: at * 1000,
    }));
}

/** Say typed words; return false where the line is down, so that the words stay where they were typed. */
export async function say(text: string): Promise<boolean> {
  if (!talk.link?.ready) return false;
  story.typed(text);
  return talk.type(text);
}
