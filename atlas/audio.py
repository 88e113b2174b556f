"""Sound inside the house: mono signed 16-bit, and time counted in samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

HEARING_RATE = 16_000  # samples a second of everything that is listened to; doors resample to it
SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A stretch of mono sound.

    `pcm` holds signed 16-bit little-endian samples. What is heard is always at `HEARING_RATE`;
    what is spoken keeps the rate of its voice until a door resamples it, once.
    """

    pcm: bytes
    rate: int = HEARING_RATE

    def __post_init__(self) -> None:
        assert len(self.pcm) % SAMPLE_BYTES == 0, "half a sample"
        assert self.rate > 0, "a sample rate is positive"

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.pcm) // SAMPLE_BYTES

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.samples / self.rate

    @property
    def level_db(self) -> float:
        """How loud it is, in decibels below full scale: 0 is the loudest, -96 is silence."""
        power = sum(sample * sample for sample in memoryview(self.pcm).cast("h")) / max(1, self.samples)
        return round(10 * math.log10(max(power, 1.0) / 32768**2), 1) if power else -96.0

    def __add__(self, other: AudioChunk) -> AudioChunk:
        assert self.rate == other.rate, "two rates do not add up"
        return AudioChunk(self.pcm + other.pcm, self.rate)

    def cut(self, start: int, end: int | None = None) -> AudioChunk:
        """Return samples `start` up to `end` (not included), counted from the front."""
        stop = None if end is None else end * SAMPLE_BYTES
        return AudioChunk(self.pcm[start * SAMPLE_BYTES : stop], self.rate)


def silence(seconds: float, rate: int = HEARING_RATE) -> AudioChunk:
    """Return `seconds` of nothing."""
    return AudioChunk(bytes(round(seconds * rate) * SAMPLE_BYTES), rate)
