/** Tells of messages that come while somebody looks at a page that does not show them, once each. */

import { effect } from "@preact/signals";
import { account } from "./house/account.ts";
import { tellArrival } from "./house/deeds.ts";
import { onChange } from "./house/events.ts";
import { fetchMissed, seen } from "./house/missed.ts";
import { unseenOf } from "./house/unseen.ts";
import { route } from "./route.ts";
import { words } from "./strings/index.ts";

const PAGES_WITH_MESSAGES = ["talk", "messages"];

export function watchArrivals(): void {
  let known: string[] | null = null; // those that waited before are no arrivals
  const look = async () => {
    const asker = account.value;
    const waiting = (await fetchMissed())?.filter(({ kind }) => kind === "message");
    if (!waiting || account.value !== asker) return; // not to who came in meanwhile
    const arrived = known ? unseenOf(waiting, [...known, ...seen()]) : [];
    known = waiting.map(({ id }) => id);
    if (!arrived.length || PAGES_WITH_MESSAGES.includes(route.value.page)) return;
    tellArrival(words.value.away.messages(waiting.length), "messages");
  };
  effect(() => {
    known = null;
    if (account.value) void look();
  });
  onChange((kind) => (kind === "voice-messages" || kind === "everything") && account.value && void look());
}
