/** Who this browser is to the house: its token, taken from the address once and never shown again. */

import { signal } from "@preact/signals";

const KEY = "atlas.token";

/** The token; "" while nobody is signed in. */
export const token = signal(remembered());

function remembered(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    store(given);
    // A token in the address bar would be in the history, in screenshots and in shared links.
    history.replaceState(null, "", location.pathname + location.search);
    return given;
  }
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage is switched off: ask again next time
  }
}

function store(value: string): void {
  try {
    if (value) localStorage.setItem(KEY, value);
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage the token lasts as long as the page.
  }
}

export function enter(value: string): void {
  store(value);
  if (value) revoked.value = false;
  token.value = value;
}

export function leave(): void {
  enter("");
}

/** Set when the house does not know this browser any more. */
export const revoked = signal(false);

/** Leave because the house says so. */
export function shutOut(): void {
  revoked.value = true;
  leave();
}

/** Ask the house whether it knows the token. */
export async function check(value: string): Promise<"known" | "unknown" | "gone"> {
  try {
    const reply = await fetch("/v1/models", { headers: { Authorization: `Bearer ${value}` } });
    if (reply.status === 401) return "unknown";
    return reply.ok ? "known" : "gone";
  } catch (trouble) {
    return trouble instanceof TypeError && /header|ISO-8859|ByteString/i.test(trouble.message) ? "unknown" : "gone";
  }
}
