"""Say a time: "tomorrow at 7 AM", "every other Tuesday at 7 AM, until December 24". Pure but for the call's language.

What is said here means the same to `when.understand`, so that people may repeat it.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from tools_server.times.german import nth
from tools_server.times.recurrence import WEEKDAYS, RecurrenceRule
from tools_server.values.language import calendar_day, clock, counted, in_context, month, noted, series, weekday
from tools_server.values.language import text as _

YEAR_SAID_DAYS = 300  # a date this far away is said with its year
_MONDAY = date(2001, 1, 1)
_NTH = {
    1: noted("the first {weekday}"),
    2: noted("the second {weekday}"),
    3: noted("the third {weekday}"),
    4: noted("the fourth {weekday}"),
    5: noted("the fifth {weekday}"),
    -1: noted("the last {weekday}"),
}
_UNITS = {"MINUTELY": "minute", "HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month"}
_EVERY = {
    "minute": noted("every minute"),
    "hour": noted("every hour"),
    "day": noted("every day"),
    "week": noted("every week"),
    "month": noted("every month"),
}


def day_words(day: date, today: date) -> str:
    """Return "today", "tomorrow", "Friday" or "Tuesday, December 1", and what is past as "yesterday"."""
    away = (day - today).days
    if away in (-1, 0, 1):
        return (_("today"), _("tomorrow"), _("yesterday"))[away]
    if 1 < away < 7:
        return weekday(day)
    return calendar_day(day, year=abs(away) > YEAR_SAID_DAYS)


def on_day(day: date, today: date) -> str:
    """Return "tomorrow" or "on Friday": when, in a sentence."""
    words = day_words(day, today)
    return words if (day - today).days in (0, 1) else _("on {day}").format(day=words)


def moment_words(at: datetime, now: datetime) -> str:
    """Return "tomorrow at 7 AM". Both are on the clocks of the house."""
    return _("{day} at {time}").format(day=day_words(at.date(), now.date()), time=clock(at))


def ago_words(at: datetime, now: datetime) -> str:
    """Return when something past was: "5 PM", "5 PM yesterday", "5 PM on Monday"."""
    day = at.date()
    if day == now.date():
        return clock(at)
    if day == now.date() - timedelta(days=1):
        return _("{time} yesterday").format(time=clock(at))
    named = weekday(day) if (now.date() - day).days < 7 else day_words(day, now.date())
    return _("{time} on {day}").format(time=clock(at), day=named)


def rule_words(rule: RecurrenceRule, start: datetime, now: datetime) -> str:
    """Return "every weekday at 7 AM"."""
    words = _how_often(rule)
    if not rule.passing:
        words = _("{often} at {times}").format(often=words, times=_times(rule, start))
    if rule.count:
        words += _(", {count} times").format(count=rule.count)
    if rule.until:
        whole = rule.until.time() == time(23, 59, 59)
        last = day_words(rule.until.date(), now.date()) if whole else moment_words(rule.until, now)
        words += _(", until {day}").format(day=last)
    return words


def weekday_name(number: int) -> str:
    """Return the name of a day of the week; 0 is Monday."""
    return weekday(_MONDAY + timedelta(days=number))


def _times(rule: RecurrenceRule, start: datetime) -> str:
    hours = rule.hours or (start.hour,)
    return series([clock(time(hour, start.minute)) for hour in hours])


def _how_often(rule: RecurrenceRule) -> str:
    every = rule.interval
    match rule.frequency:
        case "WEEKLY" if every == 1 and rule.days == WEEKDAYS:
            return _("every weekday")
        case "WEEKLY":
            named = series([weekday_name(day) for day in rule.days])
            if every == 2 and len(rule.days) == 1:
                return _("every other {weekday}").format(weekday=named)
            if every == 1:
                return _("every {weekday}").format(weekday=named)
            return _("every {count} weeks on {weekday}").format(count=every, weekday=named)
        case "MONTHLY" if every == 1:
            return _("on {day} of every month").format(day=_day(rule))
        case "MONTHLY":
            return _("every {count} months on {day}").format(count=every, day=_day(rule))
        case "YEARLY":
            if every == 1:
                return _("every year on {date}").format(date=_date(rule))
            return _("every {count} years on {date}").format(count=every, date=_date(rule))
    unit = _UNITS[rule.frequency]
    if every == 1:
        return _(_EVERY[unit])
    if every == 2 and unit == "day":
        return _("every other day")
    return _("every {length}").format(length=counted(every, unit))


def _date(rule: RecurrenceRule) -> str:
    in_month = month(date(2000, rule.month, 1))
    if rule.month_days and rule.month_days != (-1,):
        return _("{month} {day}").format(month=in_month, day=rule.month_days[0])
    return _("{day} of {month}").format(day=_day(rule), month=in_month)


def _day(rule: RecurrenceRule) -> str:
    if rule.days:
        return _(_NTH[rule.nth]).format(weekday=weekday_name(rule.days[0]))
    if rule.month_days == (-1,):
        return _("the last day")
    # English says "1st" of a number, and other languages "1."
    named = [in_context("ordinal", "{nth}").format(nth=nth(day), day=day) for day in rule.month_days]
    return _("the {days}").format(days=series(named))
