"""A WebSocket of JSON over a stream that was dialled: the protocol is a library's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.uri import parse_uri

from tools_server.reach.outside import Outside
from tools_server.reach.tls import context

CONNECT_SECONDS = 10.0
LARGEST_BYTES = 16 * 1024 * 1024  # the states of a thousand things are two


class Hung(OSError):
    """The other side hung up, or speaks no WebSocket."""


class _Prompt(ClientConnection):
    """A connection that is over once the other side has said so, whether or not it hangs up."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.protocol.close_expected():
            self.transport.abort()


class JsonSocket:
    """One open connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, value: Any) -> None:
        """Send a message. Raises `Hung`."""
        try:
            await self._connection.send(json.dumps(value))
        except ConnectionClosed as gone:
            raise Hung("it hung up") from gone

    async def receive(self) -> Any:
        """Return the next message. Raises `Hung`."""
        try:
            return json.loads(await self._connection.recv())
        except ConnectionClosed as gone:
            raise Hung("it hung up") from gone
        except (ValueError, RecursionError) as broken:
            raise Hung("what came is no JSON") from broken


@asynccontextmanager
async def opened(outside: Outside, url: str, authority: Path | None = None) -> AsyncIterator[JsonSocket]:
    """Connect to a "ws://…" or "wss://…" address; TLS is end to end. Raises OSError, `Hung` among them."""
    try:
        address = parse_uri(url)
    except InvalidURI as wrong:
        raise Hung(f"{url} is no address of a WebSocket") from wrong
    way = await anyio.to_thread.run_sync(
        outside.dial, address.host, address.port, CONNECT_SECONDS, abandon_on_cancel=True
    )
    try:
        connection = await connect(
            url,
            sock=way,
            ssl=context(authority) if address.secure else None,
            create_connection=_Prompt,
            compression=None,
            user_agent_header=None,
            open_timeout=CONNECT_SECONDS,
            ping_interval=None,
            max_size=LARGEST_BYTES,
        )
    except OSError:
        raise  # a wrong certificate, which is a ValueError too
    except (InvalidHandshake, InvalidURI, ValueError) as refused:  # also one that sends us elsewhere
        raise Hung("it speaks no WebSocket") from refused
    try:
        yield JsonSocket(connection)
    finally:
        connection.transport.abort()
