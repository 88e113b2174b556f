"""Heavy work takes turns, and nobody's abandoned work holds up the next."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import pytest

from atlas.speech.worker import Worker


async def test_it_returns_what_the_work_returns_and_raises_what_it_raises():
    worker = Worker()
    assert await worker.run(lambda: 6 * 7) == 42
    with pytest.raises(ZeroDivisionError):
        await worker.run(lambda: 1 // 0)
    assert await worker.run(lambda: "still here") == "still here"


async def test_two_pieces_of_work_never_run_at_a_time():
    worker, running, most = Worker(), 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(worker.run, work)
    assert most == 1


async def test_cancelling_ends_the_wait_at_once_and_the_next_waits_for_what_had_begun():
    worker, begun, go_on, order = Worker(), threading.Event(), threading.Event(), []

    def slow() -> None:
        begun.set()
        go_on.wait(10)
        order.append("slow")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.run, slow)
        await anyio.to_thread.run_sync(begun.wait, 10)
        tasks.cancel_scope.cancel()
    assert order == []  # nobody waits for it any more, though it goes on

    with anyio.move_on_after(0.05):
        await worker.run(lambda: order.append("abandoned before it began"))
    go_on.set()
    await worker.run(lambda: order.append("next"))
    assert order == ["slow", "next"]


async def test_work_aside_makes_way_as_soon_as_another_call_waits_and_begins_only_where_none_does():
    worker, begun, order = Worker(), threading.Event(), []

    def aside(may_go_on: Callable[[], bool]) -> str:
        begun.set()
        while may_go_on():
            pass
        order.append("aside")
        return "as far as it came"

    async with anyio.create_task_group() as tasks:

        async def glance() -> None:
            assert await worker.run_aside(aside) == "as far as it came"

        tasks.start_soon(glance)
        await anyio.to_thread.run_sync(begun.wait, 10)
        assert await worker.run_aside(lambda may_go_on: order.append("a second one")) is None
        await worker.run(lambda: order.append("what somebody waits for"))
    assert order == ["aside", "what somebody waits for"]


async def test_work_aside_that_was_cancelled_ends_by_itself_and_the_next_waits_no_longer_than_that():
    worker, begun, ended = Worker(), threading.Event(), threading.Event()

    def aside(may_go_on: Callable[[], bool]) -> None:
        begun.set()
        while may_go_on():
            pass
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.run_aside, aside)
        await anyio.to_thread.run_sync(begun.wait, 10)
        tasks.cancel_scope.cancel()
    with anyio.fail_after(10):
        assert await worker.run(ended.is_set)
