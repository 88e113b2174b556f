"""An HTTP client of the house's own process whose every connection is a tunnel through the way out of the house.

The egress speaks HTTP CONNECT on a unix socket, lets nobody through to what is not listed, and writes down what went.
TLS is end to end: it sees names and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpcore2
import httpx2

HEAD_BYTES = 4096  # of the egress's answer, which is three short lines


class WayOut(httpx2.AsyncHTTPTransport):
    """HTTP/1.1, plain or TLS, over tunnels."""

    def __init__(self, egress: Path) -> None:
        super().__init__()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(), network_backend=_Tunnels(egress), max_keepalive_connections=0
        )


class _Tunnels(httpcore2.AsyncNetworkBackend):
    """Connects to a machine by asking the egress for a tunnel."""

    def __init__(self, egress: Path) -> None:
        self._egress = egress
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Return a tunnel to a machine. Raises `ConnectError`, with the egress's own sentence where it refuses."""
        async with AsyncExitStack() as unless_open:
            stream = await self._sockets.connect_unix_socket(str(self._egress), timeout)
            unless_open.push_async_callback(stream.aclose)  # whoever waits no longer holds no tunnel
            target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            await stream.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode(), timeout)
            head = b""
            while not head.endswith(b"\r\n\r\n") and len(head) < HEAD_BYTES:
                # Byte by byte: what comes behind the head belongs to the caller, and it is a hundred bytes.
                if not (byte := await stream.read(1, timeout)):
                    break
                head += byte
            if head.split(b" ", 2)[1:2] != [b"200"]:
                sentence = (await stream.read(HEAD_BYTES, timeout)).decode("utf-8", "replace").strip()
                raise httpcore2.ConnectError(sentence or "the way out of the house is not open")
            unless_open.pop_all()
        return stream

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await self._sockets.sleep(seconds)
