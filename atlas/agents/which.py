"""The answer to "Which reminder: …, or …?": the first one, the one at seven, both → the calls that were meant. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from atlas.agents.durations import UP_TO_99, number_of
from atlas.agents.grammar import Grammar
from atlas.agents.slots import Command
from atlas.conversation import Message, ToolCall

# What a tool calls those it cannot choose from, and which of its arguments then takes the id of one.
MEANT_BY = {"reminders": "about", "alarms": "name", "timers": "name"}
MOST_AT_ONCE = 5  # as many as are named in a question
LONGEST_ANSWER_WORDS = 10
_NUMBERS = re.compile(rf"\b{UP_TO_99}\b", re.IGNORECASE)
_PAST = re.compile(r"\b(half|quarter|\d{1,2})(?: minute)?(?: (past|to))? (\d{1,2})\b(?! minute)")
_SPELT = re.compile(r"\b(\d{1,2}) (\d{2})\b(?! (?:minute|second))")
_WORDS = re.compile(r"\d{1,2}:\d\d|[^\W_]+")
_MINUTES = {"half": 30, "quarter": 15}

Called = Mapping[str, Any]  # the arguments that mean one of several
One = tuple[Called, frozenset[str]]  # and the words that tell it from the others


class Places:
    """How one language counts off what was named: the second one, the last one, the other one."""

    def __init__(self, own: Mapping[str, Any]) -> None:
        ways = [*own["ordinals"], own["last_one"], own["other_one"]]
        *self._ordinals, self._last, self._other = [re.compile(way, re.IGNORECASE) for way in ways]

    def of(self, said: str, count: int, *, more: bool = False) -> int | None:
        """Return which of `count` is said, from 0 on; `None` when none is. With `more` than were named none is last."""
        if not more and (self._last.fullmatch(said) or (count == 2 and self._other.fullmatch(said))):
            return count - 1
        return next((at for at, way in enumerate(self._ordinals[:count]) if way.fullmatch(said)), None)


class Which:
    """How one language says which of several is meant."""

    def __init__(self, grammar: Grammar) -> None:
        own = grammar.own
        self._grammar = grammar
        self._places = Places(own)
        self._every = re.compile(own["every_one"], re.IGNORECASE)
        verbs: Mapping[str, str] = own["answer_verbs"]
        self._verbs = {done: re.compile(rf"(?:{verb})\b ?", re.IGNORECASE) for done, verb in verbs.items()}
        self._around = re.compile(own["around_an_answer"], re.IGNORECASE)
        self._left: Mapping[str, str] = own["left"]
        self._unsaid = re.compile(own["says_not_which"], re.IGNORECASE)

    def answer(self, text: str, history: Sequence[Message]) -> tuple[Command, ...] | str:
        """Return the calls that `text` chooses when a tool has just asked which; what to say to a "no"; else `()`."""
        if (found := _asked(history)) is None:
            return ()
        call, several, more = found
        if re.fullmatch(self._left["answers"], self._grammar.unmarked(text), re.IGNORECASE):
            return self._left["says"]
        words = self._without_its_verb(text, call)
        if self._grammar.is_negated(text) or len(words.split()) > LONGEST_ANSWER_WORDS:
            return ()
        return tuple(Command(call.name, {**call.arguments, **one}) for one in self._chosen(words, several, more=more))

    def _without_its_verb(self, text: str, call: ToolCall) -> str:
        """Return the words of an answer, which may begin with the verb of what waits; "" for a command of its own.

        "The ten minute timer" might start one as well, but here it names one; "cancel the ten minute timer" does not.
        """
        words = self._grammar.plain_words(text)
        if not any(verb.match(words) for verb in self._verbs.values()):
            return words
        if any(command.tool != call.name for command in self._grammar.commands(text)):
            return ""
        own = self._verbs.get(call.name.rpartition(".")[2])
        return own.sub("", words, count=1) if own and own.match(words) else words

    def _chosen(self, words: str, several: Sequence[One], *, more: bool) -> Sequence[Called]:
        said = self._around.sub("", words)
        every = [called for called, _ in several]
        if self._every.fullmatch(words) or self._every.fullmatch(said):
            return every if len(every) <= MOST_AT_ONCE and not more else ()
        if (place := self._places.of(said, len(every), more=more)) is not None:
            return [every[place]]
        telling = _plain(self._unsaid.sub(" ", words))
        fitting = [called for called, label in several if telling and telling <= label]
        return fitting if len(fitting) == 1 else ()


def _asked(history: Sequence[Message]) -> tuple[ToolCall, list[One], bool] | None:
    """Return the call whose tool asked which is meant, as the last thing said, those named, and if there are more."""
    calls: dict[str, ToolCall] = {}
    told: dict[str, Any] = {}
    for message in reversed(history):
        if message.author == "user":
            break
        calls |= {call.id: call for call in message.calls}
        if message.author == "tool":
            told[message.call_id] = _read(message.text)
    for id, result in told.items():
        # Only who heard the tool's own words heard its order.
        if id in calls and result and history[-1].text.endswith(result["text"]):
            several = _several(calls[id], result["data"])
            return (calls[id], several, bool(result["data"].get("more"))) if len(several) > 1 else None
    return None


def _read(result: str) -> Any:
    """Return what `prompt.result` wrote of a tool that asked something; `None` for anything else."""
    try:
        told: Any = json.loads(result)
    except ValueError:
        return None
    asked = isinstance(told, dict) and told.get("error") == "invalid" and str(told.get("text", "")).endswith("?")
    return told if asked and isinstance(told.get("data"), dict) else None


def _several(call: ToolCall, data: Mapping[str, Any]) -> list[One]:
    for kind, argument in MEANT_BY.items():
        if rows := data.get(kind):
            return [({argument: row["id"]}, _label(row)) for row in rows]
    titles = data.get("several", ())
    if days := data.get("days"):  # appointments of one name
        events = zip(data.get("ids", ()), days, titles, strict=False)
        return [({"title": id, "day": day}, _plain(title)) for id, day, title in events]
    for argument, value in call.arguments.items():  # the one that all of the titles hold the words of
        if isinstance(value, str) and titles and all(_plain(value) <= _plain(title) for title in titles):
            return [({argument: title}, _plain(title)) for title in titles]
    return []


def _label(row: Mapping[str, Any]) -> frozenset[str]:
    """Return the words that a person would tell a reminder, an alarm or a timer by."""
    seconds = int(row.get("seconds", 0))
    length = f"{seconds // 60} minute" if seconds and seconds % 60 == 0 else f"{seconds} second" if seconds else ""
    return _plain(" ".join([*(str(row.get(key, "")) for key in ("text", "name", "person", "room", "when")), length]))


def _plain(words: str) -> frozenset[str]:
    """Return the words without case, with times as "7:30" and numbers as digits: "half past seven" is one of them."""
    digits = _NUMBERS.sub(
        lambda found: str(number_of(found[0])), words.lower().replace("'s", "").replace("o'clock", "")
    )
    digits = re.sub(r"(?<=\d)(?=[ap]m\b)", " ", digits).replace("minutes", "minute")
    return frozenset(_WORDS.findall(_SPELT.sub(r"\1:\2", _PAST.sub(_past, digits))))


def _past(found: re.Match[str]) -> str:
    if not found[2] and found[1] != "half":
        return found[0]
    minutes, hour = _MINUTES.get(found[1]) or int(found[1]), int(found[3])
    if found[2] == "to":
        minutes, hour = 60 - minutes, (hour - 2) % 12 + 1
    return f"{hour}:{minutes:02d}"
