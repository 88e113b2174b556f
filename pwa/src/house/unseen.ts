/** Which of what waits was not seen yet on this device. Pure. */

import type { MissedItem } from "../api.ts";

/** Return what of it was not seen yet. */
export const unseenOf = (missed: readonly MissedItem[], seen: readonly string[]) =>
  missed.filter(({ id }) => !seen.includes(id));

/** Return which ids to remember as seen: what waits no more is forgotten, so that it is told when it waits anew. */
export const stillSeen = (missed: readonly MissedItem[], seen: readonly string[]) =>
  seen.filter((id) => missed.some((one) => one.id === id));
