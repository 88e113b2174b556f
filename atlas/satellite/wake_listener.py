"""Listens for the wake word on this machine: nothing is sent before it is heard."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.speech.wake import WakeStream

# While nobody speaks chunks wait and are heard together: a model that is asked seventeen times a second finds its
# weights and tables thrown out of the processor's caches each time, and takes twice as long.
WAITING_SECONDS = 0.5
LINGER_SECONDS = 2.0  # after the last sound: words are found up to a second after their end
LOUDER = 1.25  # than the quietest of late: there may be somebody. A word that is no louder is heard with what waits
RISING = 1.13  # a second: what is steady for some seconds is the room's own
QUIETEST = 2.0  # of 32767, -84 dB: a microphone's last bit
LAG_SAMPLES = 8  # between what is compared: an offset or a hum of the microphone hides nobody
MOST_SECONDS = 3.0  # between a phrase and its being noticed
LEVEL_SECONDS = 0.8  # about as long as a wake word: how loud it was says how near its speaker is
# A microphone that gates its noise gives zeros, and after seconds of them a model misses one word in ten.
DITHER = np.random.default_rng(0).normal(0, 4, HEARING_RATE).astype(np.int16)
KEPT_BYTES = round((MOST_SECONDS + WAITING_SECONDS) * HEARING_RATE) * SAMPLE_BYTES


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
        self._last = bytearray()  # moments
        self._waiting: list[AudioChunk] = []  # quiet, and not heard by the stream yet
        self._waiting_samples = self._lingering_samples = 0
        self._floor = 0.0  # how loud the room is when nobody speaks; at first nothing is known of it

    @property
    def is_quiet(self) -> bool:
        """Whether nobody has been louder than the room for a while."""
        return self._lingering_samples <= 0

    def hear(self, chunk: AudioChunk) -> WakeHeard | None:
        """Take the next chunk; return what woke the room, if anything did."""
        self._last += chunk.pcm
        del self._last[:-KEPT_BYTES]
        self._waiting.append(chunk)
        self._waiting_samples += chunk.samples
        if not self._may_be_somebody(chunk) and self._waiting_samples < WAITING_SECONDS * HEARING_RATE:
            return None
        waiting, self._waiting, self._waiting_samples = self._waiting, [], 0
        woken: WakeHeard | None = None
        since = sum(one.samples for one in waiting)
        for one in waiting:
            since -= one.samples
            if phrase := self._stream.hear(_dithered(one)):
                woken = self._heard(phrase, since)
        return woken

    def _may_be_somebody(self, chunk: AudioChunk) -> bool:
        """Tell whether it is louder than the room is by itself, or was a moment ago."""
        samples = np.frombuffer(chunk.pcm, "<i2").astype(np.float32)
        moved = samples[LAG_SAMPLES:] - samples[:-LAG_SAMPLES]
        level = math.sqrt(float(moved @ moved) / max(1, moved.size))
        is_louder = level > LOUDER * self._floor
        self._floor = max(QUIETEST, min(level, self._floor * RISING**chunk.seconds if self._floor else level))
        if is_louder:
            self._lingering_samples = round(LINGER_SECONDS * HEARING_RATE)
        else:
            self._lingering_samples -= chunk.samples
        return not self.is_quiet

    def _heard(self, phrase: str, since: int) -> WakeHeard:
        """Return a call that was noticed some samples ago."""
        after = (round(self._stream.said_on_seconds * HEARING_RATE) + since) * SAMPLE_BYTES
        end = max(0, len(self._last) - after)
        word, pre_roll = self._last[:end], self._last[end:]
        phrase_sound = AudioChunk(bytes(word[-round(LEVEL_SECONDS * HEARING_RATE) * SAMPLE_BYTES :]))
        return WakeHeard(phrase, phrase_sound.level_db, AudioChunk(bytes(pre_roll)))


def _dithered(chunk: AudioChunk) -> AudioChunk:
    if chunk.pcm.count(0) < len(chunk.pcm) // 3:  # there is noise enough; most of the day there is
        return chunk
    samples = np.frombuffer(chunk.pcm, "<i2").astype(np.int32)
    noise = np.resize(DITHER, samples.size)
    return AudioChunk(np.clip(samples + noise, -32768, 32767).astype("<i2").tobytes())
