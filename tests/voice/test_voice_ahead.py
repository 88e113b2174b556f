"""A voice begins a sentence before it is sure; it is heard only when the house then says the very same."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import Any

import anyio
import pytest

from atlas.audio import AudioChunk
from atlas.conversation import Utterance
from atlas.errors import EngineError
from atlas.events import SpeechOut, SpeechStopped, TextDelta, TurnEnded
from atlas.own_words import speaking
from atlas.speech.stt import Judge
from atlas.voice.voice_ahead import VoiceAhead
from tests.conftest import for_every, virtual_time
from tests.scripted_stt import ScriptedStt
from tests.voice.world import House, SteadyTts, world

SET = "The timer is set for ten minutes."


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


async def words_of(voice: VoiceAhead, text: str, speed: float = 1.0) -> int:
    async with aclosing(voice.speak(text, speed=speed)) as chunks:
        return len([chunk async for chunk in chunks])


async def test_a_sentence_that_was_begun_is_made_once_and_is_whole() -> None:
    tts = SteadyTts()
    voice = VoiceAhead(tts)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(voice.begin, "one two three", 1.0)
        await anyio.sleep(1)
        began = anyio.current_time()
        async with aclosing(voice.speak("one two three")) as chunks:
            await anext(chunks)
            assert anyio.current_time() == began, "the first stretch is there"
            assert len([chunk async for chunk in chunks]) == 2
    assert tts.texts == ["one two three"]


@for_every(("text", "speed"), [("one two four", 1.0), ("one two three", 2.0)])
async def test_whatever_else_is_said_is_made_as_ever(text: str, speed: float) -> None:
    tts = SteadyTts()
    voice = VoiceAhead(tts)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(voice.begin, "one two three", 1.0)
        await anyio.sleep(1)
        assert await words_of(voice, text, speed) == 3
    assert tts.texts == ["one two three", text]
    assert await words_of(voice, "one two three") == 3, "what was dropped stays dropped"


async def test_a_sentence_that_was_begun_by_the_voice_of_another_language_is_made_anew() -> None:
    tts = SteadyTts()
    voice = VoiceAhead(tts)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(voice.begin, "one two three", 1.0)
        await anyio.sleep(1)
        with speaking("de"):
            assert await words_of(voice, "one two three") == 3
    assert tts.languages == ["en", "de"]


class EnglishStt(ScriptedStt):
    """A recogniser that knows that English was spoken."""

    async def transcribe(self, speech: AudioChunk, judge: Judge | None = None) -> Utterance:
        return replace(await super().transcribe(speech, judge), language="en")


async def test_in_a_house_that_is_german_first_english_words_are_begun_by_the_english_voice() -> None:
    house, words = House(answer=SET), "set a timer for ten minutes"
    with speaking("de"):
        async with world(stt=EnglishStt([words], seconds=0.05), house=house, foreseen={words: SET}) as small:
            await small.speak(1.0)
            await small.ended()
            assert (small.tts.texts, small.tts.languages) == ([SET], ["en"]), "made once"


async def test_what_was_begun_for_words_that_went_on_is_forgotten() -> None:
    tts = SteadyTts()
    voice = VoiceAhead(tts)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(voice.begin, "one two three", 1.0)
        await anyio.sleep(0.005)
        tasks.cancel_scope.cancel()
    assert await words_of(voice, "one two three") == 3
    assert tts.texts == ["one two three"] * 2


async def test_a_voice_that_breaks_says_so_to_whoever_waits_for_it() -> None:
    tts = SteadyTts()
    tts.broken = True
    voice = VoiceAhead(tts)
    await voice.begin("one two three", 1.0)
    with pytest.raises(EngineError, match="gone"):
        await words_of(voice, "one two three")


async def test_the_sound_of_a_sure_command_is_there_when_its_silence_is_over() -> None:
    house = House(answer=SET)
    async with world(
        "set a timer for ten minutes", house=house, foreseen={"set a timer for ten minutes": SET}
    ) as small:
        await small.speak(1.0)
        await small.ended()
        assert small.tts.texts == [SET], "made once"
        said = small.times[small.event.index(small.all(TextDelta)[-1])]
        heard = small.times[small.event.index(small.all(SpeechOut)[0])]
        assert heard - said < 0.001, "nobody waits for the voice"
        assert isinstance(small.event[-1], TurnEnded)


async def test_a_tool_that_says_otherwise_is_believed() -> None:
    house = House(answer="I could not set it.")
    async with world(
        "set a timer for ten minutes", house=house, foreseen={"set a timer for ten minutes": SET}
    ) as small:
        await small.speak(1.0)
        end = await small.ended()
        assert end.text == "I could not set it."
        assert "".join(one.text for one in small.all(SpeechOut)) == "I could not set it."
        assert small.tts.texts == [SET, "I could not set it."]


async def test_who_goes_on_hears_nothing_of_what_was_begun() -> None:
    house = House(answer="The timer is set for ten minutes and thirty seconds.")
    words = ("set a timer for ten minutes", "and thirty seconds")
    async with world(*words, house=house, foreseen={words[0]: SET}) as small:
        await small.speak(1.0)
        await small.keep_quiet(0.3)
        await small.speak(1.0)
        assert (small.tts.texts, small.all(SpeechOut), small.all(SpeechStopped)) == ([SET], [], [])
        await small.ended()
        assert small.tts.texts == [SET, house.answer]
