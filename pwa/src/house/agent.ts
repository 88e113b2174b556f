/** Who listens on this page: an agent that was chosen, or "" for whom the house's own rules choose. */

import { computed, signal } from "@preact/signals";
import { me } from "./me.ts";

/** Lasts as long as the page: nobody finds the work agent listening whom another left there. */
export const agent = signal("");

/** Those that may be chosen, the usual one first; none where there is no choice. */
export const choosable = computed(() => {
  const agents = me.value?.agents ?? [];
  return agents.length > 1 ? agents : [];
});

export function choose(name: string): void {
  agent.value = name === choosable.value[0] ? "" : name;
}

/** The query that has the house use this agent's tools and memory. */
export const agentQuery = (joint: "?" | "&") => (agent.value ? `${joint}agent=${encodeURIComponent(agent.value)}` : "");
