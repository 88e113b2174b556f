"""A quiet room costs little, and nothing that is said in it is heard later or lost for it."""

from __future__ import annotations

import numpy as np

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.satellite.wake_listener import WakeHeard, WakeListener
from atlas.speech.wake import WakeStream
from tests.conftest import for_every
from tests.scripted_wake import ScriptedWake

CHUNK_SAMPLES = round(0.06 * HEARING_RATE)


def room(seconds: float, loudness: float = 30.0) -> AudioChunk:
    """A room in which nobody speaks: faint noise."""
    noise = np.random.default_rng(0).normal(0, loudness, round(seconds * HEARING_RATE))
    return AudioChunk(noise.astype("<i2").tobytes())


def humming(sound: AudioChunk) -> AudioChunk:
    """The same by a microphone that hums and is off its zero."""
    samples = np.frombuffer(sound.pcm, "<i2").astype(np.float32)
    hum = 900 + 600 * np.sin(2 * np.pi * 50 * np.arange(samples.size) / HEARING_RATE)
    return AudioChunk((samples + hum).astype("<i2").tobytes())


class Detector:
    """Writes down what it is given, and finds a word at one moment of the sound."""

    said_on_seconds = 0.0
    score = threshold = 0.0

    def __init__(self, word_ends_at: int = -1) -> None:
        self.heard = b""
        self._word_ends_at = word_ends_at

    def hear(self, chunk: AudioChunk) -> str | None:
        before, self.heard = len(self.heard) // 2, self.heard + chunk.pcm
        return "okay nabu" if before < self._word_ends_at <= before + chunk.samples else None

    def reset(self) -> None: ...


def chunks(sound: AudioChunk) -> list[AudioChunk]:
    return [sound.cut(start, start + CHUNK_SAMPLES) for start in range(0, sound.samples, CHUNK_SAMPLES)]


def first_call(stream: WakeStream, sound: AudioChunk) -> tuple[int, WakeHeard] | None:
    listener = WakeListener(stream)
    return next(((at, woken) for at, one in enumerate(chunks(sound)) if (woken := listener.hear(one))), None)


@for_every("quiet", [room(10), silence(10), humming(room(10))])
def test_in_a_quiet_room_the_detector_is_asked_twice_a_second_and_misses_nothing(quiet: AudioChunk) -> None:
    detector = Detector()
    listener, asked = WakeListener(detector), 0
    for at, one in enumerate(chunks(quiet)):
        before = len(detector.heard)
        listener.hear(one)
        # The first two seconds tell how loud the room is.
        asked += len(detector.heard) > before and at * CHUNK_SAMPLES >= 2.1 * HEARING_RATE
    assert asked <= 16
    if quiet.pcm.count(0) < len(quiet.pcm) // 3:  # what has no noise is given some
        assert detector.heard == quiet.pcm[: len(detector.heard)]
    assert len(quiet.pcm) - len(detector.heard) < 0.5 * HEARING_RATE * 2


@for_every("loudness", [0.3, 0.01, 0.003])
def test_a_wake_word_is_found_in_the_moment_in_which_the_detector_alone_finds_it(loudness: float) -> None:
    wake = ScriptedWake()
    call = wake.call(loudness=loudness)
    for before in (5.0, 5.2, 5.33):  # wherever it lies between two looks
        said = room(before) + call + room(1)
        alone = wake.listen(lambda phrase: loudness * 0.8)
        found = next(at for at, one in enumerate(chunks(said)) if alone.hear(one))
        listened = first_call(wake.listen(lambda phrase: loudness * 0.8), said)
        assert listened is not None
        assert listened[0] == found


def test_a_microphone_that_hums_hides_nobody() -> None:
    said, ends = humming(room(5) + ScriptedWake().call(loudness=0.005) + room(1)), round(5.2 * HEARING_RATE)
    called = first_call(Detector(ends), said)
    assert called is not None
    assert called[0] == ends // CHUNK_SAMPLES


def test_a_word_that_a_model_is_sure_of_only_after_its_end_is_found_as_soon() -> None:
    said = room(5) + ScriptedWake().call() + room(3)
    sure = round(6.2 * HEARING_RATE)  # a second after the word
    called = first_call(Detector(sure), said)
    assert called is not None
    assert called[0] == sure // CHUNK_SAMPLES


def test_after_a_word_no_louder_than_its_room_all_that_was_said_on_is_there() -> None:
    said, ends = room(8), round(7.1 * HEARING_RATE)
    called = first_call(Detector(ends), said)
    assert called is not None
    at, woken = called
    end_of_its_chunk = (ends // CHUNK_SAMPLES + 1) * CHUNK_SAMPLES
    assert woken.pre_roll == said.cut(end_of_its_chunk, (at + 1) * CHUNK_SAMPLES)
    assert woken.pre_roll.seconds < 0.5


def test_a_phrase_that_is_noticed_late_has_all_that_was_said_since_also_when_that_is_all_there_is() -> None:
    for before, there in ((0.6, 0.6), (8.0, 3.0)):
        said = room(before)
        detector = Detector(said.samples - 100)
        detector.said_on_seconds = 3.0
        called = first_call(detector, said + room(1))
        assert called is not None
        assert called[1].pre_roll.seconds >= there, "it was to be heard from three seconds before it was noticed"
