/** The one connection of this page: the line, the conversation on it, and what was said. */

import { effect, signal } from "@preact/signals";
import { Story } from "../talk/story.ts";
import { Talk } from "../voice/talk.ts";
import { shutOut, token } from "./account.ts";
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
    return () => link.close();
  });
}

/** Say typed words; return false where the line is down, so that the words stay where they were typed. */
export async function say(text: string): Promise<boolean> {
  if (!talk.link?.ready) return false;
  story.typed(text);
  return talk.type(text);
}
