"""The trained model of requests: which act one asks for, and which of its words fill the slots.

One encoder (encoder.py) reads the masked words once; two small heads look at what it returns: one at the whole
sentence, for the act, one at each word and the act, for its label. Both are made by scripts/train_acts.py of
corpus/LANGUAGE/*.txt, for all languages together; nothing is learnt in a house.
"""

from __future__ import annotations

import json
import logging
import lzma
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.errors import EngineError
from atlas.understanding.encoder import BEGIN, END, MOST_PIECES, SentenceEncoder, Tokens

log = logging.getLogger("atlas")
CORPUS = Path(__file__).parent / "corpus"
TAUGHT = CORPUS / "acts.npz"
ENCODER = "multilingual-e5-small"  # a folder of the models folder
LABELS = ("O", "X", "B-T", "I-T", "B-P", "I-P")  # X: names what is meant; T: words to take as they are; P: a place
QUESTION_MARK = "?"  # stands behind the words of what was written as a question
_QUESTION = re.compile(r"\?\W*$")
HARDLY_LESS = 3.0  # nats: with words to look for it was 1.8 at most, without any 3.9 at least
READINGS = 64  # in memory: those of the last few turns
PLAIN, KIND, NAME, TIME, BEFORE = range(5)  # kinds of words
_EXAMPLES = {  # words that stand for what was masked, and which kind they are
    "{WHEN}": ("tomorrow", TIME),
    "{DELAY}": ("soon", TIME),
    "{DURATION}": ("minutes", TIME),
    "{N}": ("5", TIME),
    "{PERSON}": ("anna", NAME),
}
HEADS = "act_weights act_bias slot_inner slot_inner_bias slot_acts slot_weights slot_bias slot_steps".split()  # noqa: SIM905
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LikelyAct:
    """An act, and how likely it is meant."""

    act: str
    chance: float


@dataclass(frozen=True, slots=True)
class ActInput:
    """A request as the encoder reads it."""

    pieces: Sequence[int]
    kinds: Sequence[int]  # of each piece
    starts: Sequence[int]  # of each word, its first piece


def corpus_lines(language: str) -> Sequence[str]:
    """Return what is taught of a language, sorted: which file holds a line is for its reader alone.

    Of a language without a corpus there are none.
    """
    files = (CORPUS / language).glob("*.txt")
    return sorted(line for file in files for line in file.read_text(encoding="utf-8").splitlines())


def has_question_mark(text: str) -> bool:
    """Tell whether a text ends with the mark of a question, whatever stands behind it."""
    return bool(_QUESTION.search(text))


def input_of(masks: Sequence[str], before: str, tokens: Tokens) -> ActInput:
    """Return masked words as the encoder reads them; `before` is the act that was done before them.

    `QUESTION_MARK` is read too, and is no word: it has no label.
    """
    pieces, kinds, starts = [BEGIN], [PLAIN], []
    if before:
        for word in before.replace(".", " ").replace("_", " ").split():
            pieces += tokens.pieces_of(word)
        pieces.append(END)
        kinds += [BEFORE] * (len(pieces) - 1)
    for word, kind in _words(masks):
        if word != QUESTION_MARK:
            starts.append(len(pieces))
        pieces += tokens.pieces_of(word)
        kinds += [kind] * (len(pieces) - len(kinds))
    return ActInput([*pieces, END], [*kinds, PLAIN], starts)


