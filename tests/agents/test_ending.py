"""A conversation ends: when somebody says so, and after ten minutes without a word."""

from __future__ import annotations

from dataclasses import replace

from atlas.agents import prompt
from atlas.agents.agent_ending import Ending
from atlas.agents.persona import open_persona
from atlas.conversation import Message
from atlas.store.conversations import SILENCE_SECONDS, of_now
from tests.conftest import for_every
from tests.houses import english, reader_of

from .conftest import Room, turn


def exchange(question: str, answer: str, at: float) -> list[Message]:
    return [Message("user", question, at=at), Message("assistant", answer, at=at)]


@for_every("text", ["start over", "Let's start again.", "new conversation, please"])
async def test_start_over_ends_what_was_said_before(text: str) -> None:
    question_turn = turn(text, at=100.0)
    room = Room()
    answer = await Ending(english().tables).answer(
        reader_of(english()).understand(question_turn), question_turn, room.emit
    )
    assert answer
    assert answer.text == room.said == "All right, we start afresh."
    messages = [replace(message, at=100.0) for message in (Message("user", text), *answer.messages)]
    past = [*exchange("tell me a story", "Once upon a time.", 50.0), *messages]
    assert of_now(past, 110.0) == ()
    later = exchange("why is the sky blue", "Light scatters.", 120.0)
    assert of_now([*past, *later], 130.0) == tuple(later)


@for_every("text", ["start over there", "start the vacuum again", "a new conversation partner", "start"])
async def test_other_words_end_nothing(text: str) -> None:
    question_turn = turn(text)
    assert not await Ending(english().tables).prepare(reader_of(english()).understand(question_turn), question_turn)


async def test_who_keeps_the_conversation_ends_it() -> None:
    question_turn = turn("start over", remembered=False)
    assert not await Ending(english().tables).prepare(reader_of(english()).understand(question_turn), question_turn)


def test_ten_minutes_of_silence_end_it() -> None:
    first, second = exchange("a", "b", 0.0), exchange("c", "d", SILENCE_SECONDS - 1)
    assert of_now([*first, *second], 2 * SILENCE_SECONDS - 2) == (*first, *second)
    assert of_now([*first, *second], 2 * SILENCE_SECONDS + 1) == ()
    late = exchange("e", "f", 3 * SILENCE_SECONDS)
    assert of_now([*first, *second, *late], 3 * SILENCE_SECONDS + 5) == tuple(late)


def test_what_a_model_said_twice_is_not_shown_to_it_again() -> None:
    texts = [exchange(question, "I have no idea.", 1.0) for question in ("one", "two")]
    past = (*texts[0], *exchange("three", "Three.", 2.0), *texts[1])
    shown = prompt.Shown(open_persona("family", trusted=True), (), trusted=True)
    reported_prompt = prompt.messages(shown, turn("four", history=past), (), None, 4000)
    assert [message.text for message in reported_prompt.messages[1:-1]] == ["three", "Three."]
