"""Finds where a wish is taken back or broken off: "open the garage, ah no, the car's not here"; "turn on the". Pure.

Some words take back whatever stands before them ("never mind", "I've changed my mind"); others ("no", "hang on") may
also begin a correction or a second wish, so what stands behind them is given as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from atlas.understanding.patterns import pattern

LONGEST_CHARACTERS = 600  # that are read: a longer text is none that somebody says
MOST_JOINTS = 16


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The words before the last withdrawal of a sentence, and those behind it."""

    wish: str
    rest: str


class Withdrawals:
    """How one language takes back what it just said; a language without a table never does."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._joint = pattern(words, "joints")
        self._unfinished = pattern(words, "unfinished")
        mark = "|".join(words.get(kind, "(?!)") for kind in ("surely", "maybe"))
        self._mark = re.compile(rf"(?:(?:{words.get('fillers', '(?!)')})[\s,.!…-]+)*(?:{mark})", re.IGNORECASE)

    def read(self, text: str) -> Withdrawal | None:
        """Return where a text takes back what it wants, the last such place; `None` where it takes back nothing."""
        if len(text) > LONGEST_CHARACTERS:
            return None
        joints = [*self._joint.finditer(text)][-MOST_JOINTS:]
        for joint in reversed(joints):
            wish, mark = text[: joint.start()], self._mark.match(text, joint.end())
            if mark and re.search(r"\w", wish):
                return Withdrawal(self._before_marks(wish), text[mark.end() :].strip(" ,.;!?…-"))
        return None

    def is_unfinished(self, text: str) -> bool:
        """Tell whether a wish ends in the middle: what it is for would have come next."""
        return bool(self._unfinished.search(text[:LONGEST_CHARACTERS].rstrip(" ,.;:!…-–")))

    def _before_marks(self, wish: str) -> str:
        """Return a wish without a withdrawal that it ends with, where one follows the other: "the fan, no, wait"."""
        for joint in reversed([*self._joint.finditer(wish)]):
            mark = self._mark.match(wish, joint.end())
            if mark and not wish[mark.end() :].strip(" ,.;!?…-"):
                wish = wish[: joint.start()]
        return wish.strip(" ,.;!?…-")
