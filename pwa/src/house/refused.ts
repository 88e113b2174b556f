/** What the rules of the house deny now to who is here, so that no page offers it; the gate decides all the same. */

import { effect, signal } from "@preact/signals";
import type { RefusalsReply } from "../api.ts";
import { words } from "../strings/index.ts";
import { account } from "./account.ts";
import { HouseTrouble, request } from "./api.ts";
import { onChange } from "./events.ts";

const AGAIN_MS = 300_000;

const refused = signal<Record<string, string>>({}); // tool → why

/** Why a tool would be refused, as a sentence; "" where it may be used. */
export const refusalOf = (tool: string) => refused.value[tool] ?? "";

/** Ask whenever somebody signs in, in their language, and after rules have changed. */
export function watchRefusals(): void {
  effect(() => {
    if (account.value && words.value) void look();
    else refused.value = {};
  });
  const lookAgain = () => document.hidden || !account.value || void look(); // rules have hours
  setInterval(lookAgain, AGAIN_MS);
  document.addEventListener("visibilitychange", lookAgain);
  onChange((kind) => (kind === "rules" || kind === "everything") && account.value && void look());
}

async function look(): Promise<void> {
  try {
    refused.value = (await request<RefusalsReply>("/api/rules/refused")).refused;
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble; // everything is offered, and what may not be is refused
  }
}
