"""The LLM host's socket: who can connect, and how long a client that does not read is waited for."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from atlas.errors import EngineError

READER_SECONDS = 30  # what is sent is taken in this time, or the reader is hung up on
log = logging.getLogger("atlas.llm_host")


class HostServer(uvicorn.Server):
    """uvicorn, but signals are ours: it would die of the signal again after it has tidied up."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


class ImpatientConnection(H11Protocol):
    """uvicorn's, but it does not wait for ever for somebody to read: such a socket would stay open, even once closed.

    Whoever was answering is told that the client hung up.
    """

    patience: float = READER_SECONDS
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Have every byte waited for, not only those of a large buffer."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)

    def pause_writing(self) -> None:
        """Begin to wait for the reader."""
        super().pause_writing()
        self._late = self.loop.call_later(self.patience, self._hang_up)

    def resume_writing(self) -> None:
        """Stop waiting: everything was taken."""
        self._at_ease()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting: the reader is gone."""
        self._at_ease()
        super().connection_lost(exc)

    def _hang_up(self) -> None:
        log.warning("hung up on a reader that left what was sent for %g s", self.patience)
        self.transport.abort()

    def _at_ease(self) -> None:
        if self._late:
            self._late.cancel()
            self._late = None


def listen(path: Path | None, port: int) -> socket.socket:
    """Return a listening socket: a unix socket that only this user can use, or loopback.

    A socket file that nobody listens on any more is replaced. Raises `EngineError` when the place cannot be had.
    """
    try:
        return socket.create_server(("127.0.0.1", port)) if path is None else _on_file(path)
    except (OSError, OverflowError) as trouble:
        place = path or f"port {port}"
        raise EngineError(f"cannot listen on {place}: {trouble}", hint="choose another one") from trouble


def _on_file(path: Path) -> socket.socket:
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                raise EngineError(f"another process listens on {path}", hint="stop it first")
        path.unlink()
    elif path.exists():
        raise EngineError(f"{path} is in the way: it is not a socket", hint="remove it, or choose another --socket")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    try:
        # Nobody can connect before listen(), so there is no moment in which the mode of the file is too wide.
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener
