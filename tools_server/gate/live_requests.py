"""Registers live requests: how many at a time, for how long, and what becomes of them at the end.

Every call is in it from its arrival to its record. An agent has so many calls running, so many more waiting, and then
is told that it is busy; a call that is a minute old is given up, waiting included. Whoever asked can cancel earlier:
a legacy client by `notifications/cancelled`, a modern one by closing, and both arrive here as a cancelled scope.
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import anyio

from tools_server.values.codes import Code
from tools_server.values.language import noted
from tools_server.values.language import text as _

TTL_SECONDS = 60.0  # the longest that anyone may be kept waiting
REAPER_SECONDS = 5.0
GRACE_SECONDS = 5.0  # a tool that goes on for longer after its end has ignored it
RUNNING_PER_AGENT = 16
WAITING_PER_AGENT = 64
WINDOW_SECONDS = 60.0  # what the latencies of the telemetry are of
WINDOW_CALLS = 10_000
CANCEL_SECONDS = 0.5  # for cancelled calls to write their record
STOPPING = noted("The tool server is stopping. Please ask again in a moment.")
CUT_OFF = noted("The tool server is stopping, so I gave that up.")
EXPIRED = noted("That waited and took longer than 60 seconds, so I gave up.")  # `TTL_SECONDS`
BUSY = noted("Too much is being asked of me at once. Please ask again in a moment.")

logger = logging.getLogger(__name__)


class GivenUp(Exception):
    """A call that was not carried out, or not to its end. `str()` is a sentence fit for speech."""

    def __init__(self, error: Literal["timeout", "failed"], sentence: str, code: Code | None = None) -> None:
        super().__init__(sentence)
        self.error = error
        self.code = code


@dataclass(slots=True, eq=False)
class LiveRequest:
    """One live call."""

    id: str
    agent: str
    tool: str
    since: float  # seconds, of anyio's clock
    scope: anyio.CancelScope
    running: bool = False
    reported: bool = False
    outcome: str = "crashed"  # set by the gate once it is known


class LiveRequests:
    """Every call that has arrived and is not yet answered."""

    def __init__(self, running: int = RUNNING_PER_AGENT, waiting: int = WAITING_PER_AGENT) -> None:
        self._running = running
        self._waiting = waiting
        self._live: dict[str, LiveRequest] = {}
        self._places: dict[str, anyio.Semaphore] = {}  # by agent
        self._quiet = anyio.Event()
        self._cutting = False
        self.stopping = False
        self.outcomes: Counter[str] = Counter()  # of every call since the start
        self.ended: deque[tuple[float, float]] = deque(maxlen=WINDOW_CALLS)  # (when, how many seconds it took)
        self.held_seconds = 0.0  # the longest that something kept the whole server from doing anything else

    @property
    def live(self) -> Mapping[str, LiveRequest]:
        """Every call that is not answered, by its id."""
        return self._live

    @asynccontextmanager
    async def admitted(self, agent: str, tool: str) -> AsyncIterator[LiveRequest]:
        """Hold a place inside the block, once there is one; the block is cancelled at the call's end of time.

        Raises `GivenUp` when the server is stopping, when too many wait already, when it took too long and when the
        server would not wait for it. Cancelling is safe, also while waiting.
        """
        if self.stopping:
            raise GivenUp("failed", _(STOPPING))
        places = self._places.setdefault(agent, anyio.Semaphore(self._running, fast_acquire=True))
        if not places.value and places.statistics().tasks_waiting >= self._waiting:
            self.outcomes["busy"] += 1
            raise GivenUp("failed", _(BUSY), Code.BUSY)
        began = anyio.current_time()
        with anyio.CancelScope(deadline=began + TTL_SECONDS) as scope:
            request = LiveRequest(secrets.token_hex(8), agent, tool, began, scope)
            self._live[request.id] = request
            try:
                async with places:  # first come, first served
                    request.running = True
                    yield request
            finally:
                self._end(request)
        if scope.cancelled_caught:
            raise GivenUp("failed", _(CUT_OFF)) if self._cutting else GivenUp("timeout", _(EXPIRED))

    def _end(self, request: LiveRequest) -> None:
        now = anyio.current_time()
        del self._live[request.id]
        if request.running:
            self.outcomes[request.outcome] += 1
            self.ended.append((now, now - request.since))
        else:
            self.outcomes["waited"] += 1
        if request.reported:
            logger.error("%s of %s ended after %.0f s", request.tool, request.agent, now - request.since)
        if not self._live:
            self._quiet.set()

    async def reap(self) -> None:
        """Report, until cancelled, what does not end when it is told to, and what lets nothing else run.

        Deadlines need no reaper: every call's scope has its own. What remains is a tool that will not hear of it.
        """
        while True:
            due = anyio.current_time() + REAPER_SECONDS
            await anyio.sleep(REAPER_SECONDS)
            now = anyio.current_time()
            if (late := now - due) > 1:
                self.held_seconds = max(self.held_seconds, late)
                logger.error("something held the whole server for %.1f s", late)
            for request in self._live.values():
                age = now - request.since
                if age > TTL_SECONDS + GRACE_SECONDS and not request.reported:
                    request.reported = True
                    logger.error("%s of %s ignores its end: it is %.0f s old", request.tool, request.agent, age)

    async def drain(self, seconds: float) -> None:
        """Admit nothing more, let live calls finish for `seconds`, then cancel what is left and see it recorded."""
        self.stopping = True
        await self._quieten(seconds)
        self._cutting = True
        for request in self._live.values():
            request.scope.cancel()
        await self._quieten(CANCEL_SECONDS)

    async def _quieten(self, seconds: float) -> None:
        if self._live:
            self._quiet = anyio.Event()
            with anyio.move_on_after(seconds):
                await self._quiet.wait()
