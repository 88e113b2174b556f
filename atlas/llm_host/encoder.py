"""A sentence encoder in memory: a text in, a direction out. Texts alike in meaning point alike.

Beside `weights.py` the only file that touches llama.cpp. An encoder looks at a text from both ends at once, so a text
is one step, which cannot be cut in two; it can be broken off, and done again. Not safe to call from two threads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from atlas.errors import EngineError
from atlas.llm_host.weights import load, tokens_of

BROKEN_OFF = 2  # what llama_encode returns when it was told to stop


class GgufEncoder:
    """A loaded GGUF file of an encoder, on processors: a sentence takes milliseconds, and cards are for larger things.

    Raises `EngineError` when the file is missing, or holds no encoder.
    """

    def __init__(self, file: Path, threads: int) -> None:
        self._model = load(file, gpu_layers=0)
        self._vocab = llama.llama_model_get_vocab(self._model)
        self.tokens_read = llama.llama_model_n_ctx_train(self._model)
        self.dimensions = llama.llama_model_n_embd(self._model)
        self._ctx = self._open(threads)
        self._stop: Callable[[], bool] = lambda: False
        # llama.cpp asks between the operations of a step, some hundred times; kept for as long as it may ask.
        self._asked = llama.ggml_abort_callback(lambda _data: self._stop())
        llama.llama_set_abort_callback(self._ctx, self._asked, None)
        self._batch = llama.llama_batch_init(self.tokens_read, 0, 1)

    def tokens(self, text: str) -> tuple[list[int], bool]:
        """Return the tokens of a text, no more than can be read, and whether that is less than all of it."""
        results = tokens_of(self._vocab, text, framed=True)
        if len(results) <= self.tokens_read:
            return results, False
        return [*results[: self.tokens_read - 1], results[-1]], True  # the last one says that the text ends

    def vector(self, tokens: list[int], stop: Callable[[], bool]) -> NDArray[np.float32] | None:
        """Return the vector of a text, of length 1; `None` when `stop`, asked every few milliseconds, said to.

        Raises `EngineError` when llama.cpp fails.
        """
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i] = token, i
            batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, 0, True
        self._stop = stop
        outcome = llama.llama_encode(self._ctx, batch)
        if outcome == BROKEN_OFF:
            return None
        pooled = llama.llama_get_embeddings_seq(self._ctx, 0) if outcome == 0 else None
        if not pooled:
            raise EngineError(f"llama.cpp could not compute {len(tokens)} tokens (it said {outcome})")
        vector = np.ctypeslib.as_array(pooled, shape=(self.dimensions,))
        return np.asarray(vector / (np.linalg.norm(vector) or 1.0), np.float32)

    def _open(self, threads: int) -> Any:
        params = llama.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = self.tokens_read
        params.n_threads = params.n_threads_batch = threads
        params.embeddings = True
        params.flash_attn_type = llama.LLAMA_FLASH_ATTN_TYPE_DISABLED  # on processors it only costs
        opened = llama.llama_init_from_model(self._model, params)
        if not opened or llama.llama_pooling_type(opened) in (
            llama.LLAMA_POOLING_TYPE_NONE,
            llama.LLAMA_POOLING_TYPE_RANK,
        ):
            raise EngineError("this model makes no vectors of sentences", hint="use all-minilm-l6-v2")
        return opened
