/** The alarm that rings now, on whatever page one is: a sentence and the button that stops it. */

import { useEffect } from "preact/hooks";
import type { AlarmsReply } from "./api.ts";
import { act } from "./house/deeds.ts";
import { useLive } from "./house/live.ts";
import { isRinging } from "./house/wake-lock.ts";
import { Icon } from "./parts/icon.tsx";
import { words } from "./strings/index.ts";

export function Ringing() {
  const alarms = useLive<AlarmsReply>("/api/alarms", "alarms").data.value?.alarms ?? [];
  const say = words.value.time;
  const ringing = alarms.filter(({ state }) => state === "ringing");
  useEffect(() => {
    isRinging.value = ringing.length > 0;
  }, [ringing.length]);
  return (
    <div role="alert">
      {ringing.map((alarm) => (
        <div key={alarm.id} class="line" data-line="ringing">
          <Icon name="alarm" />
          <p>
            {say.rings}: {alarm.name || alarm.when}
          </p>
          <button
            type="button"
            class="plain"
            onClick={() => act("POST", `/api/alarms/${encodeURIComponent(alarm.id)}/snooze`, {})}
          >
            {say.snooze}
          </button>
          <button
            type="button"
            class="solid"
            onClick={() => act("POST", `/api/alarms/${encodeURIComponent(alarm.id)}/stop`, {})}
          >
            {say.stop}
          </button>
        </div>
      ))}
    </div>
  );
}
