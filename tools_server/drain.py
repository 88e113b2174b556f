"""The end: SIGTERM takes no new calls, lets live ones finish or cancels them, and is over within five seconds."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus

from tools_server.gate import Gate

DRAIN_SECONDS = 4.0  # of the five that a supervisor waits between SIGTERM and SIGKILL


async def on_signal(gate: Gate, leave: Callable[[], None], *, task_status: TaskStatus[None]) -> None:
    """Drain the gate at the first signal, then `leave`. Started once signals are listened for."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()  # before anybody is told "ready", and may send one
        async for _ in signals:
            await gate.requests.drain(DRAIN_SECONDS - 1)  # the last second is uvicorn's, to send the answers
            leave()


def say(line: str) -> None:
    """Write a line to stderr, where the supervisor reads it; stdout may be a wire."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
