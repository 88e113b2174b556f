"""What is learnt from a corpus of sentences: which act a sentence asks for, and which of its words fill the slots.

Two linear models of one language, both made by scripts/train_parser.py of corpus/<language>.txt; nothing is learnt in a
house. The act is chosen by words, pairs of words and parts of words, beside the direction of the whole sentence
(encoder.py) where the encoder knows the language. The slots are the best path of labels (a conditional random field).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atlas.understanding.encoder import Vector

PART = 4  # letters of a word that are looked at by themselves: of what dialects and compounds share
DIRECTION_SCALE = 0.5  # of a direction of length 1, beside words that count 1 / sqrt(how many)
LABELS = ("O", "X", "B-T", "I-T", "B-P", "I-P")  # X: names what is meant; T: words to take as they are; P: a place
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Likely:
    """An act, and how likely it is meant."""

    act: str
    chance: float


def act_features(words: Sequence[str], before: str = "") -> list[str]:
    """Return what the classifier sees of words; `before` is the act that was done before them."""
    framed = ["<", *words, ">"]
    seen = {*words, *map(" ".join, itertools.pairwise(framed))}
    ended = [f"^{word}$" for word in words]
    seen |= {f"{word[at : at + PART]}~" for word in ended for at in range(len(word) - PART + 1)}
    seen |= {f"{one} . {other}" for one, other in zip(framed, framed[2:], strict=False)}
    if before:
        for known in (before, before.partition(".")[0]):
            seen |= {f"after {known}", *(f"after {known} {word}" for word in words)}
        seen |= {f"then {one}" for one in [*words, *map(" ".join, itertools.pairwise(framed))]}
    return sorted(seen)


def slot_features(masks: Sequence[str], act: str) -> Iterator[list[str]]:
    """Yield what the tagger sees of each word of a sentence that asks for `act`."""
    words = [mask.lower() for mask in masks]
    framed = ["<<", "<", *words, ">", ">>"]
    for at, word in enumerate(words):
        before2, before, _, after, after2 = framed[at : at + 5]
        named = "named" if word.startswith("{") else "plain"
        features = [
            f"w {word}",
            f"b {before}",
            f"a {after}",
            f"bw {before} {word}",
            f"wa {word} {after}",
            f"bb {before2} {before}",
            f"aa {after} {after2}",
            f"beginning {word[:3]}",
            f"end {word[-3:]}",
            named,
            f"{named} {before}",
            f"{named} {after}",
        ]
        yield [
            *features,
            *(f"{act}|{one}" for one in (*features[:5], named, f"{named} {before}", f"{named} {after}")),
            f"{act}|",
        ]


class ActClassifier:
    """Which act words ask for. Immutable."""

    def __init__(self, stored: Mapping[str, NDArray[np.generic]], vector: Vector | None) -> None:
        self.acts: Sequence[str] = json.loads(str(stored["acts"]))
        self._places = {word: at for at, word in enumerate(json.loads(str(stored["words"])))}
        self._weights = stored["weights"].astype(np.float32) * stored["scales"].astype(np.float32)
        self._direction = stored["direction"].astype(np.float32)
        self._bias = stored["bias"].astype(np.float32)
        self._vector = vector

    def likely(self, words: Sequence[str], before: str = "") -> list[Likely]:
        """Return the three likeliest acts, the likeliest first."""
        features = act_features(words, before)
        scores = self._bias.copy()
        if known := [self._places[one] for one in features if one in self._places]:
            scores += self._weights[known].sum(axis=0) / np.sqrt(len(features))
        if self._vector and self._direction.size:
            scores += self._direction @ (self._vector(" ".join(words)) * DIRECTION_SCALE)
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        return [Likely(self.acts[at], float(chances[at])) for at in np.argsort(-chances)[:3]]


class SlotTagger:
    """Which words of a sentence fill the slots of an act. Immutable."""

    def __init__(self, stored: Mapping[str, NDArray[np.generic]]) -> None:
        rows = stored["slot_weights"].astype(np.float32)
        self._weights = dict(zip(json.loads(str(stored["slot_features"])), rows, strict=True))
        self._steps = stored["slot_steps"].astype(np.float32)  # (label, next label)

    def labels(self, masks: Sequence[str], act: str) -> list[str]:
        """Return the likeliest label of each word: the best path through all of them."""
        none = np.zeros(len(LABELS), np.float32)
        scores = [sum((self._weights.get(one, none) for one in row), none) for row in slot_features(masks, act)]
        if not scores:
            return []
        best, came_from = scores[0], []
        for row in scores[1:]:
            ways = best[:, None] + self._steps
            came_from.append(ways.argmax(axis=0))
            best = ways.max(axis=0) + row
        path = [int(best.argmax())]
        for step in reversed(came_from):
            path.append(int(step[path[-1]]))
        return [LABELS[at] for at in reversed(path)]


def read_models(file: Path) -> dict[str, NDArray[np.generic]]:
    """Return the two models that are stored in a file."""
    with np.load(file) as stored:
        return dict(stored)
