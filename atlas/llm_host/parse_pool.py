"""Parses and prepares requests in threads before they wait for the model; a voice never waits behind a chat."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from atlas.errors import RequestError
from atlas.llm_host.line import PRIORITIES, ROOM

SMALL_BYTES = 64 * 1024  # of a body; it is read within milliseconds, the largest in a tenth of a second
SMALL_AT_ONCE = 4
MOST_LARGE = ROOM["chat"]  # large bodies that wait to be read: nobody knows yet how urgent they are
T = TypeVar("T")


class ParsePool:
    """Threads for what takes long and computes nothing. The longest prompt takes fifty megabytes while it is prepared.

    Whoever waits for a thread and is cancelled leaves no work behind; cancelling what is being worked out waits for its
    end. What `work` refuses with a `RequestError` is raised.
    """

    def __init__(self) -> None:
        self._small = anyio.CapacityLimiter(SMALL_AT_ONCE)
        self._large = anyio.CapacityLimiter(1)
        self._by_priority = {priority: anyio.CapacityLimiter(1) for priority in PRIORITIES}

    async def read(self, work: Callable[[bytes], T], body: bytes) -> T:
        """Do `work` on a body; a small one waits for no large one. Raises `RequestError` too when many large wait."""
        limiter = self._small if len(body) <= SMALL_BYTES else self._large
        if limiter is self._large and self.large_waiting >= MOST_LARGE:
            raise RequestError(f"{self.large_waiting} large requests are waiting already", code="too_many_requests")
        return await _aside(partial(work, body), limiter)

    @property
    def large_waiting(self) -> int:
        """How many large bodies wait to be read."""
        return self._large.statistics().tasks_waiting

    async def work_out(self, priority: str, work: Callable[[], T]) -> T:
        """Do `work`, after what came before it of its own priority. Who waits here has a place in line already."""
        return await _aside(work, self._by_priority[priority])


async def _aside(work: Callable[[], T], limiter: anyio.CapacityLimiter) -> T:
    outcome = await anyio.to_thread.run_sync(_refusal_or, work, limiter=limiter)
    if not isinstance(outcome, RequestError):
        return outcome
    try:
        raise outcome
    finally:  # else it holds this frame, and this frame it, and with it every prompt that was too long
        del outcome


def _refusal_or(work: Callable[[], T]) -> T | RequestError:
    """Return what `work` does, or why it is refused: raised, asyncio would keep it until Python looks for circles."""
    try:
        return work()
    except RequestError as refused:
        return refused
