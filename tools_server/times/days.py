"""Finds the dates that the days people name can stand for. Pure."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count, islice

YEARS_AHEAD = 20  # further than that nobody plans, and a slip of the tongue is likelier
FEASTS = {  # name as `when_words.regular` makes it → month and day; Easter and what hangs on it: days after it
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "boxing day": (12, 26),
    "new years eve": (12, 31),
    "new years day": (1, 1),
    "new years": (1, 1),
    "new year": (1, 1),
    "valentines day": (2, 14),
    "saint patricks day": (3, 17),
    "st patricks day": (3, 17),
    "april fools day": (4, 1),
    "halloween": (10, 31),
}
EASTER = {"good friday": -2, "easter sunday": 0, "easter monday": 1, "easter": 0, "pentecost": 49, "whit monday": 50}


@dataclass(frozen=True, slots=True)
class On:
    """One date."""

    date: date


@dataclass(frozen=True, slots=True)
class Weekday:
    """A day of the week, Monday 0; `next_week` is the one of the next Monday-to-Sunday week."""

    day: int
    next_week: bool = False


@dataclass(frozen=True, slots=True)
class MonthDay:
    """A day of a month of the year; `year` 0 is the next one there is."""

    month: int
    day: int
    year: int = 0


@dataclass(frozen=True, slots=True)
class OfMonth:
    """Days of whatever month: 1…31, -1 for the last."""

    days: tuple[int, ...]
    month: int = 0


@dataclass(frozen=True, slots=True)
class Nth:
    """The first (1) … fifth (5) or last (-1) of a day of the week in a month; `month` 0 is any."""

    nth: int
    day: int
    month: int = 0


@dataclass(frozen=True, slots=True)
class Easter:
    """Days after Easter Sunday; `year` 0 is whatever year."""

    after: int
    year: int = 0


Day = On | Weekday | MonthDay | OfMonth | Nth | Easter


def dates(day: Day, today: date) -> Iterator[date]:
    """Return the dates, today or later, that are meant by a day: the nearest first, an end after some years."""
    horizon = today + timedelta(days=366 * YEARS_AHEAD)
    for matching_day in islice(_all(day, today), 12 * YEARS_AHEAD):
        if matching_day >= today or (isinstance(day, On) or (isinstance(day, MonthDay) and day.year)):
            if matching_day > horizon:
                return
            yield matching_day


def _all(day: Day, today: date) -> Iterator[date]:
    match day:
        case On(date=on):
            yield on
        case Weekday(day=number, next_week=next_week):
            monday = today - timedelta(days=today.weekday())
            if next_week:
                yield monday + timedelta(days=7 + number)
                return
            yield from (monday + timedelta(days=number + 7 * week) for week in count())
        case MonthDay(month=month, day=number, year=year):
            years = [year] if year else range(today.year, today.year + YEARS_AHEAD)
            yield from (date(one_value, month, number) for one_value in years if exists(one_value, month, number))
        case OfMonth(days=numbers, month=only):
            for year, month in _months(today):
                if only in (0, month):
                    last = last_day(year, month)
                    results = (last if number == -1 else number for number in numbers)
                    yield from (date(year, month, number) for number in sorted(results) if number <= last)
        case Nth(nth=nth, day=number, month=only):
            for year, month in _months(today):
                if only in (0, month) and (on_day := nth_of_month(year, month, nth, number)):
                    yield on_day
        case Easter(after=after, year=year):
            from dateutil.easter import easter

            yield from (
                easter(one_value) + timedelta(days=after) for one_value in ([year] if year else count(today.year))
            )


def nth_of_month(year: int, month: int, nth: int, day: int) -> date | None:
    """Return the nth such day of the week in a month, -1 for the last; None when the month has no fifth."""
    last = last_day(year, month)
    first = 1 + (day - date(year, month, 1).weekday()) % 7
    matching_range = range(first, last + 1, 7)
    index = nth - 1 if nth > 0 else nth
    return date(year, month, matching_range[index]) if index < len(matching_range) else None


def _months(today: date) -> Iterator[tuple[int, int]]:
    months = range(today.month - 1, today.month + 12 * YEARS_AHEAD)
    return ((today.year + number // 12, number % 12 + 1) for number in months)


def last_day(year: int, month: int) -> int:
    """Return the number of days of a month."""
    return monthrange(year, month)[1]


def exists(year: int, month: int, day: int) -> bool:
    """Whether there is such a date."""
    return 1 <= month <= 12 and 1 <= day <= last_day(year, month)


def add_months(day: date, months: int) -> date:
    """Return the same day some months later; the last of the month where it has no such day. Raises OverflowError."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if year > day.year + YEARS_AHEAD:
        raise OverflowError
    return date(year, month + 1, min(day.day, last_day(year, month + 1)))
