"""Decides whether the speaker has finished, from seconds of sound, probabilities of speech and power. Pure; no clock.

A detector of speech notices an end late: it hears a voice in 30 to 130 ms of silence behind the last word. The power
of the sound falls at once, but inside words too. So a quiet moment (FADE) is reason enough to read the words, and
shortens a silence that the detector has come to hear, never one that it does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from atlas.speech.stt import MAX_UTTERANCE_SECONDS

PRE_ROLL_SECONDS = 0.7  # sound kept from before speech was noticed, or the first word loses its head
RESUME_SECONDS = 0.06  # less sound than this inside a pause is a click, and does not make the speaker wait again
FORGET_SECONDS = 0.3  # a noise this long ago does not count towards the next word
ROUNDING_SECONDS = 1e-6  # frames of 0.032 s do not add up exactly
QUIET = 10**-2.8  # of the loudest frame's power, 28 dB below it: the ends of words are seldom softer, pauses mostly are
SURE = 0.995  # probability from which a quiet frame is part of a word, as before the burst of a "t"
FADE_SECONDS = 0.13  # that the detector may hear a voice behind the last word; longer, somebody goes on more softly
TAIL_SECONDS = 0.03  # of the quiet before a silence that do not count
LEAST_SECONDS = 0.09  # of silence by the detector, before the quiet in front of it counts


class EndpointDecision(Enum):
    """What a frame decided."""

    SPEECH = "speech"  # somebody began to speak, or went on after a LULL or a PAUSE
    FADE = "fade"  # the sound grew quiet, though the detector still hears a voice: as a LULL, where it costs nobody
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

    _loudest: float  # power, of the utterance so far
    _quiet: float  # seconds, up to now
    _faded: bool
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

    def hear(self, seconds: float, probability: float, power: float = 1.0) -> EndpointDecision | None:
        """Take the next frame, `seconds` long and speech with `probability` 0 to 1; return what it decided.

        `power` is its mean square, on any scale; one that never changes is never quiet.
        """
        self.at_seconds += seconds
        self._loudest = max(self._loudest, power)
        is_quiet = power < QUIET * self._loudest and probability < SURE
        self._quiet = self._quiet + seconds if is_quiet else 0.0
        if self._speaking:
            return self._while_speaking(seconds, probability)
        return self._while_quiet(seconds, probability)

    def settle(self, seconds: float) -> None:
        """Let the silence under way end the utterance after `seconds`, if it would not end it sooner."""
        if self._faded:
            self._most_seconds = seconds

    def wait(self, seconds: float) -> None:
        """Let the silence under way end the utterance after `seconds`, if it would not end it later."""
        if self._faded:
            self._least_seconds = seconds

    def has_settled(self, seconds: float) -> bool:
        """Tell whether nobody has spoken for `seconds`: by the detector, or half of it so and all by the sound."""
        quiet = min(self._quiet - TAIL_SECONDS, 2 * self._silence) if _reached(self._silence, LEAST_SECONDS) else 0.0
        return _reached(max(self._silence, quiet), seconds)

    def _listen(self) -> None:
        self._speaking = False
        self._loudest = self._quiet = 0.0
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
            self._speech = self._loudest = 0.0
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
            ended = _reached(self._silence, max(self._least_seconds, o.silence_seconds))
            if ended or self.has_settled(max(self._least_seconds, self._most_seconds)):
                decided = EndpointDecision.ENDPOINT
            elif not self._lulled and _reached(self._silence, o.lull_seconds):
                self._faded = self._lulled = True
                decided = EndpointDecision.LULL
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
        is_fading = not self._silence and 0 < self._quiet < FADE_SECONDS
        self._speech += self._again
        self._silence = self._again = 0.0
        self.ended_seconds = self.at_seconds
        if is_fading:
            begins, self._faded = not self._faded, True
            return EndpointDecision.FADE if begins else None
        if self._faded:
            self._go_on()
            return EndpointDecision.SPEECH
        return None

    def _go_on(self) -> None:
        self._faded = self._lulled = self._paused = False
        self._least_seconds, self._most_seconds = 0.0, math.inf


def _reached(seconds: float, limit: float) -> bool:
    return seconds >= limit - ROUNDING_SECONDS
