from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atlas.conversation import Message, ToolCall, Usage
from atlas.store import conversations, turns
from atlas.store.conversations import BLOCK_TURNS, Conversation
from atlas.store.database import Database, open_database
from atlas.store.migrations import MEMORY
from atlas.store.turns import TurnRecord

KITCHEN = Conversation("family", "", "kitchen")
TIMER = ToolCall("call_1", "timers.start", {"seconds": 600, "name": "pizza"})


@pytest.fixture
async def memory(data: Path) -> AsyncIterator[Database]:
    async with open_database(data / "atlas.db", MEMORY) as database:
        yield database


async def keep(
    memory: Database, conversation: Conversation | None, turn_id: str, *messages: Message, path: str = "command"
) -> None:
    def work(connection: object) -> None:
        number = conversations.number_of(connection, conversation) if conversation else None
        record = TurnRecord(turn_id, "family", "default", path, "kitchen", True, 1.0, 2.0, "done")
        conversations.append(connection, turns.record(connection, record, number), messages)

    await memory.write(work)


async def recalled(memory: Database, conversation: Conversation = KITCHEN) -> tuple[Message, ...]:
    return await memory.read(lambda connection: conversations.load(connection, conversation))


async def test_a_conversation_comes_back_in_order_with_its_tool_exchanges(memory: Database) -> None:
    messages = (
        Message("user", "Set a pizza timer for ten minutes."),
        Message("assistant", "", calls=(TIMER,)),
        Message("tool", "Timer set for 10 minutes.", call_id="call_1"),
        Message("assistant", "Your pizza timer is set for 10 minutes."),
    )
    await keep(memory, KITCHEN, "turn_1", *messages)
    await keep(memory, KITCHEN, "turn_2", Message("user", "Thanks"), Message("assistant", "Any time."))
    assert await recalled(memory) == (*messages, Message("user", "Thanks"), Message("assistant", "Any time."))


async def test_the_house_s_own_answers_are_told_apart_from_its_model_s(memory: Database) -> None:
    await keep(memory, KITCHEN, "turn_1", Message("user", "forget that"), Message("assistant", "I've forgotten that."))
    await keep(memory, KITCHEN, "turn_2", Message("user", "hello"), Message("assistant", "Hi."), path="model")
    assert [message.text for message in await recalled(memory) if message.ours] == ["I've forgotten that."]


async def test_rooms_people_and_agents_do_not_hear_each_other(memory: Database) -> None:
    await keep(memory, KITCHEN, "turn_1", Message("user", "secret"))
    for other in (
        Conversation("family", "", "bedroom"),
        Conversation("family", "ada", "kitchen"),
        Conversation("work", "", "kitchen"),
    ):
        assert await recalled(memory, other) == ()


async def test_a_turn_the_client_remembers_itself_is_in_no_conversation(memory: Database) -> None:
    await keep(memory, None, "turn_1")
    assert await recalled(memory) == ()
    assert [turn.id for turn in await memory.read(lambda c: turns.latest(c, 5))] == ["turn_1"]


async def test_old_turns_are_forgotten_in_blocks_so_that_the_beginning_stays_the_same(memory: Database) -> None:
    beginnings = []
    for number in range(4 * BLOCK_TURNS):
        await keep(memory, KITCHEN, f"turn_{number}", Message("user", str(number)), Message("assistant", "yes"))
        messages = await recalled(memory)
        assert messages[-2].text == str(number)
        assert len(messages) <= 2 * 2 * BLOCK_TURNS
        beginnings.append(messages[0].text)
    assert sorted(set(map(int, beginnings))) == [0, BLOCK_TURNS, 2 * BLOCK_TURNS, 3 * BLOCK_TURNS]


async def test_forgetting_never_mixes_in_another_conversation(memory: Database) -> None:
    other = Conversation("family", "ada", "study")
    for number in range(3 * BLOCK_TURNS):
        await keep(memory, KITCHEN, f"kitchen_{number}", Message("user", "kitchen"))
        await keep(memory, other, f"study_{number}", Message("user", "study"))
    assert {message.text for message in await recalled(memory)} == {"kitchen"}
    assert {message.text for message in await recalled(memory, other)} == {"study"}


@pytest.mark.parametrize(
    ("heard", "remainder"),
    [
        ("Rome is old. It", "Rome is old. It"),
        ("Rome is old.", "Rome is old."),
        ("Rome  is\nold.", "Rome is old."),
        ("Rome is old. It has hills. ", "Rome is old. It has hills."),
        ("Rome is old. It has hills. And more than was said.", "Rome is old. It has hills."),
    ],
)
async def test_a_reply_is_cut_to_what_was_heard(memory: Database, heard: str, remainder: str) -> None:
    await keep(memory, KITCHEN, "turn_1", Message("user", "Rome?"), Message("assistant", "Rome is old. It has hills."))
    cut = await memory.write(lambda c: conversations.shorten(c, "turn_1", heard))
    assert cut == (remainder != "Rome is old. It has hills.")
    assert (await recalled(memory))[-1] == Message("assistant", remainder)


async def test_a_reply_nobody_heard_is_forgotten_but_what_it_did_is_not(memory: Database) -> None:
    await keep(
        memory,
        KITCHEN,
        "turn_1",
        Message("user", "Timer!"),
        Message("assistant", "One moment.", calls=(TIMER,)),
        Message("tool", "Timer set for 10 minutes.", call_id="call_1"),
        Message("assistant", "Done."),
    )
    await memory.write(lambda c: conversations.shorten(c, "turn_1", ""))
    assert await recalled(memory) == (
        Message("user", "Timer!"),
        Message("assistant", "", calls=(TIMER,)),
        Message("tool", "Timer set for 10 minutes.", call_id="call_1"),
    )


async def test_shortening_a_turn_that_was_never_kept_says_so(memory: Database) -> None:
    assert not await memory.write(lambda c: conversations.shorten(c, "turn_nope", "words"))


async def test_a_turn_comes_back_with_its_timings_and_cost(memory: Database) -> None:
    record = TurnRecord(
        *("turn_1", "work", "asked for by name", "model", "desk", False, 10.5, 12.25, "failed", "the model vanished"),
        timings={"llm_ms": 120, "first_word_at_ms": 40},
        usage=Usage(100, 80, 12),
    )
    await memory.write(lambda c: turns.record(c, record, None))
    assert await memory.read(lambda c: turns.latest(c, 1)) == [record]


async def test_timings_can_be_corrected_when_the_sound_is_over(memory: Database) -> None:
    await keep(memory, KITCHEN, "turn_1")
    await memory.write(lambda c: turns.retime(c, "turn_1", {"first_sound_at_ms": 310}))
    assert (await memory.read(lambda c: turns.latest(c, 1)))[0].timings == {"first_sound_at_ms": 310}


async def test_a_complete_reply_that_was_talked_over_counts_as_interrupted(memory: Database) -> None:
    await keep(memory, KITCHEN, "turn_1", Message("assistant", "A long story."))
    await memory.write(lambda c: turns.interrupt(c, "turn_1"))
    assert [turn.end for turn in await memory.read(lambda c: turns.latest(c, 1))] == ["interrupted"]
