"""What tests of other processes need: a free port, whether one lives, and to wait for what it does."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

import anyio


def free_port() -> int:
    """A port of loopback that nobody listens on now, of those that no outgoing connection is given by the system."""
    with socket.socket() as probe:
        while True:
            port = SystemRandom().randrange(10_000, 30_000)
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port


def alive(pid: int) -> bool:
    """Does this process run? One that only waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(true: Callable[[], object], seconds: float = 20) -> None:
    """Wait for something of another process, which cannot set an Event of ours."""
    with anyio.fail_after(seconds):
        while not true():  # noqa: ASYNC110
            await anyio.sleep(0.02)
