"""Patterns as language files write them: in lines, with {parts} that stand in several, and tables of rewrites. Pure.

A language has hundreds of patterns, and a sentence fits a handful. Which can fit at all is told by three letters that
every match of a pattern has in it ("per" of "per ?cent"), looked up for all patterns in one pass over the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

IN_MEMORY = 128  # texts: a turn asks for the same words in several ways
TABLES = 64  # of rewrites, whose index is made once for all readers of a language
GRAM = 3  # letters by which patterns are looked up
MOST_SPELLINGS = 64  # of a piece of a pattern, that are written out
_PART = re.compile(r"\{([a-z_]+)\}")
_parse = import_module("re._parser").parse  # what `re` itself reads a pattern with


def filled(pattern: str, parts: Mapping[str, str]) -> str:
    """Return the pattern on one line, its parts in their places; they may have parts of their own, but not themselves.

    Raises `KeyError` for a part that there is none of.
    """
    return _PART.sub(lambda part: f"(?:{filled(parts[part[1]], parts)})", "".join(pattern.splitlines()))


def pattern(words: Mapping[str, Any], *names: str) -> re.Pattern[str]:
    """Return the first of these patterns that a table has, with the table's `parts`; else one that matches nothing.

    Of several ways to write it there is one for all.
    """
    ways = next((words[name] for name in names if name in words), ())
    every = ways if isinstance(ways, str) else "|".join(f"(?:{way})" for way in ways)
    return re.compile(filled(every or "(?!)", words.get("parts", {})), re.IGNORECASE)


def act_pattern(tables: Mapping[str, Any], *names: str) -> re.Pattern[str]:
    """Return the first of these patterns that a language has in its table `acts`; else one that matches nothing."""
    return pattern(tables.get("acts", {}), *names)


class PatternIndex:
    """Tells which of some patterns can match somewhere in a text; of the others none does. Immutable."""

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        self._always: set[int] = set()
        self._by_gram: dict[str, set[int]] = {}
        for number, pattern in enumerate(patterns):
            fragments = needed(pattern)
            if not fragments:
                self._always.add(number)
            for fragment in fragments:
                self._by_gram.setdefault(fragment[:GRAM], set()).add(number)
        self._grams = frozenset(self._by_gram)

    def possible(self, text: str) -> set[int]:
        """Return the numbers of the patterns that may match in `text`."""
        numbers = {*self._always}
        for gram in self._grams & _grams(text):
            numbers |= self._by_gram[gram]
        return numbers


@lru_cache(IN_MEMORY)  # every table of a language is asked for the same text
def _grams(text: str) -> frozenset[str]:
    """Return every run of up to `GRAM` letters in a text."""
    plain = _folded(text)
    grams = set(plain)
    for length in range(2, GRAM + 1):
        grams.update([plain[at : at + length] for at in range(len(plain))])
    return frozenset(grams)


_index = lru_cache(TABLES)(PatternIndex)


class SoughtPattern:
    """A pattern that takes long to search for, and is so only in texts that hold what each match of it does."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._index = PatternIndex([pattern])

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match anywhere in a text."""
        return self._pattern.search(text) if self._index.possible(text) else None


class Rewrites:
    """Rows of a pattern and what is written in its place, applied one after the other. Immutable."""

    def __init__(self, rows: Iterable[Sequence[str]], parts: Mapping[str, str] | None = None) -> None:
        self._rows = [
            (re.compile(pattern if parts is None else filled(pattern, parts), re.IGNORECASE), to)
            for pattern, to in rows
        ]
        self._index = _index(tuple(pattern for pattern, _ in self._rows))
        self.written = lru_cache(IN_MEMORY)(self._written)

    def _written(self, text: str) -> str:
        """Return `text` with everything replaced that rows have another word for."""
        rest = sorted(self._index.possible(text))
        while rest:
            number, *rest = rest
            pattern, to = self._rows[number]
            if (changed := pattern.sub(to, text)) != text:
                text = changed
                rest = sorted(one for one in self._index.possible(text) if one > number)
        return text


def needed(pattern: re.Pattern[str]) -> frozenset[str]:
    """Return fragments of which every match of `pattern` holds at least one, in small letters; none when unknown."""
    return _needed(_parse(pattern.pattern, pattern.flags)) or frozenset()


def _needed(steps: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    """Return the fragments of one sequence of steps: the longest that it can be known by."""
    best: frozenset[str] | None = None
    run = frozenset([""])
    for name, given in ((str(step), given) for step, given in steps):
        spellings = _spellings(name, given)
        if spellings is not None and len(run) * len(spellings) <= MOST_SPELLINGS:
            run = frozenset(before + one for before in run for one in spellings)
            continue
        best = _better(best, run)
        run = spellings if spellings is not None else frozenset([""])
        if spellings is None:
            best = _better(best, _inside(name, given))
    best = _better(best, run)
    return frozenset(map(_folded, best)) if best else None


def _better(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Return which of two sets of fragments tells more: whose shortest is longer, up to what is looked up by."""

    def worth(fragments: frozenset[str]) -> tuple[int, int]:
        return min(GRAM, min(map(len, fragments))), -len({fragment[:GRAM] for fragment in fragments})

    usable = [fragments for fragments in (one, other) if fragments and all(fragments)]
    return max(usable, key=worth, default=None)


