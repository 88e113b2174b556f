/** Days and weeks as values: no words and no clock of their own. Weeks begin on Monday. */

const FEWEST_WEEKS = 4; // of the month of today: what is coming may lie in the next one

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

/** The weeks of a month that are over, if today is in it: how many Mondays before this one. */
export function weeksGone(at: Date, today: Date): number {
  if (at.getFullYear() !== today.getFullYear() || at.getMonth() !== today.getMonth()) return 0;
  return weeksBetween(mondayOf(new Date(at.getFullYear(), at.getMonth(), 1)), mondayOf(today));
}

/** The whole weeks that show a month, without the first `gone` of them; never fewer than four then. */
export function monthDays(at: Date, gone = 0): Date[] {
  const first = mondayOf(new Date(at.getFullYear(), at.getMonth(), 1));
  const last = new Date(at.getFullYear(), at.getMonth() + 1, 0);
  const weeks = weeksBetween(first, mondayOf(last)) + 1 - gone;
  return daysFrom(addDays(first, 7 * gone), 7 * (gone ? Math.max(FEWEST_WEEKS, weeks) : weeks));
}

/** Between two Mondays; a night on which clocks are changed makes no difference. */
function weeksBetween(one: Date, other: Date): number {
  return Math.round((midnight(other) - midnight(one)) / (7 * 86_400_000));
}
