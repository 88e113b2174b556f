/** The house's clock, by which its alarms ring and its days begin: every page shows it, wherever its device is. */

import { wallClock } from "../parts/wall-clock.ts";
import { me } from "./me.ts";

/** A moment as the clocks of the house show it. */
export const inHouse = (milliseconds: number) => wallClock(milliseconds, me.value?.timezone ?? "");
export const now = () => inHouse(Date.now());

/** The house's zone where its clocks show another time than this device's; "" where they agree. */
export function otherZone(): string {
  const zone = me.value?.timezone ?? "";
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  return wallClock(minute, zone).getTime() === minute ? "" : zone;
}
