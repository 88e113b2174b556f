/** An address that somebody cut or typed leads to a page, too. */

import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(globalThis, { location: { hash: "#/notes/100%" }, addEventListener: () => undefined });

test("a part that is no percent-encoding is itself, and the page stands", async () => {
  const { route } = await import("../src/route.ts");
  assert.deepEqual(route.value, { page: "notes", rest: ["100%"] });
});
