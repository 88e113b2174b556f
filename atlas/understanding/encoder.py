"""Turns the words of a request into numbers: 384 for each piece of a word, which say what it means where it stands.

A published encoder of many languages, cut down and taught the requests of a house (atlas/models/convert_e5.py), in the
house's own process and in 8 bits: to ask another process would mean to wait behind every prompt that it is reading.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import ctranslate2
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.normalizers import NFKC
from tokenizers.pre_tokenizers import Metaspace

from atlas.errors import EngineError

WEIGHTS, PIECES = "model.bin", "pieces.txt"
BEGIN, END, UNKNOWN = 0, 2, 3  # numbers of pieces
WORDS_IN_MEMORY = 4096
MOST_PIECES = 128  # that it has places for
# As in the config.json that CTranslate2 writes beside its weights.
_CONFIG = {
    "unk_token": str(UNKNOWN),
    "bos_token": str(BEGIN),
    "eos_token": str(END),
    "add_source_bos": False,
    "add_source_eos": False,
    "layer_norm_epsilon": 1e-12,
    "multi_query_attention": False,
}


class Tokens:
    """Splits words into the pieces that the encoder knows. Raises `OSError`, and `ValueError` for another file."""

    def __init__(self, file: Path) -> None:
        lines = file.read_text(encoding="utf-8").split("\n")[:-1]
        known = [(piece, float(score)) for piece, _, score in (line.rpartition("\t") for line in lines)]
        self.count = len(known)
        self._tokenizer = Tokenizer(Unigram(known, unk_id=UNKNOWN, byte_fallback=False))
        self._tokenizer.normalizer = NFKC()
        self._tokenizer.pre_tokenizer = Metaspace()
        self.pieces_of = lru_cache(WORDS_IN_MEMORY)(self._pieces_of)

    def _pieces_of(self, word: str) -> Sequence[int]:
        """Return the numbers of the pieces of a word."""
        return self._tokenizer.encode(word, add_special_tokens=False).ids or [UNKNOWN]


class SentenceEncoder:
    """The encoder in a folder of the models folder. Immutable; safe to call from several threads.

    Raises `EngineError` when its files are missing, or are no encoder.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self.tokens = Tokens(folder / PIECES)
            files = {
                WEIGHTS: (folder / WEIGHTS).read_bytes(),
                "config.json": json.dumps(_CONFIG).encode(),
                "vocabulary.json": json.dumps([str(at) for at in range(self.tokens.count)]).encode(),
            }
            # One thread: of a sentence there is too little to share.
            self._model = ctranslate2.Encoder(  # type: ignore[attr-defined] # as its own documents do
                str(folder), files=files, compute_type="int8", intra_threads=1
            )
        except (OSError, RuntimeError, ValueError) as trouble:
            hint = f"atlas models pull {folder.name}"
            raise EngineError(f"{folder} holds no encoder of requests: {trouble}", hint=hint) from trouble

    def states(self, pieces: Sequence[int], kinds: Sequence[int]) -> NDArray[np.float32]:
        """Return (pieces, 384): what each piece means there; `kinds` says of each which kind of word it is part of."""
        states = self._model.forward_batch([list(pieces)], token_type_ids=[list(kinds)]).last_hidden_state
        return np.asarray(np.asarray(states, np.float32)[0])
