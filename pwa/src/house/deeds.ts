/** Things done by a press: what came of them is shown for a moment, with a way to take them back. */

import { effect, signal } from "@preact/signals";
import type { ToolReply, WaitingReply } from "../api.ts";
import { account } from "./account.ts";
import { agentQuery } from "./agent.ts";
import { HouseTrouble, request, sentenceOf } from "./api.ts";
import { look } from "./confirmations.ts";
import { announceChange } from "./events.ts";

const SHOWN_MS = 8_000; // long enough to read it, see the way back and press it

interface Outcome {
  sentence: string;
  receipt: string; // "" where nothing can be taken back
  bad: boolean;
  page?: string; // where more of it is
}

export const outcome = signal<Outcome | null>(null);
let fading = 0;
effect(() => {
  if (!account.value) dismiss(); // what came of it is nobody's business who comes next
});

function show(next: Outcome, stays = false): void {
  clearTimeout(fading);
  outcome.value = next;
  if (stays) return; // until it is closed, or something else is told
  fading = setTimeout(() => {
    outcome.value = null;
  }, SHOWN_MS);
}

/** Tell what has come in meanwhile, which nobody here asked for: it stays until somebody has seen it. */
export function tellArrival(sentence: string, page = ""): void {
  show({ sentence, receipt: "", bad: false, page }, true);
}

/** Tell the person something in a sentence of the app's own. */
export function tell(sentence: string, bad = false): void {
  show({ sentence, receipt: "", bad });
}

/** Tell what a page had asked for and a person has said yes to, with the way back. */
export function tellChange(sentence: string, receipt: string): void {
  show({ sentence, receipt, bad: false });
}

export function dismiss(): void {
  clearTimeout(fading);
  outcome.value = null;
}

type Method = "POST" | "PUT" | "PATCH" | "DELETE";

/** Do something at the house; return its answer, or null where it was not done (then the person has been told). */
export async function act<Reply = unknown>(
  method: Method,
  path: string,
  body?: unknown,
  quiet = false, // what is seen at once needs no words
): Promise<Reply | null> {
  try {
    return await attempt<Reply>(method, path, body, quiet);
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble;
    show({ sentence: sentenceOf(trouble), receipt: "", bad: true });
    return null;
  }
}

/** Do the same from a form that tells its own trouble, where an outcome would lie behind it. Throws `HouseTrouble`. */
export async function attempt<Reply = unknown>(
  method: Method,
  path: string,
  body?: unknown,
  quiet = false,
): Promise<Reply | null> {
  const reply = await request<Reply & Partial<ToolReply & WaitingReply>>(path, body, method);
  announceChange(path.split(/[/?]/)[2]);
  if (reply?.ask) {
    void look(); // a person has to say yes; the question is on its way to the page
    return null;
  }
  if (!quiet && reply?.sentence) show({ sentence: reply.sentence, receipt: reply.receipt?.id ?? "", bad: false });
  return reply ?? null;
}

/** Take a change back. */
export async function undo(receipt: string): Promise<boolean> {
  const done = await act<ToolReply>("POST", `/api/history/undo${agentQuery("?")}`, { receipt });
  if (done) announceChange("everything");
  return done !== null;
}
