/** What waits for somebody who was out, told until they have seen it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { MissedItem } from "../src/api.ts";
import { stillSeen, unseenOf } from "../src/house/unseen.ts";

test("what was seen is told no more, until it has been away and waits anew", () => {
  const missed: MissedItem[] = [{ id: "bins", kind: "reminder", text: "bins", at: 0 }];
  assert.deepEqual(unseenOf(missed, ["bins"]), []);
  assert.deepEqual(stillSeen(missed, ["bins", "gone"]), ["bins"]);
  assert.deepEqual(stillSeen([], ["bins"]), []);
});