def _spellings(name: str, given: Any) -> frozenset[str] | None:
    """Return everything that one step can match; `None` when that is too much, or not known."""
    match name:
        case "LITERAL":
            return frozenset([chr(given)])
        case "IN" if all(str(step) == "LITERAL" for step, _ in given):
            return frozenset(chr(letter) for _, letter in given)
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return frozenset([""])
        case "SUBPATTERN":
            return _all_spellings(given[-1])
        case "BRANCH":
            return _joined(map(_all_spellings, given[1]))
        case "MAX_REPEAT" | "MIN_REPEAT" if given[1] == 1:
            spellings = _all_spellings(given[2])
            return spellings if given[0] or spellings is None else spellings | {""}
    return None


def _all_spellings(steps: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    run = frozenset([""])
    for step, given in steps:
        spellings = _spellings(str(step), given)
        if spellings is None or len(run) * len(spellings) > MOST_SPELLINGS:
            return None
        run = frozenset(before + one for before in run for one in spellings)
    return run


def _inside(name: str, given: Any) -> frozenset[str] | None:
    """Return the fragments of a step that can match too much to be written out."""
    match name:
        case "SUBPATTERN":
            return _needed(given[-1])
        case "BRANCH":
            return _joined(map(_needed, given[1]))
        case "MAX_REPEAT" | "MIN_REPEAT" if given[0]:
            return _needed(given[2])
    return None


def _joined(branches: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    joined: set[str] = set()
    for branch in branches:
        if branch is None:
            return None
        joined |= branch
    return frozenset(joined)


def beginnings(pattern: str, letters: int, flags: int = re.IGNORECASE) -> str:
    """Return a pattern for the first `letters` characters of whatever `pattern` matches, the same ones written once.

    To look for them first is cheap: of a long pattern with many ways, nearly no word of a sentence begins one.
    """
    return _tree(_first(_parse(pattern, flags), letters))


def _tree(ways: Iterable[tuple[str, ...]]) -> str:
    by_first: dict[str, set[tuple[str, ...]]] = {}
    for way in ways:
        by_first.setdefault("".join(way[:1]), set()).add(way[1:])
    branches = (first if () in rests else first + _tree(rests) for first, rests in sorted(by_first.items()))
    return "" if "" in by_first else f"(?:{'|'.join(branches)})"


def _first(steps: Iterable[tuple[Any, Any]], letters: int) -> set[tuple[str, ...]]:
    """Return patterns of single characters with which a sequence of steps begins; fewer where it may end before."""
    whole: set[tuple[str, ...]] = set()
    ways: set[tuple[str, ...]] = {()}
    for name, given in ((str(step), given) for step, given in steps):
        longer = {(*way, *more)[:letters] for way in ways for more in _first_of_step(name, given, letters)}
        whole |= {way for way in longer if len(way) == letters}
        if not (ways := longer - whole):
            break
    return whole | ways


def _first_of_step(name: str, given: Any, letters: int) -> set[tuple[str, ...]]:
    match name:
        case "LITERAL":
            return {(re.escape(chr(given)),)}
        case "IN" if all(str(step) == "LITERAL" for step, _ in given):
            return {(re.escape(chr(letter)),) for _, letter in given}
        case "IN" if all(str(kind) == "CATEGORY_DIGIT" for _, kind in given):
            return {(r"\d",)}
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return {()}
        case "SUBPATTERN":
            return _first(given[-1], letters)
        case "BRANCH":
            return set().union(*(_first(way, letters) for way in given[1]))
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, repeated = given
            times = range(min(least, letters), min(most, letters) + 1)
            return set().union(*(_first([*repeated] * count, letters) for count in times))
    return {(r"[\s\S]",)}


def _folded(text: str) -> str:
    """Return a text in which letters are the same that a pattern takes for the same: "İ" too is an "i" to it."""
    return text.casefold().replace("\u0307", "")
