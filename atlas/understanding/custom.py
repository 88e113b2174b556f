"""A house's own sentences, in hassil's form (Home Assistant's custom sentences): words → calls, and what to say. Pure.

What an intent means is said where Home Assistant has it: under `intent_script`, a row of scenes and calls and a speech;
else its name is a tool, whose arguments are the slots, or an intent of the public grammar, which this house knows
already; else it has nothing but a response. The calls go through the gate like any others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import hassil
from hassil.intents import Intents, TextSlotList

from atlas.understanding.grammar import LONGEST_CHARACTERS
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import Names
from atlas.understanding.public import HERE, IntentReading, named_here, reading_of
from atlas.understanding.slots import Command

REMEMBERED = 32  # sentences
SCENE = "home.scene"
ANY = "…"  # in an example, what nobody can say before
TEMPLATE = re.compile(r"\{\{ *(\w+) *\}\}")


@dataclass(frozen=True, slots=True)
class Script:
    """What an intent stands for: calls in their order, and what is said when all of them were done."""

    commands: tuple[Command, ...] = ()  # templates of slots in their arguments: "{{ zone }}"
    speech: str = ""


@dataclass(frozen=True, slots=True)
class CustomMeaning:
    """What one of a house's own sentences means."""

    intent: str
    commands: tuple[Command, ...]
    says: str = ""  # instead of the tools' own sentences, once all was done; "" leaves it to them
    loose: bool = False  # some of its words may be any


@dataclass(frozen=True, slots=True)
class CustomSentences:
    """All of a house's own sentences. Immutable: when their file changes, there are others."""

    grammar: Mapping[str, Any] = field(default_factory=lambda: {"intents": {}})  # in hassil's form
    scripts: Mapping[str, Script] = field(default_factory=dict)  # intent → what it stands for
    responses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # intent → its responses, by their names
    examples: Mapping[str, str] = field(default_factory=dict)  # intent → how one of its sentences is said

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.grammar["intents"])

    def possible(self, tools: Collection[str]) -> Sequence[str]:
        """Return the examples of what these tools are enough for; none with a place where any words may stand."""
        possible = [text for intent, text in self.examples.items() if self._needed(intent) <= {*tools}]
        return [text for text in possible if ANY not in text]

    def _needed(self, intent: str) -> set[str]:
        if intent in self.scripts:
            return {command.tool for command in self.scripts[intent].commands}
        return {intent} if "." in intent else set()


NONE = CustomSentences()


class CustomReader:
    """Reads a house's own sentences. Immutable; a sentence takes a fraction of a millisecond for each template."""

    def __init__(self, sentences: CustomSentences, public: PublicReader | None) -> None:
        self.sentences = sentences
        self._public = public
        self._intents = Intents.from_dict({"language": "en", **sentences.grammar})
        self._lists = lru_cache(2)(_lists_of)  # the names of before, and those of now
        self.read = lru_cache(REMEMBERED)(self._read)

    def _read(self, text: str, names: Names, room: str = "") -> CustomMeaning | None:
        """Return what all of `text` means, said in `room`; `None` when it is none of these sentences."""
        if not self.sentences or not text or len(text) > LONGEST_CHARACTERS:
            return None
        matches = hassil.recognize_all(
            text, self._intents, slot_lists=self._lists(names), intent_context={"area": room or HERE}
        )
        ranked = sorted((reading_of(match, room or HERE) for match in matches), key=lambda one: one.score)
        return next(filter(None, (self._meaning(one, names, room) for one in ranked)), None)

    def _meaning(self, reading: IntentReading, names: Names, room: str) -> CustomMeaning | None:
        script = self.sentences.scripts.get(reading.intent)
        slots = {name: _whole(value) for name, value in reading.slots.items()}
        if reading.here and not room:
            slots.pop("area", None)
        says = script.speech if script else ""
        says = says or self.sentences.responses.get(reading.intent, {}).get(reading.response or "default", "")
        if script:
            commands = tuple(_filled(command, slots) for command in script.commands)
        elif "." in reading.intent:
            commands = (Command(reading.intent, slots, whole=True),)
        else:
            public = self._public.meant(reading, names, room) if self._public else None
            commands = public if isinstance(public, tuple) else ()
        if not commands and not says:
            return None
        return CustomMeaning(reading.intent, commands, _spoken(says, slots), bool(reading.wildcards))


def _lists_of(names: Names) -> dict[str, Any]:
    return {
        name: TextSlotList.from_tuples(values, allow_template=False, name=name)
        for name, values in named_here(names).items()
    }


def _whole(value: Any) -> Any:
    """Return a value as it is written: 5 for 5.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _filled(command: Command, slots: Mapping[str, Any]) -> Command:
    """Return a call with its slots filled in; what was not said is left out."""
    arguments = {name: _value(written, slots) for name, written in command.arguments.items()}
    return Command(command.tool, {name: value for name, value in arguments.items() if value != ""}, whole=True)


def _value(written: Any, slots: Mapping[str, Any]) -> Any:
    match written:
        case str():
            alone = TEMPLATE.fullmatch(written.strip())
            return slots.get(alone[1], "") if alone else _spoken(written, slots)
        case list():
            return [value for one in written if (value := _value(one, slots)) != ""]
        case dict():
            return {name: _value(one, slots) for name, one in written.items()}
    return written


def _spoken(text: str, slots: Mapping[str, Any]) -> str:
    return " ".join(TEMPLATE.sub(lambda slot: str(slots.get(slot[1], "")), text).split())
