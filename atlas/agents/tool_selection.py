"""Selects the few tools of the house that a model is shown for a request, by the words it is asked in. Pure."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from atlas.conversation import Message, Tool

MOST_TOOLS = 8  # of more, models choose worse, and their prompts are longer
RELEVANT = 0.3  # of the best tool's score: what has less only distracts
SURE = 0.75  # of it: what has as much must be shown, whatever was shown before
MOST_SURE = 3
MOST_RANKED = 6  # by the request alone; the others may be what was used just before
MOST_OF_A_FAMILY = 5  # before the best of others
LEAST_SCORE = 5.0  # of the best tool: with less it may well go on about what was spoken of before
LEAST_TRACE = 1.0  # of any tool: with less, only an "of" or "the" of its description was said
CLEAR_SCORE = 9.0  # with less it may well be another: what is asked most is shown as well
LONGEST_CHARACTERS = 1_000  # of a request that are read for this
REMEMBERED = 64  # requests, and what their words were
_FAMILY, _OWN, _NAME, _TEXT, _PARAMETER = 4.0, 3.0, 2.0, 0.5, 0.3  # what a word counts, by where it stands
_UNFORESEEN = 5.0  # times as much: a tool that the language has no words for speaks for itself
_WORD = re.compile(r"\w+(?:'\w+)?")


class ToolSelection:
    """Chooses by the words of one language. The same conversation over the same tools gives the same, always.

    `words` is what the language's sentences say; `plain` takes the politeness off a request.
    """

    def __init__(self, words: Mapping[str, Any], plain: Callable[[str], str]) -> None:
        self._words: Mapping[str, Any] = words.get("choosing", {})
        self._plain = plain
        request, not_asked = "|".join(self._words.get("question", ["(?!)"])), self._words.get("no_question", "(?!)")
        self._question = re.compile(rf"(?!(?:{not_asked})\b)(?:{request})(?!\w)", re.IGNORECASE)
        self._second_command = re.compile(words.get("second_commands", "(?!)"), re.IGNORECASE)
        self._shelf = _Shelf((), self._words)
        self._bare = lru_cache(REMEMBERED)(self._read)  # a conversation is gone through again with each of its turns

    def is_question(self, request: str) -> bool:
        """Tell whether somebody only wants to know something: nothing may be done about it."""
        plain = self._bare(request)
        return bool(self._question.match(plain)) and not self._second_command.search(plain)

    def best(self, request: str, tools: Sequence[Tool], most: int) -> tuple[Tool, ...]:
        """Return, in few words, the `most` tools that a request is most likely about, whatever was said before it."""
        self._stock(tools)
        may = self._shelf.may(self.is_question(request))
        scores = self._shelf.scores(self._bare(request))
        few = [name for name in scores if name in may and scores[name] >= LEAST_TRACE][:most]
        return tuple(_brief(tool) for tool in tools if tool.name in few)

    def few(self, request: str, history: Sequence[Message], tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """Return at most `MOST_TOOLS` of `tools`, in their order; for a question only such as change nothing.

        What was shown to the turns before is shown again while it serves: then the prompt begins as it did, and its
        beginning need not be read anew.
        """
        self._stock(tools)
        shown: dict[bool, frozenset[str]] = {}  # for a question and for a request, what was shown last
        used: tuple[str, ...] = ()
        asks = False
        for text, called in (*_turns(history), (request, ())):
            asks = self.is_question(text) if text else asks  # read ahead of the words, a turn is like the one before
            shown[asks] = self._next(text, shown.get(asks, frozenset()), used, reads_only=asks)
            used = tuple(dict.fromkeys((*called, *used)))[: MOST_TOOLS // 2]
        return tuple(tool for tool in tools if tool.name in shown[asks])

    def _stock(self, tools: Sequence[Tool]) -> None:
        if tuple(tools) != self._shelf.tools:
            self._shelf = _Shelf(tools, self._words)

    def simple(self, tools: Sequence[Tool]) -> str:
        """Return the sentence that says what still works without a model, as far as `tools` go; "" for nothing."""
        words: Mapping[str, Any] = self._words.get("simple", {})
        families = {_family(tool.name) for tool in tools}
        can = [text for family, text in words.get("families", {}).items() if family in families]
        if not can:
            return ""
        return str(words["says"]).format(can[0] if len(can) == 1 else words["and"].format(", ".join(can[:-1]), can[-1]))

    def _next(self, text: str, before: frozenset[str], used: Sequence[str], *, reads_only: bool) -> frozenset[str]:
        scores = self._shelf.scores(self._bare(text))
        ranked = [name for name in scores if name in self._shelf.may(reads_only)]
        best = scores[ranked[0]] if ranked else 0.0
        if before and best < LEAST_SCORE:
            return before
        sure = [name for name in ranked if scores[name] >= SURE * best][:MOST_SURE]
        if before and before.issuperset(sure):
            return before
        relevant = _spread([name for name in ranked if scores[name] >= max(LEAST_TRACE, RELEVANT * best)])
        again = [name for name in used if name in self._shelf.may(reads_only)]
        kin = [name for name in sorted(self._shelf.may(reads_only)) if _family(name) in set(map(_family, used))]
        usual = [name for name in self._usual() if name in self._shelf.may(reads_only)]
        more = () if best >= CLEAR_SCORE else usual if best >= LEAST_SCORE else (*kin[:MOST_OF_A_FAMILY], *usual)
        few = (*relevant[:MOST_RANKED], *again, *relevant, *more)
        return frozenset(list(dict.fromkeys(few))[:MOST_TOOLS])

    def _usual(self) -> Sequence[str]:
        """Return what is shown when words say little; in a language without a word for it, one tool of each family."""
        first = {_family(name): name for name in sorted(self._shelf.names, reverse=True)}
        return [*self._words.get("usual", ()), *sorted(first.values())]

    def _read(self, request: str) -> str:
        return (self._plain(request) or request)[:LONGEST_CHARACTERS].lower().replace("’", "'")


def _brief(tool: Tool) -> Tool:
    """Return a tool as a small model is told of it: what it does, its arguments, and more of those that it needs."""
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", [])
    shown = {
        name: {
            key: one[key]
            for key in ("type", "enum", "items", "description")
            if key in one and (key != "description" or name in required)
        }
        for name, one in properties.items()
    }
    schema = {"type": "object", "properties": shown, "required": required}
    return replace(tool, description=tool.description.split(". ")[0], parameters=schema)


class _Shelf:
    """A list of tools, and what each word says about each of them."""

    def __init__(self, tools: Sequence[Tool], words: Mapping[str, Any]) -> None:
        self.tools = tuple(tools)
        self.names = frozenset(tool.name for tool in tools)
        self.reads = frozenset(tool.name for tool in tools if tool.read_only)
        families, words_of_tools = words.get("families", {}), words.get("tools", {})
        self._compounds: bool = words.get("compounds", False)
        words_of = {tool.name: _in_its_own_words(tool) for tool in tools}
        spread = Counter(word for weights in words_of.values() for word in weights)
        self.scores = lru_cache(REMEMBERED)(self._scored)
        self._by_word: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for name, weights in words_of.items():
            foreseen = not words or name in words_of_tools or _family(name) in families
            for word, weight in weights.items():  # a word of many tools says little about each
                rarity = math.log(1 + len(tools) / spread[word]) / math.log(1 + len(tools))
                self._by_word[word][name] += weight * rarity * (1 if foreseen else _UNFORESEEN)
            for given, weight in ((families.get(_family(name), ""), _FAMILY), (words_of_tools.get(name, ""), _OWN)):
                for word in dict.fromkeys(_terms(str(given))):
                    self._by_word[word][name] += weight

    def may(self, reads_only: bool) -> Collection[str]:
        """Return the names that may be shown."""
        return self.reads if reads_only else self.names

    def _scored(self, text: str) -> Mapping[str, float]:
        """Return the tools that `text` has any word of, best first; of equals, as their names are ordered."""
        scores: dict[str, float] = defaultdict(float)
        stems = [self._head(word) for word in _terms(text)]
        for word in dict.fromkeys((*stems, *(f"{one}_{two}" for one, two in itertools.pairwise(stems)))):
            for name, weight in self._by_word.get(word, {}).items():
                scores[name] += weight
        return dict(sorted(scores.items(), key=lambda one: (-round(one[1], 6), one[0])))

    def _head(self, word: str) -> str:
        """Return what a word of a language of compounds is one of: of "küchenlicht" it is the light."""
        if not self._compounds or word in self._by_word:
            return word
        return next((word[at:] for at in range(2, len(word) - 3) if word[at:] in self._by_word), word)


def _in_its_own_words(tool: Tool) -> dict[str, float]:
    """Return the words of a tool's name, description and parameters, each with the most that it counts."""
    parts = (
        (" ".join(tool.parameters.get("properties", {})), _PARAMETER),
        (tool.description, _TEXT),
        (tool.name.replace(".", " "), _NAME),
    )
    return {word: weight for text, weight in parts for word in _terms(text.replace("_", " "))}


def _terms(text: str) -> Iterator[str]:
    """Yield the words of a text, without the endings that say how many; "_" in a word stays."""
    for word in _WORD.findall(text.lower()):
        yield "_".join(map(_stem, word.split("_")))


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _spread(ranked: Sequence[str]) -> list[str]:
    """Return the names in their order, but the best of every family before the last of a large one."""
    seen: Counter[str] = Counter()
    early, late = list[str](), list[str]()
    for name in ranked:
        seen[_family(name)] += 1
        (early if seen[_family(name)] <= MOST_OF_A_FAMILY else late).append(name)
    return [*early, *late]


def _family(name: str) -> str:
    return name.split(".")[0]


def _turns(history: Sequence[Message]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what was said in each turn, and which tools it led to."""
    text, called = "", list[str]()
    for message in history:
        if message.author == "user":
            if text:
                yield text, tuple(called)
            text, called = message.text, []
        called += [call.name for call in message.calls]
    if text:
        yield text, tuple(called)
