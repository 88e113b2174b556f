/** What the clocks of another zone show. Pure: a moment and a zone in, a date whose own fields are that clock's out. */

export function wallClock(milliseconds: number, zone: string): Date {
  const here = new Date(milliseconds);
  if (!zone) return here;
  try {
    const parts = new Intl.DateTimeFormat("en-US", { ...FIELDS, timeZone: zone }).formatToParts(here);
    const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
    return new Date(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  } catch {
    return here; // this browser knows no such zone
  }
}

const FIELDS: Intl.DateTimeFormatOptions = {
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
  hourCycle: "h23",
};
