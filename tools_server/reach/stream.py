"""Connects an HTTP client that does not block to other machines, by the same dialling as everything else."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import anyio
import anyio.to_thread
import httpcore2
from anyio.abc import ByteStream, SocketStream
from anyio.streams.tls import TLSStream

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
        return _Stream(await SocketStream.from_socket(way))


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            with anyio.fail_after(timeout):
                return await self._stream.receive(max_bytes)
        except TimeoutError as slow:
            raise httpcore2.ReadTimeout from slow
        except anyio.EndOfStream:
            return b""
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError) as gone:
            raise httpcore2.ReadError from gone

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            with anyio.fail_after(timeout):
                if buffer:
                    await self._stream.send(buffer)
        except TimeoutError as slow:
            raise httpcore2.WriteTimeout from slow
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError) as gone:
            raise httpcore2.WriteError from gone

    async def aclose(self) -> None:
        await anyio.aclose_forcefully(self._stream)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        try:
            with anyio.fail_after(timeout):
                stream = await TLSStream.wrap(
                    self._stream, hostname=server_hostname, ssl_context=ssl_context, standard_compatible=False
                )
        except (TimeoutError, ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream) as failed:
            await self.aclose()
            raise httpcore2.ConnectError(str(failed)) from failed
        return _Stream(stream)

    def get_extra_info(self, info: str) -> Any:
        return None
