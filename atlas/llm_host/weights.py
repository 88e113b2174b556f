"""The model in memory: tokens in, logits out, several sequences side by side in one key-value cache.

This and `encoder.py` are the only files that touch llama.cpp. Nothing here is safe to call from two threads at once,
but for `tokenize`, which only reads the vocabulary.
"""

from __future__ import annotations

import ctypes
import logging
import os
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Threads of llama.cpp meet hundreds of times a token. libgomp lets the first one there spin for milliseconds, which
# starves the recogniser and the voice on the same cores, or, told to be passive, sleep at once, which costs a third of
# the speed. This is about a tenth of a millisecond: longer than a meeting takes when nobody is in the way, and as long
# as choosing a token does, so that nobody has to be woken for the next one. A quarter of it cost a twentieth of the
# speed. Must be set before it is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")

import llama_cpp as llama
import numpy as np
from llguidance import LLTokenizer
from llguidance.llamacpp import lltokenizer_from_vocab
from numpy.typing import NDArray

from atlas.errors import EngineError

if TYPE_CHECKING:
    from atlas.llm_host.request import Sampling

PREFILL_TOKENS = 128  # computed in one step; between two steps a client that has left is noticed
MAX_PIECE_BYTES = 512  # of one token as it is spelled; the longest are runs of a hundred spaces or so
PENALTY_TOKENS = 128  # how far back a repetition is a repetition: a spoken answer or two
LOG_LEVEL_ERROR = 4  # of ggml.h
NO_ROOM = 1  # what llama_decode returns when no cell of the cache is free
log = logging.getLogger("atlas.llm_host")


