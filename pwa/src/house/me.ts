/** Who the house takes this browser for. */

import { effect, signal } from "@preact/signals";
import type { MeReply } from "../api.ts";
import { account } from "./account.ts";
import { HouseTrouble, request } from "./api.ts";

export const me = signal<MeReply | null>(null);

/** Whether who is here has a right, by the house's own table; nobody has any before it is known who that is. */
export const may = (right: MeReply["rights"][number]) => me.value?.rights.includes(right) ?? false;

/** Ask whenever somebody signs in. */
export function introduce(): void {
  effect(() => {
    if (account.value) void fetchMe();
    else me.value = null;
  });
}

export async function fetchMe(): Promise<void> {
  try {
    me.value = await request<MeReply>("/api/me");
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble; // else the line says how the house is
  }
}
