"""Cuts the wish out of a sentence that rambles: the clauses that ask for something, without the talk around them. Pure.

"My grandson says we mustn't go without a torch, so put a torch on the camping list": the reason before and the talk
behind make every reader unsure, and the wish alone is a plain sentence. What somebody else said is no wish, so behind
"says" only a clause counts that goes on with "so", or asks politely. In a turn that goes on with a talk any clause may
be the wish ("that's like a hospital, take it down to thirty"): there all are given, the last first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from atlas.understanding.grammar import Grammar
from atlas.understanding.patterns import act_pattern, pattern

LONGEST_CHARACTERS = 600  # that are read: a longer text is none that somebody says
MOST_PIECES = 12
MOST_CORES = 2  # of a sentence: to read each takes milliseconds
FEWEST_WORDS = 3  # of a sentence without a verb: fewer may be somebody's name
MOST_CLAUSES = 5  # of a turn of which each may be the wish
_JOINT = re.compile(r"[,.;:!?…–]+(?!\d)\s*")


class WishClauses:
    """The words of one language that begin a wish, and `is_aside` for clauses that only say why."""

    def __init__(
        self,
        words: Mapping[str, Any],
        is_aside: Callable[[str], bool],
        reports: re.Pattern[str],
        unwanted: Sequence[re.Pattern[str]],
    ) -> None:
        self._joint = pattern(words, "joints")
        self._wish = pattern(words, "wish")
        self._asks = pattern(words, "asks")  # a wish, whoever was quoted before it
        self._taken_back = pattern(words, "taken_back")
        self._binds = re.compile(words.get("binds", ""), re.IGNORECASE)  # without a table everything does
        self._reports = reports
        self._unwanted = unwanted
        self._is_aside = is_aside

    def cores(self, text: str, is_deed: Callable[[str], bool]) -> tuple[str, ...]:
        """Return what may be the whole wish of a text, the longest first; nothing when that is all of it.

        `is_deed` tells whether words without a verb want something done: "blinds up".
        """
        if len(text) > LONGEST_CHARACTERS:
            return ()
        pieces = [(piece.start(), piece.end()) for piece in self._pieces(text)]
        if not 1 < len(pieces) <= MOST_PIECES:
            return ()
        spoken = [text[start:end] for start, end in pieces]
        begins = [bool(self._wish.match(piece)) or is_deed(piece.strip()) for piece in spoken]
        wishes = [at for at, begun in enumerate(begins) if begun and not self._is_quoted(spoken, at)]
        if not wishes or any(way.search(text) for way in (*self._unwanted, self._taken_back)):
            return ()
        marks = [text[end : end + 1] for _, end in pieces]
        if not all(map(self._is_talk, spoken[: wishes[0]], marks)):
            return ()  # "by no means, …", "perhaps, …", "Tom, …" make another wish of it, or none
        if any(map(self._reports.search, spoken[wishes[0] + 1 :])):
            return ()  # "add two eggs, it says here"
        whole = text.strip(" ,.;!?")
        cores = (self._from(spoken, at, begins) for at in (wishes[0], wishes[-1]))
        goes_on = not all(self._is_aside(piece.strip()) for piece in spoken[wishes[-1] + 1 :])
        alone = [] if goes_on else [spoken[wishes[-1]].strip()]  # "put the lamp on low, about ten per cent"
        return tuple(one for one in dict.fromkeys([*cores, *alone]) if one != whole)[:MOST_CORES]

    def begins(self, text: str) -> bool:
        """Tell whether a clause of a text begins as a wish does."""
        return any(self._wish.match(piece[0].strip()) for piece in self._pieces(text[:LONGEST_CHARACTERS]))

    def _pieces(self, text: str) -> Iterator[re.Match[str]]:
        joints = [*self._joint.finditer(text)]
        starts = [0, *(joint.end() for joint in joints)]
        ends = [*(joint.start() for joint in joints), len(text)]
        every = re.compile(r".*\w.*", re.DOTALL)
        return filter(None, (every.match(text, start, end) for start, end in zip(starts, ends, strict=True)))

    def _from(self, spoken: list[str], at: int, begins: list[bool]) -> str:
        """Return the wish that begins with one piece, and what goes on with it."""
        first = at
        while first and not self._is_aside(spoken[first - 1].strip()) and not self._reports.search(spoken[first - 1]):
            first -= 1
        after = zip(spoken[at + 1 :], begins[at + 1 :], strict=True)
        more = [piece for piece, begun in after if begun or not self._is_aside(piece.strip())]
        return ", ".join(piece.strip(" ,.;!?") for piece in [*spoken[first : at + 1], *more])

    def _is_talk(self, piece: str, mark: str) -> bool:
        """Tell whether a piece before a wish says something by itself, and so may be left out: "So stuffy tonight."."""
        if self._is_aside(piece.strip()) or self._reports.search(piece):
            return True
        ends = mark in (".", "!", "?") and len(piece.split()) >= FEWEST_WORDS
        return ends and not self._binds.search(piece)

    def _is_quoted(self, spoken: list[str], at: int) -> bool:
        return any(map(self._reports.search, spoken[:at])) and not self._asks.match(spoken[at])


def open_wish_clauses(grammar: Grammar) -> WishClauses:
    """Return the wishes of a language; what is conditional or unwanted is not to be done, at least not now."""
    unwanted = [act_pattern(grammar.tables, name) for name in ("conditions", "unwanted")]
    return WishClauses(grammar.tables.get("wishes", {}), grammar.clauses.is_aside, grammar.clauses.reports, unwanted)


def parts_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text that may be its wish, the likeliest first, each with what it leaves out."""
    ends = [0, *(one.end() for one in _JOINT.finditer(text)), len(text)]
    starts = sorted({*ends[:-1]} - {len(text)})
    if not 1 < len(starts) <= MOST_CLAUSES:
        return
    bounds = [*starts, len(text)]
    last = len(starts)
    spans = [
        *((first, last) for first in range(1, last)),
        *((0, end) for end in range(last - 1, 0, -1)),
        *((first, end) for first in range(1, last - 1) for end in range(last - 1, first, -1)),
    ]
    for first, end in spans:
        part = text[bounds[first] : bounds[end]].strip(" ,;:")
        yield part, f"{text[: bounds[first]]} {text[bounds[end] :]}".strip()
