"""Decides whether the speaker has finished, from seconds of sound and probabilities of speech. Pure; no clock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from atlas.speech.stt import MAX_UTTERANCE_SECONDS

PRE_ROLL_SECONDS = 0.7  # sound kept from before speech was noticed, or the first word loses its head
RESUME_SECONDS = 0.06  # less sound than this inside a pause is a click, and does not make the speaker wait again
FORGET_SECONDS = 0.3  # a noise this long ago does not count towards the next word
ROUNDING_SECONDS = 1e-6  # frames of 0.032 s do not add up exactly


class EndpointDecision(Enum):
    """What a frame decided."""

    SPEECH = "speech"  # somebody began to speak, or went on after a LULL or a PAUSE
    LULL = "lull"  # no voice for a moment, as between two words: the words so far can be read in the meantime
    PAUSE = "pause"  # the speaker stopped for a moment: a good time to look at the words, too early to act
    ENDPOINT = "endpoint"  # the speaker has finished, or has spoken as long as one utterance may last
    SILENCE = "silence"  # nobody spoke for as long as patience lasts


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """When speech begins and ends. Times are seconds of sound."""

    threshold: float = 0.5  # probability from which a frame is speech
    hysteresis: float = 0.15  # so much less still is speech, once somebody speaks: word ends are quiet
    min_speech_seconds: float = 0.16  # "no" has 0.2 s of voice; a click has less than 0.1
    lull_seconds: float = 0.03  # one frame: one sentence in three has such a moment inside
    pause_seconds: float = 0.2
    silence_seconds: float = 0.7
    patience_seconds: float | None = None  # without speech for so long: SILENCE; None waits for ever
    max_utterance_seconds: float = MAX_UTTERANCE_SECONDS - PRE_ROLL_SECONDS


class Endpoint:
    """One microphone's judge of who is speaking.

    After ENDPOINT or SILENCE it listens for the next utterance of itself. `options` may be replaced at any
    time; the next frame obeys. `began_seconds` and `ended_seconds` are where the speech of the utterance (the
    current one, else the last) began and was last heard, on the clock of the sound itself: `at_seconds` is now.
    """

    _lulled: bool
    _paused: bool
    _least_seconds: float
    _most_seconds: float

    def __init__(self, options: EndpointOptions | None = None) -> None:
        self.options = options or EndpointOptions()
        self.reset()

    def reset(self) -> None:
        """Start anew at second 0, with nothing heard."""
        self.at_seconds = 0.0
        self._listen()
        self.began_seconds = self.ended_seconds = 0.0

    @property
    def speaking(self) -> bool:
        """Whether an utterance is under way: SPEECH was reported, ENDPOINT not yet."""
        return self._speaking

    @property
    def speech_seconds(self) -> float:
        """How much of the utterance was speech, also before it was enough to report SPEECH; 0 between utterances."""
        return self._speech

    def hear(self, seconds: float, probability: float) -> EndpointDecision | None:
        """Take the next frame, `seconds` long and speech with `probability` 0 to 1; return what it decided."""
        self.at_seconds += seconds
        if self._speaking:
            return self._while_speaking(seconds, probability)
        return self._while_quiet(seconds, probability)

    def settle(self, seconds: float) -> None:
        """Let the silence under way end the utterance after `seconds`, if it would not end it sooner."""
        if self._lulled:
            self._most_seconds = seconds

    def wait(self, seconds: float) -> None:
        """Let the silence under way end the utterance after `seconds`, if it would not end it later."""
        if self._lulled:
            self._least_seconds = seconds

    def _listen(self) -> None:
        self._speaking = False
        self._go_on()
        self._speech = self._silence = self._again = 0.0
        self._waiting_since = self.at_seconds

    def _while_quiet(self, seconds: float, probability: float) -> EndpointDecision | None:
        o = self.options
        if probability >= o.threshold:
            if not self._speech:
                self.began_seconds = self.at_seconds - seconds
            self._speech += seconds
            self._silence = 0.0
            self.ended_seconds = self.at_seconds
            if _reached(self._speech, o.min_speech_seconds):
                self._speaking = True
                return EndpointDecision.SPEECH
            return None
        self._silence += seconds
        if _reached(self._silence, FORGET_SECONDS):
            self._speech = 0.0
        if o.patience_seconds is not None and _reached(self.at_seconds - self._waiting_since, o.patience_seconds):
            self._listen()
            return EndpointDecision.SILENCE
        return None

    def _while_speaking(self, seconds: float, probability: float) -> EndpointDecision | None:
        o, decided = self.options, None
        if probability >= o.threshold - o.hysteresis:
            decided = self._voice(seconds)
        else:
            self._again = 0.0
            self._silence += seconds
            if _reached(self._silence, max(self._least_seconds, min(o.silence_seconds, self._most_seconds))):
                decided = EndpointDecision.ENDPOINT
            elif not self._lulled and _reached(self._silence, o.lull_seconds):
                self._lulled, decided = True, EndpointDecision.LULL
            elif not self._paused and _reached(self._silence, o.pause_seconds):
                self._paused, decided = True, EndpointDecision.PAUSE
        if _reached(self.at_seconds - self.began_seconds, o.max_utterance_seconds):
            decided = EndpointDecision.ENDPOINT
        if decided is EndpointDecision.ENDPOINT:
            self._listen()
        return decided

    def _voice(self, seconds: float) -> EndpointDecision | None:
        self._again += seconds
        if self._silence and not _reached(self._again, RESUME_SECONDS):
            return None  # perhaps a click
        self._speech += self._again
        self._silence = self._again = 0.0
        self.ended_seconds = self.at_seconds
        if self._lulled:
            self._go_on()
            return EndpointDecision.SPEECH
        return None

    def _go_on(self) -> None:
        self._lulled = self._paused = False
        self._least_seconds, self._most_seconds = 0.0, math.inf


def _reached(seconds: float, limit: float) -> bool:
    return seconds >= limit - ROUNDING_SECONDS
