"""Models of the right shape and no sense: how fast, and how much memory, a real one would take on this machine.

    atlas bench shapes
    python -m atlas_bench.shapes [FORM] [--folder DIR] [--context 4096] [--gpu-layers 0] [--keep]

Speed and memory depend on the shapes of tensors and the types of their blocks, not on the values. So a file is written
with the tensors of a published model and random blocks of small scale, loaded as our LLM host loads it, and what is
measured stands beside what `atlas models fit` says of the same file. Shapes: the published configurations.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from atlas.config import Config
from atlas.models import machine
from atlas.models.fit import GIB, MemoryPlace, fit, shape_of
from atlas.models.gguf import read_header
from atlas.models.gguf_write import NewTensor, write

PIECE_BLOCKS = 65_536  # of random blocks, repeated over a tensor
SCALE = 1e-4  # of a block: values of about 0.02, as in real weights, so that nothing overflows
PROMPT_TOKENS, WARM_TOKENS, WRITTEN_TOKENS = 512, 16, 24
BYTE_TOKENS = 256
USUAL = "phi-3-mini"

TARGETS = {"ram_beyond_expected_percent": 15.0}  # that `atlas models fit` may be wrong by


@dataclass(frozen=True, slots=True)
class Form:
    """The numbers of a model's configuration."""

    architecture: str
    layers: int
    width: int
    inner: int
    heads: int
    heads_kv: int
    vocabulary: int
    context: int
    window: int = 0
    head_width: int = 0

    @property
    def head(self) -> int:
        """The width of one head."""
        return self.head_width or self.width // self.heads


FORMS = {
    "phi-3-mini": Form("phi3", 32, 3072, 8192, 32, 32, 32_064, 4_096),
    "llama-3.1-8b": Form("llama", 32, 4096, 14_336, 32, 8, 128_256, 131_072),
    "llama-3.1-70b": Form("llama", 80, 8192, 28_672, 64, 8, 128_256, 131_072),
    "gemma-3-tiny": Form("gemma3", 6, 256, 512, 4, 2, 2_048, 32_768, window=512, head_width=64),  # for the cache alone
}


def make(form: Form, file: Path) -> None:
    """Write a model of that form."""
    with file.open("wb") as out:
        write(out, _metadata(form), list(_tensors(form)))


def _tensors(form: Form) -> Iterator[NewTensor]:
    width, kv = form.width, form.heads_kv * form.head
    yield _matrix("token_embd.weight", width, form.vocabulary)
    for layer in range(form.layers):
        here = f"blk.{layer}"
        yield _vector(f"{here}.attn_norm.weight", width)
        if form.architecture == "phi3":
            yield _matrix(f"{here}.attn_qkv.weight", width, form.heads * form.head + 2 * kv)
            yield _matrix(f"{here}.ffn_up.weight", width, 2 * form.inner)
        else:
            yield _matrix(f"{here}.attn_q.weight", width, form.heads * form.head)
            yield _matrix(f"{here}.attn_k.weight", width, kv)
            yield _matrix(f"{here}.attn_v.weight", width, kv)
            yield _matrix(f"{here}.ffn_gate.weight", width, form.inner)
            yield _matrix(f"{here}.ffn_up.weight", width, form.inner)
        if form.architecture == "gemma3":
            for name, size in {"attn_q_norm": form.head, "attn_k_norm": form.head}.items():
                yield _vector(f"{here}.{name}.weight", size)
            for name in ("post_attention_norm", "post_ffw_norm"):
                yield _vector(f"{here}.{name}.weight", width)
        yield _matrix(f"{here}.attn_output.weight", form.heads * form.head, width)
        yield _vector(f"{here}.ffn_norm.weight", width)
        yield _matrix(f"{here}.ffn_down.weight", form.inner, width)
    yield _vector("output_norm.weight", width)
    yield _matrix("output.weight", width, form.vocabulary)


def _vector(name: str, size: int) -> NewTensor:
    return NewTensor(name, (size,), "F32", lambda: [np.ones(size, "<f4").tobytes()])


