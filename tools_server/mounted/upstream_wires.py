"""The wires to other MCP servers: lines of a child process, or HTTP over what is dialled. Both bounded."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpcore2
import httpx2
import mcp.types as types
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tools_server.reach.outside import Outside
from tools_server.reach.stream import Dialled
from tools_server.reach.tls import context, refuse_in_the_clear
from tools_server.values.policy import Level, Risk
from tools_server.walls.confine import WallPlan, keep_to
from tools_server.walls.programs import SYSTEM, programs_of

LINE_BYTES = 1024 * 1024  # of one message
CALL_SECONDS = 45.0


class UpstreamServer(BaseModel):
    """One server: a command that is started here, or an address that is dialled."""

    model_config = ConfigDict(extra="forbid")
    command: list[str] = Field(default_factory=list, max_length=50)
    url: str = ""
    agents: list[str] = Field(min_length=1)
    risk: Risk = "change"
    level: Level = "confirm"
    trust_hints: bool = False  # believe it when it says that a tool only reads
    token_file: Path | None = None
    authority_file: Path | None = None  # PEM: who vouches for it, when that is the house itself
    work_folder: Path | None = None  # of a command: where it starts, and the one place in which it may write

    @model_validator(mode="after")
    def _one_way(self) -> UpstreamServer:
        if bool(self.command) == bool(self.url):
            raise ValueError("give a command or a url")
        if self.url:
            refuse_in_the_clear(self.url)
        return self


@asynccontextmanager
async def by_stdio(settings: UpstreamServer, ended: anyio.Event) -> AsyncIterator[Any]:
    """Start a server and speak with it by lines. One line too long, or the end of it, is the end of all of it.

    It inherits our walls, and of our environment only what every program needs. Of our files it sees nothing but
    itself, what its command names, and its own folder (`keep_to`): else it could approve itself in our database.
    """
    ours, theirs = socket.socketpair()  # what a program of Node's gives to those that it starts, too
    stream = await SocketStream.from_socket(ours)
    try:
        with theirs:
            process = await anyio.to_thread.run_sync(started, settings, theirs.fileno())
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](16)

    async def read() -> None:
        lines = BufferedByteReceiveStream(stream)
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, OSError, *_GONE):
            while True:
                line = await lines.receive_until(b"\n", LINE_BYTES)
                if (message := _message(line)) is not None:
                    await to_us.send(message)
        ended.set()

    async def write() -> None:
        with suppress(OSError, *_GONE):
            async for message in from_us:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stream.send(text.encode() + b"\n")

    async with stream, anyio.create_task_group() as tasks, to_us, incoming, outgoing, from_us:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await _killed(process)


def started(settings: UpstreamServer, lines: int) -> subprocess.Popen[bytes]:
    """Start the program of a server, kept to its own files, to speak by a descriptor. Blocking. Raises OSError."""
    paths = [settings.work_folder] if settings.work_folder else []
    plan = WallPlan(
        reads=tuple(map(Path, SYSTEM)),
        writes=(Path(os.devnull), *paths),
        runs=tuple(programs_of({"command": settings.command})),
    )
    made: list[subprocess.Popen[bytes] | OSError] = []

    def start() -> None:
        keep_to(plan)
        try:
            made.append(
                subprocess.Popen(  # noqa: S603  # a person wrote the command into the settings
                    settings.command,
                    stdin=lines,
                    stdout=lines,
                    stderr=subprocess.DEVNULL,
                    env=get_default_environment(),
                    cwd=settings.work_folder,
                    start_new_session=True,
                )
            )
        except OSError as wrong:
            made.append(wrong)

    # What is kept to files is the thread, and with it what it starts; a thread of a pool would stay so.
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _message(line: bytes) -> SessionMessage | None:
    """Return the message in a line; None when there is none: whoever waits for it waits until its time is over."""
    try:
        # Strict readers refuse half characters, and whoever asked would wait for ever.
        whole = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(whole, by_name=False))
    except (ValueError, RecursionError):
        return None


_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)


async def _killed(process: subprocess.Popen[bytes]) -> None:
    """End it and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await anyio.to_thread.run_sync(process.wait)


@asynccontextmanager
async def by_http(settings: UpstreamServer, outside: Outside) -> AsyncIterator[Any]:
    """Speak with a server by streamable HTTP, over what is dialled."""
    headers = {"User-Agent": "Atlas"}
    if settings.token_file:
        headers["Authorization"] = f"Bearer {settings.token_file.read_text('utf-8').strip()}"
    pool = httpcore2.AsyncConnectionPool(
        ssl_context=context(settings.authority_file), network_backend=Dialled(outside), max_connections=8
    )
    transport = httpx2.AsyncHTTPTransport(trust_env=False)
    transport._pool = pool  # the library offers no other way to give it one
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=CALL_SECONDS, trust_env=False) as client,
        streamable_http_client(settings.url, http_client=client) as streams,
    ):
        yield streams
