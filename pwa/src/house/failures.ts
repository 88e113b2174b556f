/** Tells the house's log what fails in this page: of which kind and where. No words of it, which may be a person's. */

import type { PageFailure } from "../api.ts";
import { route } from "../route.ts";
import { words } from "../strings/index.ts";
import { account } from "./account.ts";
import { HouseTrouble, request } from "./api.ts";

const MOST = 10; // of one load of the page: a timer that fails would write for ever
const MOST_PLACES = 12;
const PLACE = /\/assets\/([\w-]{1,60}\.js:\d{1,7}:\d{1,7})/g;

const noted = new Set<string>();

/** Tell of everything that nobody catches, for as long as the page is open. */
export function watchFailures(): void {
  addEventListener("error", ({ error }) => void tellFailure(error));
  addEventListener("unhandledrejection", ({ reason }) => void tellFailure(reason));
}

/** Tell of one failure, once; not of what the browser itself complains of, which comes without one. */
export async function tellFailure(trouble: unknown): Promise<void> {
  if (!(trouble instanceof Error) || !account.value) return;
  const kind = /^[A-Za-z]{1,40}$/.test(trouble.name) ? trouble.name : "Error";
  const at = [...(trouble.stack ?? "").matchAll(PLACE)].slice(0, MOST_PLACES).map(([, place]) => place as string);
  const { page } = route.peek();
  const failure: PageFailure = { kind, at, page: page in words.value.pages ? page : "" }; // an address is typed, too
  const key = JSON.stringify(failure);
  if (noted.has(key) || noted.size >= MOST) return;
  noted.add(key);
  try {
    await request("/api/log/page-failures", failure);
  } catch (refusal) {
    if (!(refusal instanceof HouseTrouble)) console.error(refusal); // thrown, it would come back here
  }
}
