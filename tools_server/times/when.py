"""Reads words into a moment, a recurrence, or somebody being heard; what is not understood is an error, no guess.

    understand("every other Tuesday at seven", now, zone) → When(at=…, rule=Rule("WEEKLY", interval=2, days=(1,)))

`when_grammar` reads the words, `when_moment` and `when_rules` decide what they mean, and whoever acts on the answer
says it back (`spoken_time`). dateparser was tried for this: to it "at five" is a day in May, and what it cannot use it
leaves out in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from tools_server.times.recurrence import RecurrenceRule, local, moment
from tools_server.times.time_phrase import NotUnderstood
from tools_server.times.when_grammar import read_event, read_words
from tools_server.times.when_moment import REMINDING, TOO_FAR, WAKING, Habit, Meaning
from tools_server.times.when_rules import recurring
from tools_server.values.language import text as _

__all__ = ["REMINDING", "WAKING", "NotUnderstood", "When", "understand", "understand_day"]


@dataclass(frozen=True, slots=True)
class When:
    """What was understood: `at` the clocks of the house, once or by a rule; or when a person is next heard."""

    at: datetime | None = None  # without a zone; fold 1 is the second of two equal times
    rule: RecurrenceRule | None = None  # then `at` is where it starts
    heard: str = ""  # a person, as said; "me" for the one who speaks


def understand(text: str, now: float, zone: tzinfo | None, habit: Habit = REMINDING) -> When:
    """Return what the words mean when said at `now`, in seconds since 1970, in a house in `zone`.

    Raises `NotUnderstood` with a sentence that names the words it could not take, or what is missing or impossible.
    """
    if person := read_event(text):
        return When(heard=person)
    phrase = read_words(text, local(now, zone).date())
    meaning = Meaning(phrase, now, zone, habit)
    try:
        if phrase.recurs:
            rule, start = recurring(meaning)
            return When(start, rule)
        if phrase.until or phrase.count or phrase.span or phrase.starting:
            raise NotUnderstood(_("Say how often as well, such as every day until Friday."))
        at = meaning.moment()
    except OverflowError:
        raise NotUnderstood(_(TOO_FAR)) from None
    if moment(at, zone) <= now:
        raise NotUnderstood(_("That is already past."))
    return When(at)


def day_in(text: str, now: float, zone: tzinfo | None) -> date | None:
    """Return the one day that is meant; None where none is, or more than one."""
    try:
        return understand_day(text, now, zone)[0] if text.strip() else None
    except NotUnderstood:
        return None


def understand_day(text: str, now: float, zone: tzinfo | None) -> tuple[date, bool]:
    """Return the date that is meant, today or later, and whether a time of day was said too. Raises `NotUnderstood`."""
    phrase = read_words(text, local(now, zone).date())
    if phrase.recurs or phrase.until or phrase.starting:
        raise NotUnderstood(_("Name one day, such as Christmas or June 5th."))
    try:
        day = Meaning(phrase, now, zone, REMINDING).day()
    except OverflowError:
        raise NotUnderstood(_(TOO_FAR)) from None
    return day, bool(phrase.clocks or (phrase.length and phrase.length.seconds))
