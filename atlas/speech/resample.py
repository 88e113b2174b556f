"""Change the sample rate of sound as it streams: any rate to any rate, with nothing lost at the seams."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, gcd

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from atlas.audio import AudioChunk
from atlas.errors import SoundError

LOWEST_RATE = 4_000  # below this nothing of speech is left; a header that says so is broken or hostile
HIGHEST_RATE = 192_000
CROSSINGS = 16  # of the filter with zero, to each side, at the lower rate: so much sound is held back, 1 ms at 16 kHz
PASSED = 0.92  # of what the lower rate can hold; above it the filter falls
SHARPNESS = 8.0  # of its window (Kaiser's beta): what it stops is 80 dB down
MOST_PLACES = 512  # between two old samples; more than any pair of usual rates has
BLOCK_SAMPLES = 4_096  # made at a time, or a minute of sound would take hundreds of megabytes
FILTERS = 8  # of pairs of rates, that stay

Floats = NDArray[np.float32]


class Resampler:
    """One stream's change of rate. Give it chunks in order; it keeps the millisecond or two that span two of them.

    A windowed sinc, one row for each place that a new sample can have between two old ones. Libraries filter by blocks
    and hold back 10 to 60 ms, for which somebody who has spoken would wait.
    """

    def __init__(self, from_rate: int, to_rate: int) -> None:
        """Raise `SoundError` for a rate that is no sound's."""
        check_rate(from_rate)
        check_rate(to_rate)
        self.from_rate = from_rate
        self.to_rate = to_rate
        common = gcd(from_rate, to_rate)
        self._up, self._down = to_rate // common, from_rate // common
        self._rows = None if from_rate == to_rate else _filter(self._up, self._down)
        self._old, self._first_old, self._fed, self._made = self._silence_before, 0, 0, 0

    def feed(self, chunk: AudioChunk) -> AudioChunk:
        """Return what is ready after `chunk`, at `to_rate`: often more or less than its length, perhaps nothing."""
        assert chunk.rate == self.from_rate, "sound at another rate than this stream's"
        if self._rows is None:
            return chunk
        self._fed += chunk.samples
        self._old = np.concatenate((self._old, np.frombuffer(chunk.pcm, np.int16).astype(np.float32)))
        ready = self._first_old + len(self._old) - self._rows.shape[1] + 1
        return self._until(self._rows, ceil(max(0, ready) * self._up / self._down))

    def flush(self) -> AudioChunk:
        """Return what was held back, and be ready for a new stream. In all, as long came out as went in."""
        if self._rows is None:
            return AudioChunk(b"", self.to_rate)
        self._old = np.concatenate((self._old, np.zeros(self._rows.shape[1], np.float32)))
        rest = self._until(self._rows, ceil(self._fed * self._up / self._down))
        self._old, self._first_old, self._fed, self._made = self._silence_before, 0, 0, 0
        return rest

    @property
    def _silence_before(self) -> Floats:
        return np.zeros(0 if self._rows is None else self._rows.shape[1] // 2 - 1, np.float32)

    def _until(self, rows: Floats, end: int) -> AudioChunk:
        """Return new samples up to `end`, and drop the old ones that no other needs."""
        made = []
        for start in range(self._made, end, BLOCK_SAMPLES):
            at = np.arange(start, min(start + BLOCK_SAMPLES, end), dtype=np.int64) * self._down
            old = sliding_window_view(self._old, rows.shape[1])[at // self._up - self._first_old]
            made.append(np.einsum("ij,ij->i", old, rows[at % self._up * len(rows) // self._up]))
        self._made = max(self._made, end)
        unneeded = self._made * self._down // self._up - self._first_old
        self._old, self._first_old = self._old[unneeded:], self._first_old + unneeded
        samples = np.rint(np.concatenate(made)) if made else np.empty(0)
        return AudioChunk(np.clip(samples, -32768, 32767).astype("<i2").tobytes(), self.to_rate)


@lru_cache(maxsize=FILTERS)
def _filter(up: int, down: int) -> Floats:
    """Return the weights of old samples: a row for each place of a new one between two of them."""
    share = min(1.0, up / down)
    half = ceil(CROSSINGS / share)
    places = min(up, MOST_PLACES)
    away = np.arange(1 - half, half + 1)[None, :] - (np.arange(places) / places)[:, None]  # in old samples
    window = np.i0(SHARPNESS * np.sqrt(np.maximum(0.0, 1.0 - (away / half) ** 2)))
    rows = np.sinc(share * PASSED * away) * window
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), np.float32)


def resampled(sound: AudioChunk, rate: int) -> AudioChunk:
    """Return the whole of `sound` at `rate`."""
    stream = Resampler(sound.rate, rate)
    return stream.feed(sound) + stream.flush()


def check_rate(rate: int) -> None:
    """Raise `SoundError` unless `rate` is one that sound has."""
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise SoundError(
            f"a sample rate of {rate} Hz",
            hint=f"send sound of {LOWEST_RATE} to {HIGHEST_RATE} samples a second",
        )


def mono(pcm: bytes, channels: int) -> bytes:
    """Return the mean of interleaved channels, 16-bit as they are."""
    if channels == 1:
        return pcm
    frames = np.frombuffer(pcm, "<i2").reshape(-1, channels)
    return bytes(frames.mean(axis=1).astype("<i2").tobytes())
