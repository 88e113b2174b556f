"""The sentences of one language, found by their edges and a pattern: hassil tries one or two instead of a thousand."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import hassil
import yaml
from hassil.expression import (
    Alternative,
    Expression,
    Group,
    ListReference,
    Permutation,
    RuleReference,
    Sentence,
    TextChunk,
)
from hassil.intents import Intent, IntentData, Intents, TextSlotList
from hassil.recognize import RecognizeResult

from atlas.errors import ConfigError
from atlas.understanding.loose_patterns import LoosePatterns, letters

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
# that run another command later ("open the door in five minutes") are read by the public grammar. Both are left out.
_NOT_NEEDED = ("{timer_hour", "{timer_minute", "{timer_half", "{timer_command")
_ANY = ""  # the edge of a template that may be anything
MATCHES = 256  # in memory: those of the last few turns
SUM = "world.calculate"
_WORD = re.compile(r"\w+")
_SIGNS = re.compile(r"[^\w\s]|\dx|\bx\b")  # some of these are none, which does no harm
HALF = "ask."  # how intents begin that are half a command: what is missing is asked for

Edge = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Template:
    intent: Intent
    data: IntentData
    sentence: Sentence
    loose: re.Pattern[str]  # over the letters of a sentence, as `letters` leaves them


def _first(text: str) -> str:
    """Return the first two letters; of a single one, which may go on in what follows, nothing."""
    words = text.lstrip()
    return words[:2] if len(words) > 1 else _ANY


def _last(text: str) -> str:
    """Return the last letter."""
    return text.rstrip()[-1:]


@dataclass(frozen=True, slots=True)
class _Edges:
    """Templates by their edges: how they begin and how they end."""

    fitting: Mapping[tuple[str, str], Sequence[_Template]]
    starts: set[str]
    ends: set[str]

    def of(self, words: str) -> Sequence[_Template]:
        """Return the few templates that begin and end as `words` do."""
        start, end = _first(words.casefold()), _last(words.casefold())
        return self.fitting[start if start in self.starts else _ANY, end if end in self.ends else _ANY]


class Templates:
    """Everything that may be said in one language. Immutable once opened, but for what hassil compiles on first use."""

    def __init__(self, tables: Mapping[str, Any], public: Mapping[str, Any]) -> None:
        self.every = Intents.from_dict(_joined(tables, public))
        self._loose = LoosePatterns(self.every)
        sums: Mapping[str, str] = tables["arithmetic"]
        self._numbers, self._operators = ({*sums[words].split()} for words in ("numbers", "operators"))
        self._wholes = self._by_edges([one for name, one in self.every.intents.items() if not name.startswith(HALF)])
        self._matches = lru_cache(MATCHES)(self._match)  # one turn asks for the same words in several ways
        self._halves = self._by_edges([one for name, one in self.every.intents.items() if name.startswith(HALF)])

    def match(self, words: str, *, half: bool = False) -> Sequence[RecognizeResult]:
        """Return every way in which `words` can be read as a command, or as half of one, from the first to the last."""
        return self._matches(words, half)

    def _match(self, words: str, half: bool) -> Sequence[RecognizeResult]:
        plain = letters(words)
        fitting = (self._halves if half else self._wholes).of(words)
        out = "" if self._may_hold_a_sum(words) else SUM
        some = [one for one in fitting if one.intent.name != out and one.loose.fullmatch(plain)]
        only = with_only(self.every, ((one.intent.name, one.data, one.sentence) for one in some))
        return tuple(hassil.recognize_all(words, only)) if some else ()

    def _may_hold_a_sum(self, words: str) -> bool:
        """Whether words have numbers and what is done with them: to hassil any words are a sum."""
        plain = {*_WORD.findall(words.lower())}
        numbered = not plain.isdisjoint(self._numbers) or any(map(str.isdecimal, words))
        return numbered and (not plain.isdisjoint(self._operators) or bool(_SIGNS.search(words)))

    def _by_edges(self, some: Iterable[Intent]) -> _Edges:
        results: dict[tuple[str, str], list[_Template]] = defaultdict(list)
        for intent in some:
            for data in intent.data:
                for sentence in data.sentences:
                    sentence.get_required_clauses(self.every.expansion_rules)  # hassil keeps them for every match
                    starts, _ = self._edges(sentence.expression, _first)
                    ends, _ = self._edges(sentence.expression, _last)
                    template = _Template(intent, data, sentence, self._loose.of(sentence.expression))
                    for keys in product(starts, ends):
                        results[keys].append(template)
        starts, ends = ({keys[edge] for keys in results} | {_ANY} for edge in (0, 1))
        fitting = {
            (start, end): _in_blocks(
                [one for keys in dict.fromkeys(product((start, _ANY), (end, _ANY))) for one in results.get(keys, ())]
            )
            for start, end in product(starts, ends)
        }
        return _Edges(fitting, starts, ends)

    def _edges(self, expression: Expression, edge: Edge) -> tuple[set[str], bool]:
        """Return the letters an expression may start or end with, and whether it may be nothing at all."""
        match expression:
            case TextChunk(text=text):
                return {edge(text.casefold())} if text.strip() else set(), not text.strip()
            case RuleReference(rule_name=name):
                return self._edges(self.every.expansion_rules[name].expression, edge)
            case ListReference(list_name=name):
                values = self.every.slot_lists[name]
                if not isinstance(values, TextSlotList):
                    return {_ANY}, False
                return set().union(*(self._edges(value.text_in, edge)[0] for value in values.values)), False
            case Alternative(items=items):
                group = [self._edges(item, edge) for item in items]
                return set().union(*(letters for letters, _ in group)), any(empty for _, empty in group)
            case Permutation():
                return {_ANY}, False
            case Group(items=items):
                hits: set[str] = set()
                for item in items if edge is _first else reversed(items):
                    letters, empty = self._edges(item, edge)
                    hits |= letters
                    if not empty:
                        return hits, False
                return hits, True
        return {_ANY}, False


def _in_blocks(some: Sequence[_Template]) -> Sequence[_Template]:
    """Return templates without repetition, those of one intent together, and in it those of one block."""
    blocks: dict[str, dict[int, dict[int, _Template]]] = {}
    for one in some:
        blocks.setdefault(one.intent.name, {}).setdefault(id(one.data), {}).setdefault(id(one.sentence), one)
    return [one for intent in blocks.values() for block in intent.values() for one in block.values()]


def with_only(whole: Intents, some: Iterable[tuple[str, IntentData, Sentence]]) -> Intents:
    """Return a grammar of a few sentences, each with its intent and block. They share all that hassil has compiled."""
    remainder: dict[str, dict[int, tuple[IntentData, list[Sentence]]]] = {}
    for intent, data, sentence in some:
        remainder.setdefault(intent, {}).setdefault(id(data), (data, []))[1].append(sentence)
    intents = {
        name: Intent(name, [_with_sentences(data, sentences) for data, sentences in blocks.values()])
        for name, blocks in remainder.items()
    }
    return Intents(whole.language, intents, whole.slot_lists, whole.expansion_rules, whole.skip_words, whole.settings)


def _with_sentences(data: IntentData, sentences: list[Sentence]) -> IntentData:
    """Return a block of an intent with only some of its sentences, which stay the same objects."""
    intent_data = replace(data)
    intent_data.__dict__["sentences"] = sentences  # where hassil itself caches them
    return intent_data


def open_sentences(language: str) -> tuple[Mapping[str, Any], Templates]:
    """Return the words of `language` and its sentences. Raises `ConfigError` when there are none."""
    folder = SENTENCES / language
    if not language.isalpha() or not folder.is_dir():
        known = ", ".join(sorted(path.name for path in SENTENCES.iterdir() if path.is_dir()))
        raise ConfigError(
            f"there are no sentences for the language {language!r}", hint=f"set house.language to one of {known}"
        )
    tables: dict[str, Any] = {"intents": {}, "lists": {}, "expansion_rules": {}}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for file in (SENTENCES / "unsaid.yaml", *sorted(folder.glob("*.yaml"))):
        for key, table in yaml.load(file.read_text(encoding="utf-8"), loader).items():  # noqa: S506 (both are safe loaders)
            tables[key] = tables[key] | table if isinstance(tables.get(key), dict) else table
    public = files("home_assistant_intents") / "data" / f"{language}.json"
    return tables, Templates(tables, json.loads(public.read_text(encoding="utf-8")))


def _joined(tables: Mapping[str, Any], public: Mapping[str, Any]) -> dict[str, Any]:
    """Return one hassil grammar: the public intents that are tools of ours, and our own."""
    shared = TOOL_OF_PUBLIC_INTENT if tables["timers"] else ()
    intents = {name: {"data": list(_needed(public["intents"][name]["data"]))} for name in shared}
    article = re.compile(rf"(?<![\w\[(|{{<])({tables['articles']})(?= [^{{])")
    for intent in tables["intents"].values():
        for block in intent["data"]:
            block["sentences"] = [article.sub(r"[\1]", sentence) for sentence in block["sentences"]]
    return {
        "language": tables["language"],
        "intents": intents | tables["intents"],
        "lists": {k: v for k, v in public["lists"].items() if k.startswith("timer_")} | tables["lists"],
        "expansion_rules": public["expansion_rules"] | tables["expansion_rules"],
    }


def _needed(data: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in data:
        sentences = [s for s in block["sentences"] if not any(part in s for part in _NOT_NEEDED)]
        if sentences:
            yield {"sentences": sentences, "metadata": block.get("metadata", {})}
