"""One reminder: what it waits for, what is said of it, and what comes after. Pure; times in seconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from difflib import SequenceMatcher
from typing import Any

from tools_server.sdk.wording import plain, spoken
from tools_server.times.recurrence import Recurring, local
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
class Reminder(Recurring):
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
    def unanswered(self) -> bool:
        """Whether it was said as often as it is said, and nobody answered."""
        return self.due_at is None and not self.heard

    def following(self, now: float, zone: tzinfo | None) -> Reminder | None:
        """Return it waiting for its next occurrence after now; None when there is none."""
        at = self.next(max(now, self.at or 0.0), zone)
        return replace(self, at=at, due_at=at, said=0) if at is not None else None

    def after_saying(self, now: float, zone: tzinfo | None) -> Reminder:
        """Return it after it was said and before anybody answered: to be said again, or waiting for its next time."""
        number, again = self.said + 1, now + AGAIN_SECONDS
        is_late = number == 1 and self.due_at is not None and now - self.due_at >= LATE_SECONDS
        noted = replace(self, missed_at=now) if is_late else self
        later = noted.following(now, zone)
        if later and later.at is not None and (number >= MOST_SAYINGS or later.at <= again):
            return later
        return replace(noted, said=number, due_at=again if number < MOST_SAYINGS else None)

    def promise(self, me: str, now: float, zone: tzinfo | None) -> str:
        """Return "I'll remind Anna tomorrow at 5 PM", said to `me`, whose name may be ""."""
        wall, when = local(now, zone), self.when_words(now, zone)
        if self.heard:
            return _("When I next hear {how}, I'll say").format(how=_("you") if same(self.heard, me) else self.heard)
        where = _(" in {room:the}").format(room=place(noun(self.room))) if self.room and not self.device else ""
        if where and not self.person:
            text = _("I'll say it{where} {when}").format(where=where, when=when)
        else:
            text = _("I'll remind {how}{where} {when}").format(
                how=_("you") if same(self.person, me) else self.person, where=where, when=when
            )
        if self.rule and self.at is not None and not self.rule.startswith("FREQ=DAILY"):
            text += _(", starting {day_words}").format(day_words=day_words(local(self.at, zone).date(), wall.date()))
        return text

    def when_words(self, now: float, zone: tzinfo | None) -> str:
        """Return "tomorrow at 7 PM", "every day at 9 AM", "when Anna is next heard", or for one that is past "5 PM"."""
        wall = local(now, zone)
        if self.heard:
            return _("when {heard} is next heard").format(heard=self.heard)
        if recurrence := self.recurrence:
            return rule_words(recurrence.rule, recurrence.start, wall)
        assert self.at is not None, "a reminder waits for a voice or for a time"
        at = local(self.at, zone)
        return moment_words(at, wall) if self.at > now else _("from {ago_words}").format(ago_words=ago_words(at, wall))

    def listed(self, me: str, now: float, zone: tzinfo | None) -> str:
        """Return "take the bins out, tomorrow at 7 PM, for Anna"."""
        whom = _(", for {person}").format(person=self.person) if self.person and not same(self.person, me) else ""
        state = _(", which nobody answered") if self.unanswered else ""
        return f"{spoken(self.text)}, {self.when_words(now, zone)}{whom}{state}"

    def saying(self, now: float, zone: tzinfo | None) -> dict[str, Any]:
        """Return one that is due as the house is to say it: where, to whom, in its language, and how late."""
        assert self.due_at is not None
        late, everywhere = now - self.due_at, self.said >= MOST_SAYINGS - 1
        with speaking(self.language):
            text, language = self._sentence(self.due_at, now, zone), current()
        return {
            **{"id": self.id, "text": text, "language": language, "what": self.text},
            "device": "" if everywhere else self.device,
            "room": "" if everywhere else self.room,
            "person": "" if self.person == EVERYONE else self.person,
            **{"late_seconds": round(late, 3), "urgent": everywhere},
        }

    def _sentence(self, due_at: float, now: float, zone: tzinfo | None) -> str:
        name = self.person[:1].upper() + self.person[1:]
        text = _("{name}, a reminder").format(name=name) if name else _("Reminder")
        again = (_(", again") if name else _(" again")) if self.said else ""
        text += f"{again}: {spoken(self.text)}."
        if now - due_at < LATE_SECONDS or self.said:
            return text
        text += _(" This was for {ago_words}").format(ago_words=ago_words(local(due_at, zone), local(now, zone)))
        if more := self.recurrence.passed(due_at, now, zone) if self.recurrence else 0:
            since = plural("{count} more time", "{count} more times", more)
            return text + _(", and {count} since.").format(count=since)
        return f"{text}."

    def shown(self, now: float, zone: tzinfo | None) -> dict[str, Any]:
        """Return it as data."""
        state = "unanswered" if self.unanswered else "told" if self.said else "waiting"
        fields = {key: getattr(self, key) for key in ("id", "text", "person", "room", "rule", "heard", "at", "due_at")}
        lately = self.missed_at is not None and now - self.missed_at < TELL_MISSED_SECONDS
        fields["missed_at"] = self.missed_at if lately else None
        iso = "" if self.at is None else f"{local(self.at, zone):%Y-%m-%dT%H:%M}"
        return {**fields, "iso": iso, "state": state, "when": self.when_words(now, zone)}


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


def told_apart(reminders: Sequence[Reminder], me: str, now: float, zone: tzinfo | None) -> list[str]:
    """Return "call mum today at 5 PM" of each, with for whom and where it is only when that is what differs.

    Those that a person could not tell apart are called the same.
    """
    texts = [f"{spoken(reminder.text)} {reminder.when_words(now, zone)}" for reminder in reminders]
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
