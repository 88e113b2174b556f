"""Connects an HTTP client that does not block to other machines, by the same dialling as everything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anyio.to_thread
import httpcore2
from anyio.abc import SocketStream
from httpcore2._backends.anyio import AnyIOStream  # the library offers it under no other name

from tools_server.reach.outside import Outside, Unreachable


class Dialled(httpcore2.AsyncNetworkBackend):
    """Connects by dialling, and in no other way."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Return a connected stream."""
        assert timeout is not None, "nothing waits for ever"
        try:
            way = await anyio.to_thread.run_sync(
                self._outside.dial, host.strip("[]"), port, timeout, abandon_on_cancel=True
            )
        except Unreachable as nowhere:
            raise httpcore2.ConnectError(str(nowhere)) from nowhere
        way.setblocking(False)
        return AnyIOStream(await SocketStream.from_socket(way))
