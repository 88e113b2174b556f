"""What one agent remembers: found again by its own people only, and forgotten down to the last byte."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from atlas.conversation import Actor, Message, ToolCall
from atlas.errors import LlmGone
from atlas.store import conversations
from atlas.store.conversations import Conversation, conversation_of
from atlas.store.database import open_database
from atlas.store.forgetting import Forgotten
from atlas.store.memory import Memory, open_memory
from atlas.store.migrations import MEMORY
from atlas.store.recall import MOST_WORDS, RememberedMessage, RememberedTurn, TimeSpan, belonging_to
from atlas.store.turns import TurnRecord

ADA = Actor("ada", "phone", "owner", "study")
IN_THE_KITCHEN = Actor("ada", "tablet", "owner", "kitchen")
BEN = Actor("ben", "phone", "adult", "study")
GUEST = Actor("", "tablet", "guest", "kitchen")
HALL = Actor("", "panel", "satellite", "hall")
OF_ADA = belonging_to("family", ADA)


class Model:
    """The server that keeps what a model has read, and may be away."""

    def __init__(self) -> None:
        self.away = False
        self.dropped: list[str] = []

    async def drop(self, conversation: str) -> None:
        if self.away:
            raise LlmGone("away")
        self.dropped.append(conversation)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def memory(data: Path, model: Model) -> AsyncIterator[Memory]:
    async with open_memory(data / "atlas.db", model.drop) as memory:
        yield memory


def record_of(turn_id: str, actor: Actor, at: float, agent: str = "family") -> TurnRecord:
    return TurnRecord(turn_id, agent, "default", "model", actor.device, False, at, at, "done")


async def say(
    memory: Memory, actor: Actor, text: str, reply: str = "I see.", at: float = 0.0, agent: str = "family"
) -> str:
    turn_id = f"turn_{text}"
    with memory.under_way(conversation_of(agent, actor), turn_id) as one:
        await memory.keep(
            record_of(turn_id, actor, at, agent), (Message("user", text), Message("assistant", reply)), one
        )
    return turn_id


async def found(memory: Memory, actor: Actor, words: str, agent: str = "family") -> list[str]:
    return [one.text for one in await memory.search(belonging_to(agent, actor), words)]


def on_disk(data: Path) -> bytes:
    return b"".join(file.read_bytes() for file in data.iterdir() if file.is_file())


# ── finding ────────────────────────────────────────────────────────────────────────────────────────


async def test_words_are_found_by_how_they_begin_in_any_case_and_without_their_accents(memory: Memory) -> None:
    await say(memory, ADA, "The boiler in the café hums", "How annoying.")
    await say(memory, ADA, "my résumé is done", "Well done.")
    assert await found(memory, ADA, "BOIL") == ["The boiler in the café hums"]
    assert await found(memory, ADA, "cafe hum") == ["The boiler in the café hums"]
    assert await found(memory, ADA, "re\u0301sume\u0301") == ["my résumé is done"]
    assert await found(memory, ADA, "annoying") == ["How annoying."]
    assert await found(memory, ADA, "boiler résumé") == []


async def test_whole_words_can_be_asked_for_and_one_author(memory: Memory) -> None:
    await say(memory, ADA, "the car is here", "The carpet too?")
    assert [one.text for one in await memory.search(OF_ADA, "car", fit="whole")] == ["the car is here"]
    assert [one.text for one in await memory.search(OF_ADA, "car", by="assistant")] == ["The carpet too?"]


async def test_the_newest_comes_first_and_no_more_than_wanted(memory: Memory) -> None:
    for number in range(5):
        await say(memory, ADA, f"boiler {number}", at=float(number))
    assert [one.at for one in await memory.search(OF_ADA, "boiler", most=3)] == [4.0, 3.0, 2.0]
    assert [one.at for one in await memory.search(OF_ADA, "boiler", TimeSpan(1.0, 3.0))] == [2.0, 1.0]


@pytest.mark.parametrize(
    "words", ['"', "* OR x", "NEAR(a b)", "text:a", "-", "😀", "'; DROP TABLE turns;", "_", "\x00"]
)
async def test_nothing_in_a_search_is_an_operator(memory: Memory, words: str) -> None:
    await say(memory, ADA, "a plain sentence")
    assert await found(memory, ADA, words) == []


async def test_a_search_of_a_thousand_words_costs_no_more_than_of_a_few(memory: Memory) -> None:
    await say(memory, ADA, "boiler " * MOST_WORDS)
    assert len(await found(memory, ADA, "boiler " * 1000)) == 1


async def test_nobody_finds_what_another_person_room_device_or_agent_was_told(memory: Memory) -> None:
    others = (BEN, GUEST, HALL, Actor("", "tablet", "guest"), Actor("kitchen", "tablet", "guest"))
    await say(memory, ADA, "the secret of Ada")
    await say(memory, ADA, "the secret of work", agent="work")
    for one in others:
        await say(memory, one, f"the secret of {one}")
    assert await found(memory, ADA, "secret") == ["the secret of Ada"]
    assert await found(memory, ADA, "secret", "work") == ["the secret of work"]
    for one in others:
        assert await found(memory, one, "secret") == [f"the secret of {one}"]


async def test_a_guest_in_a_room_has_no_part_in_what_the_household_said_there(memory: Memory) -> None:
    guest = Actor("", "tablet", "guest", "kitchen")
    await say(memory, Actor("", "speaker", "satellite", "kitchen"), "the secret of the kitchen")
    await say(memory, guest, "the secret of a guest")
    assert await found(memory, guest, "secret") == ["the secret of a guest"]


async def test_who_is_known_by_name_finds_what_was_said_in_every_room(memory: Memory) -> None:
    await say(memory, ADA, "boiler one")
    await say(memory, IN_THE_KITCHEN, "boiler two")
    assert await found(memory, ADA, "boiler") == ["boiler two", "boiler one"]
    here = belonging_to("family", ADA, here=True)
    assert [one.text for one in await memory.search(here, "boiler")] == ["boiler one"]


async def test_words_that_were_not_heard_are_not_found_any_more(memory: Memory) -> None:
    turn_id = await say(memory, ADA, "Rome?", "Rome is old. It has hills.")
    await memory.heard(turn_id, "Rome is old.", {})
    assert await found(memory, ADA, "hills") == []
    assert await found(memory, ADA, "old") == ["Rome is old."]


async def test_what_was_said_before_there_was_an_index_is_found_too(data: Path) -> None:
    def work(connection: sqlite3.Connection) -> None:
        number = conversations.number_of(connection, conversation_of("family", ADA))
        row = "1, 'turn_1', ?, 'family', '', 'model', 'phone', 0, 0, 0, 'done', '', '{}', 0, 0, 0"
        connection.execute(f"INSERT INTO turns VALUES ({row})", (number,))
        conversations.append(connection, 1, (Message("user", "the old boiler"), Message("tool", '{"boiler": 1}')))

    async with open_database(data / "atlas.db", MEMORY[:1]) as old:
        await old.write(work)
    async with open_memory(data / "atlas.db") as memory:
        assert await found(memory, ADA, "boiler") == ["the old boiler"]
        await memory.forget(OF_ADA)
    assert b"boiler" not in on_disk(data)


async def test_exchanges_come_in_order_page_by_page_with_the_tools_that_were_used(memory: Memory) -> None:
    call = ToolCall("call_1", "timers.start", {"seconds": 600})
    with memory.under_way(conversation_of("family", ADA), "turn_1") as one:
        messages = (
            Message("user", "a timer"),
            Message("assistant", calls=(call,)),
            Message("tool", "{}", call_id="call_1"),
            Message("assistant", "Set."),
        )
        await memory.keep(record_of("turn_1", ADA, 7.0), messages, one)
    await say(memory, IN_THE_KITCHEN, "thanks", at=8.0)
    await say(memory, BEN, "not for Ada", at=9.0)
    (first,) = await memory.exchanges(OF_ADA, most=1)
    remembered_messages = (
        RememberedMessage("user", "a timer"),
        RememberedMessage("assistant", "", ("timers.start",)),
        RememberedMessage("assistant", "Set."),
    )
    assert first == RememberedTurn(
        1, "turn_1", 7.0, "family", "ada", "study", "phone", False, "done", remembered_messages
    )
    (second,) = await memory.exchanges(OF_ADA, after=first.number)
    assert (second.room, second.messages[0].text) == ("kitchen", "thanks")
    assert await memory.exchanges(OF_ADA, after=second.number) == ()


# ── forgetting ─────────────────────────────────────────────────────────────────────────────────────


async def test_what_was_forgotten_is_found_nowhere_not_even_as_bytes_in_the_files(data: Path, memory: Memory) -> None:
    chance = random.Random(4)
    details: dict[str, list[str]] = {"ada": [], "ben": []}
    for number in range(120):
        actor = chance.choice((ADA, BEN))
        token = f"{chance.getrandbits(48):012x}"
        details[actor.person].append(token)
        padding = " ".join(f"w{chance.randrange(800)}" for _ in range(chance.randrange(60)))
        turn_id = await say(memory, actor, f"{padding} {token}", f"{token} {padding} {token}", at=float(number))
        if chance.random() < 0.3:
            await memory.heard(turn_id, f"{token} {padding}"[: chance.randrange(200)], {})
    gone = await memory.forget(OF_ADA)
    assert gone == Forgotten(exchanges=len(details["ada"]))
    left = on_disk(data)
    assert [token for token in details["ada"] if token.encode() in left] == []
    assert [token for token in details["ben"] if token.encode() not in left] == []
    assert await memory.exchanges(OF_ADA) == ()
    assert b"/ada/" not in left  # nor that there was a conversation
    assert b"adastudy" not in left
    assert len(await found(memory, BEN, details["ben"][0])) == 2


async def test_only_what_was_said_in_a_span_is_forgotten(memory: Memory) -> None:
    for number in range(6):
        await say(memory, ADA, f"word{number}", at=float(number))
    assert (await memory.forget(OF_ADA, TimeSpan(2.0, 4.0))).exchanges == 2
    assert await found(memory, ADA, "word") == ["word5", "word4", "word1", "word0"]


async def test_the_last_exchanges_are_forgotten_by_their_number(memory: Memory) -> None:
    for number in range(4):
        await say(memory, ADA, f"word{number}", at=float(number))
    assert (await memory.forget(OF_ADA, last=3)).exchanges == 3
    assert await found(memory, ADA, "word") == ["word0"]
    assert (await memory.forget(OF_ADA, last=3)).exchanges == 1


async def test_forgetting_touches_nobody_else(memory: Memory, model: Model) -> None:
    for actor in (ADA, BEN, GUEST, HALL):
        await say(memory, actor, f"the words of {actor.person or actor.room}")
    await memory.forget(belonging_to("family", GUEST))
    assert await memory.exchanges(belonging_to("family", GUEST)) == ()
    for actor in (ADA, BEN, HALL):
        assert len(await memory.exchanges(belonging_to("family", actor))) == 1
    assert model.dropped == ["family/device tablet/kitchen"]


async def test_with_nothing_to_forget_nothing_is_done(memory: Memory, model: Model) -> None:
    await say(memory, BEN, "hello")
    assert await memory.forget(OF_ADA) == Forgotten(0)
    assert model.dropped == []


async def test_an_exchange_in_which_something_was_done_is_told_apart(memory: Memory) -> None:
    await say(memory, ADA, "hello")
    with memory.under_way(conversation_of("family", ADA), "turn_1") as one:
        done = Message("assistant", calls=(ToolCall("call_1", "timers.start", {}),))
        await memory.keep(record_of("turn_1", ADA, 1.0), (Message("user", "a timer"), done), one)
    assert await memory.forget(OF_ADA) == Forgotten(2, deeds=1)


async def test_a_turn_that_is_under_way_is_not_remembered_when_it_knew_what_is_forgotten(
    memory: Memory, model: Model
) -> None:
    await say(memory, ADA, "the code is 4711")
    here = conversation_of("family", ADA)
    with memory.under_way(here, "turn_2") as one, memory.under_way(here, "turn_3") as waiting:
        assert await memory.history(one, 0.0)
        gone = await memory.forget(OF_ADA)
        assert not gone.dropped
        assert model.dropped == []  # its model is still reading it
        await memory.keep(record_of("turn_2", ADA, 1.0), (Message("assistant", "It is 4711."),), one)
        assert await memory.history(waiting, 0.0) == ()  # this one had to wait, and knows nothing
        await memory.keep(record_of("turn_3", ADA, 2.0), (Message("user", "hello"),), waiting)
    assert await memory.tidy() == []
    assert model.dropped == ["family/ada/study"]
    assert [one.messages for one in await memory.exchanges(OF_ADA)] == [(RememberedMessage("user", "hello"),)]


async def test_reading_ahead_stops_when_there_is_something_to_forget(memory: Memory, model: Model) -> None:
    await say(memory, ADA, "the code is 4711")
    here = conversation_of("family", ADA)
    begun, ended = anyio.Event(), anyio.Event()

    async def read_ahead() -> None:
        with anyio.CancelScope() as scope, memory.under_way(here, "turn_2", scope) as one:
            await memory.history(one, 0.0)
            begun.set()
            await anyio.sleep_forever()
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_ahead)
        await begun.wait()
        # Its own turn is the wish to forget; what was read ahead for it must end all the same.
        await memory.forget(OF_ADA, by_turn="turn_2")
        await ended.wait()
    assert await memory.tidy() == []
    assert model.dropped == ["family/ada/study"]


async def test_what_was_only_read_ahead_is_forgotten_though_no_turn_came_of_it(memory: Memory, model: Model) -> None:
    """Somebody began to speak and thought better of it: the model's server has read the words all the same."""
    with anyio.CancelScope() as scope, memory.under_way(conversation_of("family", ADA), "turn_1", scope) as one:
        await memory.history(one, 0.0)
    await memory.forget(belonging_to("family", BEN))
    assert model.dropped == []
    assert await memory.forget(OF_ADA) == Forgotten(0)
    assert model.dropped == ["family/ada/study"]


