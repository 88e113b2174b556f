"""When the recogniser is asked for a phrase, and what its answers make of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event

import numpy as np

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.speech.wake_phrase import MOST_WAITING, PhraseStream, PhraseWake
from tests.scripted_vad import ScriptedVad, voice


class Weigher:
    """Says a score for each sound that it is shown, and writes down how long those were."""

    def __init__(self, *scores: float, others: float = 1.0) -> None:
        self.shown: list[float] = []
        self._scores = list(scores)
        self._others = others

    def scores(self, sound: AudioChunk, phrases: Sequence[str]) -> Mapping[str, float]:
        self.shown.append(round(sound.seconds, 1))
        return dict.fromkeys(phrases, 0.0) | {phrases[0]: self._scores.pop(0) if self._scores else 0.0}

    def against_others(self, sound: AudioChunk, phrase: str) -> float:
        return self._others

    def end_of(self, sound: AudioChunk, phrase: str) -> float:
        return 0.2 + 0.7


class Room:
    """A microphone, and what was heard and nearly heard."""

    def __init__(self, wake: PhraseWake, threshold: float) -> None:
        self.missed: list[tuple[str, float]] = []
        self.stream = wake.listen(lambda phrase: threshold, self._nearly)

    def _nearly(self, phrase: str, score: float, threshold: float) -> None:
        self.missed.append((phrase, score))

    def hear(self, sound: AudioChunk) -> list[str]:
        chunks = (sound.cut(at, at + 640) for at in range(0, sound.samples, 640))
        return [phrase for chunk in chunks if (phrase := self.stream.hear(chunk))]


@contextmanager
def room(weigher: Weigher, threshold: float = 0.0) -> Iterator[Room]:
    wake = PhraseWake(("hey atlas", "computer"), weigher, ScriptedVad())
    yield Room(wake, threshold)
    wake._thread.shutdown()


def noise(seconds: float, level: float) -> AudioChunk:
    samples = np.random.default_rng(1).normal(0, level, round(seconds * HEARING_RATE))
    return AudioChunk(samples.astype("<i2").tobytes())


def test_silence_and_the_hum_of_a_room_are_shown_to_nobody() -> None:
    weigher = Weigher()
    with room(weigher) as here:
        assert here.hear(silence(5) + noise(5, 60)) == []
    assert weigher.shown == []


def test_who_begins_to_speak_is_listened_to_for_the_length_of_a_phrase_and_not_for_a_story() -> None:
    weigher = Weigher()
    with room(weigher) as here:
        here.hear(silence(1) + voice(10) + silence(1))
    assert weigher.shown[:2] == [1.3, 1.7]
    assert len(weigher.shown) < 4


def test_a_phrase_is_looked_for_at_the_pause_behind_it_and_called_once() -> None:
    weigher = Weigher(0.9, 0.9, 0.9)
    with room(weigher) as here:
        assert here.hear(silence(1) + voice(0.7) + silence(2)) == ["hey atlas"]
    assert weigher.shown[0] < 1.2


def test_what_scores_well_by_itself_and_not_beside_what_was_read_is_no_call_and_a_near_miss() -> None:
    with room(Weigher(0.9, others=0.4)) as here:
        assert here.hear(silence(1) + voice(0.7) + silence(3)) == []
        assert here.missed == [("hey atlas", 0.4)]


def test_a_room_may_have_a_threshold_of_its_own() -> None:
    with room(Weigher(0.6), threshold=0.7) as here:
        assert here.hear(silence(1) + voice(0.7) + silence(3)) == []
    with room(Weigher(0.4), threshold=0.35) as here:
        assert here.hear(silence(1) + voice(0.7) + silence(3)) == ["hey atlas"]


def test_what_was_said_on_in_one_breath_is_counted_from_the_phrase() -> None:
    with room(Weigher(0.9)) as here:
        sound = silence(1) + voice(3)
        heard = 0
        for at in range(0, sound.samples, 640):
            heard = at + 640
            if here.stream.hear(sound.cut(at, heard)):
                break
        assert isinstance(here.stream, PhraseStream)
        ended = heard / HEARING_RATE - here.stream.said_on_seconds
        assert abs(ended - 1.7) < 0.1, "the weigher says that it ends 0.7 s after its beginning"


def test_the_same_phrase_after_a_while_is_another_call() -> None:
    with room(Weigher(0.9, 0.9)) as here:
        call = silence(1) + voice(0.7) + silence(1.5)
        assert here.hear(call + call) == ["hey atlas", "hey atlas"]


def test_a_machine_that_is_behind_skips_looks_rather_than_filling_its_memory() -> None:
    class Slow(Weigher):
        def scores(self, sound: AudioChunk, phrases: Sequence[str]) -> Mapping[str, float]:
            go_on.wait()
            return super().scores(sound, phrases)

    go_on = Event()
    wake = PhraseWake(("hey atlas",), Slow(), ScriptedVad())
    looks = [wake.look(voice(0.1), wake.phrases) for _ in range(MOST_WAITING + 3)]
    assert [look is not None for look in looks] == [True] * MOST_WAITING + [False] * 3
    go_on.set()
    assert all(look.result() for look in looks if look)
    assert wake.look(voice(0.1), wake.phrases)
    wake._thread.shutdown()
