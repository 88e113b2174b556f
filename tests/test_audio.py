from __future__ import annotations

import pytest

from atlas.audio import HEARING_RATE, AudioChunk, silence


def test_time_is_counted_in_samples() -> None:
    assert AudioChunk(bytes(2 * HEARING_RATE)).seconds == 1.0
    assert AudioChunk(bytes(2 * 24_000), 24_000).seconds == 1.0
    assert silence(0.5).samples == HEARING_RATE // 2


def test_chunks_add_up_and_are_cut_by_samples() -> None:
    whole = AudioChunk(b"\x01\x00\x02\x00") + AudioChunk(b"\x03\x00")
    assert whole.samples == 3
    assert whole.cut(1).pcm == b"\x02\x00\x03\x00"
    assert whole.cut(0, 1).pcm == b"\x01\x00"
    assert whole.cut(5).samples == 0


def test_half_a_sample_and_mixed_rates_are_our_own_mistakes() -> None:
    with pytest.raises(AssertionError):
        AudioChunk(b"\x01")
    with pytest.raises(AssertionError):
        silence(0.1, 16_000) + silence(0.1, 24_000)
