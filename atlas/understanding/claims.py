"""Tells whether a model's sentence claims something of this house, of a deed or of somebody's own things.

A small network reads the states that the encoder gives the sentence. It is made by scripts/train_claims.py of
corpus/claims/*.txt, for all languages together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.understanding.act_model import CORPUS, taught
from atlas.understanding.encoder import BEGIN, END, MOST_PIECES, SentenceEncoder

TAUGHT = CORPUS / "claims.npz"
SENTENCES_IN_MEMORY = 64
MOST_WORDS = 40  # that are read at once
_MARK = re.compile(r"^[\s*_#>•\-–]+|[*_`]+")
Floats = NDArray[np.float32]


def features(text: str, encoder: SentenceEncoder) -> Floats:
    """Return what the network reads of words: the mean, the most and the first of their states."""
    pieces = [BEGIN]
    for word in _MARK.sub("", text).lower().split():
        pieces += encoder.tokens.pieces_of(word)
    pieces = [*pieces[: MOST_PIECES - 1], END]
    states = encoder.states(pieces, [0] * len(pieces))
    return np.concatenate([states.mean(axis=0), states.max(axis=0), states[0]])


class ClaimJudge:
    """Judges sentences. Immutable; safe to call from several threads; takes some milliseconds a sentence."""

    def __init__(self, stored: Mapping[str, NDArray[Any]], encoder: SentenceEncoder) -> None:
        self._inner, self._bias, self._outer, self._base = (
            stored[name].astype(np.float32) for name in ("inner", "bias", "outer", "base")
        )
        self._encoder = encoder
        self.chance = lru_cache(SENTENCES_IN_MEMORY)(self._chance)

    def _chance(self, words: str) -> float:
        """Return how likely words are a claim, or the likeliest stretch of many words."""
        every = words.split()
        return max(
            (self._of(" ".join(every[at : at + MOST_WORDS])) for at in range(0, len(every), MOST_WORDS)), default=0.0
        )

    def _of(self, words: str) -> float:
        hidden = np.maximum(features(words, self._encoder) @ self._inner + self._bias, 0)
        return float(1 / (1 + np.exp(-(hidden @ self._outer + self._base[0]))))


def open_claims(encoder: SentenceEncoder) -> ClaimJudge:
    """Return the judge, on an encoder that is open. Raises `EngineError` when its file is missing or damaged."""
    return ClaimJudge(taught(TAUGHT), encoder)
