"""While somebody speaks, the agent gets ready; nobody waits for that, and nothing is said because of it."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.events import SpeechStarted, Transcribed, TurnStarted, Woken
from atlas.voice.options import SessionOptions
from tests.conftest import for_every, virtual_time
from tests.scripted_stt import ScriptedStt
from tests.scripted_wake import ScriptedWake
from tests.voice.world import House, World, world


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


def prepared(small: World) -> list[str]:
    return [turn.text for turn in small.house.prepared]


async def test_the_agent_gets_ready_when_speech_begins_and_again_with_the_words_at_the_pause() -> None:
    async with world("what is new") as small:
        await small.speak(0.5)
        assert small.all(SpeechStarted)
        assert prepared(small) == [""], "what every question begins with"
        await small.speak(0.5)
        await small.keep_quiet(0.4)
        assert prepared(small) == ["", "what is new"]
        assert small.house.turns == []
        await small.ended()
        assert prepared(small) == ["", "what is new"]
        assert small.house.prepared[1].actor == small.house.turns[0].actor


async def test_for_a_whole_command_no_model_reads_its_words() -> None:
    async with world("set a timer") as small:
        await small.speak(1.0)
        await small.ended()
        assert prepared(small) == [""]


async def test_what_was_read_for_half_a_sentence_is_given_up_when_more_is_said() -> None:
    house = House(prepare_seconds=30.0)
    async with world("tell me", "tell me about the sea", house=house) as small:
        await small.speak(1.0)
        await small.keep_quiet(0.4)
        assert prepared(small) == ["", "tell me"]
        assert house.unprepared == 1, "the one for no words, which this one goes on from"
        await small.speak(0.5)
        assert house.unprepared == 2
        assert house.preparing == 0
        await small.keep_quiet(0.4)
        assert prepared(small)[-1] == "tell me about the sea"
        await small.ended()
        assert house.preparing == 0


async def test_what_is_read_for_no_words_yet_is_not_begun_anew_by_a_breath() -> None:
    house = House(prepare_seconds=30.0)
    async with world("what is new", house=house, stt_seconds=0.4) as small:
        await small.speak(1.0)
        await small.keep_quiet(0.3)
        await small.speak(0.5)
        assert (prepared(small), house.unprepared) == ([""], 0)
        await small.ended()


@for_every("seconds", [0.0, 0.3, 60.0])
async def test_nobody_waits_for_it(seconds: float) -> None:
    async with world("what is new", house=House(prepare_seconds=seconds)) as small:
        await small.speak(1.0)
        await small.ended()
        amount, answered = (small.times[small.event.index(small.all(kind)[0])] for kind in (Transcribed, TurnStarted))
        assert answered - amount < 0.001
        assert small.house.preparing == 0, "nobody reads ahead for a question that is being answered"


async def test_who_interrupts_is_prepared_for_after_the_reply_is_gone() -> None:
    house = House(answer=" ".join(["word"] * 200) + ".")
    async with world("tell me a story", "no the other one", house=house) as small:
        await small.speak(1.0)
        await small.until(lambda event: isinstance(event, TurnStarted))
        await small.keep_quiet(1.0)
        await small.speak(0.7)
        assert prepared(small) == ["", "tell me a story", ""]
        assert house.stopped == 1


async def test_a_client_that_answers_by_itself_costs_the_model_nothing() -> None:
    async with world("what is new", options=SessionOptions(answer=False)) as small:
        await small.speak(1.0)
        await small.keep_quiet(1.0)
        assert prepared(small) == []


async def test_the_wake_word_is_reason_enough_to_get_ready_and_holds_until_the_house_sleeps() -> None:
    wake = ScriptedWake("okay nabu", "hey jarvis")
    async with world("what is new", wake=wake, options=SessionOptions(follow_up_seconds=5.0)) as small:
        await small.hear(wake.call("hey jarvis"))
        await small.until(lambda event: isinstance(event, Woken))
        assert [(turn.text, turn.wake_word) for turn in small.house.prepared] == [("", "hey jarvis")]
        await small.speak(1.0)
        await small.ended(1)
        await small.speak(1.0)
        await small.ended(2)
        await small.keep_quiet(6.0)
        await small.hear(wake.call("okay nabu"))
        await small.speak(1.0)
        await small.ended(3)
        assert [turn.wake_word for turn in small.house.turns] == ["hey jarvis", "hey jarvis", "okay nabu"]


async def test_the_reading_that_is_a_command_is_shown_asked_and_acted_on_at_once() -> None:
    ears = ScriptedStt(("said a timer",), seconds=0.05, alternatives=("set a timer", "sat a timer"))
    async with world(stt=ears) as small:
        await small.speak(1.0)
        await small.ended()
        assert small.all(Transcribed)[0].text == "set a timer"
        (turn,) = small.house.turns
        assert (turn.text, turn.alternatives) == ("set a timer", ("said a timer", "sat a timer"))
        assert prepared(small) == [""], "nothing was to be read"
