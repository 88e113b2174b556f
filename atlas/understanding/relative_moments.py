"""Reads a moment that is told by another: "an hour before", "the night before each one", "on that day". Pure.

The event, reminder or alarm that was just made, changed or read gives the moment; of a reminder that itself was for an
event it is the event. A sentence is then read with the moment in full in the place of such words, by itself: what it
leans on stands in it. Of what comes again and again the time before comes as often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from atlas.understanding import durations, moments
from atlas.understanding.dialogue import EarlierTurn, Referent
from atlas.understanding.patterns import pattern

EVENTS_BACK = 3  # exchanges in which an event may have been spoken of last
DAY = timedelta(days=1)
_CALENDAR, _REMINDERS = "calendar", "reminders"
_LEAST_LETTERS = 4  # of a word that names an event by a part of its title
_MOST_WORDS = 4  # that name one
_WORD = re.compile(r"[\w'-]+")

Meant = Callable[[Referent], str]  # when something is meant, from the moment of what was spoken of; "" for no such


@dataclass(frozen=True, slots=True)
class ToldMoment:
    """A sentence with a moment in full, that moment, and what it was told by."""

    text: str
    when: str
    thing: Referent


@dataclass(frozen=True, slots=True)
class _Words:
    """Words that tell a moment by another, and where they stand: characters `start` up to `end` (not included)."""

    start: int
    end: int
    meant: Meant
    named: str = ""  # what follows "before", where that is a name


class RelativeMoments:
    """How one language tells a moment by another; a language without a table never does."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        ends = rf"{words.get('too', '')}(?={words.get('ends', '(?!)')})"
        before, behind = words.get("before", "(?!)"), words.get("after", "(?!)")
        self._by_length = re.compile(
            rf" (?:(?P<before>{before})|(?P<after>{behind})){ends}| (?:{words.get('before_named', '(?!)')})",
            re.IGNORECASE,
        )
        self._by_day = re.compile(rf"\b(?:{words.get('by_day', '(?!)')}){ends}", re.IGNORECASE)
        self._same_day = re.compile(rf"\b(?:{words.get('same_day', '(?!)')})", re.IGNORECASE)
        self._same_time = re.compile(rf"[, ]*\b(?:{words.get('same_time', '(?!)')}){ends}", re.IGNORECASE)
        self._parts: Mapping[str, str] = words.get("parts", {})  # of a day → as tools read them
        self._weekdays: Sequence[str] = words.get("weekdays", ())
        self._months: Sequence[str] = words.get("months", ())
        self._bare_day = pattern(words, "bare_day")
        self._another = pattern(words, "another")
        self._several = pattern(words, "several")
        self._lasts = re.compile(
            rf"\b(?:{words.get('lasts', '(?!)').replace('{hour}', moments.BARE_HOUR)})", re.IGNORECASE
        )
        self._at_hour: str = words.get("at", "{}")
        self._tells, self._duty, self._fillers = (pattern(words, one) for one in ("tells", "duty", "fillers"))

    def tells(self, text: str) -> bool:
        """Whether words only ask to be told: "let me know half an hour before"."""
        return bool(self._tells.search(text))

    def leaves_open(self, text: str) -> bool:
        """Whether words count back from something that they do not name: "tell me twenty minutes before"."""
        ways = (self._by_length.match(text, one.end) for one in durations.find_in_any_language(text))
        return any(one["before"] and not one.groupdict().get("named") for one in ways if one)

    def tells_no_more(self, moment: ToldMoment) -> bool:
        """Whether a sentence behind a reminder only says when it is to come too: "ten minutes before as well"."""
        rest = " ".join(moment.text.replace(moment.when, " ").split()).strip(" .,!")
        return moment.thing.topic == _REMINDERS and (not rest or self._fillers.fullmatch(rest) is not None)

    def duty(self, text: str) -> str:
        """Return what somebody has to do then: "on Thursday I've got to revise, remind me"; "" for nothing."""
        duty = self._duty.search(text)
        return duty["what"].strip() if duty else ""

    def read(self, text: str, exchanges: Sequence[EarlierTurn]) -> tuple[ToldMoment, ...]:
        """Return a sentence once for each of the things that tell its moment; `()` where nothing does."""
        for words in self._words(text):
            things = self._spoken_of(text, exchanges)
            if words.named:
                things, count = named_thing(words.named, exchanges)
                words = replace(words, end=words.end + count)
            whens = [words.meant(one) for one in things]
            if whens and all(whens):
                pairs = zip(things, whens, strict=True)
                return tuple(ToldMoment(*_in_place(text, words, when), one) for one, when in pairs)
        return self._on_looked_up_day(text, exchanges)

    def at_the_same_time(self, text: str, exchanges: Sequence[EarlierTurn]) -> str:
        """Return a text with the time of what was spoken of for "same time", where it names another day."""
        same = self._same_time.search(text)
        things = self._spoken_of(text, exchanges) if same else ()
        if same is None or len(things) != 1 or "T" not in things[0].at:
            return text
        days = [one for one in moments.find(text) if {part.kind for part in one.parts} & {"day", "often"}]
        if len(days) != 1:
            return text
        [day], clock = days, f" at {_at(things[0]):%H:%M}"
        rest = [(same.start(), same.end(), ""), (day.end, day.end, clock)]
        for start, end, new in sorted(rest, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def another(self, text: str, thing: Referent) -> tuple[str, str]:
        """Return when another one is to be, told by the last: "and one ten minutes later"; and what else is said."""
        match = self._another.fullmatch(text.strip(" .!"))
        lengths = durations.find_in_any_language(match["length"]) if match else ()
        if match is None or len(lengths) != 1 or not thing.at:
            return "", ""
        by = timedelta(seconds=lengths[0].seconds)
        return _shifted(-by if match["before"] else by)(thing), match["why"] or ""

    def lasting(self, text: str) -> tuple[str, str] | None:
        """Return a text with only the begin of what lasts from one time to another, and the end: "two till four"."""
        span = self._lasts.search(text)
        if span is None:
            return None
        given = span.groupdict()
        start, end = (next(filter(None, (given[one], given[f"{one}_too"]))) for one in ("start", "end"))
        before = text[: span.start()].rstrip(" ,")
        return f"{before} {self._at_hour.format(start)}{text[span.end() :]}", self._at_hour.format(end)

    def dated(self, when: str, exchanges: Sequence[EarlierTurn]) -> str:
        """Return when something is with the day, or the month, that was just spoken of, where it leaves that out."""
        looked_up = next((one.day for one in exchanges[:1]), "")
        if looked_up and {part.kind for one in moments.find(when) for part in one.parts} == {"clock"}:
            return f"{looked_up} {when}"
        bare = self._bare_day.search(when)
        days = [
            _date(one) for exchange in exchanges[:1] for one in (exchange.day, *(of.at[:10] for of in exchange.things))
        ]
        months = {day.month for day in days if day}
        if bare is None or len(months) != 1:
            return when
        return f"{when[: bare.end()]} {self._months[months.pop() - 1]}{when[bare.end() :]}"

    # ── where such words stand ──────────────────────────────────────────────────────────────────────

    def _words(self, text: str) -> Iterator[_Words]:
        for length in durations.find_in_any_language(text):
            if one := self._by_length.match(text, length.end):
                by = timedelta(seconds=length.seconds)
                named = one.groupdict().get("named") or ""
                shift = _shifted(by) if one["after"] else _shifted(-by)
                end = one.start("named") if named else one.end()
                yield _Words(length.start, end, shift, named)
        if one := self._by_day.search(text):
            yield _Words(one.start(), one.end(), self._on_day(one))
        if one := self._same_day.search(text):
            yield _Words(one.start(), one.end(), self._on_same_day(one))

    def _on_day(self, words: re.Match[str]) -> Meant:
        """Return what "the night before", "the day after" and "the Thursday before" are."""
        given = {name: (value or "").casefold() for name, value in words.groupdict().items()}

        def meant(thing: Referent) -> str:
            day = _at(thing).date()
            if given.get("weekday"):
                back = (day.weekday() - self._weekdays.index(given["weekday"])) % 7 or 7
                return f"{day - back * DAY}"
            part = self._parts.get(next(filter(None, map(given.get, ("part", "part_after", "eve"))), ""), "")
            return f"{day + (DAY if given.get('part_after') else -DAY)} {part}".strip()

        return meant

    def _on_same_day(self, words: re.Match[str]) -> Meant:
        part = self._parts.get((words.groupdict().get("part") or "").casefold(), "")
        return lambda thing: f"{_at(thing).date()} {part}".strip()

    # ── what tells the moment ───────────────────────────────────────────────────────────────────────

    def _spoken_of(self, text: str, exchanges: Sequence[EarlierTurn]) -> Sequence[Referent]:
        """Return the things with a moment that were spoken of last; several only where words mean each of them."""
        for at, exchange in enumerate(exchanges[:EVENTS_BACK]):
            things = [thing for thing in exchange.things if thing.at]
            if not things and _date(exchange.day):
                return [Referent("", "", "", "", at=exchange.day)]  # "when is Easter?", "remind me a week before"
            if not things:
                continue
            before = [one for earlier in exchanges[at + 1 : at + 2] for one in earlier.things]
            events = [one for one in before if one.topic == _CALENDAR and one.at]
            if len(events) == 1 and things[0].topic == _REMINDERS and things[0].at < events[0].at:
                return events  # the reminder was for it
            if len(things) == 1 or (self._several.search(text) and all(exchange.changed)):
                return things
            return ()
        return ()

    def _on_looked_up_day(self, text: str, exchanges: Sequence[EarlierTurn]) -> tuple[ToldMoment, ...]:
        """Return a sentence about "that day" where the day itself was just looked up, and nothing on it."""
        same, day = self._same_day.search(text), next((one.day for one in exchanges[:2] if one.day), "")
        if same is None or not day or any(one.at for one in exchanges[0].things):
            return ()
        part = self._parts.get((same.groupdict().get("part") or "").casefold(), "")
        words, when = _Words(same.start(), same.end(), lambda _: ""), f"{day} {part}".strip()
        return (ToldMoment(*_in_place(text, words, when), Referent("", "", "", "")),)


def _at(thing: Referent) -> datetime:
    return datetime.fromisoformat(thing.at).replace(tzinfo=None)


def _date(day: str) -> date | None:
    try:
        return date.fromisoformat(day)
    except ValueError:
        return None


def _shifted(by: timedelta) -> Meant:
    """Return the moment so much before or after; of what is all day only whole days."""

    def meant(thing: Referent) -> str:
        if "T" not in thing.at:
            return "" if by % DAY else f"{_at(thing).date() + by}"
        at = (
            datetime.fromisoformat(thing.ends).replace(tzinfo=None) if by > DAY * 0 and thing.ends else _at(thing)
        ) + by
        if thing.often and at.date() == _at(thing).date() and (clock := moments.whole(f"at {at:%H:%M}")):
            return moments.corrected(thing.often, clock)
        return f"{at:%Y-%m-%d at %H:%M}"

    return meant


def _in_place(text: str, words: _Words, when: str) -> tuple[str, str]:
    """Return a text with a moment in the place of words, and that; with the time of day that stands elsewhere in it."""
    rest = f"{text[: words.start].rstrip()} {text[words.end :].lstrip()}"
    kinds = {part.kind for one in moments.find(when) for part in one.parts}
    clocks = [one for one in moments.find(rest) if {part.kind for part in one.parts} == {"clock"}]
    if kinds == {"day"} and len(clocks) == 1:
        at = clocks[0].start
        return " ".join(f"{rest[:at]}{when} {rest[at:]}".split()), f"{when} {clocks[0].text}"
    return " ".join(f"{text[: words.start]}{when} {text[words.end :].lstrip()}".split()), when


def named_thing(named: str, exchanges: Sequence[EarlierTurn]) -> tuple[Sequence[Referent], int]:
    """Return the one thing with a moment that first words are of, and how far they go: "the daily" of "Team daily"."""
    spoken = [*_WORD.finditer(named)][:_MOST_WORDS]
    things = {thing.id: thing for exchange in exchanges for thing in exchange.things if thing.at}
    for count in range(len(spoken), 0, -1):
        words = {one[0].casefold() for one in spoken[:count]}
        if max(map(len, words)) < _LEAST_LETTERS:
            continue
        alike = [one for one in things.values() if words <= {word.casefold() for word in _WORD.findall(one.name)}]
        if alike:
            return (alike if len(alike) == 1 else ()), spoken[count - 1].end()
    return (), 0
