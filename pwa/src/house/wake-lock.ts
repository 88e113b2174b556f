/** Keeps the screen on while somebody talks without touching it, or something rings; lets it go dark otherwise. */

import { computed, effect, signal } from "@preact/signals";
import { talk } from "./house.ts";

/** Set while an alarm rings. */
export const isRinging = signal(false);

const visible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => {
  visible.value = !document.hidden; // a browser takes the lock away from a page that is not seen
});
const wanted = computed(
  () => visible.value && (isRinging.value || talk.handsFree.value || talk.state.value === "speaking"),
);

/** Hold the screen whenever there is a reason. */
export function staysAwake(): void {
  if (!("wakeLock" in navigator)) return; // over plain http, and in older browsers
  effect(() => {
    if (!wanted.value) return;
    const lock = navigator.wakeLock.request("screen").catch(() => null); // a battery that is low refuses it
    return () => void lock.then((held) => held?.release());
  });
}