class Weights:
    """A loaded GGUF file and its context of `context` tokens, shared by up to `sequences` sequences.

    The sequences share one pool of cells (a unified cache): a prefix that two of them have in common is stored
    once, and one conversation may use the whole context when the others are forgotten.
    Raises `EngineError` when the file is missing or is not a model that llama.cpp can load.
    """

    step_tokens = PREFILL_TOKENS  # the most that `decode` takes at once

    def __init__(self, file: Path, *, context: int, threads: int, gpu_layers: int, sequences: int) -> None:
        self._model = load(file, gpu_layers)
        self.vocab = llama.llama_model_get_vocab(self._model)
        self.metadata = self._read_metadata()
        trained = llama.llama_model_n_ctx_train(self._model)
        if context > trained > 0:
            log.warning("context %d is more than the model was trained for; using %d", context, trained)
            context = trained
        self._ctx = self._open_context(context, threads, sequences, on_gpu=gpu_layers != 0)
        self.context = context
        # What a saved state depends on, beside the weights: how keys and values lie in the cells.
        self.settings = f"context {context}, gpu layers {gpu_layers}, one pool of {sequences}"
        self.size = llama.llama_vocab_n_tokens(self.vocab)
        self._memory = llama.llama_get_memory(self._ctx)
        # Recurrent and hybrid models keep one state, not a state per token: a prefix of it cannot be taken.
        whole = llama.llama_model_is_recurrent(self._model) or llama.llama_model_is_hybrid(self._model)
        self.can_share_prefix = not whole
        self._batch = llama.llama_batch_init(PREFILL_TOKENS, 0, 1)
        self._pieces: dict[int, bytes] = {}
        self.special_texts = self._special_texts()  # control tokens as they are spelled, longest first

    # ── tokens ─────────────────────────────────────────────────────────────────────────────────────

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Return the tokens of `text`; control tokens spelled out in it count only when `special`."""
        return tokens_of(self.vocab, text, special=special)

    def piece(self, token: int) -> bytes:
        """Return the bytes a token stands for; nothing for control tokens. They may end within a character."""
        if token not in self._pieces:
            self._pieces[token] = self._spell(token, special=False)
        return self._pieces[token]

    def text(self, token: int) -> str:
        """Return how a token is spelled, control tokens included."""
        return self._spell(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    def ends(self, token: int) -> bool:
        """Say whether the token ends an answer: end of sequence, of turn, of message."""
        return bool(llama.llama_vocab_is_eog(self.vocab, token))

    def tokenizer(self) -> LLTokenizer:
        """Build what grammars need to know of the vocabulary; about half a second, so once."""
        ends = [token for token in range(self.size) if self.ends(token)]
        with warnings.catch_warnings():  # it asks llama-cpp-python by an old name, once a token
            warnings.simplefilter("ignore", DeprecationWarning)
            return lltokenizer_from_vocab(self.vocab, eos_token=ends or None)

    @property
    def begin(self) -> int | None:
        """The token that every prompt begins with, for models that want one."""
        wanted = llama.llama_vocab_get_add_bos(self.vocab)
        return int(llama.llama_vocab_bos(self.vocab)) if wanted else None

    def _spell(self, token: int, *, special: bool) -> bytes:
        spelled = ctypes.create_string_buffer(MAX_PIECE_BYTES)
        count = llama.llama_token_to_piece(self.vocab, token, spelled, MAX_PIECE_BYTES, 0, special)
        return spelled.raw[: max(count, 0)]

    def _special_texts(self) -> tuple[str, ...]:
        marked = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        tokens = [t for t in range(self.size) if llama.llama_vocab_get_attr(self.vocab, t) & marked]
        texts = {self.text(token) for token in tokens}
        return tuple(sorted((t for t in texts if len(t) > 1 and not t.isspace()), key=len, reverse=True))

    # ── sequences ──────────────────────────────────────────────────────────────────────────────────

    def decode(self, sequence: int, position: int, tokens: Sequence[int]) -> bool:
        """Compute up to `PREFILL_TOKENS` tokens at `position`; False when no cell is free, and then nothing changed.

        Raises `EngineError` when llama.cpp fails; the sequence is then to be forgotten.
        """
        batch, count = self._batch, len(tokens)
        assert 0 < count <= PREFILL_TOKENS, "a step has a size"
        batch.n_tokens = count
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i] = token, position + i
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
            batch.logits[i] = i == count - 1
        outcome = llama.llama_decode(self._ctx, batch)
        if outcome == NO_ROOM:
            llama.llama_memory_seq_rm(self._memory, sequence, position, -1)
            return False
        if outcome != 0:
            raise EngineError(f"llama.cpp could not compute {count} tokens (it said {outcome})")
        return True

    def forget(self, sequence: int, start: int = 0) -> bool:
        """Drop what the sequence holds from position `start` on; False when this model cannot drop a part."""
        return bool(llama.llama_memory_seq_rm(self._memory, sequence, start, -1))

    def copy(self, source: int, target: int, count: int) -> None:
        """Let `target`, empty, begin with the first `count` tokens of `source`; no cell is used for it."""
        llama.llama_memory_seq_cp(self._memory, source, target, 0, count)

    def state_bytes(self, sequence: int) -> int:
        """Return how large `save` would be."""
        return int(llama.llama_state_seq_get_size(self._ctx, sequence))

    def save(self, sequence: int) -> memoryview:
        """Return what the cells of a sequence hold; most of it are 16-bit keys and values, layer by layer."""
        state = (ctypes.c_uint8 * self.state_bytes(sequence))()
        written = llama.llama_state_seq_get_data(self._ctx, state, len(state), sequence)
        return memoryview(state).cast("B")[:written]

    def restore(self, sequence: int, state: bytes) -> bool:
        """Let an empty sequence hold what `save` returned, of this very model and these settings; False without room.

        llama.cpp checks little of it: what comes from a disk is to be checked before.
        """
        given = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if llama.llama_state_seq_set_data(self._ctx, given, len(state), sequence) == len(state):
            return True
        self.forget(sequence)
        return False

    # ── choosing ───────────────────────────────────────────────────────────────────────────────────

    def logits(self) -> NDArray[np.float32]:
        """Return the logits after the last decoded token, to be masked in place."""
        pointer = llama.llama_get_logits_ith(self._ctx, -1)
        return np.ctypeslib.as_array(pointer, shape=(self.size,))

    def sample(self, sampler: Sampler) -> int:
        """Choose the next token."""
        return int(llama.llama_sampler_sample(sampler.chain, self._ctx, -1))

    # ── opening ────────────────────────────────────────────────────────────────────────────────────

    def _open_context(self, context: int, threads: int, sequences: int, *, on_gpu: bool) -> Any:
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context, PREFILL_TOKENS, PREFILL_TOKENS
        params.n_seq_max, params.kv_unified = sequences, True
        params.n_threads = params.n_threads_batch = threads
        if not on_gpu:  # on processors flash attention took two fifths of the speed at 800 tokens of context
            params.flash_attn_type = llama.LLAMA_FLASH_ATTN_TYPE_DISABLED
        opened = llama.llama_init_from_model(self._model, params)
        if not opened:
            raise EngineError(f"no memory for a context of {context} tokens", hint="lower `context` in atlas.toml")
        return opened

    def _read_metadata(self) -> dict[str, str]:
        results = {}
        for index in range(llama.llama_model_meta_count(self._model)):
            key = _grown(lambda b, n, i=index: llama.llama_model_meta_key_by_index(self._model, i, b, n))
            if not key.startswith("tokenizer.ggml."):
                results[key] = _grown(
                    lambda b, n, i=index: llama.llama_model_meta_val_str_by_index(self._model, i, b, n)
                )
        return results


class Sampler:
    """Chooses the next token, as `how` says.

    It is freed with the last reference to it: whoever leaves while an answer is begun could not do it.
    """

    def __init__(self, vocabulary: int, how: Sampling) -> None:
        self.chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        weakref.finalize(self, llama.llama_sampler_free, self.chain)
        if how.repeat != 1.0 or how.frequency or how.presence:
            penalties = how.repeat, how.frequency, how.presence
            self._add(llama.llama_sampler_init_penalties(vocabulary, PENALTY_TOKENS, *penalties))
        if how.temperature <= 0:
            self._add(llama.llama_sampler_init_greedy())
            return
        self._add(llama.llama_sampler_init_top_k(how.top_k))
        self._add(llama.llama_sampler_init_top_p(how.top_p, 1))
        self._add(llama.llama_sampler_init_temp(how.temperature))
        self._add(llama.llama_sampler_init_dist(how.seed))

    def _add(self, step: Any) -> None:
        llama.llama_sampler_chain_add(self.chain, step)

    def accept(self, token: int) -> None:
        """Count a token that was not sampled but was forced."""
        llama.llama_sampler_accept(self.chain, token)


def _said_by_llama(level: int, text: bytes, _data: object) -> None:
    if level == LOG_LEVEL_ERROR:
        log.error("llama.cpp: %s", text.decode("utf-8", "replace").strip())


_on_log = llama.llama_log_callback(_said_by_llama)  # kept for as long as llama.cpp may call it


def load(file: Path, gpu_layers: int) -> Any:
    """Return llama.cpp's model of a file. Raises `EngineError` when the file is missing, or no model it can load."""
    if not file.is_file():
        raise EngineError(f"there is no model file {file}", hint="run `atlas models fetch`")
    llama.llama_log_set(_on_log, None)
    llama.llama_backend_init()
    params = llama.llama_model_default_params()
    params.n_gpu_layers = gpu_layers
    params.use_mmap = True
    # Under some hypervisors a processor that lists AMX dies of SIGILL in its tile instructions (seen in Firecracker).
    # Without the extra buffer types llama.cpp does not use them, and keeps no second copy of the weights either.
    params.use_extra_bufts = not _lists_amx()
    model = llama.llama_model_load_from_file(os.fsencode(file), params)
    if not model:
        raise EngineError(f"{file} is not a model that llama.cpp can load", hint="fetch it again, or another one")
    return model


def tokens_of(vocab: Any, text: str, *, framed: bool = False, special: bool = False) -> list[int]:
    """Return the tokens of `text`, `framed` by those that the model begins and ends a text with.

    Control tokens spelled out in it count only when `special`.
    """
    raw = text.encode("utf-8", "replace")
    room = len(raw) + 8  # a token is a byte or more, and a frame is a few tokens
    array = (llama.llama_token * room)()
    count = llama.llama_tokenize(vocab, raw, len(raw), array, room, framed, special)
    assert count >= 0, "a text never has more tokens than bytes"
    return list(array[:count])


def _lists_amx() -> bool:
    """Say whether the processor lists the instructions that some hypervisors die of."""
    cpu = Path("/proc/cpuinfo")
    return cpu.is_file() and "amx_tile" in cpu.read_text(encoding="utf-8", errors="replace")


def _grown(read: Any) -> str:
    """Call a reader of llama.cpp twice: once for the length, once for the text."""
    length = read(None, 0)
    if length < 0:
        return ""
    room = ctypes.create_string_buffer(length + 1)
    read(room, length + 1)
    return room.value.decode("utf-8", "replace")
