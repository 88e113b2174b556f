/** Which weeks a calendar shows of a month, and when an event ends. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf, isoDay, monthDays, weekOf } from "../src/parts/days.ts";

const ends = (days: Date[]) => [isoDay(days[0]), isoDay(days[days.length - 1]), days.length];
const day = (text: string) => new Date(`${text}T12:00`);

test("a month is shown in whole weeks from Monday", () => {
  assert.deepEqual(ends(monthDays(day("2026-11-28"))), ["2026-10-26", "2026-12-06", 42]);
  assert.deepEqual(ends(monthDays(day("2027-02-10"))), ["2027-02-01", "2027-02-28", 28]);
  assert.deepEqual(ends(weekOf(day("2026-11-29"))), ["2026-11-23", "2026-11-29", 7]);
});

test("a month in which the clocks go back has no week too few", () => {
  assert.deepEqual(ends(monthDays(day("2026-10-26"))), ["2026-09-28", "2026-11-01", 35]);
});

test("an event ends on its last day, at its hour, or in the night behind it", () => {
  assert.equal(endOf("2026-12-04", "", "", ""), "");
  assert.equal(endOf("2026-12-04", "", "2026-12-06", ""), "2026-12-06");
  assert.equal(endOf("2026-12-04", "18:00", "", ""), "");
  assert.equal(endOf("2026-12-04", "18:00", "", "20:30"), "2026-12-04T20:30");
  assert.equal(endOf("2026-12-31", "20:00", "", "02:00"), "2027-01-01T02:00");
  assert.equal(endOf("2026-12-04", "18:00", "2026-12-06", "12:00"), "2026-12-06T12:00");
  assert.equal(endOf("2026-12-04", "18:00", "2026-12-04", ""), "", "which the house takes for an hour");
});
