"""A mouth speaks while the reply is still being made, and knows what was heard of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import anyio
import pytest

from atlas.errors import EngineError
from atlas.events import Event, SpeechOut
from atlas.voice.mouth import AHEAD_SECONDS, Mouth
from tests.conftest import virtual_time
from tests.voice.world import WORD_SECONDS, SteadyTts

REPLY = "The kettle is on. Tea will be ready soon. *Enjoy* it."


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


class Listener:
    """Hears what a mouth gives out, and when."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, SpeechOut]] = []

    async def __call__(self, event: Event) -> None:
        assert isinstance(event, SpeechOut)
        self.heard.append((anyio.current_time(), event))

    @property
    def text(self) -> str:
        return "".join(event.text for _, event in self.heard)


async def said(text: str, tts: SteadyTts | None = None) -> tuple[Mouth, Listener]:
    listener = Listener()
    mouth = Mouth(tts or SteadyTts(), listener)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mouth.run)
        for letter in text:
            mouth.add(letter)
        mouth.finish()
    return mouth, listener


async def test_an_aside_is_heard_and_is_no_part_of_the_reply() -> None:
    listener, tts = Listener(), SteadyTts()
    mouth = Mouth(tts, listener)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mouth.run)
        mouth.aside("One moment.")
        mouth.add("It is noon now.")
        mouth.finish()
    assert tts.texts == ["One moment.", "It is noon now."]
    assert listener.text == mouth.heard(60_000) == "It is noon now."


async def test_all_that_is_said_together_is_the_reply_to_the_letter() -> None:
    mouth, listener = await said(REPLY)
    assert listener.text == REPLY
    assert mouth.given_seconds == pytest.approx(len(REPLY.split()) * WORD_SECONDS)


async def test_what_was_heard_are_whole_words_in_proportion_to_the_sound() -> None:
    mouth, _ = await said(REPLY)
    heard = [mouth.heard(round(ms)) for ms in (0, 700, 1600, 2500, 60_000)]
    assert heard == ["", "The", "The kettle is on.", "The kettle is on. Tea will", REPLY]
    for shorter, longer in pairwise(heard):
        assert longer.startswith(shorter)


async def test_a_slow_model_makes_a_gap_and_no_hurry_after_it() -> None:
    listener = Listener()
    mouth = Mouth(SteadyTts(), listener)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mouth.run)
        mouth.add("One two three. ")
        await anyio.sleep(10)
        assert mouth.played_seconds == pytest.approx(3 * WORD_SECONDS)
        mouth.add("Four five six seven eight. ")
        mouth.finish()
    second = [(at, event) for at, event in listener.heard if at >= 10]
    given = 0.0
    for at, event in second:
        given += event.audio.seconds
        assert given - (at - second[0][0]) <= AHEAD_SECONDS + 0.001


async def test_the_next_sentence_is_made_while_the_first_is_heard_and_no_more_than_that() -> None:
    tts = SteadyTts()
    listener = Listener()
    mouth = Mouth(tts, listener)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mouth.run)
        mouth.add("One two. Three four. Five six. Seven eight. Nine ten. ")
        await anyio.sleep(1.0)
        assert 2 <= len(tts.texts) <= 3
        tasks.cancel_scope.cancel()


async def test_a_voice_that_breaks_leaves_the_rest_as_text() -> None:
    class Breaking(SteadyTts):
        async def speak(self, text: str, *, speed: float = 1.0) -> Any:
            if self.texts:
                raise EngineError("the voice is gone")
            async for chunk in SteadyTts.speak(self, text, speed=speed):
                yield chunk

    mouth, listener = await said(REPLY, Breaking())
    assert listener.text == REPLY
    assert str(mouth.trouble) == "the voice is gone"
    assert mouth.given_seconds < len(REPLY.split()) * WORD_SECONDS


async def test_who_reads_on_has_all_the_words_at_once_and_no_more_sound() -> None:
    listener, tts = Listener(), SteadyTts()
    mouth = Mouth(tts, listener)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mouth.run)
        mouth.add(REPLY)
        mouth.finish()
        await anyio.sleep(0.5)
        mouth.mute()
        muted_at = anyio.current_time()
    assert listener.text == REPLY
    assert anyio.current_time() - muted_at < 2 * AHEAD_SECONDS
    assert mouth.given_seconds < 0.5 + 2 * AHEAD_SECONDS
    assert len(tts.texts) < 3, "nobody makes sound that nobody hears"


async def test_when_it_is_cut_off_it_knows_how_far_it_came() -> None:
    listener = Listener()
    mouth = Mouth(SteadyTts(), listener)
    with anyio.move_on_after(1.5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(mouth.run)
            mouth.add("One two three four five six seven eight. ")
            mouth.finish()
    assert 1.3 <= mouth.played_seconds <= 1.5
    assert mouth.given_seconds - mouth.played_seconds <= AHEAD_SECONDS + 0.001
    assert mouth.heard(round(mouth.played_seconds * 1000)) in ("One two three", "One two three four")
