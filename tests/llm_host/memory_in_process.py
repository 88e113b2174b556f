"""What a model takes is what `fit` says it will. Run by `test_memory.py`, in a process that has no other ggml."""

from __future__ import annotations

from pathlib import Path

import llama_cpp as llama
import pytest

from atlas.llm_host.host import MOST_UNWRITTEN_BYTES, Host, HostOptions
from atlas.llm_host.request import Sampling
from atlas.llm_host.weights import PREFILL_TOKENS, Sampler, Weights
from atlas.models.fit import BATCH_TOKENS, MemoryPlace, cache_bytes, fit, shape_of
from atlas.models.gguf import read_header
from atlas_bench.shapes import FORMS, make, resident

pytestmark = pytest.mark.real

MIB = 1 << 20
PLENTY = MemoryPlace("RAM", 1 << 40)


def taken(file: Path, context: int) -> int:
    """How much a process grows by loading a model and computing one batch."""
    before = resident()
    weights = Weights(file, context=context, threads=2, gpu_layers=0, sequences=8)
    assert weights.decode(0, 0, [100 + number % 999 for number in range(PREFILL_TOKENS)])
    return resident() - before


def test_the_memory_that_was_predicted_is_what_is_taken(models: Path) -> None:
    assert BATCH_TOKENS == PREFILL_TOKENS
    file = next((models / "smollm2-135m-instruct").glob("*.gguf"))
    shape = shape_of(read_header(file))
    taken(file, 1024)  # libraries, the vocabulary, threads: what a process takes whatever it loads
    grown = {context: taken(file, context) for context in (1024, 4096, 8192)}
    for context, number in grown.items():
        amount = fit(shape, [], PLENTY, context).ram_bytes
        assert 0.85 * amount < number < 1.15 * amount, (context, number / MIB, amount / MIB)
    cache = cache_bytes(shape, 8192) - cache_bytes(shape, 1024)
    assert 0.95 * cache < grown[8192] - grown[1024] < 1.15 * cache


def test_layers_with_a_window_are_kept_whole_for_prefixes_are_used_again(tmp_path: Path) -> None:
    file = tmp_path / "shape.gguf"
    make(FORMS["gemma-3-tiny"], file)
    shape = shape_of(read_header(file))
    grown = [taken(file, context) for context in (8192, 32_768)]
    cache = cache_bytes(shape, 32_768) - cache_bytes(shape, 8192)
    assert 0.9 * cache < grown[1] - grown[0] < 1.3 * cache, "what our host keeps behind a window is not what fit says"


def test_what_chose_the_tokens_of_an_answer_goes_with_it_also_when_nobody_waited_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    freed: list[object] = []
    free = llama.llama_sampler_free
    monkeypatch.setattr(llama, "llama_sampler_free", lambda chain: (freed.append(chain), free(chain)))
    for _ in range(3):
        Sampler(100, Sampling(temperature=1, repeat=1.1))
    assert len(freed) == 3


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_what_waits_for_a_slow_disk_is_bounded_by_its_bytes_and_one_that_is_larger_still_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = Host(HostOptions(tmp_path / "none.gguf", "none", conversations=1))
    for size in (2 * MOST_UNWRITTEN_BYTES, 1):
        host._write_later(lambda: None, size)
    assert caplog.text.count("the disk is too slow") == 1
    many = Host(HostOptions(tmp_path / "none.gguf", "none", conversations=1))
    for _ in range(100):
        many._write_later(lambda: None, MOST_UNWRITTEN_BYTES // 100)
    assert caplog.text.count("the disk is too slow") == 1
