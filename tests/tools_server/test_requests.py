"""Live requests are few, short, cancelled by whoever asked, and all accounted for at the end. Time jumps."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.conftest import for_every
from tools_server.gate.live_requests import BUSY, CUT_OFF, EXPIRED, STOPPING, GivenUp, LiveRequests


@pytest.fixture
def anyio_backend() -> Any:
    from trio.testing import MockClock

    return "trio", {"clock": MockClock(autojump_threshold=0)}


class Calls:
    """Calls that take as long as they are told, and say how they ended."""

    def __init__(self, requests: LiveRequests) -> None:
        self.requests = requests
        self.ended: list[str] = []

    async def call(self, seconds: float, agent: str = "family", deaf: bool = False) -> None:
        try:
            async with self.requests.admitted(agent, "clock.time") as request:
                with anyio.CancelScope(shield=deaf):
                    await anyio.sleep(seconds)
                request.outcome = "ok"
            self.ended.append("ok")
        except GivenUp as given_up:
            self.ended.append(str(given_up))


async def test_a_call_a_minute_old_is_given_up() -> None:
    calls, began = Calls(LiveRequests()), anyio.current_time()
    await calls.call(3600)
    assert calls.ended == [EXPIRED]
    assert anyio.current_time() - began == pytest.approx(60)
    assert not calls.requests.live


async def test_waiting_counts_as_much_as_running() -> None:
    calls = Calls(LiveRequests(running=1))
    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(calls.call, 50)
    assert sorted(calls.ended) == sorted(["ok", EXPIRED, EXPIRED])
    assert anyio.current_time() - began == pytest.approx(60)


async def test_an_agent_has_so_many_running_so_many_waiting_and_then_hears_that_it_is_busy() -> None:
    calls = Calls(LiveRequests(running=2, waiting=3))
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(calls.call, 1)
        await anyio.wait_all_tasks_blocked()
        assert calls.ended == [BUSY] * 3
        assert sum(request.running for request in calls.requests.live.values()) == 2
        assert len(calls.requests.live) == 5
    assert calls.ended[3:] == ["ok"] * 5
    assert calls.requests.outcomes == {"ok": 5, "busy": 3}


async def test_one_agents_flood_keeps_no_other_waiting() -> None:
    calls = Calls(LiveRequests(running=1, waiting=1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, 50)
        tasks.start_soon(calls.call, 50)
        await anyio.wait_all_tasks_blocked()
        began = anyio.current_time()
        await calls.call(0, "house")
        assert anyio.current_time() == began
        tasks.cancel_scope.cancel()


async def test_first_come_first_served() -> None:
    requests, order = LiveRequests(running=1), []

    async def call(number: int) -> None:
        async with requests.admitted("family", "clock.time"):
            order.append(number)
            await anyio.sleep(1)

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(call, number)
            await anyio.wait_all_tasks_blocked()
    assert order == [0, 1, 2, 3, 4]


@for_every("which", [0, 1, 2])
async def test_a_cancelled_call_gives_its_place_on_whether_it_ran_or_waited(which: int) -> None:
    calls = Calls(LiveRequests(running=1))
    async with anyio.create_task_group() as tasks:
        scopes = [anyio.CancelScope() for _ in range(3)]

        async def call(scope: anyio.CancelScope) -> None:
            with scope:
                await calls.call(1)

        for scope in scopes:
            tasks.start_soon(call, scope)
            await anyio.wait_all_tasks_blocked()
        scopes[which].cancel()
    assert calls.ended == ["ok", "ok"]
    assert not calls.requests.live
    async with calls.requests.admitted("family", "clock.time"):
        pass


async def test_a_place_handed_to_a_call_that_is_cancelled_at_that_moment_is_handed_on() -> None:
    requests = LiveRequests(running=1, waiting=1)
    scope, go = anyio.CancelScope(), anyio.Event()

    async def first() -> None:
        async with requests.admitted("family", "clock.time"):
            await go.wait()
        scope.cancel()  # its place has just been given to the second, which has not run since

    async def second() -> None:
        with scope:
            async with requests.admitted("family", "clock.time"):
                await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        go.set()
    calls = Calls(requests)
    await calls.call(0)
    assert calls.ended == ["ok"]


async def test_draining_lets_what_is_quick_finish_and_cuts_off_what_is_not() -> None:
    calls = Calls(LiveRequests())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, 2)
        tasks.start_soon(calls.call, 30)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(calls.requests.drain, 3)
        await anyio.wait_all_tasks_blocked()
        await calls.call(0)
    assert calls.ended == [STOPPING, "ok", CUT_OFF]


async def test_draining_does_not_wait_for_ever_for_a_tool_that_will_not_hear_of_it() -> None:
    calls = Calls(LiveRequests())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, 45, "family", True)
        await anyio.wait_all_tasks_blocked()
        began = anyio.current_time()
        await calls.requests.drain(3)
        assert anyio.current_time() - began == pytest.approx(3.5)


async def test_a_tool_that_ignores_its_end_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    calls = Calls(LiveRequests())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.requests.reap)
        await calls.call(100, deaf=True)
        tasks.cancel_scope.cancel()
    texts = [record.getMessage() for record in caplog.records if record.name == "tools_server.gate.live_requests"]
    assert texts == [
        "clock.time of family ignores its end: it is 70 s old",
        "clock.time of family ended after 100 s",
    ]
