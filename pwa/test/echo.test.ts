/** What is heard over an answer is its echo when it is a piece of it, and somebody when it is not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { couldAnswerItself, isEchoOf } from "../src/voice/echo.ts";

const ANSWER = "You can say: set a timer for ten minutes, or add milk to the shopping list.";

test("a piece of the answer is its echo, however it is written", () => {
  assert.ok(isEchoOf("Set a timer, for ten minutes!", ANSWER));
});

test("another sentence, or a word or two that the answer has too, is somebody", () => {
  assert.ok(!isEchoOf("set a timer for twelve minutes", ANSWER));
  assert.ok(!isEchoOf("add milk", ANSWER));
  assert.ok(!isEchoOf("", ANSWER));
  assert.ok(!isEchoOf("what time is it", ""));
});

test("an answer that asks, or has a yes in it, could be answered by its own echo", () => {
  for (const answer of ["Shall I unlock the front door?", "Say yes, and I will.", "Sag Ja!", "Anna writes: OK"]) {
    assert.ok(couldAnswerItself(answer), answer);
  }
  for (const answer of ["It is ten past five.", "Yesterday it rained.", "Im Januar war es kalt.", ""]) {
    assert.ok(!couldAnswerItself(answer), answer);
  }
});
