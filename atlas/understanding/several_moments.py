"""Reads several moments out of one wish: "remind me at eight and at twenty past ten", "alarms for six and seven". Pure.

Moments that only "and" or a comma joins are wished one by one: the sentence is read with each of them in their place.
What one of them leaves out, the others say: "tomorrow at eight and at nine", "on Monday and on Friday at nine". What
comes again and again at several whole hours stays one, for a rule may have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.understanding import german_moments, moments
from atlas.understanding.durations import UP_TO_99
from atlas.understanding.moments import Moment
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

MOST_MOMENTS = 4
WISHES = (
    "alarms.cancel",
    "alarms.set",
    "calendar.list",
    "reminders.add",
    "later.do",
)  # that may be wished for several moments
REMINDER = "reminders.add"
EVENT = "calendar.add"
_HOUR = re.compile(r"(?:(?:at|by|around|um|gegen) )?[^\W\d]*\d*(?: ?[ap]m| o'?clock| uhr)?", re.IGNORECASE)
_LAST_WORD = re.compile(rf"\b(?:\d{{1,2}}|{UP_TO_99}|{german_moments.HOURS})\b", re.IGNORECASE)
_LATE_HOUR = re.compile(r"\w+ (?:1[3-9]|2[0-3])(?: uhr| o'?clock)?|(?:1[3-9]|2[0-3]) uhr", re.IGNORECASE)
_EARLY_HOUR = re.compile(r"(?:\w+ )?([1-9]|1[01])(?: uhr)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JoinedMoments:
    """Moments that stand side by side in a sentence, and the words around them."""

    before: str
    whens: tuple[str, ...]  # each by itself
    rule: str  # all in one where they come again and again, at whole hours; else ""
    behind: str

    @property
    def wished(self) -> Sequence[str]:
        """When it is wished: in one where that is a rule, else one by one."""
        return (self.rule,) if self.rule else self.whens

    def with_each(self) -> Sequence[str]:
        """Return the sentence with each of the moments in the place of all."""
        return [f"{self.before}{when}{self.behind}" for when in self.whens]


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What one moment says: how often or on which days, at what time, and in which part of the day."""

    days: tuple[str, ...]
    clocks: tuple[str, ...]
    parts: tuple[str, ...]
    often: bool
    day_last: bool  # "at seven tomorrow"


