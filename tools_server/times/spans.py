"""Finds which days are meant, and which hours of them: "this weekend" is two days, "Friday afternoon" a part of one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, time, timedelta, tzinfo

from tools_server.times.recurrence import local
from tools_server.times.time_phrase import NotUnderstood
from tools_server.times.when_grammar import read_words
from tools_server.times.when_moment import PARTS, REMINDING, TOO_FAR, Meaning
from tools_server.times.when_words import regular
from tools_server.values.language import text as _

DAY = timedelta(days=1)
FEW = 3  # days
SUNDAY = 6
_LEADING = re.compile(r"^(?:(?:on|at|over|for|during|in|the|this|coming) )+")
_NEXT_DAYS = re.compile(r"next (?P<count>few|couple of|\d{1,2})? ?(?P<unit>day|week)s?")


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days from `first` up to `after` (not included); of each only a part, or one time, when that was said."""

    first: date
    after: date
    part: str = ""
    clock: time | None = None

    @property
    def days(self) -> tuple[date, ...]:
        """Every day of it."""
        return tuple(self.first + timedelta(number) for number in range((self.after - self.first).days))

    @property
    def hours(self) -> tuple[int, int]:
        """The hours of each day that are meant, from one up to another."""
        return PARTS.get(self.part, (0, 24))


def span(text: str, now: float, zone: tzinfo | None) -> DaySpan:
    """Return the days that are meant by words; "" is today. Raises `NotUnderstood`."""
    wall = local(now, zone)
    today = wall.date()
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()):
        try:
            day = date.fromisoformat(text.strip())
        except ValueError:
            raise NotUnderstood(_("There is no {text}.").format(text=text.strip())) from None
        return _one(day)
    if days := _several(_LEADING.sub("", regular(text)), today):
        return days
    phrase = read_words(text, today)
    if phrase.recurs or phrase.until or phrase.starting or len(phrase.clocks) > 1:
        raise NotUnderstood(_("Name one day, such as Christmas or June 5th."))
    meaning = Meaning(phrase, now, zone, REMINDING)
    try:
        day = meaning.moment().date() if phrase.length and phrase.length.seconds else meaning.day()
        matching_span = _one(day)
        if phrase.clocks:
            at = meaning.moment()
            return replace(_one(at.date()), clock=at.time())
    except OverflowError:
        raise NotUnderstood(_(TOO_FAR)) from None
    over = not phrase.day and not phrase.length and wall.hour >= PARTS.get(phrase.part, (0, 24))[1]
    return replace(_one(day + DAY) if over else matching_span, part=phrase.part)


def _one(day: date) -> DaySpan:
    return DaySpan(day, day + DAY if day < date.max else day)


def _several(words: str, today: date) -> DaySpan | None:
    """Return what a name for several days means; None for other words."""
    monday = today - timedelta(days=today.weekday())
    match words:
        case "" | "now":
            return _one(today)
        case "yesterday":
            return _one(today - DAY)
        case "week" if today.weekday() == SUNDAY:  # hardly anybody means the rest of that day
            return DaySpan(today, monday + 14 * DAY)
        case "week" | "rest of the week" | "rest of week":
            return DaySpan(today, monday + 7 * DAY)
        case "next week":
            return DaySpan(monday + 7 * DAY, monday + 14 * DAY)
        case "week after next":
            return DaySpan(monday + 14 * DAY, monday + 21 * DAY)
        case "weekend":
            return DaySpan(max(today, monday + 5 * DAY), monday + 7 * DAY)
        case "next weekend":
            return DaySpan(monday + 12 * DAY, monday + 14 * DAY)
        case "month" | "rest of the month":
            return DaySpan(today, _next_month(today))
        case "next month":
            return DaySpan(_next_month(today), _next_month(_next_month(today)))
        case "year" | "rest of the year" | "rest of year":
            return DaySpan(today, _new_year(today))
        case "next year":
            return DaySpan(_new_year(today), _new_year(_new_year(today)))
    if match := _NEXT_DAYS.fullmatch(words):
        count = {"few": FEW, "couple of": 2, None: 1}.get(match["count"]) or int(match["count"])
        return DaySpan(today, today + count * (7 if match["unit"] == "week" else 1) * DAY)
    return None


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def _new_year(day: date) -> date:
    return date(day.year + 1, 1, 1) if day.year < date.max.year else date.max
