"""A wake engine for tests: a loud enough tone of its own pitch is the phrase, and how loud it is how sure one is."""

from __future__ import annotations

import numpy as np

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.config import SpeechConfig
from atlas.speech.wake import NearMiss, Thresholds, Wake, WakeStream, no_threshold, nobody_near, phrase_of

FRAME_SAMPLES = 160
FRAMES_TO_WAKE = 20  # 0.2 s of the tone
LOUD = 0.1  # of full scale
NEAR_SHARE = 0.6
FIRST_HERTZ, STEP_HERTZ = 3_000, 500  # multiples of the frame's 100 Hz; the n-th phrase is n steps above the first


async def open(settings: SpeechConfig) -> Wake:
    """Return an engine that knows the configured words."""
    return ScriptedWake(*map(phrase_of, settings.wake_words))


class ScriptedWake:
    """Knows each of `phrases` by its tone; `call(phrase)` makes the sound that wakes it."""

    def __init__(self, *phrases: str) -> None:
        self.phrases = phrases or ("okay nabu",)

    def own_threshold(self, phrase: str) -> float:
        """Return how loud a tone has to be."""
        return LOUD

    def listen(self, thresholds: Thresholds = no_threshold, near_miss: NearMiss = nobody_near) -> WakeStream:
        """Return a detector for a new microphone."""
        return ScriptedWakeStream(self.phrases, thresholds, near_miss)

    def call(self, phrase: str = "", loudness: float = 0.5) -> AudioChunk:
        """Return the sound of `phrase`, by default the first."""
        hertz = FIRST_HERTZ + STEP_HERTZ * self.phrases.index(phrase or self.phrases[0])
        at = np.arange((FRAMES_TO_WAKE + 2) * FRAME_SAMPLES) / HEARING_RATE
        return AudioChunk((np.sin(2 * np.pi * hertz * at) * loudness * 32_767).astype("<i2").tobytes())

    async def aclose(self) -> None:
        """Nothing to give back."""


class ScriptedWakeStream:
    """One microphone."""

    said_on_seconds = 0.15

    def __init__(self, phrases: tuple[str, ...], thresholds: Thresholds, near_miss: NearMiss) -> None:
        self.score = self.threshold = 0.0
        self._phrases = phrases
        self._thresholds = thresholds
        self._near_miss = near_miss
        self._waiting = b""
        self._begin("")

    def hear(self, chunk: AudioChunk) -> str | None:
        """Take the next chunk; return the phrase when its tone has lasted long enough."""
        assert chunk.rate == HEARING_RATE
        self._waiting += chunk.pcm
        text: str | None = None
        while len(self._waiting) >= FRAME_SAMPLES * 2:
            frame, self._waiting = self._waiting[: FRAME_SAMPLES * 2], self._waiting[FRAME_SAMPLES * 2 :]
            phrase, loudness = self._heard(np.frombuffer(frame, "<i2"))
            if phrase != self._phrase:
                self._end()
                self._begin(phrase)
            if phrase and self._is_called(loudness):
                text = text or phrase
        return text

    def reset(self) -> None:
        """Forget what was heard."""
        self._waiting = b""
        self._begin("")

    def _begin(self, phrase: str) -> None:
        self._phrase, self._loudnesses, self._best, self._called = phrase, list[float](), 0.0, False

    def _is_called(self, loudness: float) -> bool:
        """Take the loudness of the next frame of a tone; tell whether that made it a call."""
        self._loudnesses = [*self._loudnesses, loudness][-FRAMES_TO_WAKE:]
        if len(self._loudnesses) == FRAMES_TO_WAKE:
            self._best = max(self._best, min(self._loudnesses))
        threshold, was_called = self._threshold(self._phrase), self._called
        self._called = was_called or self._best >= threshold
        if self._called:
            self.score, self.threshold = self._best, threshold
        return self._called and not was_called

    def _end(self) -> None:
        if self._best and not self._called:
            self._near_miss(self._phrase, self._best, self._threshold(self._phrase))

    def _threshold(self, phrase: str) -> float:
        return self._thresholds(phrase) or LOUD

    def _heard(self, samples: np.ndarray) -> tuple[str, float]:
        """Return which phrase a frame may be of, and how loud it is."""
        spectrum = np.abs(np.fft.rfft(samples)) / (FRAME_SAMPLES / 2 * 32768)
        step, rest = divmod(int(spectrum.argmax()) * 100 - FIRST_HERTZ, STEP_HERTZ)
        phrase = self._phrases[step] if rest == 0 and 0 <= step < len(self._phrases) else ""
        loudness = float(spectrum.max())
        return (phrase, loudness) if phrase and loudness > NEAR_SHARE * self._threshold(phrase) else ("", 0)
