"""The sentences of one language, found by how they begin: hassil matches a handful of templates instead of a thousand."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import hassil
import yaml
from hassil.expression import Alternative, Expression, Group, ListReference, Permutation, RuleReference, Sentence, TextChunk
from hassil.intents import Intent, IntentData, Intents, TextSlotList
from hassil.recognize import RecognizeResult

from atlas.errors import ConfigError

SENTENCES = Path(__file__).parent / "sentences"
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
# Lengths of time are read before matching, so the public sentences that spell out hours and minutes cannot match; those
# that run another command later ("open the door in five minutes") are no tool of ours. Both are left out.
_NOT_NEEDED = ("{timer_hours", "{timer_minutes", "{timer_half", "{timer_command")
_KEY_LETTERS = 2  # a template is found by as many of its first letters
_ANY = ""  # the key of a template that may begin with anything


class Templates:
    """Everything that may be said in one language. Immutable once opened, but for what hassil compiles on first use."""

    def __init__(self, own: Mapping[str, Any], public: Mapping[str, Any]) -> None:
        self._all = Intents.from_dict(_joined(own, public))
        found: dict[str, list[tuple[Intent, IntentData, Sentence]]] = defaultdict(list)
        for intent in self._all.intents.values():
            for data in intent.data:
                for sentence in data.sentences:
                    for key in self._keys(sentence.expression)[0]:
                        found[key].append((intent, data, sentence))
        anywhere = found.pop(_ANY, [])
        self._rest = self._only(anywhere)
        self._by_key = {key: self._only([*some, *anywhere]) for key, some in found.items()}

    def match(self, words: str) -> Iterator[RecognizeResult]:
        """Yield every way in which `words` can be read, from the first to the last."""
        fitting = self._by_key.get(words[:_KEY_LETTERS].casefold(), self._rest)
        return iter(hassil.recognize_all(words, fitting))

    def _only(self, some: Iterable[tuple[Intent, IntentData, Sentence]]) -> Intents:
        """Return the grammar of a few sentences. They share all that hassil has compiled with each other."""
        kept: dict[str, dict[int, tuple[IntentData, list[Sentence]]]] = {}
        for intent, data, sentence in some:
            sentences = kept.setdefault(intent.name, {}).setdefault(id(data), (data, []))[1]
            if not any(sentence is other for other in sentences):  # its two beginnings may share a key
                sentences.append(sentence)
        intents = {
            name: Intent(name, [_with(data, sentences) for data, sentences in blocks.values()])
            for name, blocks in kept.items()
        }
        whole = self._all
        return Intents(
            whole.language, intents, whole.slot_lists, whole.expansion_rules, whole.skip_words, whole.settings
        )

    def _keys(self, said: Expression) -> tuple[set[str], bool]:
        """Return how an expression may begin, and whether it may be nothing at all."""
        match said:
            case TextChunk(text=text):
                start = text.lstrip()
                # A single letter may go on in whatever follows, unless a space says that it is a word.
                return ({start[:_KEY_LETTERS].casefold()} if len(start) >= _KEY_LETTERS else {_ANY}) if start else set(), not start
            case RuleReference(rule_name=name):
                return self._keys(self._all.expansion_rules[name].expression)
            case ListReference(list_name=name):
                values = self._all.slot_lists[name]
                if not isinstance(values, TextSlotList):
                    return {_ANY}, False
                return set().union(*(self._keys(value.text_in)[0] for value in values.values)), False
            case Alternative(items=items):
                each = [self._keys(item) for item in items]
                return set().union(*(keys for keys, _ in each)), any(empty for _, empty in each)
            case Permutation():
                return {_ANY}, False
            case Group(items=items):
                keys: set[str] = set()
                for item in items:
                    more, empty = self._keys(item)
                    keys |= more
                    if not empty:
                        return keys, False
                return keys, True
        return {_ANY}, False


def _with(data: IntentData, sentences: list[Sentence]) -> IntentData:
    """Return a block of an intent with only some of its sentences, which stay the same objects."""
    kept = replace(data)
    kept.__dict__["sentences"] = sentences  # where hassil itself caches them
    return kept


def open_sentences(language: str) -> tuple[Mapping[str, Any], Templates]:
    """Return the words of `language` and its sentences. Raises `ConfigError` when there are none."""
    folder = SENTENCES / language
    if not language.isalpha() or not folder.is_dir():
        known = ", ".join(sorted(each.name for each in SENTENCES.iterdir() if each.is_dir()))
        raise ConfigError(
            f"there are no sentences for the language {language!r}", hint=f"set house.language to one of {known}"
        )
    own: dict[str, Any] = {"intents": {}, "lists": {}, "expansion_rules": {}}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for file in sorted(folder.glob("*.yaml")):
        for key, told in yaml.load(file.read_text(encoding="utf-8"), loader).items():  # noqa: S506 (both are safe loaders)
            own[key] = own[key] | told if isinstance(own.get(key), dict) else told
    public = files("home_assistant_intents") / "data" / f"{language}.json"
    return own, Templates(own, json.loads(public.read_text(encoding="utf-8")))


def _joined(own: Mapping[str, Any], public: Mapping[str, Any]) -> dict[str, Any]:
    """Return one hassil grammar: the public intents that are tools of ours, and our own."""
    intents = {name: {"data": list(_needed(public["intents"][name]["data"]))} for name in TOOL_OF_PUBLIC_INTENT}
    return {
        "language": own["language"],
        "intents": intents | own["intents"],
        "lists": {k: v for k, v in public["lists"].items() if k.startswith("timer_")} | own["lists"],
        "expansion_rules": public["expansion_rules"] | own["expansion_rules"],
    }


def _needed(data: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in data:
        sentences = [s for s in block["sentences"] if not any(part in s for part in _NOT_NEEDED)]
        if sentences:
            yield {"sentences": sentences, "metadata": block.get("metadata", {})}
