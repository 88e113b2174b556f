"""Listens for the wake word on this machine: nothing is sent before it is heard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.speech.wake import WakeStream

MOST_SECONDS = 3.0  # between a phrase and its being noticed
LEVEL_SECONDS = 0.8  # about as long as a wake word: how loud it was says how near its speaker is
# A microphone that gates its noise gives zeros, and after seconds of them a model misses one word in ten.
DITHER = np.random.default_rng(0).normal(0, 4, HEARING_RATE).astype(np.int16)
KEPT_BYTES = round(MOST_SECONDS * HEARING_RATE) * SAMPLE_BYTES


@dataclass(frozen=True, slots=True)
class WakeHeard:
    """The wake word was said."""

    phrase: str
    level_db: float
    pre_roll: AudioChunk  # what was said already when it was noticed, after the word


class WakeListener:
    """One microphone's ear for wake words."""

    def __init__(self, stream: WakeStream) -> None:
        self._stream = stream
        self._last = b""  # moments

    def hear(self, chunk: AudioChunk) -> WakeHeard | None:
        """Take the next chunk; return what woke the room, if anything did."""
        self._last = (self._last + chunk.pcm)[-KEPT_BYTES:]
        phrase = self._stream.hear(_dithered(chunk))
        if phrase is None:
            return None
        after = round(self._stream.said_on_seconds * HEARING_RATE) * SAMPLE_BYTES
        word, pre_roll = self._last[: len(self._last) - after], self._last[len(self._last) - after :]
        phrase_sound = AudioChunk(word[-round(LEVEL_SECONDS * HEARING_RATE) * SAMPLE_BYTES :])
        return WakeHeard(phrase, phrase_sound.level_db, AudioChunk(pre_roll))


def _dithered(chunk: AudioChunk) -> AudioChunk:
    if chunk.pcm.count(0) < len(chunk.pcm) // 3:  # there is noise enough; most of the day there is
        return chunk
    samples = np.frombuffer(chunk.pcm, "<i2").astype(np.int32)
    noise = np.resize(DITHER, samples.size)
    return AudioChunk(np.clip(samples + noise, -32768, 32767).astype("<i2").tobytes())
