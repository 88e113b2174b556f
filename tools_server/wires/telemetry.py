"""How the tool server is doing, in a few numbers: for `/health`, and every ten seconds for a client that asks."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification

from tools_server.gate.live_requests import WINDOW_SECONDS, LiveRequests

EVERY_SECONDS = 10.0
METHOD = "telemetry/update"  # of no protocol's own: clients that do not know it drop it (Python's and TypeScript's do)
_STARTED = time.monotonic()


def reading(requests: LiveRequests, spent: Callable[[], Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Return the numbers. They name no tool and no person; `spent` gives what the one who is told has spent itself.

    The percentiles are of the calls that ended in the last minute, waiting included; None when there were none.
    """
    now = anyio.current_time()
    took = sorted(seconds for at, seconds in requests.ended if at > now - WINDOW_SECONDS)
    live = requests.live.values()
    numbers: dict[str, Any] = {
        "up_seconds": round(time.monotonic() - _STARTED, 3),
        "stopping": requests.stopping,
        "running": sum(request.running for request in live),
        "waiting": sum(not request.running for request in live),
        "calls": sum(requests.outcomes.values()),
        "outcomes": dict(sorted(requests.outcomes.items())),
        "window_calls": len(took),
        "p50_ms": _percentile(took, 50),
        "p99_ms": _percentile(took, 99),
        "held_ms": round(requests.held_seconds * 1000),
        # The most it ever was: behind the walls there is no /proc to ask what it is now.
        "memory_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    if spent is not None:
        numbers["spent"] = dict(spent())
    return numbers


def _percentile(ordered: list[float], percent: int) -> float | None:
    """Return the nearest-rank percentile of some seconds, in milliseconds."""
    return round(ordered[max(0, -(-len(ordered) * percent // 100) - 1)] * 1000, 3) if ordered else None


async def tell(read: Callable[[], Mapping[str, Any]], client: MemoryObjectSendStream[SessionMessage]) -> None:
    """Send the numbers every ten seconds, until cancelled. A client that is slow to read misses some."""
    async with client:
        while True:
            await anyio.sleep(EVERY_SECONDS)
            message = JSONRPCNotification(jsonrpc="2.0", method=METHOD, params=dict(read()))
            try:
                client.send_nowait(SessionMessage(message))  # taken only by a writer with nothing else to do
            except anyio.WouldBlock:
                continue
            except anyio.BrokenResourceError:
                return
