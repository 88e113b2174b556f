/** Moments and lengths in the language of the person, as short as they can be. */

import { inHouse, now } from "../house/clock.ts";
import { words } from "../strings/index.ts";
import { midnight } from "./days.ts";

const DAY_MS = 86_400_000;

function format(options: Intl.DateTimeFormatOptions, english = localeOfEnglish()): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(words.value.language === "en" ? english : words.value.language, options);
}

/** Twelve hours or twenty-four, and which order: as this browser's own English has it. */
function localeOfEnglish(): string {
  return navigator.languages.find((name) => name.startsWith("en")) ?? "en-GB";
}

const CLOCK: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "2-digit" };
const HOUSE_ENGLISH = "en-US"; // the house says "6:30 AM" to everybody

/** "14:05", "Tomorrow, 7:00", "Fri 4 Dec, 7:00"; beside words of the house, its clock is read as it says it. */
export function momentOf(seconds: number, besideWords = false): string {
  const at = inHouse(seconds * 1000);
  const time = format(CLOCK, besideWords ? HOUSE_ENGLISH : undefined).format(at);
  const days = Math.round((midnight(at) - midnight(now())) / DAY_MS);
  if (days === 0) return time;
  if (days === 1) return `${words.value.when.tomorrow}, ${time}`;
  return `${format({ weekday: "short", day: "numeric", month: "short" }).format(at)}, ${time}`;
}

/** "14:05:09", "4 Dec, 14:05:09": for what follows closely on something else. */
export function secondOf(seconds: number): string {
  const at = inHouse(seconds * 1000);
  const day = midnight(at) === midnight(now()) ? "" : `${format({ day: "numeric", month: "short" }).format(at)}, `;
  return day + format({ hour: "numeric", minute: "2-digit", second: "2-digit" }).format(at);
}

export const timeOf = (at: Date) => format(CLOCK).format(at);
export const dayOf = (at: Date) => format({ weekday: "long", day: "numeric", month: "long" }).format(at);
export const monthOf = (at: Date) => format({ month: "long", year: "numeric" }).format(at);
export const weekdayOf = (at: Date) => format({ weekday: "short" }).format(at);
export const dateOf = (at: Date) => format({ day: "numeric", month: "short", year: "numeric" }).format(at);

/** "1 hour 20 minutes", "20 minutes", "90 seconds" as "1 minute 30 seconds". */
export function lengthOf(seconds: number): string {
  const whole = Math.round(seconds);
  const parts = { hour: Math.floor(whole / 3600), minute: Math.floor(whole / 60) % 60, second: whole % 60 };
  return Object.entries(parts)
    .filter(([, count]) => count > 0)
    .map(([unit, count]) =>
      new Intl.NumberFormat(words.value.language, { style: "unit", unit, unitDisplay: "long" }).format(count),
    )
    .join(" ");
}

/** "0:09", "12:30", "1:05:00". */
export function clockOf(seconds: number): string {
  const left = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
  const two = (number: number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
