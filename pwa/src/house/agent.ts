/** Who listens on this page: an agent that was chosen, or "" for whom the house's own rules choose. */

import { computed, effect, signal } from "@preact/signals";
import { account } from "./account.ts";
import { me } from "./me.ts";

const KEY = "atlas.agents";

/** Lasts as long as the page: nobody finds the work agent listening whom another left there. */
export const agent = signal("");

/** The agents that this browser had last, so that the page has their place before the house answers. */
const before = signal<string[]>(remembered());

/** Those that may be chosen, the usual one first; none where there is no choice. Until the house says: those of last time. */
export const choosable = computed(() => {
  const agents = me.value?.agents ?? before.value;
  return agents.length > 1 ? agents : [];
});

export function choose(name: string): void {
  agent.value = name === choosable.value[0] ? "" : name;
}

/** The query that has the house use this agent's tools and memory. */
export const agentQuery = (joint: "?" | "&") => (agent.value ? `${joint}agent=${encodeURIComponent(agent.value)}` : "");

function remembered(): string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

effect(() => {
  if (!account.value) before.value = []; // they were somebody else's
});

effect(() => {
  if (!me.value) return;
  try {
    localStorage.setItem(KEY, JSON.stringify(me.value.agents));
  } catch {
    // Storage is switched off: their place is made when the house answers.
  }
});
