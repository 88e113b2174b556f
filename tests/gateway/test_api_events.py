"""Events of the API: a change is told at once and without contents, and who comes back has missed nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest

from atlas.config import GatewayConfig
from atlas.gateway import app, live
from tests.gateway.api_house import ApiHouse, api_house


@asynccontextmanager
async def served(config, data) -> AsyncIterator[tuple[ApiHouse, str]]:
    """Serve the house on a port: events want a real connection."""
    with app.listen(GatewayConfig(port=0)) as listener:
        port = listener.getsockname()[1]
        config = replace(config, gateway=GatewayConfig(https_host="", port=port))
        async with api_house(config, data) as world, anyio.create_task_group() as tasks:
            ready = anyio.Event()
            tasks.start_soon(app.serve, world.house, ready.set, listener)
            await ready.wait()
            yield world, f"http://127.0.0.1:{port}"
            tasks.cancel_scope.cancel()


class Page:
    """What a page has of its stream of events."""

    def __init__(self, reply: httpx2.Response) -> None:
        self._lines = reply.aiter_lines()
        self.last = ""

    async def event(self) -> tuple[str, Any]:
        """Return the next event; "" and nothing when the stream ends."""
        name, data = "", None
        with anyio.fail_after(10):
            async for line in self._lines:
                field, _, value = line.partition(": ")
                match field:
                    case "event":
                        name = value
                    case "data":
                        data = json.loads(value)
                    case "id":
                        self.last = value
                    case "" if not line and name:
                        return name, data
        return "", None


@asynccontextmanager
async def page(world: ApiHouse, url: str, role: str = "adult", last: str = "", **query: str) -> AsyncIterator[Page]:
    headers = {"authorization": f"Bearer {world.tokens[role]}"} | ({"last-event-id": last} if last else {})
    async with (
        httpx2.AsyncClient(base_url=url, headers=headers, timeout=20) as http,
        http.stream("GET", "/api/events", params=query) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream"), await reply.aread()
        yield Page(reply)


async def test_a_change_by_anybody_is_told_to_every_page_at_once(config, data):
    async with (
        served(config, data) as (world, url),
        world.http("owner") as http,
        page(world, url) as one,
        page(world, url, "child") as other,
    ):
        await http.post("/api/timers", json={"seconds": 60})
        for listener in (one, other):
            assert await listener.event() == ("changed", {"kind": "timers"})
        await http.patch("/api/home/devices/Ceiling", json={"on": True})
        assert (await one.event())[1]["kind"] == "home"
        await http.patch("/api/home/devices/Front Door", json={"locked": False})
        assert await one.event() == ("changed", {"kind": "asks"})


async def test_a_page_that_comes_back_is_told_what_it_missed_each_thing_once(config, data):
    async with served(config, data) as (world, url):
        async with page(world, url) as first, world.http("adult") as http:
            await http.post("/api/timers", json={"seconds": 60})
            await first.event()
        async with world.http("adult") as http:
            for _ in range(3):
                await http.post("/api/timers", json={"seconds": 60})
            await http.post("/api/tasks", json={"title": "sweep"})
        async with page(world, url, last=first.last) as again:
            assert [(await again.event())[1]["kind"] for _ in range(2)] == ["timers", "tasks"]


async def test_a_page_of_before_a_restart_is_told_to_look_at_everything(config, data):
    async with served(config, data) as (world, url):
        for last in ("00000000-5", "nonsense", "-"):
            async with page(world, url, last=last) as returned:
                assert await returned.event() == ("changed", {"kind": "everything"})


async def test_what_rings_for_a_device_rings_on_the_page_that_somebody_looks_at(config, data):
    async with served(config, data) as (world, url), page(world, url, rings="true") as looked_at:
        with anyio.fail_after(10):
            while not await world.house.announce("the adult", "Dinner is ready."):
                await anyio.lowlevel.checkpoint()
        expected = {"id": "", "kind": "announcement", "text": "Dinner is ready.", "times": 0}
        assert await looked_at.event() == ("ring", expected)
        async with page(world, url, "child"):
            assert not await world.house.announce("the child", "Bedtime.")


@pytest.mark.parametrize(("role", "resides"), [("guest", False), ("child", True), ("satellite", True)])
async def test_a_page_of_a_guest_counts_as_no_speaker_of_the_house(config, data, role, resides):
    async with served(config, data) as (world, url), page(world, url, role, rings="true"):
        with anyio.fail_after(10):
            while not world.house._speakers.on(f"the {role}"):
                await anyio.lowlevel.checkpoint()
        assert [one.device for one in world.house._speakers.of_house()] == [f"the {role}"] * resides


async def test_a_stream_ends_when_its_token_is_taken_back(config, data, monkeypatch):
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.05)
    async with served(config, data) as (world, url), page(world, url) as listener:
        await world.devices.revoke("the adult")
        assert await listener.event() == ("", None)


async def test_a_house_that_stops_sees_off_the_pages_that_are_open_at_once_and_without_a_word_in_its_log(
    config, data, caplog, monkeypatch
):
    monkeypatch.setattr(app, "DRAIN_SECONDS", 10)
    async with AsyncExitStack() as pages:
        async with served(config, data) as (world, url):
            listeners = [await pages.enter_async_context(page(world, url, role)) for role in ("adult", "child")]
            stops_at = anyio.current_time()
        assert anyio.current_time() - stops_at < 5, "it waited for pages that wait for it"
        for listener in listeners:
            assert await listener.event() == ("", None)
    assert not caplog.records
