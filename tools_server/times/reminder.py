"""One reminder: what it waits for, what is said of it, and what comes after. Pure; times in seconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, tzinfo
from difflib import SequenceMatcher
from typing import Any

from tools_server.sdk.wording import plain, spoken
from tools_server.times.recurrence import Recurrence, local, moment, read
from tools_server.times.spoken_time import ago_words, day_words, moment_words, rule_words
from tools_server.values.language import current, noun, plural, speaking
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import place

MOST_SAYINGS = 3
AGAIN_SECONDS = 300  # time to come back from the garden
LATE_SECONDS = 120  # from here on it is said what the reminder was for
TELL_MISSED_SECONDS = 7 * 86_400  # that it is told to have been missed
EVERYONE = "everyone"


@dataclass(frozen=True, slots=True)
class Reminder:
    """One row."""

    id: str
    text: str
    person: str
    room: str
    device: str  # its `device_key`, for another may get its name
    made_by: str
    made_at: float
    rule: str = ""
    start: str = ""
    heard: str = ""
    at: float | None = None
    due_at: float | None = None
    said: int = 0
    language: str = ""  # in which it was set, and is said
    missed_at: float | None = None  # when it was said long after its moment: the house was off then

    @property
    def recurrence(self) -> Recurrence | None:
        """Return its rule with its start."""
        return Recurrence(read(self.rule), datetime.fromisoformat(self.start)) if self.rule else None

    def comes_on(self, day: date, zone: tzinfo | None) -> bool:
        """Whether it is said on a day, first or once more."""
        if self.at is None:
            return False
        if local(self.at, zone).date() == day:
            return True
        midnight = moment(datetime.combine(day, time()), zone)
        at = self.recurrence.next(max(self.at, midnight - 1), zone) if self.recurrence else None
        return at is not None and local(at, zone).date() == day

    @property
    def unanswered(self) -> bool:
        """Whether it was said as often as it is said, and nobody answered."""
        return self.due_at is None and not self.heard


def same(name: str, other: str) -> bool:
    """Whether two names are of one person."""
    return name.casefold() == other.casefold()


_EMPTY = frozenset(
    ["a", "an", "the", "my", "our", "your", "to", "of", "about", "that", "for", "and", "reminder", "reminders"]
)
_ALIKE = 0.6


def holding(reminders: Sequence[Reminder], words: str) -> tuple[list[Reminder], Reminder | None]:
    """Return the reminders that hold all the words, or beginnings of theirs; without any, the one that is nearest."""
    wanted = _telling(words)
    likeness = [(min((_best(word, _telling(r.text)) for word in wanted), default=0.0), r) for r in reminders]
    exact = [r for r in reminders if plain(r.text) == plain(words)]
    matching_reminders = exact or [reminder for likely, reminder in likeness if likely >= 1.0]
    nearest = max(likeness, key=lambda pair: pair[0], default=None)
    return matching_reminders, nearest[1] if nearest and nearest[0] >= _ALIKE else None


def _telling(text: str) -> list[str]:
    words = plain(text).split()
    return [word for word in words if word not in _EMPTY] or words


def _best(word: str, among: Sequence[str]) -> float:
    """Return how much a word is like one of others; 1.0 when one begins with the other: "bin" and "bins"."""
    return max(
        (1.0 if _begins(word, other) else SequenceMatcher(None, word, other).ratio() for other in among), default=0
    )


def _begins(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return (len(short) >= 3 and long.startswith(short)) or word == other


def following(reminder: Reminder, now: float, zone: tzinfo | None) -> Reminder | None:
    """Return it waiting for its next occurrence after now; None when there is none."""
    recurrence = reminder.recurrence
    at = recurrence.next(max(now, reminder.at or 0.0), zone) if recurrence else None
    return replace(reminder, at=at, due_at=at, said=0) if at is not None else None


def after_saying(reminder: Reminder, now: float, zone: tzinfo | None) -> Reminder:
    """Return it after it was said and before anybody answered: to be said again, or waiting for its next time."""
    number, again = reminder.said + 1, now + AGAIN_SECONDS
    if number == 1 and reminder.due_at is not None and now - reminder.due_at >= LATE_SECONDS:
        reminder = replace(reminder, missed_at=now)
    later = following(reminder, now, zone)
    if later and later.at is not None and (number >= MOST_SAYINGS or later.at <= again):
        return later
    return replace(reminder, said=number, due_at=again if number < MOST_SAYINGS else None)


def promise(reminder: Reminder, me: str, now: float, zone: tzinfo | None) -> str:
    """Return "I'll remind Anna tomorrow at 5 PM", said to `me`, whose name may be ""."""
    wall, when = local(now, zone), when_words(reminder, now, zone)
    if reminder.heard:
        return _("When I next hear {how}, I'll say").format(
            how=_("you") if same(reminder.heard, me) else reminder.heard
        )
    where = _(" in {room:the}").format(room=place(noun(reminder.room))) if reminder.room and not reminder.device else ""
    if where and not reminder.person:
        text = _("I'll say it{where} {when}").format(where=where, when=when)
    else:
        text = _("I'll remind {how}{where} {when}").format(
            how=_("you") if same(reminder.person, me) else reminder.person, where=where, when=when
        )
    if reminder.rule and reminder.at is not None and not reminder.rule.startswith("FREQ=DAILY"):
        text += _(", starting {day_words}").format(day_words=day_words(local(reminder.at, zone).date(), wall.date()))
    return text


def when_words(reminder: Reminder, now: float, zone: tzinfo | None) -> str:
    """Return "tomorrow at 7 PM", "every day at 9 AM", "when Anna is next heard", or for one that is past "5 PM"."""
    wall = local(now, zone)
    if reminder.heard:
        return _("when {heard} is next heard").format(heard=reminder.heard)
    if recurrence := reminder.recurrence:
        return rule_words(recurrence.rule, recurrence.start, wall)
    assert reminder.at is not None, "a reminder waits for a voice or for a time"
    at = local(reminder.at, zone)
    return moment_words(at, wall) if reminder.at > now else _("from {ago_words}").format(ago_words=ago_words(at, wall))


def listed(reminder: Reminder, me: str, now: float, zone: tzinfo | None) -> str:
    """Return "take the bins out, tomorrow at 7 PM, for Anna"."""
    whom = (
        _(", for {person}").format(person=reminder.person) if reminder.person and not same(reminder.person, me) else ""
    )
    state = _(", which nobody answered") if reminder.unanswered else ""
    return f"{spoken(reminder.text)}, {when_words(reminder, now, zone)}{whom}{state}"


def told_apart(reminders: Sequence[Reminder], me: str, now: float, zone: tzinfo | None) -> list[str]:
    """Return "call mum today at 5 PM" of each, with for whom and where it is only when that is what differs.

    Those that a person could not tell apart are called the same.
    """
    texts = [f"{spoken(reminder.text)} {when_words(reminder, now, zone)}" for reminder in reminders]
    whom = [
        _(" for {how}").format(how=_("you") if same(reminder.person, me) else reminder.person)
        if reminder.person
        else ""
        for reminder in reminders
    ]
    where = [
        _(" in {room:the}").format(room=place(noun(reminder.room))) if reminder.room else "" for reminder in reminders
    ]
    for messages in (whom, where):
        if len({*texts}) < len(texts) and len({*messages}) > 1:
            texts = [label + more for label, more in zip(texts, messages, strict=True)]
    return texts


def saying(reminder: Reminder, now: float, zone: tzinfo | None) -> dict[str, Any]:
    """Return one that is due as the house is to say it: where, to whom, in its language, and with how late it is."""
    with speaking(reminder.language):
        return _saying(reminder, now, zone)


def _saying(reminder: Reminder, now: float, zone: tzinfo | None) -> dict[str, Any]:
    assert reminder.due_at is not None
    late = now - reminder.due_at
    everywhere = reminder.said >= MOST_SAYINGS - 1
    name = reminder.person[:1].upper() + reminder.person[1:]
    text = _("{name}, a reminder").format(name=name) if name else _("Reminder")
    again = (_(", again") if name else _(" again")) if reminder.said else ""
    text += f"{again}: {spoken(reminder.text)}."
    if late >= LATE_SECONDS and not reminder.said:
        text += _(" This was for {ago_words}").format(
            ago_words=ago_words(local(reminder.due_at, zone), local(now, zone))
        )
        recurrence = reminder.recurrence
        more = recurrence.passed(reminder.due_at, now, zone) if recurrence else 0
        text += (
            _(", and {count} since.").format(count=plural("{count} more time", "{count} more times", more))
            if more
            else "."
        )
    return {
        "id": reminder.id,
        "text": text,
        "language": current(),
        "what": reminder.text,
        "device": "" if everywhere else reminder.device,
        "room": "" if everywhere else reminder.room,
        "person": "" if reminder.person == EVERYONE else reminder.person,
        "late_seconds": round(late, 3),
        "urgent": everywhere,
    }


def shown(reminder: Reminder, now: float, zone: tzinfo | None) -> dict[str, Any]:
    """Return a reminder as data."""
    state = "unanswered" if reminder.unanswered else "told" if reminder.said else "waiting"
    fields = {key: getattr(reminder, key) for key in ("id", "text", "person", "room", "rule", "heard", "at", "due_at")}
    lately = reminder.missed_at is not None and now - reminder.missed_at < TELL_MISSED_SECONDS
    fields["missed_at"] = reminder.missed_at if lately else None
    iso = "" if reminder.at is None else f"{local(reminder.at, zone):%Y-%m-%dT%H:%M}"
    return {**fields, "iso": iso, "state": state, "when": when_words(reminder, now, zone)}
