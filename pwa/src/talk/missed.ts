/** What the house stores that waits for somebody who was out. Pure. */

import type { ReminderItem, TimerItem, VoiceMessage } from "../api.ts";

export interface Missed {
  id: string;
  kind: "message" | "reminder" | "timer";
  text: string; // empty for a message: it is read, and heard, on its own page
}

/** Return what waits: messages that nobody heard, reminders that nobody answered, timers whose time is up. */
export function missedOf(
  messages: readonly VoiceMessage[],
  reminders: readonly ReminderItem[],
  timers: readonly TimerItem[],
): Missed[] {
  return [
    ...messages
      .filter(({ mine, heard_at }) => !mine && heard_at === null)
      .map(({ id }): Missed => ({ id, kind: "message", text: "" })),
    ...reminders
      .filter(({ state }) => state === "unanswered")
      .map(({ id, text }): Missed => ({ id, kind: "reminder", text })),
    ...timers
      .filter(({ state }) => state === "ended")
      .map(({ id, name }): Missed => ({ id, kind: "timer", text: name })),
  ];
}

/** Return what of it was not seen yet. */
export const unseenOf = (missed: readonly Missed[], seen: readonly string[]) =>
  missed.filter(({ id }) => !seen.includes(id));

/** Return which ids to remember as seen: what waits no more is forgotten, so that it is told when it waits anew. */
export const stillSeen = (missed: readonly Missed[], seen: readonly string[]) =>
  seen.filter((id) => missed.some((one) => one.id === id));
