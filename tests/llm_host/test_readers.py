"""Who does not read an answer holds up nobody else; when the connection itself is given up is in test_hanging_up.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import anyio
import pytest

from atlas.conversation import Usage
from atlas.llm_host.generate import AnswerPart
from atlas.llm_host.http import AnswerStream
from atlas.llm_host.line import ROOM, Line, LinePlace
from atlas.llm_host.parse_pool import ParsePool
from atlas.llm_host.request import ChatRequest
from tests.conftest import for_every, virtual_time

CHATS = 1 + ROOM["chat"]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return virtual_time()


class Scripted:
    """A host whose model says two words, and is then done."""

    def __init__(self) -> None:
        self.line, self.parsing = Line(), ParsePool()

    async def job(self, ask: ChatRequest) -> ChatRequest:
        return ask

    async def answer(self, _job: Any, place: LinePlace, give: Callable[[AnswerPart], None]) -> None:
        async with self.line.called(place):
            give(AnswerPart("Good"))
            give(AnswerPart(" day", (), "stop", Usage()))


async def listen() -> dict[str, Any]:
    """A reader that stays on the line."""
    await anyio.sleep_forever()
    raise AssertionError


async def ask(host: Scripted, send: Any, *, stream: bool) -> None:
    body = '{"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": %s}'
    await AnswerStream(cast("Any", host), (body % ("true" if stream else "false")).encode())(
        {"type": "http"}, listen, send
    )


async def take_nothing(message: Any) -> None:
    if message["type"] == "http.response.body":
        await anyio.sleep_forever()


@for_every("stream", [True, False])
async def test_as_many_as_find_room_read_nothing_and_the_next_one_is_answered(stream: bool) -> None:
    host, begun = Scripted(), anyio.current_time()
    taken: list[Any] = []

    async def take(message: Any) -> None:
        taken.append(message)

    async with anyio.create_task_group() as tasks:
        for _ in range(CHATS):
            tasks.start_soon(lambda: ask(host, take_nothing, stream=stream))
        await anyio.wait_all_tasks_blocked()
        await ask(host, take, stream=stream)
        assert anyio.current_time() == begun
        tasks.cancel_scope.cancel()
    assert taken[0]["status"] == 200 and b"day" in b"".join(message.get("body", b"") for message in taken)
