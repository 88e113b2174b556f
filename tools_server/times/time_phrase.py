"""A phrase about a time as a value, before anything is concluded from it; and reading one word by word. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from tools_server.sdk.toolkit import ToolFailed
from tools_server.times.days import Day, MonthDay, OfMonth, On, Weekday
from tools_server.times.recurrence import Frequency
from tools_server.times.when_words import Length
from tools_server.values.language import text as _

Half = Literal["", "am", "pm", "24"]  # "24": the hour is of a whole day


class NotUnderstood(ToolFailed):
    """The words are no time that is known here; `str()` is a sentence that says which, or what is missing."""

    def __init__(self, sentence: str) -> None:
        super().__init__("invalid", sentence)


@dataclass(slots=True)
class ClockTime:
    """A time of day as it was said."""

    hour: int
    minute: int = 0
    half: Half = ""
    part: str = ""  # morning, afternoon, evening, night
    midnight: bool = False


@dataclass(slots=True)
class TimePhrase:
    """What was said, before anything is concluded from it."""

    today: date
    day: Day | None = None
    weekday: int | None = None  # said beside a date
    length: Length | None = None  # from now, or from `day`
    clocks: list[ClockTime] = field(default_factory=list)
    part: str = ""
    every: bool = False
    frequency: Frequency | None = None
    interval: int = 1
    days: tuple[int, ...] = ()  # of a weekly rule
    count: int = 0
    span: Length | None = None
    starting: TimePhrase | None = None
    until: TimePhrase | None = None

    @property
    def recurs(self) -> bool:
        """Whether it is about more than one moment."""
        return self.every or self.frequency is not None

    @property
    def bare(self) -> bool:
        """Whether nothing was said."""
        return not (self.day or self.length or self.clocks or self.part or self.recurs)


class TimeReader:
    """Where the words go: into what is said, or into its beginning or end."""

    def __init__(self, today: date) -> None:
        self.phrase = TimePhrase(today)
        self.into = self.phrase

    def day(self, day: Day) -> None:
        """Note a day; a weekday beside a date must agree with it."""
        had = self.into.day
        if isinstance(day, Weekday) and had is not None and not isinstance(had, Weekday):
            self.into.weekday = day.day
        elif isinstance(had, Weekday) and isinstance(day, MonthDay | OfMonth | On):
            self.into.day, self.into.weekday = day, had.day
        elif had is None:
            self.into.day = day
        else:
            raise NotUnderstood(_("I heard two different days. Say one of them."))

    def clock(self, clock: ClockTime) -> None:
        """Note a time of day."""
        if clock.hour > 24 or clock.minute > 59 or (clock.hour > 12 and clock.half in ("am", "pm")):
            raise NotUnderstood(
                _("There is no time {hour}:{minute:02d}{half}{half2}.").format(
                    hour=clock.hour, minute=clock.minute, half=clock.half and " ", half2=clock.half
                )
            )
        if clock.hour > 12 or clock.hour == 0:
            clock.half = "24"
        # "Every day until Friday at nine": it is every day that it happens at nine.
        passing = self.phrase.frequency in ("HOURLY", "MINUTELY")
        if self.into is not self.phrase and not passing and not self.phrase.clocks and self.phrase.recurs:
            self.into = self.phrase
        self.into.clocks.append(clock)

    def part(self, part: str) -> None:
        """Note a part of the day, of the time just said or of the whole."""
        if self.into.clocks and not self.into.clocks[-1].part and not self.into.part:
            self.into.clocks[-1].part = part
        elif self.into.part:
            raise NotUnderstood(_("I heard two parts of the day. Say one of them."))
        else:
            self.into.part = part

    def every(self, frequency: Frequency, interval: int = 1, days: tuple[int, ...] = ()) -> None:
        """Note how often."""
        twice = self.phrase.frequency is not None and (frequency, interval) != (
            self.phrase.frequency,
            self.phrase.interval,
        )
        if twice or (self.phrase.days and days):
            raise NotUnderstood(_("I heard two ways of how often. Say one of them."))
        if not 1 <= interval <= 1000:
            raise NotUnderstood(_("That is too far apart."))
        self.phrase.frequency, self.phrase.interval, self.phrase.days = frequency, interval, days or self.phrase.days
