"""Sound keeps its length, its pitch and its seams when its rate changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.audio import AudioChunk
from atlas.errors import SoundError
from atlas.speech.resample import Resampler, resampled
from tests.conftest import for_every


def tone(hertz: float, seconds: float, rate: int) -> AudioChunk:
    at = np.arange(round(seconds * rate)) / rate
    return AudioChunk((np.sin(2 * np.pi * hertz * at) * 16_000).astype(np.int16).tobytes(), rate)


def pitch(sound: AudioChunk) -> float:
    samples = np.frombuffer(sound.pcm, np.int16).astype(np.float64)
    return float(np.argmax(np.abs(np.fft.rfft(samples))) / sound.seconds)


@for_every("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
@for_every("to", [8_000, 16_000, 24_000, 48_000])
def test_a_tone_keeps_its_length_and_its_pitch(rate, to):
    sound = resampled(tone(440, 1.0, rate), to)
    assert sound.rate == to
    assert abs(sound.seconds - 1.0) < 0.001
    assert abs(pitch(sound) - 440) < 2


@given(st.lists(st.integers(0, 2_000), min_size=1, max_size=40), st.sampled_from([8_000, 22_050, 24_000, 48_000]))
@settings(deadline=None)
def test_however_a_stream_is_cut_the_same_sound_comes_out(lengths, rate):
    whole = tone(300, sum(lengths) / rate, rate)
    stream, at, out = Resampler(rate, 16_000), 0, AudioChunk(b"")
    for length in lengths:
        out += stream.feed(whole.cut(at, at + length))
        at += length
    out += stream.flush()
    expected = resampled(whole, 16_000)
    assert out.samples == expected.samples
    difference = np.frombuffer(out.pcm, np.int16).astype(int) - np.frombuffer(expected.pcm, np.int16)
    assert np.abs(difference).max(initial=0) <= 2  # the last bit is dithered


def test_a_stream_is_ready_for_the_next_one_after_its_flush():
    stream = Resampler(24_000, 16_000)
    for _ in range(3):
        out = stream.feed(tone(440, 0.5, 24_000)) + stream.flush()
        assert abs(out.seconds - 0.5) < 0.001


def test_the_same_rate_passes_through_untouched():
    sound, stream = tone(440, 0.1, 16_000), Resampler(16_000, 16_000)
    assert stream.feed(sound) + stream.flush() == sound


@for_every("rate", [8_000, 24_000, 44_100, 48_000])
def test_no_more_than_two_milliseconds_are_held_back_at_any_moment(rate):
    stream, ready = Resampler(rate, 16_000), 0.0
    for steps in range(1, 51):
        ready += stream.feed(tone(440, 0.02, rate)).seconds
        assert 0.02 * steps - ready < 0.0021


def test_what_the_new_rate_cannot_hold_is_gone_and_does_not_fold_over():
    heard = np.frombuffer(resampled(tone(9_500, 1.0, 48_000), 16_000).pcm, np.int16)[400:-400]
    assert np.abs(heard).max() < 16  # of 16,000


def test_rates_that_no_device_has_cost_no_memory_to_speak_of():
    stream = Resampler(191_999, 16_001)
    assert abs((stream.feed(tone(440, 0.5, 191_999)) + stream.flush()).seconds - 0.5) < 0.001
    assert stream._rows.nbytes < 2**20


def test_loud_sound_is_clipped_and_does_not_turn_over():
    square = AudioChunk(np.tile(np.repeat(np.array([32767, -32768], np.int16), 100), 100).tobytes(), 48_000)
    samples = np.frombuffer(resampled(square, 16_000).pcm, np.int16)
    place = np.arange(len(samples)) * 3  # in the square wave, whose edges lie 100 samples apart
    inside = (place % 100 > 8) & (place % 100 < 92)
    assert ((samples > 0) == (place // 100 % 2 == 0))[inside].all()
    assert (samples == 32767).any()


@for_every("rate", [0, -1, 1, 3_999, 192_001, 2**31])
def test_a_rate_that_no_sound_has_is_refused(rate):
    with pytest.raises(SoundError, match="sample rate"):
        Resampler(rate, 16_000)
