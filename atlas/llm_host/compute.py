"""Runs the one thread that computes: work goes in, news comes out, and how long a step has taken is known.

The thread never waits for the event loop: while the one computes a token, the other sends the last. It is always the
same thread, because OpenMP keeps a team of helpers for every thread that it is called from.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio
import anyio.to_thread

# The longest step is 128 tokens of a prompt. Two tokens a second is slower than anybody would wait for, so what takes
# longer does not compute, it hangs: a card that has fallen off its bus, a driver that is stuck.
STUCK_SECONDS = 60.0
T = TypeVar("T")


class Compute:
    """Does one piece of work after another, in a thread that lives as long as `run`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._work: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._news: deque[Callable[[], None]] = deque()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)  # rung many times, it is answered once
        self._since: float | None = None  # when the present step began

    async def run(self) -> None:
        """Let the thread live until cancelled, and hear what it tells."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(anyio.to_thread.run_sync, self._live, abandon_on_cancel=True))
            try:
                while True:
                    await anyio.wait_readable(self._bell)
                    os.eventfd_read(self._bell)
                    while self._news:
                        self._news.popleft()()
            finally:
                self._work.put(None)

    async def do(self, work: Callable[[], T], leave: Callable[[], None] = lambda: None) -> T:
        """Do `work` in the thread, and return or raise what it does.

        Cancelling calls `leave`, which may ask the work to end early, and waits for that end: nobody else may touch
        what the work uses before it.
        """
        done, outcome = anyio.Event(), Future[T]()
        outcome.add_done_callback(lambda _outcome: self.tell(done.set))
        self._work.put((work, outcome))
        try:
            await done.wait()
        finally:
            if not done.is_set():
                leave()
                with anyio.CancelScope(shield=True):
                    await done.wait()
        return outcome.result()

    def tell(self, news: Callable[[], None]) -> None:
        """From the thread: have `news` called in the event loop, in order, without waiting for it."""
        self._news.append(news)
        os.eventfd_write(self._bell, 1)

    def step(self) -> None:
        """From the thread: the next step of the present work begins now."""
        self._since = self._clock()

    @property
    def step_seconds(self) -> float:
        """For how long the present step has been computed; 0 when nothing is."""
        since = self._since
        return 0.0 if since is None else self._clock() - since

    @property
    def stuck_seconds(self) -> float:
        """For how long the present step hangs; 0 while all is well."""
        seconds = self.step_seconds
        return seconds if seconds > STUCK_SECONDS else 0.0

    def _live(self) -> None:
        while item := self._work.get():
            work, outcome = item
            self.step()
            try:
                result = work()
            except BaseException as trouble:  # noqa: BLE001 - it is raised where the work was asked for
                self._since = None
                outcome.set_exception(trouble)
            else:
                self._since = None
                outcome.set_result(result)
        os.close(self._bell)
