/** Which weeks a calendar shows of a month. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isoDay, monthDays, weekOf, weeksGone } from "../src/parts/days.ts";

const ends = (days: Date[]) => [isoDay(days[0]), isoDay(days[days.length - 1]), days.length];
const day = (text: string) => new Date(`${text}T12:00`);

test("a month is shown in whole weeks from Monday", () => {
  assert.deepEqual(ends(monthDays(day("2026-11-28"))), ["2026-10-26", "2026-12-06", 42]);
  assert.deepEqual(ends(monthDays(day("2027-02-10"))), ["2027-02-01", "2027-02-28", 28]);
  assert.deepEqual(ends(weekOf(day("2026-11-29"))), ["2026-11-23", "2026-11-29", 7]);
});

test("the month of today begins with this week, and shows four at least", () => {
  const today = day("2026-11-28");
  assert.equal(weeksGone(today, today), 4);
  assert.deepEqual(ends(monthDays(today, 4)), ["2026-11-23", "2026-12-20", 28]);
  assert.deepEqual(ends(monthDays(day("2026-10-26"), weeksGone(day("2026-10-26"), day("2026-10-26")))), [
    "2026-10-26",
    "2026-11-22",
    28,
  ]); // the clocks went back the day before
});

test("of no other month anything is left out", () => {
  assert.equal(weeksGone(day("2026-12-01"), day("2026-11-28")), 0);
  assert.equal(weeksGone(day("2025-11-28"), day("2026-11-28")), 0);
  assert.equal(weeksGone(day("2026-12-03"), day("2026-12-03")), 0);
});