class SeveralMoments:
    """How one language joins moments; a language without a table never does."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        joint, lead = words.get("joint", "(?!)"), words.get("lead", "(?!)")
        self._joint = re.compile(rf"(?:{joint}) ?", re.IGNORECASE)
        bare = rf"(?P<bare>{moments.BARE_HOUR})(?={words.get('ends', '(?!)')})"
        self._more = re.compile(rf"(?:{joint}) {bare}", re.IGNORECASE)
        self._first = re.compile(
            rf"\b(?:{lead}) (?P<bare>{moments.BARE_HOUR})(?=(?:{joint}) (?:(?:{lead}) )?\w)", re.IGNORECASE
        )
        self._part, self._past = pattern(words, "part"), pattern(words, "past")
        self._lead_of_own, self._joins_own = pattern(words, "own_lead"), pattern(words, "own_joint")
        self._lead_of_events, self._joins_events = pattern(words, "event_lead"), pattern(words, "event_joint")
        self._puts_both, self._puts_it = pattern(words, "puts_both"), str(words.get("puts_it", ""))
        self._bare_day, self._month = pattern(words, "bare_day"), pattern(words, "month")
        self._at, self._and, self._early = words.get("at", "{}"), words.get("and", ""), words.get("early", "{}")

    def read(self, text: str, commands: Callable[[str], Sequence[Command]]) -> tuple[Command, ...]:
        """Return the commands of a wish for several moments; `()` where it is none, or is none with each of them."""
        joined = self.joined(text)
        made = [commands(one) for one in joined.with_each()] if joined else []
        if not joined or any(len(one) != 1 for one in made):
            return ()
        [first, *others] = wishes = [one for [one] in made]
        if first.tool not in WISHES or any(one.tool != first.tool or _rest(one) != _rest(first) for one in others):
            return ()
        return (replace(first, arguments={**first.arguments, "when": joined.rule}),) if joined.rule else tuple(wishes)

    def read_each(self, text: str, commands: Callable[[str], Sequence[Command]]) -> tuple[Command, ...]:
        """Return two reminders of different things, each with its own moment; `()` where a text is no such pair."""
        lead = self._lead_of_own.match(text)
        if lead is None:
            return ()
        for joint in self._joins_own.finditer(text, lead.end()):
            first, second = text[: joint.start()], text[joint.end() :]
            if not (moments.find(first) and moments.find(second)):
                continue
            made = [*commands(first), *commands(f"{text[: lead.end()]} {second}")]
            if [one.tool for one in made] == [REMINDER] * 2 and all(one.arguments.get("text") for one in made):
                return tuple(made)
        return ()

    def read_events(self, text: str, commands: Callable[[str], Sequence[Command]]) -> tuple[Command, ...]:
        """Return two events of one sentence: "dentist at ten past nine tomorrow and a stand-up at eleven".

        The second is on the day, or in the month, of the first where it says none.
        """
        both = self._puts_both.search(text)
        lead = self._lead_of_events.match(text)
        if not (both or lead) or len(moments.find(text)) < 2:
            return ()
        behind = self._puts_it if both else ""
        text = text[: both.start()] if both else text
        for joint in self._joins_events.finditer(text, lead.end() if lead else 0):
            first, second = text[: joint.start()], text[joint.end() :]
            if not (moments.find(first) and moments.find(second)):
                continue
            second = self._on_the_day_of(first, f"{lead[0] if lead else ''} {second}".strip())
            made = [*commands(first + behind), *commands(second + behind)]
            if [one.tool for one in made] == [EVENT] * 2 and made[0].arguments["title"] != made[1].arguments["title"]:
                return tuple(made)
        return ()

    def _on_the_day_of(self, first: str, second: str) -> str:
        """Return words for a second event with the day or the month that those for the first name."""
        [before, *_], [moment, *_] = moments.find(first), moments.find(second)
        days = [part.text for part in before.parts if part.kind == "day"]
        if days and {part.kind for part in moment.parts} == {"clock"}:
            return f"{second[: moment.start]}{' '.join(days)} {second[moment.start :]}"
        month, bare = self._month.search(" ".join(days)), self._bare_day.search(second)
        if month is None or bare is None:
            return second
        return f"{second[: bare.end()]} {month[0]}{second[bare.end() :]}"

    def alone(self, text: str) -> JoinedMoments | None:
        """Return several moments that are all of a text: "every day at 8 AM and 8 PM"."""
        joined = self.joined(text.strip(" .!"))
        return joined if joined and not (joined.before.strip() or joined.behind.strip()) else None

    def joined(self, text: str) -> JoinedMoments | None:
        """Return the moments that stand side by side in a text, where there are several."""
        text = self._timed(self._with_hour(text))
        matches = moments.find(text)
        for at, first in enumerate(matches):
            run = [first]
            for more in matches[at + 1 :]:
                if not self._joint.fullmatch(text[run[-1].end : more.start]):
                    break
                run.append(more)
            if 1 < len(run) <= MOST_MOMENTS:
                whens, rule = self._shared(run)
                return JoinedMoments(text[: run[0].start], whens, rule, text[run[-1].end :])
        return None

    def _with_hour(self, text: str) -> str:
        """Return a text in which "ten past" behind an hour says which: "wake me at seven and again at ten past"."""
        past = self._past.search(text)
        clocks = [part.text for one in moments.find(text[: past.start()]) for part in one.parts] if past else []
        hours = _LAST_WORD.findall(" ".join(clocks))
        return f"{text[: past.end()]} {hours[-1]}{text[past.end() :]}" if past and hours else text

    def _timed(self, text: str) -> str:
        """Return a text in which every hour of a row of hours says that it is one: "at six and at seven"."""
        if first := self._first.search(text):
            timed = f"{text[: first.start()]}{self._at.format(first['bare'])}{text[first.end() :]}"
            text = timed if self._more_behind(timed) else text
        for _ in range(MOST_MOMENTS):
            if not (more := self._more_behind(text)):
                break
            start, match = more
            text = f"{text[:start]} {self._and} {self._at.format(match['bare'])}{text[match.end() :]}"
        return text

    def _more_behind(self, text: str) -> tuple[int, re.Match[str]] | None:
        """Return where a bare hour is joined to a moment that has a time."""
        for one in moments.find(text):
            if any(part.kind == "clock" for part in one.parts) and (match := self._more.match(text, one.end)):
                return one.end, match
        return None

    def _shared(self, run: Sequence[Moment]) -> tuple[tuple[str, ...], str]:
        """Return each moment with what others say for it, and all in one where they are a rule."""
        pieces = [self._pieces(one) for one in run]
        if any(_LATE_HOUR.fullmatch(clock) for one in pieces for clock in one.clocks):  # "at 8 and at 20"
            pieces = [replace(one, clocks=tuple(map(self._early_one, one.clocks))) for one in pieces]
        days, clocks, last = pieces[0].days, pieces[-1].clocks or pieces[0].clocks, pieces[-1]
        often = any(one.often for one in pieces)
        if not days and (last.day_last or last.often):
            days = last.days
        made: list[tuple[str, str]] = []
        for one in pieces:
            days = one.days or days
            distinct = one.clocks != last.clocks and not any(other.parts for other in pieces[:-1])
            parts = one.parts or (last.parts if distinct else ())
            made.append((" ".join(days), " ".join([*(one.clocks or clocks), *parts])))
        whens = tuple(" ".join(filter(None, one)) for one in made)
        whole = often and len({day for day, _ in made}) == 1
        hours = all(_HOUR.fullmatch(clock) for one in pieces for clock in one.clocks)
        times = f" {self._and} ".join(time for _, time in made)
        return whens, f"{made[0][0]} {times}" if whole and hours else ""

    def _early_one(self, clock: str) -> str:
        hour = _EARLY_HOUR.fullmatch(clock)
        return self._early.format(hour[1]) if hour else clock

    def _pieces(self, moment: Moment) -> _Pieces:
        kinds = [(part.kind, part.text, bool(self._part.fullmatch(part.text))) for part in moment.parts]
        days = [kind != "clock" and not part for kind, _, part in kinds]
        return _Pieces(
            tuple(text for kind, text, part in kinds if kind != "clock" and not part),
            tuple(text for kind, text, _ in kinds if kind == "clock"),
            tuple(text for kind, text, part in kinds if kind != "clock" and part),
            any(kind == "often" for kind, _, _ in kinds),
            bool(days) and days[-1] and not days[0],
        )


def _rest(command: Command) -> Mapping[str, Any]:
    """Return what a wish says besides its moment."""
    return {name: value for name, value in command.arguments.items() if name not in ("when", "time", "day")}
