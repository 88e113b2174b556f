"""Scores how alike two texts are, by character n-grams, weighted by rarity, compared by angle. Pure.

No neural model: pieces of words carry over inflection, compounds and typing errors in any language, a household's
papers are indexed in a moment, and the same papers always give the same answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

GRAMS = (3, 4, 5)  # characters
BUCKETS = 1 << 18  # n-grams are hashed into so many; a thousand notes use a fifth of them
PASSAGE_CHARACTERS = 600  # a few sentences: longer ones drown what they are about
MOST_PASSAGES = 8_000
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / golden ratio: spreads neighbours far apart
_SHIFT = np.uint64(64 - 18)

Ids = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document, and its n-grams with how often they occur (damped)."""

    text: str
    grams: Ids
    often: Weights


@dataclass(frozen=True, slots=True)
class Likeness:
    """One passage that is like the query; 1 would be the same n-grams in the same measure."""

    document: str
    text: str
    score: float


class Index:
    """Documents by name, each with a stamp that says which version was read."""

    def __init__(self) -> None:
        self._documents: dict[str, tuple[Hashable, list[Passage]]] = {}
        self._stale = True
        self._passages: list[tuple[str, Passage]] = []
        self._grams: Ids = np.zeros(0, np.int64)
        self._weights: Weights = np.zeros(0, np.float32)
        self._begins: Ids = np.zeros(0, np.int64)
        self._rarity: Weights = np.zeros(BUCKETS, np.float32)

    def outdated(self, stamps: Mapping[str, Hashable]) -> list[str]:
        """Forget the documents that are gone; return the names of those to be read (again)."""
        for name in [name for name in self._documents if name not in stamps]:
            del self._documents[name]
            self._stale = True
        return [name for name, stamp in stamps.items() if self._documents.get(name, (None,))[0] != stamp]

    def put(self, name: str, stamp: Hashable, text: str) -> None:
        """Take in a document, in place of its older version."""
        self._documents[name] = (stamp, [passage(piece) for piece in pieces(text)])
        self._stale = True

    def like(self, query: str, most: int, least: float) -> list[Likeness]:
        """Return the best passage of each document that scores at least so much, best first."""
        if self._stale:
            self._weigh()
        requested_passage = passage(query)
        if not self._passages or not len(requested_passage.grams):
            return []
        weights = requested_passage.often * self._rarity[requested_passage.grams]
        if not (length := float(np.linalg.norm(weights))):
            return []
        wanted = np.zeros(BUCKETS, np.float32)
        wanted[requested_passage.grams] = weights / length
        scores = np.add.reduceat(wanted[self._grams] * self._weights, self._begins)
        best: dict[str, Likeness] = {}
        for at in np.argsort(-scores, kind="stable"):
            score = float(scores[at])
            if score < least or len(best) == most:
                break
            name, matching_passage = self._passages[int(at)]
            best.setdefault(name, Likeness(name, matching_passage.text, round(score, 4)))
        return list(best.values())

    def _weigh(self) -> None:
        self._passages = [
            (name, one_passage)
            for name, (_, passages) in sorted(self._documents.items())
            for one_passage in passages
            if len(one_passage.grams)  # reduceat has no empty slices
        ][:MOST_PASSAGES]
        self._stale = False
        if not self._passages:
            return
        grams = [one_passage.grams for _, one_passage in self._passages]
        lengths = np.array([len(vector) for vector in grams])
        self._grams = np.concatenate(grams)
        self._begins = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        holding = np.bincount(self._grams, minlength=BUCKETS)
        self._rarity = np.log1p(len(self._passages) / (1 + holding)).astype(np.float32)
        weights = np.concatenate([one_passage.often for _, one_passage in self._passages]) * self._rarity[self._grams]
        norms = np.sqrt(np.add.reduceat(weights * weights, self._begins))
        self._weights = weights / np.repeat(np.maximum(norms, 1e-12), lengths)


def passage(text: str) -> Passage:
    """Count the n-grams of a text."""
    letters = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    codes = np.frombuffer(f" {letters} ".encode("utf-32-le", "replace"), np.uint32).astype(np.uint64)
    hashed: list[Ids] = []
    for size in GRAMS:
        if len(codes) < size:
            continue
        mixed = np.full(len(codes) - size + 1, size, np.uint64)
        for place in range(size):
            mixed = (mixed ^ codes[place : len(codes) - size + 1 + place]) * _FACTOR
            mixed ^= mixed >> np.uint64(29)
        hashed.append((mixed >> _SHIFT).astype(np.int64))
    if not hashed or not letters:
        return Passage(text, np.zeros(0, np.int64), np.zeros(0, np.float32))
    grams, counts = np.unique(np.concatenate(hashed), return_counts=True)
    return Passage(text, grams, (1 + np.log(counts)).astype(np.float32))


def pieces(text: str) -> Sequence[str]:
    """Cut a document into passages: at empty lines, and within what is too long, at line ends and words."""
    hits: list[str] = []
    for block in text.split("\n\n"):
        rest = " ".join(block.split())
        while len(rest) > PASSAGE_CHARACTERS:
            cut = rest.rfind(" ", 1, PASSAGE_CHARACTERS)
            cut = cut if cut > 0 else PASSAGE_CHARACTERS
            hits.append(rest[:cut])
            rest = rest[cut:].lstrip()
        if rest:
            hits.append(rest)
    return hits
