"""While somebody speaks, the words that stand are told; nobody waits for that, and nothing is done because of it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from atlas.audio import AudioChunk, silence
from atlas.errors import EngineError
from atlas.events import Committed, PartialWords, SpeechStarted, SpeechStopped, Transcribed
from atlas.voice.options import SessionOptions
from tests.conftest import for_every, virtual_time
from tests.scripted_stt import ScriptedStt
from tests.scripted_vad import voice
from tests.voice.world import World, world

SENTENCE = "Tell me a long story about the old lighthouse and the sea."
WORDS_PER_SECOND = 3
LIVE = SessionOptions(partial_words=True)
PUSH_TO_TALK = SessionOptions(partial_words=True, detect_turns=False)


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


def read(sound: AudioChunk) -> str:
    """Read as many words as can have been said."""
    return " ".join(SENTENCE.split()[: round(sound.seconds * WORDS_PER_SECOND)])


def ears(*script: str | Exception, **options: Any) -> ScriptedStt:
    return ScriptedStt(script or (SENTENCE,), seconds=0.05, **{"skims": read, "skim_seconds": 0.03, **options})


def partial(small: World) -> str:
    return "".join(event.text for event in small.all(PartialWords))


async def test_words_on_which_two_readings_agree_are_told_before_the_speaker_has_finished_and_the_rest_at_the_end() -> (
    None
):
    async with world(stt=ears(), options=LIVE) as small:
        await small.speak(3.0)
        early = partial(small)
        assert SENTENCE.startswith(early) and len(early.split()) >= 5
        assert not small.all(SpeechStopped)
        await small.ended()
        (transcribed,) = small.all(Transcribed)
        assert (transcribed.text, early + transcribed.rest) == (SENTENCE, SENTENCE)
        names = {event.utterance_id for kind in (SpeechStarted, PartialWords, Committed) for event in small.all(kind)}
        assert names == {transcribed.utterance_id}


async def test_who_speaks_for_half_a_minute_is_read_along_to_the_end() -> None:
    words = [f"word{number}" for number in range(60)]
    began = 0.0

    def read_part(sound: AudioChunk) -> str:
        """Read what was said while this sound was, at two words a second; its first word is cut off."""
        assert sound.seconds <= 12.0
        until = anyio.current_time() - began
        first = max(0.0, until - sound.seconds)
        heard = words[round(2 * first) : round(2 * until)]
        return " ".join([heard[0][1:], *heard[1:]] if first and heard else heard)

    async with world(stt=ears(" ".join(words), skims=read_part), options=LIVE) as small:
        began = anyio.current_time()
        await small.speak(26.0)
        told = partial(small).split()
        assert told == words[: len(told)]
        assert len(told) > 40
        await small.ended()
        (transcribed,) = small.all(Transcribed)
        assert (partial(small) + transcribed.rest).split() == words


async def test_where_nobody_wants_them_the_recogniser_is_not_asked() -> None:
    async with world(stt=ears()) as small:
        await small.speak(3.0)
        await small.ended()
        assert small.stt.skimmed == []
        assert small.all(Transcribed)[0].rest is None


async def test_words_that_turn_out_otherwise_are_put_right_by_the_whole() -> None:
    async with world(stt=ears("Tell us nothing."), options=LIVE) as small:
        await small.speak(3.0)
        assert partial(small).startswith("Tell me")
        await small.ended()
        assert (small.all(Transcribed)[0].text, small.all(Transcribed)[0].rest) == ("Tell us nothing.", "")
        assert small.house.turns[0].text == "Tell us nothing."


@for_every("seconds", [0.6, 0.7, 0.8, 0.9, 1.2])
async def test_who_has_finished_waits_no_longer_for_it(seconds: float) -> None:
    async def words_come_after(options: SessionOptions) -> float:
        async with world(stt=ears("what time is it", skim_seconds=0.4), options=options) as small:
            await small.speak(seconds)
            await small.ended()
            ends = [small.times[small.event.index(small.all(kind)[0])] for kind in (SpeechStarted, Transcribed)]
            return round(ends[1] - ends[0], 6)

    assert await words_come_after(LIVE) == await words_come_after(SessionOptions())


async def test_a_reading_that_is_under_way_when_the_speaker_stops_tells_nothing_any_more() -> None:
    async with world(stt=ears(skim_seconds=0.35), options=LIVE) as small:
        await small.speak(2.5)
        assert len(small.stt.skimmed) == 2, "and the second would tell the words of the first"
        await small.ended()
        assert (partial(small), len(small.stt.skimmed)) == ("", 2)


async def test_in_a_pause_nothing_is_read_along_and_behind_it_the_words_go_on() -> None:
    async with world(stt=ears(), options=LIVE) as small:
        await small.speak(2.0)
        skimmed, early = len(small.stt.skimmed), partial(small)
        await small.keep_quiet(0.4)
        assert len(small.stt.skimmed) == skimmed
        await small.speak(2.0)
        assert partial(small).startswith(early) and len(partial(small)) > len(early)


async def test_a_slow_machine_reads_along_less() -> None:
    async def readings(seconds: float) -> int:
        async with world(stt=ears(skim_seconds=seconds), options=LIVE) as small:
            await small.speak(6.0)
            return len(small.stt.skimmed)

    assert await readings(0.02) == 8
    assert await readings(0.5) == 3


async def test_a_machine_that_is_behind_with_listening_reads_nothing_along() -> None:
    async with world(stt=ears(), options=LIVE) as small:
        sound = silence(0.5) + voice(3.0)
        for start in range(0, sound.samples, 512):  # faster than it is spoken, and than it is heard
            await small.session.hear(sound.cut(start, start + 512))
        assert len(small.stt.skimmed) <= 1


async def test_a_button_that_is_held_shows_the_words_of_the_utterance_that_is_committed_then() -> None:
    async with world(stt=ears(), options=PUSH_TO_TALK) as small:
        await small.speak(2.5)
        assert len(partial(small).split()) >= 2
        await small.session.commit()
        await small.until(lambda event: isinstance(event, Transcribed), quiet=False)
        (committed,) = small.all(Committed)
        assert {event.utterance_id for event in small.all(PartialWords)} == {committed.utterance_id}
        assert partial(small) + small.all(Transcribed)[0].rest == SENTENCE


async def test_what_was_cleared_is_another_utterance() -> None:
    async with world(stt=ears(), options=PUSH_TO_TALK) as small:
        await small.speak(2.5)
        await small.session.clear()
        early = len(small.all(PartialWords))
        await small.speak(2.5)
        before, behind = small.all(PartialWords)[:early], small.all(PartialWords)[early:]
        assert not {event.utterance_id for event in before} & {event.utterance_id for event in behind}
        assert SENTENCE.startswith("".join(event.text for event in behind))


async def test_a_recogniser_that_fails_at_it_fails_nobody() -> None:
    def broken(sound: AudioChunk) -> str:
        raise EngineError("out of order")

    async with world(stt=ears(skims=broken), options=LIVE) as small:
        await small.speak(3.0)
        await small.ended()
        assert partial(small) == ""
        assert small.all(Transcribed)[0].text == SENTENCE


async def test_a_button_that_is_held_behind_a_sentence_that_was_dropped_commits_what_it_showed() -> None:
    async with world(stt=ears(), options=LIVE) as small:
        await small.speak(1.0)
        await small.session.configure(PUSH_TO_TALK)
        await small.speak(2.5)
        await small.session.commit()
        (committed,) = small.all(Committed)
        assert {event.utterance_id for event in small.all(PartialWords)} == {committed.utterance_id}