def _matrix(name: str, width: int, rows: int) -> NewTensor:
    return NewTensor(name, (width, rows), "Q4_K", lambda: _blocks(width * rows // 256))


def _blocks(count: int) -> Iterator[memoryview]:
    """Yield so many Q4_K blocks: two scales of 16 bits, 12 bytes of scales within, 128 bytes of values."""
    block = np.dtype([("scale", "<f2"), ("least", "<f2"), ("rest", "u1", 140)])
    some = np.empty(min(count, PIECE_BLOCKS), block)
    some["scale"], some["least"] = SCALE, SCALE * 7.5  # so that the mean is about 0
    some["rest"] = np.random.default_rng(len(some)).integers(0, 256, (len(some), 140), np.uint8)
    raw = memoryview(some.tobytes())
    for left in range(count, 0, -len(some)):
        yield raw[: min(left, len(some)) * block.itemsize]


def _metadata(form: Form) -> dict[str, Any]:
    own_values = {
        "block_count": form.layers,
        "context_length": form.context,
        "embedding_length": form.width,
        "feed_forward_length": form.inner,
        "attention.head_count": form.heads,
        "attention.head_count_kv": form.heads_kv,
        "attention.key_length": form.head,
        "attention.value_length": form.head,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": form.head,
        "vocab_size": form.vocabulary,
    }
    if form.window:
        own_values["attention.sliding_window"] = form.window
    signs = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(BYTE_TOKENS))]
    words = [f"w{number}" for number in range(form.vocabulary - len(signs))]
    kinds = [2, 3, 3] + [6] * BYTE_TOKENS + [1] * len(words)  # unknown, control, control, bytes, words
    return {
        "general.architecture": form.architecture,
        "general.name": "a shape without sense",
        **{f"{form.architecture}.{key}": value for key, value in own_values.items()},
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": signs + words,
        "tokenizer.ggml.scores": [0.0] * form.vocabulary,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


# ── measuring ──────────────────────────────────────────────────────────────────────────────────────


def resident() -> int:
    """Return the bytes of RAM that this process holds, mapped files included."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def measure(_: Config) -> dict[str, float]:
    """Return figures of a 3.8B model on processors; a file of 2.2 GB is written for it, and goes again."""
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        file = Path(folder) / "shape.gguf"
        make(FORMS[USUAL], file)
        return figures(file, 4096, len(os.sched_getaffinity(0)), gpu_layers=0)


def figures(file: Path, context: int, threads: int, gpu_layers: int) -> dict[str, float]:
    """Load a model as the LLM host does, and return what that takes and what was predicted.

    Seconds, tokens a second, milliseconds, GiB. The first token comes behind a warm prefix; the file was just written,
    so it is loaded from the page cache.
    """
    shape, ram = shape_of(read_header(file)), machine.ram()
    cards = machine.gpus() if gpu_layers else []
    spoken_fit, said_of_speed = fit(shape, cards, ram, context), fit(shape, cards, ram, PROMPT_TOKENS)
    from atlas.llm_host.request import Sampling
    from atlas.llm_host.weights import Sampler, Weights

    before, began = resident(), time.perf_counter()
    weights = Weights(file, context=context, threads=threads, gpu_layers=gpu_layers, sequences=1)
    loaded = time.perf_counter() - began
    tokens = [3 + BYTE_TOKENS + number % 999 for number in range(PROMPT_TOKENS + WARM_TOKENS)]
    began = time.perf_counter()
    for at in range(0, PROMPT_TOKENS, weights.step_tokens):
        assert weights.decode(0, at, tokens[at : at + weights.step_tokens])
    prompt = time.perf_counter() - began
    began = time.perf_counter()
    assert weights.decode(0, PROMPT_TOKENS, tokens[PROMPT_TOKENS:])
    first = time.perf_counter() - began
    sampler = Sampler(weights.size, Sampling(temperature=0))
    began, at = time.perf_counter(), len(tokens)
    for number in range(WRITTEN_TOKENS):
        assert weights.decode(0, at + number, [weights.sample(sampler)])
    writing = time.perf_counter() - began
    in_ram = resident() - before
    on_cards = _free(cards) - _free(machine.gpus()) if cards else 0
    return {
        "load_seconds": round(loaded, 2),
        "prompt_tokens_a_second": round(PROMPT_TOKENS / prompt, 1),
        "first_token_ms": round(first * 1000, 1),
        "tokens_a_second": round(WRITTEN_TOKENS / writing, 2),
        "tokens_a_second_expected": round(said_of_speed.tokens_per_second or 0.0, 2),
        "ram_gib": round(in_ram / GIB, 2),
        "ram_gib_expected": round(spoken_fit.ram_bytes / GIB, 2),
        "ram_beyond_expected_percent": round(100 * (in_ram / spoken_fit.ram_bytes - 1), 1)
        if spoken_fit.ram_bytes
        else 0.0,
        **(
            {"gpu_gib": round(on_cards / GIB, 2), "gpu_gib_expected": round(spoken_fit.gpu_bytes / GIB, 2)}
            if cards
            else {}
        ),
    }


def _free(cards: Sequence[MemoryPlace]) -> int:
    return sum(card.free_bytes for card in cards)


def main() -> None:
    """Make, load, measure, remove; for other forms, contexts and cards than `atlas bench shapes` takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", nargs="?", default=USUAL, choices=FORMS)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where there is room for it")
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--gpu-layers", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="leave the file there")
    given = parser.parse_args()
    file = given.folder / f"{given.form}.shape.gguf"
    try:
        if not file.exists():
            make(FORMS[given.form], file)
        for name, figure in figures(file, given.context, given.threads, given.gpu_layers).items():
            print(f"{name:30} {figure:10g}")
    finally:
        if not given.keep:
            file.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