async def test_a_model_that_is_away_forgets_when_it_is_back(memory: Memory, model: Model) -> None:
    await say(memory, ADA, "the code is 4711")
    model.away = True
    assert await memory.forget(OF_ADA) == Forgotten(1, dropped=False)
    assert await memory.tidy() == [("drop", "family/ada/study")]
    model.away = False
    assert await memory.tidy() == []
    assert model.dropped == ["family/ada/study"]


async def test_what_is_left_for_later_outlives_a_restart(data: Path, model: Model) -> None:
    model.away = True
    async with open_memory(data / "atlas.db", model.drop) as memory:
        await say(memory, ADA, "the code is 4711")
        await memory.forget(OF_ADA)
    model.away = False
    async with open_memory(data / "atlas.db", model.drop) as memory, anyio.create_task_group() as tasks:
        tasks.start_soon(memory.run_errands)
        with anyio.fail_after(5):
            while not model.dropped:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_a_program_that_reads_the_file_delays_only_its_scrubbing_and_that_is_told(
    data: Path, memory: Memory
) -> None:
    await say(memory, ADA, "the code is 4711")
    await memory._database.read(lambda c: c.execute("PRAGMA busy_timeout = 1") and None)
    backup = sqlite3.connect(data / "atlas.db", isolation_level=None)
    try:
        backup.execute("BEGIN")
        backup.execute("SELECT count(*) FROM messages").fetchone()
        assert await memory.forget(OF_ADA) == Forgotten(1, scrubbed=False)
        assert await found(memory, ADA, "code") == []
    finally:
        backup.close()
    assert await memory.tidy() == []
    assert b"4711" not in on_disk(data)


