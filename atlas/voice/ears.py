"""Listens to one microphone: chunks of any size in, what was noticed and the utterance's sound out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.speech.endpoint import PRE_ROLL_SECONDS, Endpoint, EndpointDecision, EndpointOptions
from atlas.speech.stt import MAX_UTTERANCE_SECONDS
from atlas.speech.vad import FRAME_SAMPLES, VadStream
from atlas.speech.wake import WakeStream
from atlas.voice.turns import Input

WAKE_PEAK_SAMPLES = round(0.6 * HEARING_RATE)  # after a wake word, in which its engine may become surer of it
MAX_SAMPLES = int(MAX_UTTERANCE_SECONDS * HEARING_RATE)
FRAME_SECONDS = FRAME_SAMPLES / HEARING_RATE


class Notice(NamedTuple):
    """Something was noticed."""

    what: Input
    at_sample: int  # now, or for speech where its utterance begins; counted from the first sample ever heard
    phrase: str = ""  # the wake word that was said


class Ears:
    """One microphone's attention: asleep it waits for the wake word, awake it judges who is speaking.

    The sound of the utterance, with up to `pre_roll_seconds` from before it was noticed, stays until it is
    taken or dropped, at most `MAX_UTTERANCE_SECONDS` of it.
    """

    def __init__(self, vad: VadStream, wake: WakeStream | None, options: EndpointOptions) -> None:
        self.awake = wake is None
        self.detecting = True  # False: the client says itself where an utterance ends, and all sound belongs to it
        self.pre_roll_seconds = PRE_ROLL_SECONDS
        self.sustained_seconds = 0.4  # longer than a cough or "mm-hm", shorter than "no, wait"
        self.heard_samples = 0
        self._vad = vad
        self._wake = wake
        self._wake_peaks_until = 0  # the sample
        self._endpoint = Endpoint(options)
        self._epoch = 0  # the sample at which the endpoint's clock stood at 0
        self._rest = AudioChunk(b"")  # less than a frame
        self._kept = bytearray()  # the utterance, or the last moments before one
        self._utterance = False  # whether `_kept` is an utterance
        self._sustained = False

    @property
    def options(self) -> EndpointOptions:
        """When speech begins and ends; may be replaced at any time."""
        return self._endpoint.options

    @options.setter
    def options(self, options: EndpointOptions) -> None:
        self._endpoint.options = options

    @property
    def silence_seconds(self) -> float:
        """How long nobody has spoken, since the last word of the utterance under way or the one before."""
        return max(0.0, (self.heard_samples - self._epoch) / HEARING_RATE - self._endpoint.ended_seconds)

    def has_settled(self, seconds: float) -> bool:
        """Tell whether the silence under way has been long enough, as `settle` would have it."""
        return self._endpoint.has_settled(seconds)

    @property
    def hears_voice(self) -> bool:
        """Whether somebody speaks, and the last frame was no silence between two words."""
        return self._endpoint.speaking and self.silence_seconds < FRAME_SECONDS / 2

    @property
    def began_sample(self) -> int:
        """Where the speech of the utterance under way began, counted from the first sample ever heard."""
        return self._epoch + round(self._endpoint.began_seconds * HEARING_RATE)

    @property
    def has_sound(self) -> bool:
        """Whether there is an utterance to take."""
        return self._utterance if self.detecting else bool(self._kept or self._rest.pcm)

    def hear(self, chunk: AudioChunk) -> Iterator[Notice]:
        """Take the next chunk, of any length; yield what is noticed in it, in order.

        Read the iterator to its end. Between two notices the state may be changed (`sleep`, `take`, …).
        """
        sound, self._rest = self._rest + chunk, AudioChunk(b"")  # whoever takes between two notices has it already
        for start in range(0, sound.samples - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            yield from self._frame(sound.cut(start, start + FRAME_SAMPLES))
        self._rest = sound.cut(sound.samples - sound.samples % FRAME_SAMPLES)

    def settle(self, seconds: float) -> None:
        """Let the silence under way end the utterance after `seconds`, if it would not end it sooner."""
        self._endpoint.settle(seconds)

    def wait(self, seconds: float) -> None:
        """Let the silence under way end the utterance after `seconds`, if it would not end it later."""
        self._endpoint.wait(seconds)

    def watch(self) -> None:
        """Let patience begin anew, unless somebody is speaking."""
        if not self.awake:
            self._vad.reset()
            self._kept.clear()
            self.awake = True
        if not self._endpoint.speaking and self.options.patience_seconds is not None:
            self._restart()

    def sleep(self) -> None:
        """Listen for the wake word only. Without a wake engine this changes nothing."""
        if self._wake is not None:
            self._wake.reset()
            self.drop()
            self._kept.clear()
            self.awake = False

    def sound(self) -> AudioChunk:
        """Return the utterance so far."""
        if not self.detecting:  # a client that says where the utterance ends means its last millisecond
            return AudioChunk(bytes(self._kept)) + self._rest
        return AudioChunk(bytes(self._kept)) if self._utterance else AudioChunk(b"")

    def take(self) -> AudioChunk:
        """Return the utterance and forget it."""
        sound = self.sound()
        self.drop()
        return sound

    def drop(self) -> None:
        """Forget the utterance, keeping the last moments as the beginning of the next."""
        self._utterance = False
        self._sustained = False
        if self._endpoint.speaking:
            self._restart()
        if self.detecting:
            self._trim(self.pre_roll_seconds)
        else:
            self.heard_samples += self._rest.samples
            self._kept.clear()
            self._rest = AudioChunk(b"")

    def _restart(self) -> None:
        self._endpoint.reset()
        self._epoch = self.heard_samples

    def _frame(self, frame: AudioChunk) -> Iterator[Notice]:
        self.heard_samples += frame.samples
        if not self.awake:
            yield from self._asleep(frame)
            return
        if self._wake and self.heard_samples <= self._wake_peaks_until:
            self._wake.hear(frame)
        self._kept += frame.pcm
        self._trim(MAX_UTTERANCE_SECONDS)
        if not self.detecting:
            if len(self._kept) > (MAX_SAMPLES - FRAME_SAMPLES) * SAMPLE_BYTES:  # a frame may not be complete yet
                yield Notice(Input.FULL, self.heard_samples)
            return
        yield from self._judge(frame)
        if self.detecting and not self._utterance:
            self._trim(self.pre_roll_seconds + self._endpoint.speech_seconds)

    def _asleep(self, frame: AudioChunk) -> Iterator[Notice]:
        assert self._wake is not None
        if phrase := self._wake.hear(frame):
            self._wake_peaks_until = self.heard_samples + WAKE_PEAK_SAMPLES
            yield Notice(Input.WAKE, self.heard_samples, phrase)

    def _judge(self, frame: AudioChunk) -> Iterator[Notice]:
        power = float(np.mean(np.square(np.frombuffer(frame.pcm, "<i2"), dtype=np.float32)))
        heard = self._endpoint.hear(FRAME_SECONDS, self._vad.probability(frame), power)
        if heard is EndpointDecision.SPEECH:
            self._utterance = True
        if heard is EndpointDecision.ENDPOINT:
            self._sustained = False
        if heard is not None:
            yield Notice(Input(heard.value), self._position(heard))  # both call it alike
        if self._endpoint.speaking and not self._sustained:
            self._sustained = self._endpoint.speech_seconds >= self.sustained_seconds
            if self._sustained:
                yield Notice(Input.SUSTAINED, self.heard_samples)

    def _position(self, heard: EndpointDecision) -> int:
        if heard is not EndpointDecision.SPEECH:
            return self.heard_samples
        return max(0, self.began_sample - round(self.pre_roll_seconds * HEARING_RATE))

    def _trim(self, seconds: float) -> None:
        surplus = len(self._kept) - round(seconds * HEARING_RATE) * SAMPLE_BYTES
        if surplus > 0:
            del self._kept[:surplus]
