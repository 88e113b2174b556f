"""A host that stops says so to whoever it has not begun to answer: plainly, and that it is worth coming again."""

from __future__ import annotations

import anyio
import httpx2
from starlette.types import Message, Receive, Scope, Send

from atlas.llm_host.http import Closing
from tests.conftest import for_every

HEAD = {"type": "http.response.start", "status": 200, "headers": []}


@for_every("when", ["while it waits", "before it came"])
async def test_who_still_waits_when_the_host_stops_is_told_to_come_again(when: str) -> None:
    stopping, event = anyio.Event(), anyio.Event()

    async def line(_scope: Scope, _receive: Receive, _send: Send) -> None:
        event.set()
        await anyio.sleep_forever()

    async def stop() -> None:
        await event.wait()
        stopping.set()

    door = httpx2.ASGITransport(Closing(line, stopping))
    async with httpx2.AsyncClient(transport=door) as client, anyio.create_task_group() as tasks:
        if when == "before it came":
            stopping.set()
        tasks.start_soon(stop)
        reply = await client.post("http://llm/v1/chat/completions")
        tasks.cancel_scope.cancel()
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    error = reply.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("server_error", "model_stopping", None)


async def test_an_answer_that_has_begun_goes_on_after_the_host_was_told_to_stop() -> None:
    stopping, sent = anyio.Event(), list[Message]()

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(HEAD)
        stopping.set()
        await anyio.wait_all_tasks_blocked()
        await send({"type": "http.response.body", "body": b"the rest"})

    async def nobody() -> Message:
        return await anyio.sleep_forever()  # type: ignore[no-any-return,func-returns-value]

    async def keep(message: Message) -> None:
        sent.append(message)

    await Closing(answer, stopping)({"type": "http"}, nobody, keep)
    assert [message.get("body") for message in sent] == [None, b"the rest"]
