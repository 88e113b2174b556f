/** However a list is written, it is the one that is there. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { listCalled } from "../src/parts/list-name.ts";

const NAMES = ["shopping", "hardware store", "camping"];

test("the shopping list is one, in both languages and however it is written", () => {
  for (const typed of ["Shopping", "SHOPPING", "shopping list", "the shopping list", "Groceries", "Einkaufen"]) {
    assert.equal(listCalled(typed, NAMES), "shopping");
  }
});

test("a list that is there is found, and another one is new", () => {
  assert.equal(listCalled("Hardware Store!", NAMES), "hardware store");
  assert.equal(listCalled("my camping list", NAMES), "camping");
  assert.equal(listCalled("Party!", NAMES), "party");
});

test("what has no word in it is no list", () => {
  assert.equal(listCalled("..", NAMES), "");
  assert.equal(listCalled("?!", NAMES), "");
});
