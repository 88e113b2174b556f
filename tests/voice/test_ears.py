"""Ears take chunks of any size, and keep the utterance whole."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.speech.endpoint import EndpointOptions
from atlas.speech.stt import MAX_UTTERANCE_SECONDS
from atlas.voice.ears import Ears, Notice
from atlas.voice.turns import Input
from tests.scripted_vad import ScriptedVad, voice
from tests.scripted_wake import ScriptedWake


def ears(wake: ScriptedWake | None = None) -> Ears:
    return Ears(ScriptedVad().listen(), wake.listen() if wake else None, EndpointOptions())


def told(listener: Ears, sound: AudioChunk, step: int = 4096) -> list[Notice]:
    return [
        notice for start in range(0, sound.samples, step) for notice in listener.hear(sound.cut(start, start + step))
    ]


def test_a_wake_engine_hears_on_for_half_a_second_for_it_may_become_surer_and_then_no_more() -> None:
    wake = ScriptedWake()
    stream, heard = wake.listen(), []
    hear = stream.hear
    stream.hear = lambda chunk: heard.append(chunk.seconds) or hear(chunk)  # type: ignore[method-assign,func-returns-value]
    listener = Ears(ScriptedVad().listen(), stream, EndpointOptions())
    for notice in listener.hear(wake.call() + silence(0.032 * 100)):
        if notice.what is Input.WAKE:
            heard.clear()
            listener.watch()
    assert 0.5 <= sum(heard) <= 0.7


SENTENCE = silence(1.0) + voice(1.0) + silence(0.4) + voice(0.6) + silence(1.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20_000))
def test_the_size_of_chunks_changes_nothing(step: int) -> None:
    one, other = ears(), ears()
    assert told(one, SENTENCE, step) == told(other, SENTENCE, SENTENCE.samples)
    assert one.sound() == other.sound()


def test_a_sentence_with_a_pause_is_told_in_order() -> None:
    kinds = [notice.what for notice in told(ears(), SENTENCE)]
    assert kinds == [
        *(Input.SPEECH, Input.SUSTAINED, Input.LULL, Input.PAUSE),
        *(Input.SPEECH, Input.LULL, Input.PAUSE, Input.ENDPOINT),
    ]


def test_the_utterance_begins_before_its_first_word_and_is_taken_once() -> None:
    listener = ears()
    told(listener, SENTENCE)
    sound = listener.take()
    assert sound.pcm in SENTENCE.pcm
    start = SENTENCE.pcm.index(sound.pcm) / 2 / HEARING_RATE
    assert 0.2 <= start <= 0.4, "0.7 s of what was before"
    assert not listener.has_sound
    assert listener.take().samples == 0


def test_no_sound_is_longer_than_the_recogniser_takes() -> None:
    listener = ears()
    longest = 0.0
    for _ in told(listener, voice(70.0)):
        longest = max(longest, listener.sound().seconds)
    assert longest <= MAX_UTTERANCE_SECONDS


def test_a_client_that_commits_gets_every_sample() -> None:
    listener = ears()
    listener.detecting = False
    sound = voice(1.2345)
    told(listener, sound, 777)
    assert listener.take() == sound


@settings(max_examples=5, deadline=None)  # a minute of sound each, in pieces of 10 ms and more, as devices send them
@given(st.integers(HEARING_RATE // 100, 20_000))
def test_a_client_that_speaks_for_a_minute_gets_every_sample_once(step: int) -> None:
    listener = ears()
    listener.detecting = False
    sound = AudioChunk(bytes(range(256)) * (60 * 2 * HEARING_RATE // 256))
    taken = AudioChunk(b"")
    for start in range(0, sound.samples, step):
        for _full in listener.hear(sound.cut(start, start + step)):
            taken += listener.take()
    assert taken + listener.take() == sound
    assert listener.heard_samples == sound.samples


def test_asleep_only_the_wake_word_counts() -> None:
    wake = ScriptedWake("okay nabu")
    listener = ears(wake)
    assert told(listener, SENTENCE) == []
    (notice,) = told(listener, wake.call() + silence(0.1))
    assert (notice.what, notice.phrase) == (Input.WAKE, "okay nabu")
    listener.watch()
    assert Input.ENDPOINT in [heard.what for heard in told(listener, SENTENCE)]
    listener.sleep()
    assert told(listener, SENTENCE) == []


def test_positions_count_from_the_first_sample_ever_heard() -> None:
    listener = ears()
    told(listener, SENTENCE)
    listener.drop()
    again = told(listener, SENTENCE)
    began, ended = again[0].at_sample / HEARING_RATE, again[-1].at_sample / HEARING_RATE
    assert (round(began, 1), round(ended, 1)) == (4.3, 7.7)
    assert again[4].at_sample == again[0].at_sample, "who goes on after a pause goes on with the same utterance"
