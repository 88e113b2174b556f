"""Reads an answer to "Which reminder: …, or …?" (the first, the one at seven, both) into the calls that were meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from atlas.conversation import Message, ToolCall
from atlas.understanding.dialogue import read_result
from atlas.understanding.grammar import Grammar
from atlas.understanding.slots import Command

# What a tool calls those it cannot choose from, and which of its arguments then takes the id of one.
MEANT_BY = {"reminders": "about", "alarms": "name", "timers": "name"}
MOST_AT_ONCE = 5  # as many as are named in a question
LONGEST_ANSWER_WORDS = 10
_WORDS = re.compile(r"\d{1,2}:\d\d|[^\W_]+")

Called = Mapping[str, Any]  # the arguments that mean one of several
One = tuple[Called, frozenset[str]]  # and the words that tell it from the others


class Places:
    """How one language counts off what was named: the second one, the last one, the other one."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        ways = [*tables["ordinals"], tables["last_one"], tables["other_one"]]
        *self._ordinals, self._last, self._other = [re.compile(way, re.IGNORECASE) for way in ways]

    def of(self, text: str, count: int, *, more: bool = False) -> int | None:
        """Return which of `count` is said, from 0 on; `None` when none is. With `more` than were named none is last."""
        if not more and (self._last.fullmatch(text) or (count == 2 and self._other.fullmatch(text))):
            return count - 1
        return next((at for at, way in enumerate(self._ordinals[:count]) if way.fullmatch(text)), None)

    def is_beyond(self, text: str, count: int) -> bool:
        """Tell whether one is said that comes after the last of `count`."""
        return any(way.fullmatch(text) for way in self._ordinals[count:])


