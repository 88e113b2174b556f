"""A WebSocket of JSON: what the other side does, it ends the connection and nothing else."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest
from anyio.abc import SocketStream
from websockets.frames import CloseCode, Frame, Opcode
from websockets.server import ServerProtocol

from tools_server.reach.outside import Outside
from tools_server.reach.websocket import Hung, opened

PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Straight(Outside):
    """A way out that dials machines by itself."""

    def dial(self, host: str, port: int, seconds: float) -> socket.socket:
        return socket.create_connection((host, port), seconds)


@asynccontextmanager
async def served(answer: bytes, closing: bytes = b"") -> AsyncIterator[str]:
    """Serve one kind of answer to a handshake, or a true one with `closing` behind it, and never hang up."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")

    async def serve(stream: SocketStream) -> None:
        async with stream:
            request = await stream.receive()
            if answer:
                await stream.send(answer)
            else:
                protocol = ServerProtocol()
                protocol.receive_data(request)
                [asked] = protocol.events_received()
                protocol.send_response(protocol.accept(asked))  # type: ignore[arg-type]  # a request is the only event
                await stream.send(b"".join(protocol.data_to_send()) + closing)
            await anyio.sleep_forever()

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield f"ws://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/"
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "to", ["https://elsewhere.example/", "http://elsewhere.example/login", "ws://elsewhere.example/"]
)
async def test_who_sends_us_elsewhere_speaks_no_websocket(to: str) -> None:
    moved = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()
    async with served(moved) as url:
        with anyio.fail_after(PATIENCE_SECONDS), pytest.raises(Hung, match="it speaks no WebSocket"):
            async with opened(Straight(), url):
                pass


@pytest.mark.parametrize(
    "closing",
    [
        Frame(Opcode.CLOSE, CloseCode.GOING_AWAY.to_bytes(2, "big")).serialize(mask=False),
        b"\xf1\x00",  # bits that mean nothing
        b"\x81\x7f" + (1 << 40).to_bytes(8, "big"),  # a message of a terabyte
    ],
)
async def test_a_connection_is_over_once_the_other_side_says_so_although_it_never_hangs_up(closing: bytes) -> None:
    async with served(b"", closing) as url:
        with anyio.fail_after(PATIENCE_SECONDS), pytest.raises(Hung):
            async with opened(Straight(), url) as connection:
                await connection.receive()
