/** A page shows the clock of the house, on which side of midnight and of a change of clocks it may be. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isoDay } from "../src/parts/days.ts";
import { wallClock } from "../src/parts/wall-clock.ts";

function shown(moment: string, zone: string): string {
  const at = wallClock(Date.parse(moment), zone);
  return `${isoDay(at)} ${at.getHours()}:${String(at.getMinutes()).padStart(2, "0")}`;
}

test("a moment is shown as the clocks of the house show it", () => {
  assert.equal(shown("2026-11-30T07:00:00Z", "UTC"), "2026-11-30 7:00");
  assert.equal(shown("2026-11-30T07:00:00Z", "Europe/Berlin"), "2026-11-30 8:00");
  assert.equal(shown("2026-07-01T23:30:00Z", "Europe/Berlin"), "2026-07-02 1:30");
  assert.equal(shown("2026-11-30T00:10:00Z", "America/New_York"), "2026-11-29 19:10");
  assert.equal(shown("2026-11-30T00:00:00Z", "UTC"), "2026-11-30 0:00");
});

test("without a zone that is known, a moment is this device's", () => {
  const moment = Date.parse("2026-11-30T07:00:00Z");
  for (const zone of ["", "Nowhere/At_All"]) assert.equal(wallClock(moment, zone).getTime(), moment);
});
