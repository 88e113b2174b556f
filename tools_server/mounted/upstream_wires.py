"""The wires to other MCP servers: lines of a child process, or HTTP over what is dialled. Both bounded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpcore2
import httpx2
import mcp.types as types
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tools_server.policy import Level, Risk
from tools_server.reach.outside import Outside
from tools_server.reach.stream import Dialled
from tools_server.reach.tls import context, in_the_house

LINE_BYTES = 1024 * 1024  # of one message
CALL_SECONDS = 45.0


class Server(BaseModel):
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

    @model_validator(mode="after")
    def _one_way(self) -> Server:
        if bool(self.command) == bool(self.url):
            raise ValueError("give a command or a url")
        address = httpx2.URL(self.url) if self.url else None
        if address and address.scheme not in ("http", "https"):
            raise ValueError("url is an address such as https://tools.example.org/mcp")
        if address and address.scheme == "http" and not in_the_house(address.host):
            raise ValueError(f"{address.host} is not on the network of this house, so it is reached by https")
        return self


@asynccontextmanager
async def by_stdio(command: Sequence[str], ended: anyio.Event) -> AsyncIterator[Any]:
    """Start a server and speak with it by lines. One line too long, or the end of it, is the end of all of it.

    It inherits our walls (no network, only our files), and of our environment only what every program needs.
    """
    process = await anyio.open_process(
        list(command), stderr=subprocess.DEVNULL, env=get_default_environment(), start_new_session=True
    )
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](16)

    async def read() -> None:
        assert process.stdout
        lines = BufferedByteReceiveStream(process.stdout)
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, OSError, *_GONE):
            while True:
                line = await lines.receive_until(b"\n", LINE_BYTES)
                if (message := _message(line)) is not None:
                    await to_us.send(message)
        ended.set()

    async def write() -> None:
        assert process.stdin
        with suppress(OSError, *_GONE):
            async for message in from_us:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(text.encode() + b"\n")

    async with anyio.create_task_group() as tasks, to_us, incoming, outgoing, from_us:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await _killed(process)


def _message(line: bytes) -> SessionMessage | None:
    """Return the message in a line; None when there is none: whoever waits for it waits until its time is over."""
    try:
        # Strict readers refuse half characters, and whoever asked would wait for ever.
        whole = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(whole, by_name=False))
    except (ValueError, RecursionError):
        return None


_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)


async def _killed(process: Process) -> None:
    """End it and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.aclose()


@asynccontextmanager
async def by_http(settings: Server, outside: Outside) -> AsyncIterator[Any]:
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
