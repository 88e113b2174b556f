/** What came while nobody looked and still waits, and what of it this device has seen. */

import type { MissedItem, MissedReply } from "../api.ts";
import { HouseTrouble, request } from "./api.ts";

const KEY = "atlas.seen"; // goes with everything else of whoever leaves

/** Ask for all that may wait for who is here, which the house decides; null where it does not answer. */
export async function fetchMissed(): Promise<MissedItem[] | null> {
  try {
    return (await request<MissedReply>("/api/missed")).missed;
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble; // else the line says how the house is
    return null;
  }
}

/** The ids of what was seen here. */
export function seen(): string[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

export function rememberSeen(ids: string[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(ids));
  } catch {
    // Storage is switched off: it lasts as long as the page.
  }
}