def _words(masks: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the word that is read for each mask, and which kind it is."""
    for mask in masks:
        word = mask.strip("{}")
        if mask in _EXAMPLES:
            yield _EXAMPLES[mask]
        elif not mask.startswith("{"):
            yield mask.lower(), PLAIN
        else:
            yield word.lower(), NAME if word.isupper() else KIND


class ActModel:
    """Reads masked requests by what was learnt. Immutable; safe to call from several threads."""

    def __init__(self, stored: Mapping[str, NDArray[np.generic]], encoder: SentenceEncoder) -> None:
        self.acts: Sequence[str] = json.loads(str(stored["acts"]))
        self.encoder = encoder
        self._heads = {name: stored[name].astype(np.float32) for name in HEADS}
        self._reading = lru_cache(READINGS)(self._read)  # a turn asks for the same words more than once

    def read(self, masks: Sequence[str], before: str = "") -> ActReading | None:
        """Return what masked words mean, after the act `before`; `None` when they have more pieces than can be read.

        Takes two to four milliseconds on a core.
        """
        return self._reading(tuple(masks), before)

    def _read(self, masks: tuple[str, ...], before: str) -> ActReading | None:
        read = input_of(masks, before, self.encoder.tokens)
        if len(read.pieces) > MOST_PIECES:
            return None
        states = self.encoder.states(read.pieces, read.kinds)
        heads = self._heads
        scores = heads["act_weights"] @ np.concatenate([states.mean(axis=0), states[0]]) + heads["act_bias"]
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        likely = [LikelyAct(self.acts[at], float(chances[at])) for at in np.argsort(-chances)[:3]]
        inner = states[list(read.starts)] @ heads["slot_inner"].T + heads["slot_inner_bias"]
        return ActReading(likely, inner, self)

    def labels(self, inner: Floats, act: str, holding: str = "") -> list[str]:
        """Return the likeliest label of each word of a reading when `act` is asked for.

        `holding` is one of them, where a path with it is hardly less likely: "search my notes" has nothing to look for.
        """
        heads = self._heads
        hidden = np.maximum(inner + heads["slot_acts"][self.acts.index(act)], 0)
        scores, steps = hidden @ heads["slot_weights"].T + heads["slot_bias"], heads["slot_steps"]
        path = _best_path(scores, steps)
        if holding and path and (label := LABELS.index(holding)) not in path:
            at = _best_place(scores, steps, label)
            held = scores.copy()
            held[at, np.arange(len(LABELS)) != label] = -np.inf
            other = _best_path(held, steps)
            if _score(scores, steps, path) - _score(scores, steps, other) <= HARDLY_LESS:
                path = other
        return [LABELS[at] for at in path]


@dataclass(frozen=True, slots=True)
class ActReading:
    """What words mean: the three likeliest acts, the likeliest first, and of each word what tells its label."""

    likely: Sequence[LikelyAct]
    inner: Floats
    _learned: ActModel

    def labels(self, act: str, holding: str = "") -> list[str]:
        """Return the likeliest label of each word when `act` is asked for; `holding` is one of them."""
        return self._learned.labels(self.inner, act, holding)


def _score(scores: Floats, steps: Floats, path: Sequence[int]) -> float:
    return float(scores[range(len(path)), path].sum() + steps[path[:-1], path[1:]].sum())


def _best_place(scores: Floats, steps: Floats, label: int) -> int:
    """Return the word that has a label in the likeliest of all paths that hold it."""
    before, behind = [scores[0]], [np.zeros(len(steps), np.float32)]
    for row in scores[1:]:
        before.append((before[-1][:, None] + steps).max(axis=0) + row)
    for row in scores[:0:-1]:
        behind.append((steps + row + behind[-1]).max(axis=1))
    return int(np.argmax([one[label] + rest[label] for one, rest in zip(before, reversed(behind), strict=True)]))


def _best_path(scores: Floats, steps: Floats) -> list[int]:
    """Return the likeliest path of labels: (words, labels), and of each label to the next."""
    if not len(scores):
        return []
    best, came_from = scores[0], []
    for row in scores[1:]:
        ways = best[:, None] + steps
        came_from.append(ways.argmax(axis=0))
        best = ways.max(axis=0) + row
    path = [int(best.argmax())]
    for step in reversed(came_from):
        path.append(int(step[path[-1]]))
    return path[::-1]


def open_act_model(folder: Path) -> ActModel | None:
    """Return what was learnt, with the encoder in a folder; `None`, and a line in the log, without it.

    Takes half a second.
    """
    try:
        return ActModel(taught(TAUGHT), SentenceEncoder(folder))
    except (EngineError, KeyError, ValueError) as trouble:
        log.warning("nothing that was learnt helps to understand: %s", trouble)
        return None


def taught(file: Path) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of what was taught. Raises `EngineError` when the file is missing or damaged."""
    try:
        with np.load(file) as stored:
            return dict(stored)
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, lzma.LZMAError) as trouble:
        raise EngineError(
            f"{file} holds nothing that was taught: {trouble}", hint="install Atlas again; the file is a part of it"
        ) from trouble
