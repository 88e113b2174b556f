"""Takes https connections: each is encrypted within seconds, of few at a time, and then handed to the server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import NamedTuple

import anyio

from atlas import trace
from atlas.access.certificates import HouseCertificates, is_of_house

HANDSHAKE_SECONDS = 5.0  # from connecting to encrypted; whoever is slower is closed
HANDSHAKES = 128  # that are under way at once: of all …
HANDSHAKES_OF_ADDRESS = 32  # … and of one address; who came first goes first
FULL_SECONDS = 0.5  # until the next try where the system has no room for a connection


class SecureListener(NamedTuple):
    """Where https is served, and with what."""

    listener: socket.socket
    certificates: HouseCertificates

    @property
    def address(self) -> str:
        """The address that other machines open."""
        host = self.certificates.host_for_others(self.listener.family)
        return f"https://{host}:{self.listener.getsockname()[1]}"


class SecureDoor:
    """The door of one listener. A handshake is work for a stranger, so their number is bounded, as is their time."""

    def __init__(self, secure: SecureListener, protocol: Callable[[], asyncio.Protocol]) -> None:
        """`protocol` makes what answers on a connection that is encrypted."""
        self._secure, self._protocol = secure, protocol
        self._under_way: dict[anyio.CancelScope, str] = {}  # the address of each, the oldest first

    async def serve(self) -> None:
        """Take connections until cancelled."""
        loop = asyncio.get_running_loop()
        async with anyio.create_task_group() as handshakes:
            while True:
                try:
                    connection, peer = await loop.sock_accept(self._secure.listener)
                except OSError as trouble:
                    trace.line("https connection not taken", error=trouble)
                    await anyio.sleep(FULL_SECONDS)
                    continue
                if is_of_house(peer[0]):
                    handshakes.start_soon(self._encrypt, connection, peer[0])
                else:
                    connection.close()

    async def _encrypt(self, connection: socket.socket, address: str) -> None:
        with anyio.CancelScope() as scope:
            self._under_way[scope] = address
            self._end_oldest(address)
            try:
                await asyncio.get_running_loop().connect_accepted_socket(
                    self._protocol,
                    connection,
                    ssl=self._secure.certificates.context,
                    ssl_handshake_timeout=HANDSHAKE_SECONDS,
                )
            except OSError:  # no TLS, or too slow
                connection.close()
            finally:
                self._under_way.pop(scope, None)

    def _end_oldest(self, address: str) -> None:
        """Make room: before it speaks, nothing tells the owner's connection from a stranger's."""
        neighbours = [scope for scope, one in self._under_way.items() if one == address]
        for scope in {*neighbours[:-HANDSHAKES_OF_ADDRESS], *list(self._under_way)[:-HANDSHAKES]}:
            del self._under_way[scope]
            scope.cancel()
