"""Finds which words of an utterance stand while it still goes on: those on which two readings in a row agree. Pure.

LocalAgreement-2 of Macháček, Dabre and Bojar, "Turning Whisper into Real-Time Transcription System" (2023). The last
word of a reading may be cut off, and never counts. Words that stand are never taken back.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST_JOINT = 3  # words that a reading of a part must share with those that stand, to be joined to them


class Agreement:
    """The words so far of one utterance."""

    def __init__(self) -> None:
        self._standing: list[str] = []
        self._before: list[str] = []

    @property
    def text(self) -> str:
        """The words that stand."""
        return " ".join(self._standing)

    def read(self, text: str) -> str:
        """Take the next reading, and return what stands by it behind what stood before; "" where nothing does."""
        return self._agree(text.split()[:-1])

    def read_on(self, text: str) -> str:
        """Take the next reading of the last part of the sound alone, and return as `read` does."""
        words = text.split()[:-1]
        joint = self._joint(words)
        return self._agree([*self._standing, *words[joint:]]) if joint else ""

    def _agree(self, words: list[str]) -> str:
        alike, self._before = _alike(self._before, words), words
        return self._add(words[:alike])

    def _joint(self, words: Sequence[str]) -> int:
        """Return behind how many words what stands already ends; 0 where that cannot be told."""
        some, others = [_letters(word) for word in words], [_letters(word) for word in self._standing]
        for length in range(min(len(some), len(others)), LEAST_JOINT - 1, -1):
            ends = [end for end in range(length, len(some) + 1) if some[end - length : end] == others[-length:]]
            if ends:
                return ends[-1]
        return 0

    def finish(self, text: str) -> str:
        """Take the whole, and return its words behind those that stand; "" where it turned out otherwise."""
        return self._add(text.split())

    def _add(self, words: Sequence[str]) -> str:
        stood = len(self._standing)
        if _alike(self._standing, words) < stood:
            return ""
        new = words[stood:]
        self._standing += new
        return " ".join([*([""] if stood and new else []), *new])


def _alike(some: Sequence[str], others: Sequence[str]) -> int:
    """Return with how many words both begin, whatever marks are around them."""
    pairs = zip(map(_letters, some), map(_letters, others), strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others)))


def _letters(word: str) -> str:
    return "".join(letter for letter in word.casefold() if letter.isalnum())
