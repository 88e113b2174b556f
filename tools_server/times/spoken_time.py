"""Say a time: "tomorrow at 7 AM", "every other Tuesday at 7 AM, until December 24". Pure.

What is said here means the same to `when.understand`, so that people may repeat it.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from tools_server.times.recurrence import WEEKDAYS, Rule
from tools_server.times.when_words import nth
from tools_server.wording import series

YEAR_SAID_DAYS = 300  # a date this far away is said with its year
NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
_UNITS = {"MINUTELY": "minute", "HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month"}


def clock_words(at: time | datetime) -> str:
    """Return "7 AM", "7:30 AM" or "noon"."""
    if (at.hour, at.minute) == (12, 0):
        return "noon"
    minute = f":{at.minute:02d}" if at.minute else ""
    return f"{at.hour % 12 or 12}{minute} {'AM' if at.hour < 12 else 'PM'}"


def day_words(day: date, today: date) -> str:
    """Return "today", "tomorrow", "Friday" or "Tuesday, December 1", and what is past as "yesterday"."""
    away = (day - today).days
    if away in (-1, 0, 1):
        return ("today", "tomorrow", "yesterday")[away]
    if 1 < away < 7:
        return NAMES[day.weekday()]
    year = f", {day.year}" if abs(away) > YEAR_SAID_DAYS else ""
    return f"{NAMES[day.weekday()]}, {day:%B} {day.day}{year}"


def moment_words(at: datetime, now: datetime) -> str:
    """Return "tomorrow at 7 AM". Both are on the clocks of the house."""
    return f"{day_words(at.date(), now.date())} at {clock_words(at)}"


def ago_words(at: datetime, now: datetime) -> str:
    """Return when something past was: "5 PM", "5 PM yesterday", "5 PM on Monday"."""
    day = at.date()
    if day == now.date():
        return clock_words(at)
    if (now.date() - day).days < 7:
        name = "yesterday" if day == now.date() - timedelta(days=1) else f"on {NAMES[day.weekday()]}"
        return f"{clock_words(at)} {name}"
    return f"{clock_words(at)} on {day_words(day, now.date())}"


def rule_words(rule: Rule, start: datetime, now: datetime, usual: datetime | None = None) -> str:
    """Return "every weekday at 7 AM". `usual` is where it would start if nothing were said; another start is said."""
    words = _how_often(rule) + ("" if rule.passing else f" at {_times(rule, start)}")
    if usual is not None and start != usual:
        day = day_words(start.date(), now.date())
        words += f", starting {day} at {clock_words(start)}" if rule.passing else f", starting {day}"
    if rule.count:
        words += f", {rule.count} times"
    if rule.until:
        whole = rule.until.time() == time(23, 59, 59)
        words += f", until {day_words(rule.until.date(), now.date()) if whole else moment_words(rule.until, now)}"
    return words


def _times(rule: Rule, start: datetime) -> str:
    hours = rule.hours or (start.hour,)
    return series([clock_words(time(hour, start.minute)) for hour in hours], "and")


def _how_often(rule: Rule) -> str:
    every = rule.interval
    match rule.frequency:
        case "WEEKLY" if every == 1 and rule.days == WEEKDAYS:
            return "every weekday"
        case "WEEKLY":
            named = series([NAMES[day] for day in rule.days], "and")
            if every == 2 and len(rule.days) == 1:
                return f"every other {named}"
            return f"every {named}" if every == 1 else f"every {every} weeks on {named}"
        case "MONTHLY":
            return f"on {_day(rule)} of every month" if every == 1 else f"every {every} months on {_day(rule)}"
        case "YEARLY":
            in_month = f"{date(2000, rule.month, 1):%B}"
            day = f"{in_month} {rule.month_days[0]}" if rule.month_days and rule.month_days != (-1,) else ""
            return f"every {'year' if every == 1 else f'{every} years'} on {day or f'{_day(rule)} of {in_month}'}"
    unit = _UNITS[rule.frequency]
    if every == 1:
        return f"every {unit}"
    return f"every other {unit}" if every == 2 and unit == "day" else f"every {every} {unit}s"


def _day(rule: Rule) -> str:
    if rule.days:
        return f"the {_NTH[rule.nth]} {NAMES[rule.days[0]]}"
    if rule.month_days == (-1,):
        return "the last day"
    return f"the {series([nth(day) for day in rule.month_days], 'and')}"
