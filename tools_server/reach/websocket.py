"""A WebSocket of JSON over a stream that was dialled: the protocol is a library's, the waiting anyio's."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from anyio.abc import ByteStream, SocketStream
from anyio.streams.tls import TLSStream
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake, InvalidURI
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from tools_server.reach.outside import Outside
from tools_server.reach.tls import context

CONNECT_SECONDS = 10.0
LARGEST_BYTES = 16 * 1024 * 1024  # the states of a thousand things are two


class Hung(OSError):
    """The other side hung up, or speaks no WebSocket."""


class JsonSocket:
    """One open connection."""

    def __init__(self, stream: ByteStream, protocol: ClientProtocol) -> None:
        self._stream = stream
        self._protocol = protocol
        self._events: list[Any] = []
        self._parts = b""

    async def send(self, value: Any) -> None:
        """Send a message. Raises `Hung`."""
        self._protocol.send_text(json.dumps(value).encode())
        await self._write()

    async def receive(self) -> Any:
        """Return the next message. Raises `Hung`; cancelling loses at most a part of a message, so hang up then."""
        while True:
            frame = await self._event()
            if isinstance(frame, Frame) and frame.opcode is Opcode.CLOSE:
                raise Hung("it said good-bye")
            if not isinstance(frame, Frame) or frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                continue
            self._parts += bytes(frame.data)
            if len(self._parts) > LARGEST_BYTES:
                raise Hung("a message without end")
            if frame.fin:
                text, self._parts = self._parts, b""
                try:
                    return json.loads(text)
                except (ValueError, RecursionError) as broken:
                    raise Hung("what came is no JSON") from broken

    async def _event(self) -> Any:
        while not self._events:
            try:
                self._protocol.receive_data(await self._stream.receive())
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as gone:
                raise Hung("it hung up") from gone
            await self._write()  # answers to pings, and to a good-bye
            self._events += self._protocol.events_received()
            if not self._events and self._protocol.close_expected():
                raise Hung("it said good-bye")
        return self._events.pop(0)

    async def _write(self) -> None:
        for piece in self._protocol.data_to_send():
            try:
                if piece:
                    await self._stream.send(piece)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as gone:
                raise Hung("it hung up") from gone

    async def shake(self) -> None:
        """Ask for the WebSocket. Raises `Hung` when this is none."""
        self._protocol.send_request(self._protocol.connect())
        await self._write()
        answer = await self._event()
        if not isinstance(answer, Response) or self._protocol.handshake_exc is not None:
            raise Hung("it speaks no WebSocket")


@asynccontextmanager
async def opened(outside: Outside, url: str, authority: Path | None = None) -> AsyncIterator[JsonSocket]:
    """Connect to a "ws://…" or "wss://…" address; TLS is end to end. Raises OSError, `Hung` among them."""
    parts = urlsplit(url)
    secure, host = parts.scheme == "wss", parts.hostname or ""
    port = parts.port or (443 if secure else 80)
    try:
        protocol = ClientProtocol(parse_uri(url), max_size=LARGEST_BYTES)
    except InvalidURI as wrong:
        raise Hung(f"{url} is no address of a WebSocket") from wrong
    way = await anyio.to_thread.run_sync(outside.dial, host, port, CONNECT_SECONDS, abandon_on_cancel=True)
    with anyio.fail_after(CONNECT_SECONDS):
        stream = await _stream(way, host if secure else "", authority)
    try:
        made = JsonSocket(stream, protocol)
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                await made.shake()
        except InvalidHandshake as refused:
            raise Hung("it speaks no WebSocket") from refused
        yield made
    finally:
        await anyio.aclose_forcefully(stream)


async def _stream(way: socket.socket, host: str, authority: Path | None) -> ByteStream:
    way.setblocking(False)
    plain = await SocketStream.from_socket(way)
    if not host:
        return plain
    return await TLSStream.wrap(plain, hostname=host, ssl_context=context(authority), standard_compatible=False)
