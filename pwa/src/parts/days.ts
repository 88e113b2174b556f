/** Days and weeks as values: no words and no clock of their own. Weeks begin on Monday. */

export function midnight(at: Date): number {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
}

/** A day as the house writes it: 2026-12-04. */
export function isoDay(at: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function addDays(at: Date, days: number): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + days);
}

const mondayOf = (at: Date) => addDays(at, -((at.getDay() + 6) % 7));

const daysFrom = (first: Date, count: number) => Array.from({ length: count }, (_, day) => addDays(first, day));

export const weekOf = (at: Date) => daysFrom(mondayOf(at), 7);

/** The whole weeks that show a month. */
export function monthDays(at: Date): Date[] {
  const first = mondayOf(new Date(at.getFullYear(), at.getMonth(), 1));
  const last = new Date(at.getFullYear(), at.getMonth() + 1, 0);
  return daysFrom(first, 7 * (weeksBetween(first, mondayOf(last)) + 1));
}

/** Between two Mondays; a night on which clocks are changed makes no difference. */
function weeksBetween(one: Date, other: Date): number {
  return Math.round((midnight(other) - midnight(one)) / (7 * 86_400_000));
}

/**
 * When an event ends, as the house reads it: "" where that is left to it. Of whole days it is the last one; a clock that
 * is not behind the first is one of the next day, where no day is given.
 */
export function endOf(day: string, time: string, lastDay: string, until: string): string {
  if (!time || !until) return lastDay === day ? "" : lastDay;
  const sameDay = until > time ? day : isoDay(addDays(new Date(`${day}T00:00`), 1));
  return `${lastDay || sameDay}T${until}`;
}
