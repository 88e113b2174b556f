/** Who this browser is to the house. Over https a cookie that no script can read says so, elsewhere a token. */

import { signal } from "@preact/signals";
import { dropSubscription } from "./notifications.ts";

const TOKEN = "atlas.token"; // where a page came over plain http, which sets no cookie of this kind
const DEVICE = "atlas.device"; // the name of the device whose cookie this browser has; "" after it has left
const OWN = "atlas."; // how all keys of this app begin
const OF_NOBODY = ["atlas.preferences"]; // how this browser looks and speaks, whoever uses it
const BY_COOKIE = location.protocol === "https:";

/** How a request shows who it is from. */
export interface Account {
  token: string; // "" where the cookie does it
}

/** A link that would make this browser another device. */
interface Offer {
  here: string;
  device: string;
  accept: () => void;
}

const offered = fromAddress(); // before anything looks at the address
/** `null` while nobody is signed in. */
export const account = signal<Account | null>(remembered());
export const offer = signal<Offer | null>(null);
/** Set when the house does not know this browser any more. */
export const revoked = signal(false);

/** Take up what a link brings, and find the cookie that another page of the house has set. */
export async function begin(): Promise<void> {
  addEventListener("hashchange", () => {
    const token = fromAddress();
    if (!token) return;
    location.replace("#/");
    void consider(token);
  });
  addEventListener("storage", (event) => {
    // Who left in another window has left here too.
    if (account.value && (event.key === TOKEN || event.key === DEVICE) && !event.newValue) signOut();
  });
  if (BY_COOKIE && !account.value) await findCookie();
  else if (BY_COOKIE && account.value?.token) await enter(account.value.token);
  if (offered) await consider(offered);
}

function fromAddress(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  // A token in the address bar would be in the history, in screenshots and in shared links.
  if (token) history.replaceState(null, "", location.pathname + location.search);
  return token;
}

function remembered(): Account | null {
  const token = stored(TOKEN);
  if (token) return { token };
  return BY_COOKIE && stored(DEVICE) ? { token: "" } : null;
}

async function findCookie(): Promise<void> {
  if (stored(DEVICE) === "") return endAtHouse(""); // the house was away when somebody left
  const holder = await whoHolds("");
  if (holder.device) signIn({ token: "" }, holder.device);
}

/** Sign in with the token of a link; where somebody is signed in as another device, only after they said so. */
async function consider(token: string): Promise<void> {
  const present = account.value;
  if (!present) return enter(token);
  if (present.token === token) return;
  const [now, then] = await Promise.all([whoHolds(present.token), whoHolds(token)]);
  if (!then.device || then.device === now.device) return;
  if (now.device) offer.value = { here: now.device, device: then.device, accept: () => void replace(token) };
  else if (now.why === "unknown") return replace(token);
}

function replace(token: string): Promise<void> {
  forget();
  return enter(token);
}

export async function enter(token: string): Promise<void> {
  const device = BY_COOKIE ? await putCookieIn(token) : "";
  signIn({ token: device ? "" : token }, device);
}

function signIn(present: Account, device: string): void {
  store(TOKEN, present.token || null);
  store(DEVICE, device || null);
  revoked.value = false;
  offer.value = null;
  account.value = present;
}

export function leave(): void {
  void dropSubscription();
  void endAtHouse(account.value?.token ?? "");
  forget();
  if (BY_COOKIE) store(DEVICE, "");
  signOut();
}

/** Show the door, and nothing of what was here: the address names pages, and pages name papers. */
function signOut(): void {
  account.value = null;
  if (location.hash) location.replace("#/");
}

/** Take everything of an account out of this browser's storage. */
function forget(): void {
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(OWN) && !OF_NOBODY.includes(key)) localStorage.removeItem(key);
    }
  } catch {
    // Storage is switched off: there is nothing in it.
  }
}

/** Leave because the house says so. */
export function shutOut(): void {
  revoked.value = true;
  leave();
}

/** The headers by which a request shows who it is from, and in which language this page speaks. */
export const headersOf = ({ token }: Account): Record<string, string> => ({
  "Accept-Language": document.documentElement.lang,
  ...(token ? { Authorization: `Bearer ${token}` } : {}),
});

interface Holder {
  device: string; // "" when there is none
  why: "" | "unknown" | "gone";
}

/** Ask the house whose a token is, or the cookie. */
export async function whoHolds(token: string): Promise<Holder> {
  try {
    const reply = await fetch("/api/me", { headers: headersOf({ token }) });
    if (reply.ok) return { device: (await reply.json()).device, why: "" };
    return { device: "", why: reply.status === 401 ? "unknown" : "gone" };
  } catch (trouble) {
    const odd = trouble instanceof TypeError && /header|ISO-8859|ByteString/i.test(trouble.message);
    return { device: "", why: odd ? "unknown" : "gone" };
  }
}

/** Return the device whose cookie this browser has now; "" where it takes none. */
async function putCookieIn(token: string): Promise<string> {
  try {
    await fetch("/cookie", { method: "POST", headers: headersOf({ token }) });
  } catch {
    return "";
  }
  const [holder, wanted] = await Promise.all([whoHolds(""), whoHolds(token)]);
  return holder.device === wanted.device ? holder.device : "";
}

/** Have the house tell this browser nothing any more, and take the cookie by which it knows it. */
async function endAtHouse(token: string): Promise<void> {
  try {
    await fetch("/api/push", { method: "DELETE", headers: headersOf({ token }) }); // while it is still known
    if (BY_COOKIE) await fetch("/cookie", { method: "DELETE" });
  } catch {
    // The house is away; it is tried again when the app starts.
  }
}

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage is switched off: ask again next time
  }
}

function store(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Without storage it lasts as long as the page.
  }
}
