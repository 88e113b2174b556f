"""A wake engine for tests: a loud enough tone of its own pitch is the phrase."""

from __future__ import annotations

import numpy as np

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.config import SpeechConfig
from atlas.speech.wake import NearMiss, Wake, WakeStream, nobody_near, phrase_of

FRAME_SAMPLES = 160
FRAMES_TO_WAKE = 20  # 0.2 s of the tone
LOUD = 0.1  # of full scale
FIRST_HERTZ, STEP_HERTZ = 3_000, 500  # multiples of the frame's 100 Hz; the n-th phrase is n steps above the first


async def open(settings: SpeechConfig) -> Wake:
    """Return an engine that knows the configured words."""
    return ScriptedWake(*map(phrase_of, settings.wake_words))


class ScriptedWake:
    """Knows each of `phrases` by its tone; `call(phrase)` makes the sound that wakes it."""

    def __init__(self, *phrases: str) -> None:
        self.phrases = phrases or ("okay nabu",)

    def listen(self, threshold: float = 0.0, near_miss: NearMiss = nobody_near) -> WakeStream:
        """Return a detector for a new microphone, which nothing but the tone comes near."""
        return ScriptedWakeStream(self.phrases)

    def call(self, phrase: str = "") -> AudioChunk:
        """Return the sound of `phrase`, by default the first."""
        hertz = FIRST_HERTZ + STEP_HERTZ * self.phrases.index(phrase or self.phrases[0])
        at = np.arange((FRAMES_TO_WAKE + 2) * FRAME_SAMPLES) / HEARING_RATE
        return AudioChunk((np.sin(2 * np.pi * hertz * at) * 16_000).astype("<i2").tobytes())

    async def aclose(self) -> None:
        """Nothing to give back."""


class ScriptedWakeStream:
    """One microphone."""

    said_on_seconds = 0.15
    score = 1.0

    def __init__(self, phrases: tuple[str, ...]) -> None:
        self._phrases = phrases
        self._waiting = b""
        self._phrase = ""
        self._count = 0

    def hear(self, chunk: AudioChunk) -> str | None:
        """Take the next chunk; return the phrase when its tone has lasted long enough."""
        assert chunk.rate == HEARING_RATE
        self._waiting += chunk.pcm
        text: str | None = None
        while len(self._waiting) >= FRAME_SAMPLES * 2:
            frame, self._waiting = self._waiting[: FRAME_SAMPLES * 2], self._waiting[FRAME_SAMPLES * 2 :]
            phrase = self._phrase_of(np.frombuffer(frame, "<i2"))
            self._count = self._count + 1 if phrase and phrase == self._phrase else 1 if phrase else 0
            self._phrase = phrase
            if self._count == FRAMES_TO_WAKE:
                text = text or phrase
        return text

    def reset(self) -> None:
        """Forget what was heard."""
        self._waiting, self._phrase, self._count = b"", "", 0

    def _phrase_of(self, samples: np.ndarray) -> str:
        spectrum = np.abs(np.fft.rfft(samples)) / (FRAME_SAMPLES / 2 * 32768)
        step, rest = divmod(int(spectrum.argmax()) * 100 - FIRST_HERTZ, STEP_HERTZ)
        known = rest == 0 and 0 <= step < len(self._phrases) and spectrum.max() > LOUD
        return self._phrases[step] if known else ""