async def test_a_conversations_key_is_its_own_whatever_people_and_rooms_are_called() -> None:
    keys = [
        Conversation("a", "b/c", ""),
        Conversation("a", "b", "c/"),
        Conversation("a", "b%2Fc", ""),
        Conversation("a/b", "c", ""),
    ]
    assert len(set(map(str, keys))) == len(keys)


# ── a power cut ────────────────────────────────────────────────────────────────────────────────────

FORGETTER = """
import sys, anyio
from pathlib import Path
from atlas.store.memory import open_memory
from atlas.store.recall import Whose

async def main():
    async with open_memory(Path(sys.argv[1])) as memory:
        print("begin", flush=True)
        await memory.forget(Whose("family", ("ada",), None))
        print("forgotten", flush=True)

anyio.run(main)
"""
TOKENS = [f"token{number:05d}x" for number in range(300)]


def killed_while_forgetting(file: Path, seconds: float) -> bool:
    """Let a process forget, kill it after so many seconds, and return whether it had acknowledged."""
    with subprocess.Popen([sys.executable, "-c", FORGETTER, str(file)], stdout=subprocess.PIPE) as forgetter:
        assert forgetter.stdout
        assert forgetter.stdout.readline() == b"begin\n"
        try:
            forgetter.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            forgetter.send_signal(signal.SIGKILL)
        return b"forgotten" in forgetter.stdout.read()


@pytest.mark.real
async def test_a_power_cut_while_forgetting_leaves_all_or_nothing_and_in_the_end_no_byte(data: Path) -> None:
    ends: Sequence[float] = [0.001 * 1.6**step for step in range(14)]  # from at once to after its end
    seen = set()
    for number, seconds in enumerate(ends):
        file = data / str(number) / "atlas.db"
        async with open_memory(file) as memory:
            for token in TOKENS:
                await say(memory, ADA, token, f"{token} " * 20)
        acknowledged = await anyio.to_thread.run_sync(killed_while_forgetting, file, seconds)
        async with open_memory(file) as memory:
            left = len(await memory.exchanges(OF_ADA, most=1000))
            indexed = [token for token in TOKENS if await found(memory, ADA, token)]
            assert left in (0, len(TOKENS))
            assert len(indexed) == left
            assert not (acknowledged and left)
            if acknowledged:
                assert b"token0" not in on_disk(file.parent)
            await memory.tidy()
            if not left:
                assert b"token0" not in on_disk(file.parent)
        seen.add((acknowledged, bool(left)))
    assert {(False, True), (True, False)} <= seen  # it was killed before the deed and after the end, at least
