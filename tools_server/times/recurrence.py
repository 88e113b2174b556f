"""Works out when something happens again, by the recurrence rules of RFC 5545 (3.3.10), on the house's clocks.

Rules are kept as RRULE texts with a floating start (no zone, RFC 5545 3.3.5): seven o'clock stays seven o'clock when
summer time comes. Where clocks jump forward over a wall time it moves forward with them; where they show it twice, the
first is meant. Rules in hours and minutes count time that passes instead, for a dose every eight hours is every eight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dateutil import rrule

Frequency = Literal["MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
WEEKDAYS = (0, 1, 2, 3, 4)
MOST_PASSED = 100  # occurrences that are counted
_PASSING = {"MINUTELY": 60, "HOURLY": 3600}  # seconds: frequencies that count time, not dates
_UNTIL = "%Y%m%dT%H%M%S"


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """One RRULE, of the parts that people say. `days` are of the week, Monday 0."""

    frequency: Frequency
    interval: int = 1
    days: tuple[int, ...] = ()
    nth: int = 0  # with one day: the first (1) … fifth (5) or last (-1) of the month; 0 is every one
    month_days: tuple[int, ...] = ()  # 1…31, or -1 for the last
    month: int = 0  # of a yearly rule
    hours: tuple[int, ...] = ()  # when there are several a day; their minutes are the start's
    count: int = 0  # 0 is without an end
    until: datetime | None = None  # the last moment that counts, on the clocks of the house

    @property
    def passing(self) -> bool:
        """Whether it counts time that passes, not days of a calendar."""
        return self.frequency in _PASSING

    @property
    def seconds(self) -> int:
        """How much time passes between two, where time is what it counts."""
        return self.interval * _PASSING[self.frequency]

    def text(self) -> str:
        """Return the RRULE."""
        parts = [f"FREQ={self.frequency}"]
        if self.interval > 1:
            parts.append(f"INTERVAL={self.interval}")
        if self.month:
            parts.append(f"BYMONTH={self.month}")
        if self.days:
            parts.append("BYDAY=" + ",".join(f"{self.nth or ''}{DAYS[day]}" for day in self.days))
        if self.month_days:
            parts.append("BYMONTHDAY=" + ",".join(map(str, self.month_days)))
        if self.hours:
            parts.append("BYHOUR=" + ",".join(map(str, self.hours)))
        if self.count:
            parts.append(f"COUNT={self.count}")
        if self.until:
            parts.append(f"UNTIL={self.until.strftime(_UNTIL)}")
        return ";".join(parts)

    def first(self, earliest: datetime, after: datetime) -> datetime:
        """Return the first day and time that the rule names, not before `earliest` and later than `after`.

        Its time of day is that of `earliest`. "Every other Tuesday" begins with the next one, whenever that is said.
        """
        first: datetime | None = _rrule(replace(self, interval=1, count=0, until=None), earliest).after(after)
        assert first, "a rule without an end, whose days exist, always goes on"
        return first


def read(text: str) -> RecurrenceRule:
    """Return the rule that `RecurrenceRule.text` wrote."""
    parts = dict(part.split("=", 1) for part in text.split(";"))
    by_day = [day for day in parts.get("BYDAY", "").split(",") if day]
    return RecurrenceRule(
        frequency=parts["FREQ"],  # type: ignore[arg-type]  # it was one when it was written
        interval=int(parts.get("INTERVAL", 1)),
        days=tuple(DAYS.index(day[-2:]) for day in by_day),
        nth=int(by_day[0][:-2] or 0) if by_day else 0,
        month_days=_numbers(parts.get("BYMONTHDAY", "")),
        month=int(parts.get("BYMONTH", 0)),
        hours=_numbers(parts.get("BYHOUR", "")),
        count=int(parts.get("COUNT", 0)),
        until=datetime.strptime(parts["UNTIL"], _UNTIL) if "UNTIL" in parts else None,  # noqa: DTZ007  # floating
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule with its start: every occurrence there will ever be."""

    rule: RecurrenceRule
    start: datetime  # floating; the first occurrence

    def next(self, after: float, zone: tzinfo | None) -> float | None:
        """Return the first occurrence later than `after`, both in seconds since 1970; None when it has ended."""
        if self.rule.passing:
            return self._next_passing(after, zone)
        rule, wall = _rrule(self.rule, self.start), local(after, zone).replace(fold=0)
        # A wall time in a gap is an hour later than its digits, so one with smaller digits may still be to come.
        at: datetime | None = rule.after(wall - timedelta(hours=2), inc=True)
        while at is not None and moment(at, zone) <= after:
            at = rule.after(at)
        return moment(at, zone) if at is not None else None

    def _next_passing(self, after: float, zone: tzinfo | None) -> float | None:
        # Arithmetic, not a walk: every five minutes for some years is a million steps.
        begin = moment(self.start, zone)
        step = self.rule.seconds
        number = max(0, int((after - begin) // step) + 1)
        count = begin + number * step
        ended = self.rule.count and number >= self.rule.count
        late = self.rule.until is not None and count > moment(self.rule.until, zone)
        return None if ended or late else count

    def passed(self, since: float, now: float, zone: tzinfo | None) -> int:
        """Return how many occurrences lie after `since` and not after `now`, counting no further than a hundred."""
        count = 0
        at = self.next(since, zone)
        while at is not None and at <= now and count < MOST_PASSED:
            count, at = count + 1, self.next(at, zone)
        return count


class Recurring:
    """A stored row that comes once, or again and again by a rule."""

    __slots__ = ()
    rule: str  # RRULE; "" is once
    start: str  # of the rule: ISO, on the clocks of the house
    at: float | None  # the occurrence it is about; None: it waits for no time

    @property
    def off(self) -> bool:
        """Whether it comes no more, or at no time."""
        return self.at is None

    @property
    def recurrence(self) -> Recurrence | None:
        """Return its rule with its start."""
        return Recurrence(read(self.rule), datetime.fromisoformat(self.start)) if self.rule else None

    def next(self, after: float, zone: tzinfo | None) -> float | None:
        """Return when it comes first after a moment, by its rule; None when that has ended, or there is none."""
        recurrence = self.recurrence
        return recurrence.next(after, zone) if recurrence else None

    def on(self, day: date, zone: tzinfo | None) -> float | None:
        """Return when it comes first on a day that is not over; None when it does not."""
        if self.at is None or self.off:
            return None
        if local(self.at, zone).date() == day:
            return self.at
        midnight = moment(datetime.combine(day, time()), zone)
        at = self.next(max(self.at, midnight - 1), zone)
        return at if at is not None and local(at, zone).date() == day else None


def moment(wall: datetime, zone: tzinfo | None) -> float:
    """Return when the clocks of the house show `wall`, in seconds since 1970. `fold` 1 means the second time.

    Raises `OverflowError` on the first and the last days of the calendar.
    """
    try:
        return wall.replace(tzinfo=zone).timestamp()  # PEP 495: in a gap the offset from before holds, so it moves on
    except ValueError:  # the system's own zone looks a day around
        raise OverflowError from None


def local(at: float, zone: tzinfo | None) -> datetime:
    """Return what the clocks of the house show at a moment, without a zone; `fold` says which of two."""
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None)


def _rrule(rule: RecurrenceRule, start: datetime) -> rrule.rrule:
    from dateutil import rrule  # 5 MB that a house without recurrences need not carry

    made = rrule.rrulestr(rule.text(), dtstart=start.replace(microsecond=0))
    assert isinstance(made, rrule.rrule), "one rule is no set of them"
    return made
