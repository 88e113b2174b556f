"""A sentence → a direction in 384 numbers; sentences alike in meaning point alike. Two to four milliseconds on a core.

The same published encoder (MiniLM) that the LLM host embeds documents with, in the house's own process and in 8 bits:
to ask another process would mean to wait behind every prompt that it is reading. A plain numpy pass takes 9 ms, since
it reads 42 MB of weights for each sentence.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Protocol

import ctranslate2
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing

from atlas.errors import EngineError

log = logging.getLogger("atlas")
WEIGHTS, WORDS = "model.bin", "vocab.txt"
MOST_TOKENS = 64  # of a spoken request; what is longer is conversation
DIMENSIONS = 384
# As in the config.json that CTranslate2 writes beside its weights.
_CONFIG = {
    "unk_token": "[UNK]",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "add_source_bos": False,
    "add_source_eos": False,
    "layer_norm_epsilon": 1e-12,
    "multi_query_attention": False,
}


class Vector(Protocol):
    """An encoder of sentences."""

    def __call__(self, text: str) -> NDArray[np.float32]:
        """Return the direction of a text, of length 1."""
        ...


class Encoder:
    """The encoder in a folder of the models folder. Immutable; safe to call from several threads.

    Raises `EngineError` when its files are missing, or are no encoder.
    """

    def __init__(self, folder: Path) -> None:
        try:
            words = (folder / WORDS).read_text(encoding="utf-8").splitlines()
            files = {
                WEIGHTS: (folder / WEIGHTS).read_bytes(),
                "config.json": json.dumps(_CONFIG).encode(),
                "vocabulary.json": json.dumps(words).encode(),
            }
            # One thread: of a sentence there is too little to share.
            self._model = ctranslate2.Encoder(  # type: ignore[attr-defined] # as its own documents do
                str(folder), files=files, compute_type="int8", intra_threads=1
            )
        except (OSError, RuntimeError, ValueError) as trouble:
            hint = f"atlas models pull {folder.name}"
            raise EngineError(f"{folder} holds no encoder of sentences: {trouble}", hint=hint) from trouble
        vocabulary = {word: number for number, word in enumerate(words)}
        self._tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106 (no secret)
        self._tokenizer.normalizer = BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = BertPreTokenizer()
        self._tokenizer.post_processor = BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
        self._tokenizer.enable_truncation(MOST_TOKENS)

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the direction of a text, of length 1."""
        ids = self._tokenizer.encode(text).ids
        states = self._model.forward_batch([ids], token_type_ids=[[0] * len(ids)]).last_hidden_state
        pooled = np.asarray(states, np.float32)[0].mean(axis=0)
        return np.asarray(pooled / (np.linalg.norm(pooled) or 1.0), np.float32)


def open_vector(folder: Path) -> Vector | None:
    """Return the encoder in a folder, by its `vector`; `None`, and a line in the log, when there is none."""
    try:
        return Encoder(folder).vector
    except EngineError as trouble:
        log.warning("nothing that was learnt helps to understand: %s", trouble)
        return None
