"""Change the sample rate of sound as it streams: any rate to any rate, with nothing lost at the seams."""

from __future__ import annotations

import numpy as np
import soxr

from atlas.audio import AudioChunk
from atlas.errors import SoundError

LOWEST_RATE = 4_000  # below this nothing of speech is left; a header that says so is broken or hostile
HIGHEST_RATE = 192_000
QUALITY = "MQ"  # holds back 12 ms of sound at 16 kHz where "HQ" holds 33; both are cleaner than 16 bits


class Resampler:
    """One stream's change of rate. Give it chunks in order; it keeps the few milliseconds that span two of them."""

    def __init__(self, from_rate: int, to_rate: int) -> None:
        """Raise `SoundError` for a rate that is no sound's."""
        check_rate(from_rate)
        check_rate(to_rate)
        self.from_rate = from_rate
        self.to_rate = to_rate
        self._stream = None if from_rate == to_rate else soxr.ResampleStream(from_rate, to_rate, 1, "int16", QUALITY)

    def feed(self, chunk: AudioChunk) -> AudioChunk:
        """Return what is ready after `chunk`, at `to_rate`: often more or less than its length, perhaps nothing."""
        assert chunk.rate == self.from_rate, "sound at another rate than this stream's"
        if self._stream is None:
            return chunk
        return self._to_chunk(self._stream.resample_chunk(np.frombuffer(chunk.pcm, np.int16)))

    def flush(self) -> AudioChunk:
        """Return what was held back, and be ready for a new stream. In all, as long came out as went in."""
        if self._stream is None:
            return AudioChunk(b"", self.to_rate)
        rest = self._stream.resample_chunk(np.empty(0, np.int16), last=True)
        self._stream.clear()
        return self._to_chunk(rest)

    def _to_chunk(self, samples: np.ndarray) -> AudioChunk:
        return AudioChunk(samples.tobytes(), self.to_rate)


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
