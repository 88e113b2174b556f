"""About how much memory a model takes on a machine, and how fast it is there."""

from __future__ import annotations

import pytest

from atlas.models.fit import GIB, MemoryPlace
from atlas.models.pace import pace

RAM = MemoryPlace("RAM", 16 * GIB, 20e9)
CARD = MemoryPlace("RTX 3060", 11 * GIB, 360e9)


def test_a_language_model_is_as_fast_as_the_memory_that_it_lies_in() -> None:
    on_processors, on_a_card = pace("llm", 2_000_000_000, [], RAM, 2), pace("llm", 2_000_000_000, [CARD], RAM, 2)
    assert on_processors.tokens_per_second == pytest.approx(7)
    assert on_a_card.tokens_per_second == pytest.approx(126)
    assert on_processors.memory_bytes > 2_000_000_000
    assert pace("llm", 2_000_000_000, [], MemoryPlace("RAM", 16 * GIB), 2).tokens_per_second is None


def test_what_is_larger_than_the_memory_does_not_fit() -> None:
    assert not pace("llm", 40 * GIB, [CARD], RAM, 8).fits
    assert pace("llm", 4 * GIB, [], RAM, 2).fits
    assert not pace("stt", 3 * GIB, [], MemoryPlace("RAM", 2 * GIB), 2).fits


def test_a_recogniser_takes_so_long_for_a_command_and_more_cores_take_less() -> None:
    two, eight = (pace("stt", 145_000_000, [], RAM, cores).command_seconds for cores in (2, 8))
    assert two == pytest.approx(0.29)
    assert eight == pytest.approx(0.0725)
    assert pace("tts", 63_000_000, [], RAM, 2).command_seconds is None
