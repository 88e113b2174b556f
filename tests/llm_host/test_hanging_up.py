"""A connection whose reader takes nothing is gone after a while, with its descriptor and whatever was to be sent."""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from atlas.llm_host.listener import HostServer, ImpatientConnection, listen

MUCH = b"x" * 8 * 1024**2  # more than any socket takes by itself


class Hasty(ImpatientConnection):
    patience = 0.01


async def whole(_request: Request) -> Response:
    return Response(MUCH)


async def in_pieces(_request: Request) -> Response:
    return StreamingResponse(iter([MUCH, MUCH]))


@pytest.mark.timeout(10)
@pytest.mark.parametrize("answer", [whole, in_pieces])
async def test_who_takes_nothing_loses_the_connection_and_the_log_says_it_once(
    answer: Callable[[Request], Awaitable[Response]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listener = listen(tmp_path / "s", 0)
    app = Starlette(routes=[Route("/", answer)])
    server = HostServer(uvicorn.Config(app, http=Hasty, lifespan="off", log_config=None, access_log=False))
    with caplog.at_level(logging.WARNING), socket.socket(socket.AF_UNIX) as reader:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: server.serve(sockets=[listener]))
            reader.connect(str(tmp_path / "s"))
            reader.sendall(b"GET / HTTP/1.1\r\nhost: llm\r\n\r\n")
            await anyio.wait_readable(reader)  # it has begun to answer
            while server.server_state.connections:
                await anyio.lowlevel.checkpoint()
            server.should_exit = True
        assert [record.getMessage() for record in caplog.records] == [
            "hung up on a reader that left what was sent for 0.01 s"
        ]
