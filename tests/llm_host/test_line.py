"""Voice goes before chat, chat before background, nobody twice before somebody else, and nobody waits for the gone."""

from __future__ import annotations

from functools import partial

import anyio
import pytest
from anyio.lowlevel import checkpoint

from atlas.errors import RequestError
from atlas.llm_host.line import ROOM, Line
from tests.conftest import for_every


async def settled() -> None:
    for _ in range(20):
        await checkpoint()


class Room:
    """People before one model, which answers each for as long as the test says."""

    def __init__(self) -> None:
        self.line = Line()
        self.answered: list[str] = []

    async def ask(
        self, what: str, priority: str = "chat", done: anyio.Event | None = None, *, ahead: bool = False
    ) -> None:
        with self.line.place(priority, what.split()[0], ahead=ahead) as place:
            async with self.line.called(place):
                self.answered.append(what)
                if done:
                    await done.wait()


async def waits(room: Room, *requests: tuple[str, str]) -> None:
    """Let requests come in this order while somebody is being answered, then let that one end."""
    done = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.ask, "first", "background", done)
        await settled()
        for what, priority in requests:
            tasks.start_soon(room.ask, what, priority)
            await settled()
        done.set()


async def test_voice_goes_before_chat_and_chat_before_background() -> None:
    room = Room()
    await waits(room, ("mail", "background"), ("ben", "chat"), ("anna", "voice"))
    assert room.answered == ["first", "anna", "ben", "mail"]


async def test_who_asks_three_times_waits_for_who_asks_once() -> None:
    room = Room()
    await waits(room, ("anna 1", "chat"), ("anna 2", "chat"), ("anna 3", "chat"), ("ben 1", "chat"))
    assert room.answered == ["first", "anna 1", "ben 1", "anna 2", "anna 3"]


async def test_who_leaves_the_line_is_not_waited_for() -> None:
    room = Room()
    done = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.ask, "first", "chat", done)
        await settled()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await room.ask("gone", "voice")
        tasks.start_soon(room.ask, "next")
        await settled()
        done.set()
    assert room.answered == ["first", "next"]


async def test_a_long_answer_gives_way_to_a_voice_and_then_goes_on_before_others_of_its_kind() -> None:
    room = Room()

    async def long() -> None:
        with room.line.place("chat", "long") as place:
            async with room.line.called(place):
                room.answered.append("long begins")
                while not room.line.somebody_before(place):
                    await checkpoint()
                await room.line.give_way(place)
                room.answered.append("long ends")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(long)
        await settled()
        tasks.start_soon(room.ask, "ben")
        await settled()
        assert room.answered == ["long begins"], "another chat is no reason to give way"
        tasks.start_soon(room.ask, "anna", "voice")
    assert room.answered == ["long begins", "anna", "long ends", "ben"]


async def test_who_gave_way_and_is_gone_holds_up_nobody() -> None:
    room = Room()
    done = anyio.Event()
    scope = anyio.CancelScope()

    async def long() -> None:
        with scope, room.line.place("chat", "long") as place:
            async with room.line.called(place):
                while not room.line.somebody_before(place):
                    await checkpoint()
                await room.line.give_way(place)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(long)
        await settled()
        tasks.start_soon(room.ask, "anna", "voice", done)
        await settled()
        scope.cancel()
        await settled()
        done.set()
        await settled()
        await room.ask("ben")
    assert room.answered == ["anna", "ben"]


@for_every("priority", ROOM)
async def test_a_line_that_is_full_says_so_and_a_voice_still_finds_room_behind_chats(priority: str) -> None:
    room = Room()
    async with anyio.create_task_group() as tasks:
        for number in range(1 + ROOM[priority]):
            tasks.start_soon(room.ask, f"p{number}", priority, anyio.Event())
        await settled()
        with pytest.raises(RequestError) as full, room.line.place(priority, "late"):
            pass
        assert full.value.code == "too_many_requests"
        if priority != "voice":
            with room.line.place("voice", "anna"):
                pass
        tasks.cancel_scope.cancel()
    with room.line.place("background", "later"):
        pass


async def test_reading_ahead_comes_after_every_answer_of_its_priority_and_before_the_next() -> None:
    room, done = Room(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.ask, "first", "voice", done)
        await settled()
        for what, priority, ahead in (("ahead", "voice", True), ("ben", "chat", False), ("anna", "voice", False)):
            tasks.start_soon(partial(room.ask, what, priority, ahead=ahead))
            await settled()
        done.set()
    assert room.answered == ["first", "anna", "ahead", "ben"]


async def test_reading_ahead_gives_way_to_the_same_persons_answer() -> None:
    line, answered = Line(), anyio.Event()
    with line.place("voice", "anna", ahead=True) as reading, line.place("voice", "anna") as asking:
        async with anyio.create_task_group() as tasks, line.called(reading):
            assert not line.somebody_before(reading)

            async def answer() -> None:
                async with line.called(asking):
                    assert not line.somebody_before(asking)
                    answered.set()

            tasks.start_soon(answer)
            await settled()
            assert line.somebody_before(reading)
            await line.give_way(reading)
            assert answered.is_set()


async def test_who_read_ahead_has_not_been_served_by_that() -> None:
    room, done = Room(), anyio.Event()
    await room.ask("ben first")
    await room.ask("anna ahead", ahead=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.ask, "carl", "chat", done)
        await settled()
        for what in ("ben", "anna"):
            tasks.start_soon(room.ask, what)
            await settled()
        done.set()
    assert room.answered[-2:] == ["anna", "ben"]