class Labels:
    """How one language tells one thing from others like it: by its name, its time, its room …"""

    def __init__(self, grammar: Grammar) -> None:
        tables = grammar.tables["tells"]
        self._digits = grammar.digits
        self._same = [(re.compile(text), to) for text, to in tables["same"]]
        self._clocks = [(re.compile(text), step) for text, step in tables["clocks"]]
        self._units: Sequence[tuple[int, str]] = tables["units"]

    def plain(self, words: str) -> frozenset[str]:
        """Return words without case, with times as "7:30" and numbers as digits: "half past seven" is one of them."""
        plain = self._digits(words.lower())
        for pattern, to in self._same:
            plain = pattern.sub(to, plain)
        for pattern, step in self._clocks:
            plain = pattern.sub(partial(_clock, step=step), plain)
        return frozenset(_WORDS.findall(plain))

    def several(self, call: ToolCall, data: Mapping[str, Any]) -> list[One]:
        """Return what `data` names to choose from: none, when `call` cannot be told which."""
        for kind, argument in MEANT_BY.items():
            if rows := _rows(data, kind):
                return [({argument: row["id"]}, self._of(row)) for row in rows]
        if devices := _rows(data, "devices"):
            return [(_device(call, row["id"]), self._of(row)) for row in devices]
        titles = data.get("several", ())
        if days := data.get("days"):  # appointments of one name
            events = zip(data.get("ids", ()), days, titles, strict=False)
            return [({"title": id, "day": day}, self.plain(title)) for id, day, title in events]
        for argument, value in call.arguments.items():  # the one that all of the titles hold the words of
            if isinstance(value, str) and titles and all(self.plain(value) <= self.plain(title) for title in titles):
                return [({argument: title}, self.plain(title)) for title in titles]
        return []

    def _of(self, row: Mapping[str, Any]) -> frozenset[str]:
        """Return the words that a person would tell a reminder, an alarm or a timer by."""
        seconds = int(row.get("seconds", 0))
        length = next(
            (text.format(seconds // unit) for unit, text in self._units if seconds and seconds % unit == 0), ""
        )
        texts = (str(row.get(key, "")) for key in ("text", "name", "person", "room", "when"))
        return self.plain(" ".join([*texts, length]))


class Which:
    """How one language says which of several is meant."""

    def __init__(self, grammar: Grammar) -> None:
        tables = grammar.tables
        self._grammar = grammar
        self._places = Places(tables)
        self._labels = Labels(grammar)
        self._every = re.compile(tables["every_one"], re.IGNORECASE)
        verbs: Mapping[str, str] = tables["answer_verbs"]
        self._verbs = {done: re.compile(rf"(?:{verb})\b ?", re.IGNORECASE) for done, verb in verbs.items()}
        self._around = re.compile(tables["around_an_answer"], re.IGNORECASE)
        self._left: Mapping[str, str] = tables["left"]
        self._only: Sequence[str] = tables["only"]
        self._unsaid = re.compile(tables["says_not_which"], re.IGNORECASE)

    def answer(self, text: str, history: Sequence[Message]) -> tuple[Command, ...] | str:
        """Return the calls that `text` chooses when a tool has just asked which; `()` for none.

        To a "no", and to one that was not named, what to say.
        """
        if (asked_which := _asked(history)) is None:
            return ()
        call, data = asked_which
        several, more = self._labels.several(call, data), bool(data.get("more"))
        if len(several) < 2:
            return ()
        if re.fullmatch(self._left["answers"], self._grammar.unmarked(text), re.IGNORECASE):
            return self._left["says"]
        words = self._without_its_verb(text, call)
        if self._grammar.is_negated(text) or len(words.split()) > LONGEST_ANSWER_WORDS:
            return ()
        chosen = self._chosen(words, several, more=more)
        if not chosen and not more and self._places.is_beyond(self._around.sub("", words), len(several)):
            return self._only[len(several) - 2]
        return tuple(Command(call.name, {**call.arguments, **one}) for one in chosen)

    def _without_its_verb(self, text: str, call: ToolCall) -> str:
        """Return the words of an answer, which may begin with the verb of what waits; "" for a command of its own.

        "The ten minute timer" might start one as well, but here it names one; "cancel the ten minute timer" does not.
        """
        words = self._grammar.plain_words(text)
        if not any(verb.match(words) for verb in self._verbs.values()):
            return words
        if any(command.tool != call.name for command in self._grammar.commands(text)):
            return ""
        tables = self._verbs.get(call.name.rpartition(".")[2])
        return tables.sub("", words, count=1) if tables and tables.match(words) else words

    def _chosen(self, words: str, several: Sequence[One], *, more: bool) -> Sequence[Called]:
        text = self._around.sub("", words)
        every = [called for called, _ in several]
        if self._every.fullmatch(words) or self._every.fullmatch(text):
            return every if len(every) <= MOST_AT_ONCE and not more else ()
        if (place := self._places.of(text, len(every), more=more)) is not None:
            return [every[place]]
        telling = self._labels.plain(self._unsaid.sub(" ", words))
        fitting = [called for called, label in several if telling and telling <= label]
        return fitting if len(fitting) == 1 else ()


_NAMES = {"home.scene": "name"}  # of the argument that a tool takes a device by, where it is another


def _device(call: ToolCall, id: str) -> Called:
    """Return the arguments by which a call of a home tool, or one that is to make it later, is about one device."""
    inner = call.arguments.get("arguments")
    if isinstance(inner, Mapping):
        return {"arguments": {**inner, _NAMES.get(str(call.arguments.get("tool")), "device"): id}}
    return {_NAMES.get(call.name, "device"): id}


def _asked(history: Sequence[Message]) -> tuple[ToolCall, Mapping[str, Any]] | None:
    """Return the call whose tool asked which is meant, as the last thing said, and what it named."""
    calls: dict[str, ToolCall] = {}
    results: dict[str, Mapping[str, Any]] = {}
    for message in reversed(history):
        if message.author == "user":
            break
        calls |= {call.id: call for call in message.calls}
        if message.author == "tool":
            results[message.call_id] = read_result(message.text)
    for id, result in results.items():
        # Only who heard the tool's own words heard its order.
        if id in calls and _question(result) and history[-1].text.endswith(result["text"]):
            return calls[id], result["data"]
    return None


def _rows(data: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    rows = data.get(kind)
    return [row for row in rows if isinstance(row, dict) and "id" in row] if isinstance(rows, list) else []


def _question(result: Mapping[str, Any]) -> bool:
    """Tell whether a tool asked something by this result."""
    asks = result.get("error") == "invalid" and str(result.get("text", "")).endswith("?")
    return asks and isinstance(result.get("data"), dict)


def _clock(match: re.Match[str], step: int) -> str:
    """Return a time that was told by an hour and minutes before or after it, as "7:30"; a full hour as "7"."""
    minutes = int(match["hour"]) * 60 + step * int(match.groupdict().get("minutes", 1) or 0)
    hour, minute = (minutes // 60 - 1) % 12 + 1, minutes % 60
    return f"{hour}:{minute:02d}" if minute else str(hour)
