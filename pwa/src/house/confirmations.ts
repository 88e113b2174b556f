/** What waits for a person's yes: looked for now and then, and at once when something happened. */

import { effect, signal } from "@preact/signals";
import type { AnswerReply, AsksReply, WaitingAsk, WaitingReply } from "../api.ts";
import { account } from "./account.ts";
import { HouseTrouble, request } from "./api.ts";
import { announceChange, onChange } from "./events.ts";

const LOOK_MS = 5_000; // how late a question of somebody else may appear here

export const confirmations = signal<WaitingAsk[]>([]);

let looking = false;
let stale = false; // something happened since the look that is under way began

/** Show what waits now, and nothing else: not what a look saw that began before the last answer, or for another. */
export async function look(): Promise<void> {
  stale = true;
  if (looking) return;
  looking = true;
  try {
    while (stale && account.value) {
      stale = false;
      const { asks } = await request<AsksReply>("/api/asks");
      if (!stale) confirmations.value = asks;
    }
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble; // else the house does not answer; the line says so
  } finally {
    looking = false;
  }
}

/** Answer one; return what the house says to that, and the receipt of what a page had done. Throws `HouseTrouble`. */
export async function answer(id: string, word: "yes" | "no"): Promise<{ sentence: string; receipt: string }> {
  try {
    const reply = await request<AnswerReply | WaitingReply>(`/api/asks/${encodeURIComponent(id)}`, { answer: word });
    if ("ask" in reply) return { sentence: reply.ask.sentence, receipt: "" }; // what it is about has changed since
    return { sentence: reply.sentence, receipt: reply.receipt?.id ?? "" };
  } finally {
    confirmations.value = confirmations.value.filter((one) => one.id !== id);
    announceChange("everything");
  }
}

/** Look from now on, for as long as the page is open. */
export function watch(): void {
  setInterval(() => document.hidden || void look(), LOOK_MS);
  document.addEventListener("visibilitychange", () => document.hidden || void look());
  onChange((kind) => (kind === "asks" || kind === "everything") && void look());
  effect(() => {
    if (account.value) void look();
    else confirmations.value = [];
  });
}
