"""Before the model has anything to do, too, a voice waits for no chat, room is limited, and who left is forgotten."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from atlas.conversation import Usage
from atlas.errors import RequestError
from atlas.llm_host.generate import AnswerPart
from atlas.llm_host.http import AnswerStream
from atlas.llm_host.line import ROOM, Line, LinePlace
from atlas.llm_host.parse_pool import MOST_LARGE, SMALL_BYTES, ParsePool
from atlas.llm_host.request import ChatRequest

pytestmark = pytest.mark.timeout(10)
LARGE = b" " * (SMALL_BYTES + 1)


class Slow:
    """A host that works out no chat before it is let, and answers with two words."""

    def __init__(self) -> None:
        self.line, self.parsing = Line(), ParsePool()
        self.let = threading.Event()
        self.worked_out: list[str] = []

    async def job(self, ask: ChatRequest) -> Any:
        def work() -> ChatRequest:
            if ask.priority == "chat":
                self.let.wait()
            self.worked_out.append(ask.conversation)
            return ask

        await self.parsing.work_out(ask.priority, work)
        return None

    async def answer(self, _job: Any, place: LinePlace, give: Callable[[AnswerPart], None]) -> None:
        async with self.line.called(place):
            give(AnswerPart("Good day", (), "stop", Usage()))

    async def ask(self, who: str, priority: str = "chat", *, gone: anyio.Event | None = None) -> list[Any]:
        """Ask; return what is sent to who asked."""
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            await (gone or anyio.Event()).wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        messages = [{"role": "user", "content": "hello"}]
        body = {"model": "m", "messages": messages, "atlas_priority": priority, "atlas_conversation": who}
        await AnswerStream(cast("Any", self), json.dumps(body).encode())({"type": "http"}, receive, send)
        return sent


async def until(so: Callable[[], bool]) -> None:
    while not so():
        await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def crowd(host: Slow, *people: str) -> AsyncIterator[None]:
    """People whose requests are being worked out, until `let`."""
    async with anyio.create_task_group() as tasks:
        try:
            for who in people:
                tasks.start_soon(host.ask, who)
            await until(lambda: len(host.line) == len(people))
            yield
        finally:
            host.let.set()


async def test_a_voice_is_answered_while_many_chats_are_still_being_worked_out() -> None:
    host = Slow()
    async with crowd(host, *"abcdefgh"):
        assert (await host.ask("voice", "voice"))[0]["status"] == 200
        assert host.worked_out == ["voice"]


async def test_those_who_are_still_being_worked_out_take_up_room_in_line() -> None:
    host = Slow()
    async with crowd(host, *map(str, range(1 + ROOM["chat"]))):
        assert (await host.ask("one more"))[0]["status"] == 429
        assert (await host.ask("voice", "voice"))[0]["status"] == 200
    assert "one more" not in host.worked_out


async def test_who_hangs_up_before_it_is_worked_out_is_forgotten() -> None:
    host, gone = Slow(), anyio.Event()
    async with crowd(host, "first"), anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: host.ask("second", gone=gone))
        await until(lambda: len(host.line) == 2)
        gone.set()
        await until(lambda: len(host.line) == 1)
        host.let.set()
    assert host.worked_out == ["first"]


async def test_a_small_body_is_read_while_large_ones_wait_and_of_them_only_so_many() -> None:
    pool, let = ParsePool(), threading.Event()
    async with anyio.create_task_group() as tasks:
        for _ in range(1 + MOST_LARGE):
            tasks.start_soon(pool.read, lambda _body: let.wait(), LARGE)
        try:
            await until(lambda: pool.large_waiting == MOST_LARGE)
            with pytest.raises(RequestError, match="are waiting already"):
                await pool.read(len, LARGE)
            assert await pool.read(bytes.decode, b"small") == "small"
        finally:
            let.set()
