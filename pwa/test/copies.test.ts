/** What was seen of a list is kept for where the house cannot be reached, and for nobody who comes after. */

import assert from "node:assert/strict";
import { test } from "node:test";

const stored = new Map<string, string>();
const storage = {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem: (key: string, value: string) => stored.set(key, value),
};
const replies: ((reply: Response) => void)[] = [];
Object.assign(globalThis, {
  location: { protocol: "http:", hash: "", pathname: "/", search: "" },
  document: { documentElement: { lang: "en", style: {} } },
  localStorage: storage,
  addEventListener: () => undefined,
  fetch: () => new Promise<Response>((resolve) => replies.push(resolve)),
});
const { account } = await import("../src/house/account.ts");
const { copyOf } = await import("../src/house/copies.ts");
const { Live } = await import("../src/house/live.ts");
const PATH = "/api/lists/shopping";

async function look(meanwhile: () => void): Promise<void> {
  account.value = { token: "annas" };
  const looking = new Live(PATH).refresh();
  meanwhile();
  replies.pop()?.(Response.json({ items: ["olives"] }));
  await looking;
}

test("an answer that comes after its asker has left is kept nowhere", async () => {
  await look(() => {
    account.value = null;
  });
  assert.equal(copyOf(PATH), null);
  await look(() => {
    account.value = { token: "bens" };
  });
  assert.equal(copyOf(PATH), null);
});

test("what was seen last is kept with when that was", async () => {
  const before = Date.now();
  await look(() => undefined);
  const copy = copyOf(PATH);
  assert.deepEqual(copy?.data, { items: ["olives"] });
  assert.ok(copy.at >= before);
});
