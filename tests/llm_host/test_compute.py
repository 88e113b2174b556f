"""One thread computes, one thing after another, and the event loop neither waits for it nor loses what it tells."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import anyio
import httpx2
import pytest

from atlas.errors import RequestError
from atlas.llm_host.compute import STUCK_SECONDS, Compute
from atlas.llm_host.http import app


@asynccontextmanager
async def computing(compute: Compute | None = None) -> AsyncIterator[Compute]:
    compute = compute or Compute()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compute.run)
            yield compute
            tasks.cancel_scope.cancel()


async def test_work_is_done_in_order_and_always_by_the_same_thread() -> None:
    done: list[int] = []
    threads: set[int] = set()

    def work(number: int) -> int:
        threads.add(threading.get_ident())
        done.append(number)
        return number

    async with computing() as compute, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(compute.do, partial(work, number))
    assert done == list(range(20))
    assert len(threads) == 1 and threading.get_ident() not in threads


async def test_what_goes_wrong_in_the_thread_is_raised_where_it_was_asked_for_and_harms_nobody_else() -> None:
    async with computing() as compute:
        with pytest.raises(ZeroDivisionError):
            await compute.do(lambda: 1 // 0)
        assert await compute.do(lambda: 1) == 1


async def test_news_arrive_in_order_in_the_event_loop_and_all_before_the_end() -> None:
    heard: list[tuple[int, int]] = []

    async with computing() as compute:

        def work() -> None:
            for number in range(100):
                compute.tell(lambda number=number: heard.append((number, threading.get_ident())))

        await compute.do(work)
        assert heard == [(number, threading.get_ident()) for number in range(100)]


async def test_who_leaves_waits_until_the_thread_has_let_go() -> None:
    begun, left = anyio.Event(), threading.Event()
    ended: list[str] = []

    async with computing() as compute:

        def work() -> None:
            compute.tell(begun.set)
            assert left.wait(5)
            ended.append("work")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compute.do, work, left.set)
            await begun.wait()
            tasks.cancel_scope.cancel()
        assert ended == ["work"]
        assert await compute.do(lambda: "next") == "next"


class Loading:
    """A host without a model: nothing but the thread that computes."""

    def __init__(self, compute: Compute) -> None:
        self.compute = compute

    @property
    def loaded(self) -> Any:
        raise RequestError("the model is still loading", code="model_loading")


async def health(compute: Compute) -> tuple[int, Any]:
    door = httpx2.ASGITransport(app(cast("Any", Loading(compute))))
    async with httpx2.AsyncClient(transport=door, base_url="http://llm") as http:
        reply = await http.get("/health")
        return reply.status_code, reply.json()


async def test_how_long_a_step_takes_is_known_while_it_hangs_and_forgotten_when_it_ends() -> None:
    now = [100.0]
    begun, go_on, second = anyio.Event(), threading.Event(), anyio.Event()
    compute = Compute(clock=lambda: now[0])

    def work() -> None:
        compute.tell(begun.set)
        assert go_on.wait(5)
        compute.step()
        compute.tell(second.set)
        go_on.clear()
        assert go_on.wait(5)

    async with computing(compute), anyio.create_task_group() as tasks:
        assert compute.step_seconds == 0
        tasks.start_soon(compute.do, work)
        await begun.wait()
        now[0] = 100.0 + STUCK_SECONDS
        assert compute.step_seconds == STUCK_SECONDS and not compute.stuck_seconds
        now[0] += 15
        assert compute.stuck_seconds == STUCK_SECONDS + 15
        assert await health(compute) == (503, {"status": "stuck", "seconds": STUCK_SECONDS + 15})
        go_on.set()
        await second.wait()
        now[0] += 5
        assert compute.step_seconds == 5 and not compute.stuck_seconds
        assert (await health(compute))[0] == 503  # this one is still loading
        while go_on.is_set():  # until the thread has taken the first one back
            await anyio.lowlevel.checkpoint()
        go_on.set()
    assert compute.step_seconds == 0
