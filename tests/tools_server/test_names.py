"""Clients are shown names that all of them take; rules and the record keep the names with dots."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from atlas.mcp import adapter
from tools_server.sdk.toolkit import Result
from tools_server.tools.weather import NOW
from tools_server.values.wire_names import DOCUMENTED, LONGEST, inner_call, inner_name, wire_name
from tools_server.wires.wire import mcp_server

TAKEN_EVERYWHERE = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ERAS = ("legacy", "auto", "2026-07-28")


@asynccontextmanager
async def connected(world: Any, **settings: Any) -> AsyncIterator[Client]:
    async with Client(mcp_server(world.gate, world.agents["family"]), **settings) as client:
        yield client


# ── the mapping ────────────────────────────────────────────────────────────────────────────────────


def test_every_tool_has_a_name_of_its_own_that_every_client_takes(world: Any) -> None:
    names = list(world.gate._tools)
    shown = [wire_name(name) for name in names]
    assert all(TAKEN_EVERYWHERE.fullmatch(name) for name in shown)
    assert len(set(shown)) == len(names)
    assert not any("_" in name.split(".")[0] for name in names), "the first _ stands for the dot"
    assert [inner_name(name, names) for name in shown] == names
    assert not set(DOCUMENTED) & set(shown)
    assert {tool for tool, _ in DOCUMENTED.values()} <= set(names)


def test_a_long_name_of_a_mounted_server_is_cut_and_stays_its_own() -> None:
    long = [f"recipes.{'a' * 70}{end}" for end in ("b", "c")]
    shown = [wire_name(name) for name in long]
    assert len(set(shown)) == 2
    assert {len(name) for name in shown} == {LONGEST}
    assert [inner_name(name, long) for name in shown] == long


def test_what_nobody_is_called_stays_as_it_is() -> None:
    assert inner_name("no_such_tool", ["clock.time"]) == "no_such_tool"
    assert inner_call("weather", {"location": "Rome"}, ["clock.time"]) == ("weather", {"location": "Rome"})
    assert inner_call("echo", None, ["world.echo"]) == ("world.echo", None)
    both = {"location": "Rome", "place": "Paris"}
    assert inner_call("weather", both, ["weather.now"]) == ("weather.now", both), "which is meant, nobody can know"


# ── over MCP ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_sees_underscores_and_the_record_keeps_dots(world: Any, era: str) -> None:
    async with connected(world, mode=era) as client:
        listed = (await client.list_tools()).tools
        assert all(TAKEN_EVERYWHERE.fullmatch(tool.name) for tool in listed)
        assert all(tool.title and tool.annotations for tool in listed)
        started = await client.call_tool("timers_start", {"seconds": 600})
        assert started.content[0].text == "Timer set for 10 minutes."
    assert world.record[-1]["tool"] == "timers.start"


async def test_a_name_with_a_dot_is_accepted_as_it_always_was(world: Any) -> None:
    async with connected(world) as client:
        assert "timers.start" not in {tool.name for tool in (await client.list_tools()).tools}
        started = await client.call_tool("timers.start", {"seconds": 600})
    assert started.content[0].text == "Timer set for 10 minutes."


@pytest.mark.parametrize(("wrong", "right"), [("timers_strat", "timers_start"), ("timers.strat", "timers.start")])
async def test_a_wrong_name_is_answered_with_the_nearest_as_the_caller_would_write_it(
    world: Any, wrong: str, right: str
) -> None:
    async with connected(world) as client:
        answer = await client.call_tool(wrong, {})
    assert answer.content[0].text == f"There is no tool called {wrong}. The nearest is {right}."


async def test_the_rules_hold_by_whatever_name_a_tool_is_called(world: Any) -> None:
    for name in ("timers.due", "timers_due"):
        assert (await world.refused(name)).text == "Only house may use timers.due."
    assert (await world.refused("tasks_add", agent="guest", title="Buy milk")).error == "denied"
    assert (await world.refused("add_task", agent="guest", title="Buy milk")).error == "denied"
    assert {row["tool"] for row in world.record} == {"timers.due", "tasks.add"}


async def test_the_house_knows_tools_by_their_inner_names(world: Any) -> None:
    async with connected(world) as client:
        listed = (await client.list_tools()).tools
    names = [tool.name for tool in adapter.tools(listed)]
    assert names == [spec.name for spec in world.gate.visible(world.agents["family"])], "each once, by its own name"


async def test_what_is_to_be_done_later_may_be_named_as_it_is_listed(world: Any) -> None:
    set_down = await world.ok("later.do", tool="timers_cancel_all", seconds=600, text="cancel the timers")
    assert set_down.data["deed"]["tool"] == "timers.cancel_all"


# ── as the source documents call them ──────────────────────────────────────────────────────────────


async def test_the_examples_of_the_documents_work_as_they_are_written(world: Any) -> None:
    async def run(call: Any, place: str) -> Result:
        figures = dict.fromkeys(NOW, 72) | {"place": place, "units": "imperial", "current": True}
        return Result(f"The weather in {place} is 72°F and sunny.", figures)

    spec = replace(world.gate._tools["weather.now"], run=run)
    world.gate._tools = {**world.gate._tools, "weather.now": spec}
    task = {"title": "Buy milk", "description": "Two litres.", "priority": "high"}
    async with connected(world) as client:
        listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert set(listed["weather"]["properties"]) == {"location"}
        assert set(listed["add_task"]["properties"]) == set(task)
        assert listed["add_task"]["required"] == ["title"]
        assert listed["add_task"]["properties"]["priority"]["enum"] == ["high", "medium", "low"]
        weather = await client.call_tool("weather", {"location": "San Francisco, CA"})
        assert weather.content[0].text == "The weather in San Francisco, CA is 72°F and sunny."
        added = await client.call_tool("add_task", task)
        assert added.content[0].text == "Added Buy milk to your tasks."
        assert (await client.call_tool("add_task", {"title": "Sweep"})).structured_content["task"][
            "priority"
        ] == "medium"
        assert (await client.call_tool("echo", {"message": "Hello"})).content[0].text == "Hello"
        refused = await client.call_tool("add_task", {"title": "x", "priority": "urgent"})
        assert refused.is_error
        [milk, _] = (await client.call_tool("tasks_list", {})).structured_content["tasks"]
    assert {key: milk[key] for key in task} == task
    assert "Two litres." in (world.board / "buy-milk.md").read_text()


# ── the real process ───────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def reached(way: str, data: Path, wire: Any, era: str) -> AsyncIterator[Client]:
    if way == "stdio":
        files = ["--data", data, "--policy", wire.policy, "--agents", wire.write_agents(data)]
        arguments = ["-m", "tools_server.server", *map(str, files), "--stdio", "--agent", "family"]
        async with Client(StdioServerParameters(command=sys.executable, args=arguments), mode=era) as client:
            yield client
        return
    path = data / "tools.sock"
    listens = ("--socket", str(path)) if way == "socket" else ("--port", "0")
    async with wire.process(data, *listens) as (_, ready):
        port = re.search(r"port=(\d+)", ready)
        async with wire.client(path if way == "socket" else int(port[1] if port else 0), mode=era) as client:
            yield client


@pytest.mark.real
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["stdio", "socket", "port"])
async def test_the_official_client_uses_what_it_is_shown(data: Path, wire: Any, way: str, era: str) -> None:
    async with reached(way, data, wire, era) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == sorted(names)
        assert all(TAKEN_EVERYWHERE.fullmatch(name) for name in names)
        for name in ("timers_start", "timers.start"):
            assert not (await client.call_tool(name, {"seconds": 600})).is_error
        assert (await client.call_tool("echo", {"message": "Hello"})).content[0].text == "Hello"
        added = await client.call_tool("add_task", {"title": "Buy milk", "description": "Two.", "priority": "low"})
        assert not added.is_error
