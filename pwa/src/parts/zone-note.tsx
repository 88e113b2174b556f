/** Says whose clock a page shows, where the house's and this device's differ; owners are shown where it is set. */

import { now, otherZone } from "../house/clock.ts";
import { may } from "../house/me.ts";
import { hrefOf } from "../route.ts";
import { words } from "../strings/index.ts";
import { timeOf } from "./when.ts";

export function ZoneNote() {
  const zone = otherZone();
  if (!zone) return null;
  const say = words.value.when;
  return (
    <p class="soft zone">
      {say.otherZone(zone.replaceAll("_", " "), timeOf(now()))}{" "}
      {may("manage") && <a href={hrefOf("house", "settings")}>{say.changeZone}</a>}
    </p>
  );
}
