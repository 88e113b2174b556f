"""Chooses the moment that is meant: which of two hours, which of many dates. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from tools_server.times import days
from tools_server.times.recurrence import local, moment
from tools_server.times.time_phrase import ClockTime, NotUnderstood, TimePhrase
from tools_server.values.language import month, noted, weekday
from tools_server.values.language import text as _

PART_HOURS = {"morning": 9, "lunchtime": 12, "afternoon": 15, "evening": 18, "night": 20}  # when nothing is said
PARTS = {"morning": (5, 12), "lunchtime": (12, 14), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 24)}
AWAKE_FROM = 6  # an hour between midnight and this one is meant only …
NIGHT_WITHIN = timedelta(hours=4)  # … when it comes so soon that whoever says it is still up
TOO_FAR = noted("That is too far away.")
NO_TIME = noted("At what time? Say, for example, tomorrow at 7 AM.")


@dataclass(frozen=True, slots=True)
class Habit:
    """What a bare hour, or no hour, means to those who ask."""

    hour: int | None  # of a day without a time; None: a time must be said
    mornings: tuple[int, ...]  # on a day that was named, these hours are in the morning, the others after noon
    unsure: tuple[int, ...] = ()  # these are asked about instead
    certain: bool = False  # also where no day was named, and the other half comes sooner


REMINDING = Habit(hour=9, mornings=(7, 8, 9, 10, 11))
MORNING = Habit(hour=9, mornings=tuple(range(4, 12)), certain=True)
EVENING = Habit(hour=9, mornings=(), certain=True)
WAKING = Habit(hour=None, mornings=(4, 5, 6, 7, 8, 9, 10, 11), unsure=(1, 2, 3))


class Meaning:
    """What words mean at a moment in a house."""

    def __init__(self, phrase: TimePhrase, now: float, zone: tzinfo | None, habit: Habit) -> None:
        self.phrase = phrase
        self.now = now
        self.zone = zone
        self.habit = habit
        self.wall = local(now, zone).replace(microsecond=0)

    @property
    def today(self) -> date:
        """The date on the clocks of the house."""
        return self.wall.date()

    def day(self) -> date:
        """Return the date that was said, today when none was; a time of day does not matter."""
        if self.phrase.length:
            return self._later()
        return self._first_date() if self.phrase.day else self.today

    def moment(self) -> datetime:
        """Return the one moment that was said. Raises `NotUnderstood`."""
        phrase = self.phrase
        if len(phrase.clocks) > 1:
            raise NotUnderstood(_("I heard two times of day. Say one, or say every day at both."))
        if phrase.length and (phrase.length.seconds or not (phrase.day or phrase.clocks or phrase.part)):
            return self._from_now()
        if phrase.length:
            return self._on([self._later()])
        if phrase.day is None:
            return self._next_time()
        return self._on(days.dates(phrase.day, self.today))

    def _from_now(self) -> datetime:
        length = self.phrase.length
        assert length
        if self.phrase.day or self.phrase.clocks or self.phrase.part:
            raise NotUnderstood(_("I heard both how long from now and a time. Say one of them."))
        if not length.days and not length.months:
            return local(self.now + length.seconds, self.zone)
        same_time = datetime.combine(self._later(), self.wall.time())
        return local(moment(same_time, self.zone) + length.seconds, self.zone)

    def _later(self) -> date:
        length = self.phrase.length
        assert length
        base = self._first_date() if self.phrase.day else self.today
        later = days.add_months(base, length.months) + timedelta(days=length.days)
        if later > self.today + timedelta(days=366 * days.YEARS_AHEAD):
            raise OverflowError
        return later

    def _first_date(self) -> date:
        assert self.phrase.day
        day = next(days.dates(self.phrase.day, self.today), None)
        if day is None:
            raise NotUnderstood(_(TOO_FAR))
        return day

    def _next_time(self) -> datetime:
        """No day was said: the next moment, today or tomorrow, at which that hour makes sense."""
        clock = self.clock
        hours = (clock.hour % 12, clock.hour % 12 + 12) if clock and self._either() else (self.hour(),)
        minute = clock.minute if clock else 0
        moments = sorted(_at(self.today + timedelta(days=more), hour, minute) for more in (0, 1) for hour in hours)
        coming = [at for at in moments if moment(at, self.zone) > self.now]
        napping = self.habit is WAKING and clock and clock.hour != 12
        awake = [at for at in coming if at.hour >= AWAKE_FROM or at - self.wall <= NIGHT_WITHIN]
        return (awake if self._either() and not napping else coming)[0]

    def _on(self, candidates: Iterable[date]) -> datetime:
        """Return the time that was said, on the first of some dates on which it is not past."""
        clock, hour = self.clock, self.hour()
        minute = clock.minute if clock else 0
        if clock and clock.midnight and self.phrase.day != days.On(self.today):
            raise NotUnderstood(_("Midnight lies between two days. Say 12 AM, and the day that begins with it."))
        for on in candidates:
            at = _at(on, hour, minute)
            if self.phrase.weekday not in (None, on.weekday()):
                raise NotUnderstood(
                    _("{month} {day} is a {weekday}. Which day do you mean?").format(
                        month=month(on), day=on.day, weekday=weekday(on)
                    )
                )
            if on == self.today and at <= self.wall and hour < 12 and self._either():
                at += timedelta(hours=12)  # "today at seven", said at eight in the morning
            if moment(at, self.zone) > self.now:
                return at
        if clock is None and self.phrase.day == days.On(self.today):
            raise NotUnderstood(_("At what time? Say, for example, today at 9 PM."))
        raise NotUnderstood(_("That is already past."))

    @property
    def clock(self) -> ClockTime | None:
        """The first time of day that was said."""
        return self.phrase.clocks[0] if self.phrase.clocks else None

    def _either(self) -> bool:
        """Whether the hour may be of the morning as well as of the afternoon."""
        clock = self.clock
        if clock is None or clock.half or clock.part or self.phrase.part or self.habit.certain:
            return False
        return self.habit is not WAKING or clock.hour not in self.habit.mornings

    def hour(self) -> int:
        """Return the hour on a day that is known; 24 and more are in the night after it. Raises `NotUnderstood`."""
        if clock := self.clock:
            return self.hour_of(clock)
        if self.phrase.part and self.habit.hour is not None:
            return PART_HOURS[self.phrase.part]
        if self.habit.hour is None:
            raise NotUnderstood(_(NO_TIME))
        return self.habit.hour

    def hour_of(self, clock: ClockTime) -> int:
        """Return the hour of one of several times of day."""
        part = clock.part or self.phrase.part
        named = bool(self.phrase.day or self.phrase.length) and not self.phrase.recurs
        if clock.midnight:
            return 24 if named else 0
        if clock.half == "24":
            return clock.hour
        if clock.half:
            hour = clock.hour % 12 + 12 * (clock.half == "pm")
            _agree(hour, part)
        elif part == "night":
            hour = clock.hour % 12 + 12 * (AWAKE_FROM <= clock.hour < 12)
        elif part:
            hour = clock.hour % 12 + 12 * (part != "morning")
        elif clock.hour in self.habit.unsure:
            raise NotUnderstood(_("Is that {hour} AM or {hour} PM?").format(hour=clock.hour))
        else:
            hour = clock.hour if clock.hour == 12 or clock.hour in self.habit.mornings else clock.hour + 12
        late = named and ((part == "night" and hour < AWAKE_FROM) or (part == "evening" and clock.hour == 12))
        return hour % 12 + 24 if late else hour


def _agree(hour: int, part: str) -> None:
    if (part == "morning" and hour >= 12) or (part in ("afternoon", "evening") and hour < 12):
        raise NotUnderstood(
            _("Is it in the {part}, or at {hour} {how}?").format(
                part=part, hour=hour % 12 or 12, how=_("AM") if hour < 12 else _("PM")
            )
        )


def _at(day: date, hour: int, minute: int) -> datetime:
    return datetime.combine(day + timedelta(days=hour // 24), time(hour % 24, minute))
