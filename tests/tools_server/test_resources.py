"""Resources are views of tools: the same walls and the same record, and whoever watches one is told of changes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import ResourceTemplateReference

from tests.conftest import for_every
from tools_server.gate.call_request import CallRequest
from tools_server.values.policy import Budget, Policy
from tools_server.wires.prompt_files import SOURCES
from tools_server.wires.resources import VIEWS, BadAddress, Resources, View, decoded
from tools_server.wires.wire import mcp_server

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")  # the older era, on purpose
ERAS = ("2026-07-28", "legacy")


@asynccontextmanager
async def talking(world: Any, agent: str = "family", mode: str = "2026-07-28", **more: Any) -> AsyncIterator[Client]:
    server = mcp_server(world.gate, world.agents[agent])
    async with Client(server, mode=mode, read_timeout_seconds=10, **more) as client:
        yield client


async def reading(world: Any, uri: str, agent: str = "family", actor: Any = None) -> Any:
    wish = CallRequest(world.agents[agent], "", None, actor, route="test")
    return (await Resources(world.gate).read(wish, uri)).contents


async def refused(world: Any, uri: str, agent: str = "family", actor: Any = None) -> MCPError:
    with pytest.raises(MCPError) as failed:
        await reading(world, uri, agent, actor)
    assert failed.value.error.data["uri"] == uri
    return failed.value


# ── reading ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("era", ERAS)
async def test_a_resource_holds_what_its_tool_says(world: Any, era: str) -> None:
    await world.ok("timers.start", seconds=600, name="pizza")
    async with talking(world, mode=era) as client:
        data, text = (await client.read_resource("timers://active")).contents
    assert (data.mime_type, json.loads(data.text)["timers"][0]["name"]) == ("application/json", "pizza")
    assert text.text == await world.said("timers.list")
    assert world.record[-2]["tool"] == "timers.list"


async def test_only_resources_whose_tool_one_may_use_are_shown(world: Any) -> None:
    async with talking(world) as family, talking(world, "guest") as guest:
        theirs = {resource.uri for resource in (await family.list_resources()).resources}
        families = {template.uri_template for template in (await family.list_resource_templates()).resource_templates}
        assert not (await guest.list_resources()).resources
        assert not (await guest.list_resource_templates()).resource_templates
    assert theirs >= {"timers://active", "tasks://board", "system://logs/warning", "payroll://ledger/family"}
    assert families >= {"payroll://ledger/{agent_id}", "memory://vector/{query}", "system://logs/{level}"}


async def test_reading_goes_through_the_gate(world: Any) -> None:
    denied = await refused(world, "timers://active", "guest")
    assert (denied.error.data["error"], world.record[-1]["outcome"]) == ("denied", "denied")
    assert world.record[-1]["agent"] == "guest"


async def test_an_agent_that_has_spent_its_day_is_told_so_by_code(world: Any) -> None:
    world.gate._meter._policy = Policy(budgets=(Budget("a-day", ("family",), 1),))
    await reading(world, "timers://active")
    spent = await refused(world, "timers://active")
    assert (spent.error.code, world.record[-1]["rule"]) == (-32000, "a-day")


def test_behind_every_address_and_every_variable_is_a_tool_that_reads(world: Any) -> None:
    tools = world.gate._tools
    for view in VIEWS:
        assert tools[view.tool].reads
        assert set(view.arguments) <= set(tools[view.tool].schema["properties"])
    for source in SOURCES.values():
        assert tools[source.tool].reads
        tools[source.tool].validator.validate(dict(source.arguments))


async def test_what_is_nowhere_is_an_error_that_names_it_and_is_recorded(world: Any) -> None:
    for uri in ("timers://", "timers://active/", "timers://active?x=1", "TIMERS://active", "nothing://here", "", "\0"):
        missing = await refused(world, uri)
        assert missing.error.code == -32602
        assert world.record[-1]["rule"] == "address"


@for_every("value", ["..", ".", "%2e%2e", "a%2Fb", "%2e%2e%2fetc", "a%5Cb", "x%00", "a%0ab", "%2F"])
async def test_an_address_cannot_be_left(world: Any, value: str) -> None:
    escape = await refused(world, f"memory://vector/{value}")
    assert escape.error.code == -32001
    assert world.record[-1]["outcome"] == "not_found"


@for_every("value", ["%", "%zz", "%ff", "%c0%af", "", "%20", "x" * 501, "%41" * 700])
async def test_what_cannot_be_decoded_is_an_error(world: Any, value: str) -> None:
    assert (await refused(world, f"memory://vector/{value}")).error.code == -32602


def test_a_value_is_decoded_once() -> None:
    assert decoded("a%20b%C3%A9") == "a bé"
    assert decoded("%252e%252e") == "%2e%2e"
    assert decoded("100%25") == "100%"
    with pytest.raises(BadAddress):
        decoded("%E2%80")


def test_expanding_and_reading_an_address_agree() -> None:
    view = View("memory://vector/{query}", "memory.search", "Memory", "What is like it.", {"query": "query"})
    for value in ("a b", "ä/ö", "100%", "?#{x}", "%2e"):
        match = view.pattern.fullmatch(view.expand({"query": value}))
        assert match
        if "/" not in value:
            assert decoded(match["query"]) == value


async def test_a_level_that_is_none_says_which_there_are(world: Any) -> None:
    wrong = await refused(world, "system://logs/debug")
    assert wrong.error.code == -32602
    assert "warning" in wrong.error.message


async def test_values_are_completed(world: Any) -> None:
    async with talking(world) as client:
        levels = ResourceTemplateReference(type="ref/resource", uri="system://logs/{level}")
        assert (await client.complete(levels, {"name": "level", "value": "w"})).completion.values == ["warning"]
        nothing = ResourceTemplateReference(type="ref/resource", uri="nothing://{x}")
        assert (await client.complete(nothing, {"name": "x", "value": ""})).completion.values == []


# ── watching ───────────────────────────────────────────────────────────────────────────────────────


async def test_whoever_listens_is_told_when_another_changes_a_timer(world: Any) -> None:
    async with talking(world) as listener, talking(world, "owner") as other:
        async with listener.listen(resource_subscriptions=["timers://active", "tasks://board"]) as events:
            await other.call_tool("timers_start", {"seconds": 60})
            with anyio.fail_after(5):
                event = await anext(aiter(events))
        assert event.uri == "timers://active"
        assert "60" in (await listener.read_resource(event.uri)).contents[0].text


async def test_whoever_subscribed_in_the_older_era_is_told(world: Any) -> None:
    messages: list[str] = []
    heard = anyio.Event()

    async def hear(message: Any) -> None:
        messages.append(message.params.uri)
        heard.set()

    async with talking(world, mode="legacy", message_handler=hear) as watcher, talking(world) as other:
        await watcher.subscribe_resource("timers://active")
        await watcher.subscribe_resource("tasks://board")
        await watcher.unsubscribe_resource("tasks://board")
        await other.call_tool("tasks_add", {"title": "Buy milk"})
        await other.call_tool("timers_start", {"seconds": 60})
        with anyio.fail_after(5):
            await heard.wait()
    assert messages == ["timers://active"]


async def test_nobody_is_told_of_what_they_may_not_read(world: Any) -> None:
    async with talking(world, "guest") as guest, guest.listen(resource_subscriptions=["timers://active"]) as events:
        assert not events.honored.resource_subscriptions
    async with talking(world, "guest", mode="legacy") as guest:
        with pytest.raises(MCPError):
            await guest.subscribe_resource("timers://active")


async def test_memory_changes_with_the_board(world: Any) -> None:
    uri = "memory://vector/milk"
    async with talking(world) as client, client.listen(resource_subscriptions=[uri]) as events:
        await world.ok("tasks.add", title="Buy milk")
        with anyio.fail_after(5):
            assert (await anext(aiter(events))).uri == uri
        result = json.loads((await client.read_resource(uri)).contents[0].text)["matches"]
    assert result[0]["document"] == "tasks/home/buy-milk.md"


async def test_whoever_listed_the_tools_is_told_when_there_are_others(world: Any) -> None:
    heard = anyio.Event()

    async def hear(message: Any) -> None:
        if message.method == "notifications/tools/list_changed":
            heard.set()

    async with talking(world, mode="legacy", message_handler=hear) as client:
        await client.list_tools()
        for listener in world.gate.listeners:
            listener("*")
        with anyio.fail_after(5):
            await heard.wait()


async def test_a_connection_that_is_gone_is_forgotten(world: Any) -> None:
    async with talking(world, mode="legacy") as client:
        await client.subscribe_resource("timers://active")
        posts = world.gate.listeners[-1].__self__._posts
        assert len(posts) == 1
    assert not posts


# ── over a real socket ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.real
@pytest.mark.parametrize("era", ERAS)
async def test_two_clients_of_a_real_server_one_changes_one_is_told(data: Any, wire: Any, era: str) -> None:
    messages: list[str] = []
    heard = anyio.Event()

    async def hear(message: Any) -> None:
        messages.append(message.params.uri)
        heard.set()

    # A port and no unix socket: anyio's unix streams may report a read that was cancelled as it became ready.
    async with wire.process(data, "--port", "0") as (_, ready), AsyncExitStack() as stack:
        port = int(ready.partition("port=")[2].split()[0])
        other = await stack.enter_async_context(wire.client(port, "owner-token"))
        if era == "legacy":
            watcher = await stack.enter_async_context(wire.client(port, mode=era, message_handler=hear))
            await watcher.subscribe_resource("timers://active")
            await other.call_tool("timers_start", {"seconds": 60})
            with anyio.fail_after(10):
                await heard.wait()
        else:
            watcher = await stack.enter_async_context(wire.client(port))
            events = await stack.enter_async_context(watcher.listen(resource_subscriptions=["timers://active"]))
            await other.call_tool("timers_start", {"seconds": 60})
            with anyio.fail_after(10):
                messages.append((await anext(aiter(events))).uri)
    assert messages == ["timers://active"]


@pytest.mark.real
async def test_streams_that_are_open_do_not_hold_up_the_end(data: Any, wire: Any) -> None:
    ended, text = None, b""
    async with wire.process(data, "--port", "0") as (process, ready):
        port = int(ready.partition("port=")[2].split()[0])
        # What the clients make of it is theirs.
        with suppress(BaseExceptionGroup, SubscriptionLost, MCPError):
            async with wire.client(port) as modern, wire.client(port, mode="legacy") as older:
                await older.subscribe_resource("timers://active")
                async with modern.listen(resource_subscriptions=["timers://active"]):
                    process.terminate()
                    with anyio.move_on_after(6):  # five seconds is the promise
                        ended = await process.wait()
                        text = b"".join([piece async for piece in process.stderr])
    assert (ended, text.decode().splitlines()) == (0, ["stopped"])
