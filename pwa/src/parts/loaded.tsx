/** What is shown while data is on its way, where it cannot be had, and once it is there. */

import type { ComponentChildren } from "preact";
import { sentenceOf } from "../house/api.ts";
import type { Live } from "../house/live.ts";
import { words } from "../strings/index.ts";
import { Icon, type IconName } from "./icon.tsx";
import { momentOf } from "./when.ts";

export function Loaded<Data>({ live, children }: { live: Live<Data>; children: (data: Data) => ComponentChildren }) {
  const data = live.data.value;
  const trouble = live.trouble.value;
  if (trouble && (!data || trouble.status !== 0)) {
    const isRefused = trouble.status === 403; // then nothing is out of order, and another try changes nothing
    return (
      <div class="empty" role="alert">
        <Icon name={isRefused ? "lock" : "away"} size={32} />
        <p>{sentenceOf(trouble)}</p>
        {!isRefused && (
          <button type="button" class="plain" onClick={() => live.refresh()}>
            {words.value.trouble.again}
          </button>
        )}
      </div>
    );
  }
  if (!data) return <p class="loading">{words.value.shell.asking}</p>;
  const seenAt = live.seenAt.value;
  return (
    <>
      {seenAt > 0 && (
        <p class="soft" role="status">
          {words.value.trouble.seenAt(momentOf(seenAt / 1000))}
        </p>
      )}
      {children(data)}
    </>
  );
}

/** What a page says that has nothing yet, and what to do about it. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} size={40} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
