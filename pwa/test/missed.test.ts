/** What waits for somebody who was out, told until they have seen it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReminderItem, TimerItem, VoiceMessage } from "../src/api.ts";
import { missedOf, stillSeen, unseenOf } from "../src/talk/missed.ts";

const message = (id: string, mine: boolean, heard_at: number | null) => ({ id, mine, heard_at }) as VoiceMessage;
const reminder = (id: string, state: string) => ({ id, text: "bins", state }) as ReminderItem;
const timer = (id: string, state: string) => ({ id, name: "eggs", state }) as TimerItem;

test("what others left and nobody heard, what nobody answered, and what has ended waits", () => {
  const missed = missedOf(
    [message("new", false, null), message("own", true, null), message("old", false, 5)],
    [reminder("bins", "unanswered"), reminder("later", "waiting"), reminder("now", "told")],
    [timer("eggs", "ended"), timer("tea", "running"), timer("rest", "paused")],
  );
  assert.deepEqual(
    missed.map(({ id }) => id),
    ["new", "bins", "eggs"],
  );
});

test("what was seen is told no more, until it has been away and waits anew", () => {
  const missed = missedOf([], [reminder("bins", "unanswered")], []);
  assert.deepEqual(unseenOf(missed, ["bins"]), []);
  assert.deepEqual(stillSeen(missed, ["bins", "gone"]), ["bins"]);
  assert.deepEqual(stillSeen([], ["bins"]), []);
});
