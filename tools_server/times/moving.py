"""Moves a moment that stands by what is said anew about it: what was not said stays. Pure.

"To Wednesday" moves the day and leaves the hour, "to half past four" moves the hour and leaves the day, "an hour later"
is counted from the moment itself. A bare hour is of the half of the day that the moment was in, when it was in an
evening; a bare weekday is of its week, when that day is still to come.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, time, timedelta, tzinfo

from tools_server.times import days
from tools_server.times.days import On, Weekday
from tools_server.times.recurrence import RecurrenceRule, local, moment
from tools_server.times.time_phrase import ClockTime, NotUnderstood, TimePhrase
from tools_server.times.when import When, understand
from tools_server.times.when_grammar import read_words
from tools_server.times.when_moment import PARTS, REMINDING, TOO_FAR, Habit, Meaning
from tools_server.times.when_words import LENGTH, length, regular
from tools_server.values.language import text as _

EVENING = 17  # from this hour on, "at eight" means the evening to who moves something
_SHIFT = re.compile(rf"(?:by )?(?P<length>{LENGTH}) (?P<way>later|after|earlier|sooner|before)")


def moved(text: str, before: datetime, now: float, zone: tzinfo | None, habit: Habit = REMINDING) -> When:
    """Return when something is that was at `before`, on the clocks of the house, and is moved to what is said.

    Raises `NotUnderstood` with a sentence that names what could not be taken, or that it is past.
    """
    if shifted := _shifted(text, before):
        return _coming(shifted, now, zone)
    phrase = read_words(text, local(now, zone).date())
    if (
        phrase.recurs
        or phrase.until
        or phrase.count
        or phrase.span
        or phrase.starting
        or (phrase.length and phrase.length.seconds)
    ):
        return understand(text, now, zone, habit)
    if len(phrase.clocks) > 1:
        raise NotUnderstood(_("I heard two times of day. Say one."))
    hour = _time(phrase, before, habit)
    if not (phrase.day or phrase.length):
        on = before.date() + timedelta(days=hour // 24)
        return _coming(datetime.combine(on, time(hour % 24, _minute(phrase, before))), now, zone)
    if isinstance(phrase.day, Weekday) and not phrase.day.next_week:
        phrase.day = _same_week(phrase.day, before.date(), phrase.today) or phrase.day
    if not phrase.clocks or not phrase.clocks[0].midnight:
        phrase.clocks, phrase.part = [ClockTime(hour, _minute(phrase, before), "24")], ""
    try:
        return When(Meaning(phrase, now, zone, habit).moment())
    except OverflowError:
        raise NotUnderstood(_(TOO_FAR)) from None


def moves_time(text: str, today: date) -> bool:
    """Tell whether a time of day is said anew, and not only a day. Raises `NotUnderstood`."""
    if match := _SHIFT.fullmatch(regular(text)):
        shift = length(match["length"])
        return bool(shift and shift.seconds)
    phrase = read_words(text, today)
    return bool(phrase.clocks or phrase.part or (phrase.length and phrase.length.seconds))


def moved_rule(rule: RecurrenceRule, before: datetime, at: datetime) -> RecurrenceRule | None:
    """Return the rule that comes at `at` where it came at `before`; None when that would be another rule."""
    if rule.passing:
        return rule
    if len(rule.hours) > 1 and at.time() != before.time():
        return None
    rule = replace(rule, hours=())
    if at.date() == before.date() or rule.frequency == "DAILY":
        return rule
    if rule.frequency == "WEEKLY" and len(rule.days) == 1:
        return replace(rule, days=(at.weekday(),))
    if rule.frequency == "MONTHLY" and len(rule.month_days) == 1 and 0 < at.day <= 28:
        return replace(rule, month_days=(at.day,))
    return None


def _shifted(text: str, before: datetime) -> datetime | None:
    """Return what "an hour later" makes of a moment; None for other words."""
    match = _SHIFT.fullmatch(regular(text))
    by = length(match["length"]) if match else None
    if match is None or by is None:
        return None
    sign = 1 if match["way"] in ("later", "after") else -1
    on = days.add_months(before.date(), sign * by.months)
    return datetime.combine(on, before.time()) + sign * timedelta(days=by.days, seconds=by.seconds)


def _coming(at: datetime, now: float, zone: tzinfo | None) -> When:
    if moment(at, zone) <= now:
        raise NotUnderstood(_("That is already past."))
    return When(at)


def _same_week(day: Weekday, before: date, today: date) -> On | None:
    """Return that day of the week in which something was; None when it is over."""
    on = before + timedelta(days=day.day - before.weekday())
    return On(on) if on > today else None


def _time(phrase: TimePhrase, before: datetime, habit: Habit) -> int:
    """Return the hour that is meant, 24 and more in the night after it; that of before when none was said."""
    if not phrase.clocks:
        first, last = PARTS.get(phrase.part, (0, 24))
        return before.hour if first <= before.hour < last else Meaning(phrase, 0.0, None, habit).hour()
    clock = phrase.clocks[0]
    late = before.hour >= (EVENING if habit is REMINDING else 12)
    if late and not (clock.half or clock.part or phrase.part or clock.midnight):
        return min((clock.hour % 12, clock.hour % 12 + 12), key=lambda hour: abs(hour - before.hour))
    return Meaning(phrase, 0.0, None, habit).hour_of(clock)


def _minute(phrase: TimePhrase, before: datetime) -> int:
    if phrase.clocks:
        return phrase.clocks[0].minute
    first, last = PARTS.get(phrase.part, (0, 24))
    return before.minute if first <= before.hour < last else 0
