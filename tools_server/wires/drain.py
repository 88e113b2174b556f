"""Ends the server: SIGTERM takes no new calls, lets live ones finish or cancels them, within five seconds."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus

from tools_server.gate.gate import Gate
from tools_server.values.stderr import say

DRAIN_SECONDS = 3.0  # for live calls; a supervisor waits five between SIGTERM and SIGKILL
LAST_SECONDS = 4.8  # after which nothing is waited for: what had been acknowledged is on the disk already


async def on_signal(gate: Gate, leave: Callable[[], None], *, task_status: TaskStatus[None]) -> None:
    """Drain the gate at the first signal, then `leave`; end at once at the second. Started once signals are heard."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()  # before anybody is told "ready", and may send one
        first = await anext(signals)
        # The kernel's own clock, whose signal ends the process by itself: it works when nothing here does any more.
        signal.setitimer(signal.ITIMER_REAL, LAST_SECONDS)
        async with anyio.create_task_group() as tasks:

            async def drain() -> None:
                await gate.requests.drain(DRAIN_SECONDS)
                gate.flush()
                leave()

            tasks.start_soon(drain)
            async for again in signals:
                gate.flush()
                say(f"ended by a second signal, {again.name} after {first.name}")
                signal.signal(again, signal.SIG_DFL)
                os.kill(os.getpid(), again)
