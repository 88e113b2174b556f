"""A sentence → the tool call it asks for, or nothing. No model: hassil over the public grammar and Atlas's own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import hassil
import yaml
from hassil.models import MatchEntity
from hassil.recognize import RecognizeResult

from atlas.agents import durations
from atlas.errors import ConfigError

SENTENCES = Path(__file__).parent / "sentences"
LONGEST_CHARACTERS = 200  # no command is longer; longer text is conversation, and costs time to match
LONGEST_NAME_WORDS = 3  # "pizza dough"; a longer name is a half-understood sentence
LONGEST_PLACE_WORDS = 4
LONGEST_TITLE_WORDS = 14
# Of silence, before a command is acted on that could go on ("… and thirty seconds"). Pauses inside a phrase are mostly
# shorter; after any other sentence the speaker is given longer.
OPEN_COMMAND_SECONDS = 0.35

TOOL_OF_PUBLIC_INTENT = {
    "HassStartTimer": "timers.start",
    "HassCancelTimer": "timers.cancel",
    "HassCancelAllTimers": "timers.cancel_all",
    "HassIncreaseTimer": "timers.add",
    "HassDecreaseTimer": "timers.add",
    "HassPauseTimer": "timers.pause",
    "HassUnpauseTimer": "timers.resume",
    "HassTimerStatus": "timers.left",
    "HassGetCurrentTime": "clock.time",
    "HassGetCurrentDate": "clock.date",
}
ARGUMENT_OF_PUBLIC_SLOT = {"start_seconds": "seconds", "area": "room"}
_CHANGES_A_TIMER = ("HassIncreaseTimer", "HassDecreaseTimer")  # their "seconds" is by how much
_MARKS = re.compile(r"(?<!\d)[,.!?;:…\"“”()\[\]]+|[,.!?;:…\"“”()\[\]]+(?!\d)")  # "1.5" and "7:30" keep theirs
# Lengths of time are read before matching, so the public sentences that spell out hours and minutes cannot match; those
# that run another command later ("open the door in five minutes") are no tool of ours. Both are left out.
_NOT_NEEDED = ("{timer_hours", "{timer_minutes", "{timer_half", "{timer_command")


@dataclass(frozen=True, slots=True)
class Command:
    """What a sentence asks for. `whole`: nobody would sensibly go on speaking after it."""

    tool: str
    arguments: Mapping[str, Any]
    whole: bool = False


class Grammar:
    """The commands of one language. Immutable once opened; matching takes a few milliseconds and no I/O."""

    def __init__(self, own: Mapping[str, Any], public: Mapping[str, Any]) -> None:
        self._intents = hassil.Intents.from_dict(_joined(own, public))
        self._rewrites = [(re.compile(pattern, re.IGNORECASE), to) for pattern, to in own["rewrites"]]
        self._opener = re.compile(rf"(?:{'|'.join(own['openers'])})(?![\w'-])[ ,]*(?=\S)", re.IGNORECASE)
        self._closer = re.compile(rf"[ ,]+(?:{'|'.join(own['closers'])})$", re.IGNORECASE)
        self._filler = re.compile(rf"[ ,]+(?:{'|'.join(own['fillers'])})$", re.IGNORECASE)
        self._negation = re.compile(own["negations"], re.IGNORECASE)
        self._second_command = re.compile(own["second_commands"], re.IGNORECASE)
        self._never_names = frozenset(own["never_names"])

    def read(self, text: str) -> Command | None:
        """Return the command that `text` is, from its first word to its last; else `None`."""
        if len(text) > LONGEST_CHARACTERS:
            return None
        words, closed = self._bare(text)
        if not words or self._negation.search(words):
            return None
        plain, said = _with_plain_durations(words)
        found = [
            (self._guessed(result), command)
            for result in hassil.recognize_all(plain, self._intents)
            if (command := self._command(result, plain, said))
        ]
        if not found:
            return None
        _, surest = min(found, key=lambda one: one[0])  # the first of equals
        closed = closed or any(command == replace(surest, whole=True) for _, command in found)
        return replace(surest, whole=closed)

    def settle_seconds(self, text: str) -> float | None:
        """Return how long a speaker must be silent after `text` before it may be acted on; `None`: it is no command."""
        command = self.read(text)
        if command is None:
            return None
        return 0.0 if command.whole else OPEN_COMMAND_SECONDS

    def is_negated(self, text: str) -> bool:
        """Tell whether `text` says not to do something."""
        return len(text) <= LONGEST_CHARACTERS and bool(self._negation.search(self._bare(text)[0]))

    def _bare(self, text: str) -> tuple[str, bool]:
        """Return the words without punctuation and politeness, and whether their end was marked by a "please"."""
        words = _unpunctuated(text)
        while (opener := self._opener.match(words)) and opener.end():
            words = words[opener.end() :]
        closed = False
        while ending := self._closer.search(words) or self._filler.search(words):
            closed = closed or bool(self._closer.search(words))
            words = words[: ending.start()]
        for pattern, to in self._rewrites:
            words = pattern.sub(to, words)
        return words.strip(), closed

    def _guessed(self, result: RecognizeResult) -> int:
        """Return how many characters were matched by nothing but a wildcard: fewer is surer."""
        return sum(len(entity.text) for entity in result.entities_list if entity.is_wildcard)

    def _command(self, result: RecognizeResult, plain: str, said: Mapping[str, str]) -> Command | None:
        """Return the command of one match, or `None` when a slot holds what it cannot mean."""
        metadata = result.intent_metadata or {}
        arguments: dict[str, Any] = {}
        for entity in result.entities_list:
            name, value = _argument(result.intent.name, entity, said)
            if isinstance(value, str) and entity.is_wildcard:
                value = self._credible(name, value)
                if not value:
                    return None
            arguments[name] = value
        tool = TOOL_OF_PUBLIC_INTENT.get(result.intent.name, result.intent.name)
        if result.intent.name == "HassDecreaseTimer" or metadata.get("negative"):
            arguments["by_seconds"] = -arguments["by_seconds"]
        if tool == "tasks.shop":
            item = arguments.pop("item")
            tool, arguments["title"] = "tasks.add", item if item.lower().startswith("buy ") else f"buy {item}"
        if tool == "timers.cancel_all" and arguments:
            return None  # the tool cancels the timers of every room; this asked for one room's
        public = result.intent.name in TOOL_OF_PUBLIC_INTENT
        whole = bool(metadata.get("whole")) or (public and "name" in arguments)
        return Command(tool, arguments, whole and not _ends_openly(result, plain))

    def _credible(self, argument: str, value: str) -> str:
        """Return a free text slot tidied, or "" when it looks like the rest of another sentence."""
        words = value.split()
        if argument == "title":
            fits = len(words) <= LONGEST_TITLE_WORDS and not self._second_command.search(value)
            return value if fits and value.lower() not in self._never_names else ""
        if argument == "place":
            return value if len(words) <= LONGEST_PLACE_WORDS else ""
        while words and words[0].lower() in ("the", "a", "an", "my", "some"):
            words = words[1:]
        strange = any(word.lower() in self._never_names or any(c.isdigit() for c in word) for word in words)
        return "" if strange or len(words) > LONGEST_NAME_WORDS else " ".join(words)


def _argument(intent: str, entity: MatchEntity, said: Mapping[str, str]) -> tuple[str, Any]:
    """Return a slot as an argument of the tool."""
    name = ARGUMENT_OF_PUBLIC_SLOT.get(entity.name, entity.name)
    if intent in _CHANGES_A_TIMER and entity.name == "seconds":
        name = "by_seconds"
    value = entity.value
    if isinstance(value, float):
        return name, int(value)
    if isinstance(value, str):
        for plain, original in said.items():
            value = value.replace(plain, original)
        return name, " ".join(value.split())
    return name, value


def _ends_openly(result: RecognizeResult, plain: str) -> bool:
    """Tell whether the sentence ends inside free text: the next word may belong to it."""
    return any(entity.is_wildcard and plain.endswith(entity.text.strip()) for entity in result.entities_list)


def _unpunctuated(text: str) -> str:
    """Return one line of words: straight apostrophes, no marks but those inside a word or number."""
    words = " ".join(text.replace("’", "'").replace("‑", "-").replace("–", " ").split())
    words = _MARKS.sub(" ", words)
    return " ".join(words.split()).strip(" '-")


def _with_plain_durations(words: str) -> tuple[str, dict[str, str]]:
    """Return the words with every length of time as "N seconds", and how each was really said."""
    pieces: list[str] = []
    said: dict[str, str] = {}
    at = 0
    for found in durations.find(words):
        plain = f"{found.seconds} seconds"
        said[plain] = words[found.start : found.end]
        pieces += [words[at : found.start], plain]
        at = found.end
    return "".join([*pieces, words[at:]]), said


def _joined(own: Mapping[str, Any], public: Mapping[str, Any]) -> dict[str, Any]:
    """Return one hassil grammar: the public intents that are tools of ours, and our own."""
    intents = {name: {"data": list(_needed(public["intents"][name]["data"]))} for name in TOOL_OF_PUBLIC_INTENT}
    return {
        "language": own["language"],
        "intents": intents | own["intents"],
        "lists": {k: v for k, v in public["lists"].items() if k.startswith("timer_")} | own["lists"],
        "expansion_rules": public["expansion_rules"] | own["expansion_rules"],
        "settings": {"filter_with_regex": False},
    }


def _needed(data: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in data:
        sentences = [s for s in block["sentences"] if not any(part in s for part in _NOT_NEEDED)]
        if sentences:
            yield {"sentences": sentences, "metadata": block.get("metadata", {})}


def open_grammar(language: str) -> Grammar:
    """Load and warm the grammar of `language`: the first match compiles it and takes a few hundred milliseconds.

    Raises `ConfigError` when there are no sentences in that language.
    """
    path = SENTENCES / f"{language}.yaml"
    if not language.isalpha() or not path.is_file():
        known = ", ".join(sorted(file.stem for file in SENTENCES.glob("*.yaml")))
        raise ConfigError(
            f"there are no sentences for the language {language!r}", hint=f"set house.language to one of {known}"
        )
    own = yaml.safe_load(path.read_text(encoding="utf-8"))
    data = files("home_assistant_intents") / "data" / f"{language}.json"
    grammar = Grammar(own, json.loads(data.read_text(encoding="utf-8")))
    for sentence in WARMING:
        grammar.read(sentence)
    return grammar


WARMING = (  # one of each kind, so that every sentence template has been compiled before somebody waits for it
    "set a timer for ten minutes",
    "set a pizza timer in the kitchen for an hour and a half",
    "what is left to do and when does the oven timer go off in the kitchen",
    "add milk to my tasks",
    "take off two minutes from my egg timer",
)
