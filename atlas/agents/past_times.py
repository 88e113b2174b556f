"""Reads words for days gone by into a span of time: "yesterday evening", "on Monday", "last week". Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any

from atlas.store.recall import TimeSpan


class PastTimes:
    """How one language names days of the past, and how it says when something was."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._days: Mapping[str, int] = table["days"]
        self._weekdays: list[str] = table["weekdays"]
        self._weeks: Mapping[str, int] = table["weeks"]
        self._parts: Mapping[str, tuple[int, int]] = table["parts"]
        self._named: Mapping[str, str] = table["named"]
        self._before = re.compile(rf"^{table['before']}", re.IGNORECASE)
        self._weekday: str = table["weekday"]
        self._times: Mapping[str, str] = table["times"]
        self._names: Mapping[str, Sequence[str]] = table.get("names", {})

    def span(self, words: str, now: datetime) -> TimeSpan | None:
        """Return the span that `words` mean at `now`, in its time zone; `None` when they mean none that is known.

        A weekday is the last one before today.
        """
        text = self._plain(words)
        midnight = datetime.combine(now.date(), time(), now.tzinfo)
        if text in self._weeks:
            monday = midnight - timedelta(days=now.weekday() + 7 * self._weeks[text])
            return _span(monday, monday + timedelta(days=7))
        text = self._named.get(text, text)
        day, first, last = text, 0, 24
        for part, hours in self._parts.items():
            if text.endswith(f" {part}"):
                day, (first, last) = text.removesuffix(f" {part}"), hours
        if day in self._days:
            ago = self._days[day]
        elif day in self._weekdays:
            ago = (now.weekday() - self._weekdays.index(day) - 1) % 7 + 1
        else:
            return None
        that = midnight - timedelta(days=ago)
        return _span(_hour(that, first), _hour(that, last))

    def day_phrase(self, words: str) -> str:
        """Return a day as it fits into a sentence."""
        plain = self._plain(words)
        return self._weekday.format(day=words) if plain == words.lower() and plain in self._weekdays else words

    def when(self, at: datetime, now: datetime) -> str:
        """Return how a moment of the past is said at `now`."""
        days = (now.date() - at.date()).days
        known = {0: "today", 1: "yesterday"} | dict.fromkeys(range(2, 7), "this_week")
        names = {name: table[index] for name, table, index in self._named_by(at)}
        return self._times[known.get(days, "earlier")].format(at=at, **names)

    def _named_by(self, at: datetime) -> list[tuple[str, Sequence[str], int]]:
        """Return which names of days and months a moment has, where a language writes its own."""
        tables = [("weekday", "weekdays", at.weekday()), ("month", "months", at.month - 1)]
        return [(name, self._names[table], index) for name, table, index in tables if table in self._names]

    def _plain(self, words: str) -> str:
        text = " ".join(words.lower().split())
        return text if text in self._named or text in self._weeks else self._before.sub("", text)


def _span(first: datetime, last: datetime) -> TimeSpan:
    return TimeSpan(first.timestamp(), last.timestamp())


def _hour(midnight: datetime, hour: int) -> datetime:
    """Return an hour of a day by the clock on the wall, which may jump in its night."""
    day = midnight + timedelta(days=hour // 24)
    return datetime.combine(day.date(), time(hour % 24), midnight.tzinfo)
