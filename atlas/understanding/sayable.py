"""Sentences in hassil's notation, over the names of a house → the ways in which they can be said. Pure.

Whoever hears needs what can be said as a value that he can search by sound; whoever reads needs templates. Both come
from the same sentences. What takes any words at all stays open; of a device, a room or a list there are only those
that the house has; numbers and lengths of time are as people speak them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import Any

import hassil
from hassil.expression import Alternative, Expression, Group, ListReference, Permutation, RuleReference, TextChunk

from atlas.ways import SILENCE, Anything, OneOf, Slot, SpokenWords, Values, Way, WaySeries

MOST_SPELLINGS = 24  # of one word with endings in brackets: "light[s]", "day[ ]light"
MOST_JOINED = 500  # that are looked at for those; many come to the same
MOST_PERMUTED = 4
_LETTERS = re.compile(r"[^\W_]")
_MARK = re.compile(r"[%°(){}\[\]|<>;:,.!?\"]+")

Fill = Callable[[str, str], Way | None]  # the name of a list, of a slot → how its values are said


class Sayable:
    """The ways of sentences that share lists and expansion rules."""

    def __init__(self, rules: Mapping[str, str], fill: Fill) -> None:
        self._rules = rules
        self._fill = fill
        self._rule = cache(self._of_rule)

    def way(self, sentence: str) -> Way | None:
        """Return how a sentence is said; `None` when it cannot be."""
        return self._of(hassil.parse_sentence(sentence).expression)

    def _of_rule(self, name: str) -> Way | None:
        return self.way(self._rules[name])

    def _of(self, part: Expression) -> Way | None:
        match part:
            case TextChunk(text=text):
                return _spoken(text)
            case RuleReference(rule_name=name):
                return self._rule(name)
            case ListReference(list_name=name, slot_name=slot):
                return self._fill(name, slot)
            case Permutation(items=items):
                return self._permuted(items)
            case Alternative(items=items):
                options = tuple(way for item in items if (way := self._of(item)) is not None)
                return OneOf(options) if options else None
            case Group(items=items):
                return self._in_a_row(items)
        raise AssertionError(f"hassil has a new expression: {part}")

    def _permuted(self, items: Sequence[Expression]) -> Way | None:
        orders = [self._in_a_row(order) for order in permutations(items[:MOST_PERMUTED])]
        options = tuple(way for way in orders if way is not None)
        return OneOf(options) if options else None

    def _in_a_row(self, items: Sequence[Expression]) -> Way | None:
        ways: list[Way] = []
        for run in _glued(items):
            way = self._of(run[0]) if len(run) == 1 else _spellings(run)
            if way is None and len(run) > 1:
                apart = [self._of(item) for item in run]
                way = None if None in apart else WaySeries(tuple(one for one in apart if one is not None))
            if way is None:
                return None
            if way != SILENCE:
                ways.append(way)
        return ways[0] if len(ways) == 1 else WaySeries(tuple(ways))


def _spoken(text: str) -> Way:
    words = " ".join(word for word in _MARK.sub(" ", text).replace("-", " ").split() if _LETTERS.search(word))
    return SpokenWords(words) if words else SILENCE


def _glued(items: Sequence[Expression]) -> Iterator[list[Expression]]:
    """Yield the runs of items between which there is no space: "light" and "[s]"."""
    run: list[Expression] = []
    for item in items:
        if run and (_ends_open(run[-1]) or _starts_open(item)):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _ends_open(item: Expression) -> bool:
    return not isinstance(item, (TextChunk, Alternative)) or (isinstance(item, TextChunk) and item.text.endswith(" "))


def _starts_open(item: Expression) -> bool:
    return not isinstance(item, (TextChunk, Alternative)) or (isinstance(item, TextChunk) and item.text.startswith(" "))


def _spellings(run: Sequence[Expression]) -> Way | None:
    """Return the words that glued pieces make; `None` when they hold more than words."""
    texts = [_texts(item) for item in run]
    if any(one is None for one in texts):
        return None
    joined = _joined([one or [] for one in texts], MOST_JOINED)
    spelled = {" ".join(text.split()) for text in joined}
    if len(spelled) > MOST_SPELLINGS or len(joined) > MOST_JOINED:
        return None
    options = tuple(_spoken(text) for text in sorted(spelled))
    return options[0] if len(options) == 1 else OneOf(options)


def _texts(item: Expression) -> list[str] | None:
    """Return all texts of an expression; `None` when it names a list or a rule."""
    match item:
        case TextChunk(text=text):
            return [text]
        case Permutation() | ListReference() | RuleReference():
            return None
        case Alternative(items=items):
            group = [_texts(one) for one in items]
            return None if any(one is None for one in group) else [text for one in group for text in one or ()]
        case Group(items=items):
            group = [_texts(one) for one in items]
            if any(one is None for one in group):
                return None
            return _joined([one or [] for one in group], MOST_SPELLINGS)
    return None


def _joined(items: Sequence[Sequence[str]], most: int) -> list[str]:
    """Return the texts that pieces make, one of each; one more than `most` where there are more."""
    texts = [""]
    for pieces in items:
        texts = [before + piece for before in texts for piece in pieces][: most + 1]
    return texts


def list_values(written: Any) -> list[tuple[str, str]]:
    """Return what a list of values in hassil's form can be called, each as it is said."""
    values: list[tuple[str, str]] = []
    for one in written.get("values", ()):
        template = str(one["in"]) if isinstance(one, Mapping) else str(one)
        texts = _texts(hassil.parse_sentence(template).expression) or []
        values += [(" ".join(text.split()), " ".join(text.split())) for text in texts]
    return values


def said_by(
    grammar: Mapping[str, Any], elsewhere: Fill = lambda name, slot: Anything(slot)
) -> tuple[Mapping[str, Sequence[Way]], Values]:
    """Return the ways to say each intent of a grammar in hassil's form, and what its lists hold.

    `elsewhere` says how the values of a list are said that the grammar does not write down.
    """
    lists: Mapping[str, Any] = grammar.get("lists", {})
    values: dict[str, Sequence[tuple[str, str]]] = {}

    def fill(name: str, slot: str) -> Way | None:
        written = lists.get(name, {})
        if "values" not in written:
            return elsewhere(name, slot)
        values[name] = list_values(written)
        return Slot(slot, name)

    sayable = Sayable(grammar.get("expansion_rules", {}), fill)
    ways = {
        intent: [
            way
            for data in block["data"]
            for sentence in data["sentences"]
            if (way := sayable.way(sentence)) is not None
        ]
        for intent, block in grammar["intents"].items()
    }
    return ways, values
