/** Who the house takes this browser for. */

import { effect, signal } from "@preact/signals";
import type { MeReply } from "../api.ts";
import { token } from "./account.ts";
import { ask, HouseTrouble } from "./api.ts";

export const me = signal<MeReply | null>(null);

/** Ask whenever somebody signs in. */
export function introduce(): void {
  effect(() => {
    if (token.value) void fetchMe();
    else me.value = null;
  });
}

async function fetchMe(): Promise<void> {
  try {
    me.value = await ask<MeReply>("/api/me");
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble; // else the line says how the house is
  }
}
