"""A speech detector for tests: loud is speech, so that a test writes its sound by hand."""

from __future__ import annotations

import numpy as np

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.config import SpeechConfig
from atlas.speech.vad import FRAME_SAMPLES, Vad, VadStream

LOUD = 0.01  # of full scale, as the root of the mean square
FAINT = 0.004  # from here on it is perhaps the end of a word


async def open(settings: SpeechConfig) -> Vad:
    """Return the detector."""
    return ScriptedVad()


def voice(seconds: float, level: float = 0.2) -> AudioChunk:
    """Return sound that this detector takes for speech: a hum of 200 Hz, `level` of full scale at its peaks."""
    at = np.arange(round(seconds * HEARING_RATE)) / HEARING_RATE
    return AudioChunk((np.sin(2 * np.pi * 200 * at) * level * 32767).astype("<i2").tobytes())


class ScriptedVad:
    """Makes detectors of loudness."""

    def listen(self) -> VadStream:
        """Return a detector for a new microphone."""
        return ScriptedVadStream()

    async def aclose(self) -> None:
        """Nothing to give back."""


class ScriptedVadStream:
    """One microphone; keeps no state."""

    def probability(self, frame: AudioChunk) -> float:
        """Return 1 for a loud frame, 0.4 for a faint one, else 0."""
        assert frame.samples == FRAME_SAMPLES
        assert frame.rate == HEARING_RATE
        level = np.sqrt(np.mean(np.frombuffer(frame.pcm, "<i2").astype(np.float64) ** 2)) / 32768
        return 1.0 if level > LOUD else 0.4 if level > FAINT else 0.0

    def reset(self) -> None:
        """Nothing to forget."""
