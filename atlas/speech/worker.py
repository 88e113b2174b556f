"""One piece of heavy work at a time, off the event loop; what nobody waits for any more is not begun."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

T = TypeVar("T")


class Worker:
    """Runs the calls of one engine, in order, in a thread.

    Cancelling ends the wait at once, so that a reply can be interrupted; a call that had begun is finished unseen,
    and the next one waits for it: two models at a time would only slow each other on the same cores.
    """

    def __init__(self) -> None:
        self._line = CapacityLimiter(1)
        self._busy = threading.Lock()
        self._calls = 0  # that run or wait

    @property
    def idle(self) -> bool:
        """Whether no call runs or waits."""
        return not (self._calls or self._busy.locked())

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises. Cancelling is safe."""
        wanted = True

        def in_turn() -> T | None:
            with self._busy:
                return work() if wanted else None

        self._calls += 1
        try:
            result = await to_thread.run_sync(in_turn, abandon_on_cancel=True, limiter=self._line)
        finally:
            wanted = False
            self._calls -= 1
        return result  # type: ignore[return-value]  # None only when the wait was cancelled, and then nobody is here

    async def run_aside(self, work: Callable[[Callable[[], bool]], T]) -> T | None:
        """Return what `work` returns, or `None` at once where any other call runs or waits. Cancelling is safe.

        `work` is given what says whether it may go on: no longer when it was cancelled, or when another call waits.
        """
        if not self.idle:
            return None
        wanted = True
        try:
            return await self.run(lambda: work(lambda: wanted and self._calls == 1))
        finally:
            wanted = False
