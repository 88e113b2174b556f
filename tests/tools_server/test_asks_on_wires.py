"""A client that says yes to everything, and one that was told nothing, get nothing done without a person."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, ElicitResult, InputRequiredResult

from wall.chain import verify

pytestmark = pytest.mark.real
ERAS = ("legacy", "2026-07-28")
TASK = {"title": "Buy milk"}
SENTENCE = "Remove Buy milk from the task board?"


async def accept(_: Any, __: Any) -> ElicitResult:
    """A client that lets its model answer."""
    return ElicitResult(action="accept", content={"statement": "yes"})


async def accept_empty(_: Any, __: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={})


async def decline(_: Any, __: Any) -> ElicitResult:
    return ElicitResult(action="decline")


def there(data: Path) -> bool:
    return (data / "family-agent-config/tasks/home/buy-milk.md").exists()


def rows(data: Path, tool: str = "tasks.remove") -> list[dict[str, Any]]:
    results = [json.loads(line) for line in (data / "audit.jsonl").read_text().splitlines()]
    return [row for row in results if row["tool"] == tool]


async def asked(client: Client, data: Path) -> dict[str, Any]:
    """Call by hand, without anything that answers by itself; return the question."""
    result = await client.session.call_tool("tasks_remove", TASK, allow_input_required=True)
    assert there(data)
    ask = dict(result.meta["atlas.house/ask"])
    assert (ask["sentence"], ask["level"], ask["tool"]) == (SENTENCE, "confirm", "tasks.remove")
    assert result.meta["atlas.house/error"] == "confirm"
    if isinstance(result, InputRequiredResult):
        assert result.request_state == ask["id"]
        assert result.input_requests["confirm"].params.message == SENTENCE
    else:
        assert result.is_error
        assert result.content[0].text.startswith(f"{SENTENCE} Somebody in the house has to say yes")
    return ask


@pytest.mark.parametrize("era", ERAS)
async def test_over_http_only_a_persons_yes_does_it(data: Path, house: Any, wire: Any, era: str) -> None:
    path = data / "tools.sock"
    async with wire.process(data, "--socket", str(path)):
        for answering in (None, accept, accept_empty, decline):
            async with wire.client(path, mode=era, elicitation_callback=answering) as client:
                await client.call_tool("tasks_add", TASK)
                ask = await asked(client, data)
                assert (era == "2026-07-28" and answering is not None) == isinstance(
                    await client.session.call_tool("tasks_remove", TASK, allow_input_required=True), InputRequiredResult
                )
                alone = await client.call_tool("tasks_remove", TASK)
                assert alone.is_error, "left to itself, the client got nothing done"
                assert there(data)

                async with wire.client(path, "house-token") as details:
                    waiting = (await details.call_tool("asks_waiting", {})).structured_content["asks"]
                    if answering is decline and era == "2026-07-28":
                        assert waiting == []
                        continue
                    assert [one["id"] for one in waiting] == [ask["id"]]
                    noted = await details.call_tool("asks_answer", {"statement": house.says(waiting[0])})
                    assert noted.content[0].text == "Noted: yes."
                done = await client.call_tool("tasks_remove", TASK)
                assert done.content[0].text == "Removed Buy milk from your tasks."
                assert done.meta["atlas.house/receipt"]["undo"] is True
                assert not there(data)
        outcomes = {row["outcome"] for row in rows(data)}
        assert outcomes == ({"asked", "ok"} if era == "legacy" else {"asked", "confirm", "denied", "ok"})


async def test_a_yes_may_come_back_inside_the_call(data: Path, house: Any, wire: Any) -> None:
    path = data / "tools.sock"
    async with (
        wire.process(data, "--socket", str(path)),
        wire.client(path, mode="2026-07-28", elicitation_callback=accept) as client,
    ):
        await client.call_tool("tasks_add", TASK)
        ask = await asked(client, data)
        brought = {"confirm": ElicitResult(action="accept", content={"statement": house.says(ask)})}
        done = await client.call_tool("tasks_remove", TASK, request_state=ask["id"], input_responses=brought)
        assert (done.is_error, there(data)) == (False, False)
        await client.call_tool("tasks_add", TASK)
        again = await client.call_tool("tasks_remove", TASK, request_state=ask["id"], input_responses=brought)
        assert (again.is_error, there(data)) == (True, True)
        assert "closed" in again.content[0].text
    messages = [(row["outcome"], row["reason"], (row["confirmation"] or {}).get("channel")) for row in rows(data)]
    assert messages == [("asked", "", None), ("ok", "", "button"), ("confirm", "closed", None)]


@pytest.mark.parametrize("era", ERAS)
async def test_over_stdio_too(data: Path, house: Any, wire: Any, era: str) -> None:
    arguments = ["-m", "tools_server.server", "--data", str(data), *wire.house_key(data), "--policy"]
    arguments += [str(wire.policy), "--agents", str(wire.write_agents(data)), "--stdio", "--agent", "family"]
    server = StdioServerParameters(command=sys.executable, args=arguments)
    async with Client(server, mode=era, read_timeout_seconds=30, elicitation_callback=accept) as client:
        await client.call_tool("tasks_add", TASK)
        ask = await asked(client, data)
        alone = await client.call_tool("tasks_remove", TASK)
        assert (alone.is_error, there(data)) == (True, True)
        if era == "legacy":
            return  # there the house brings the yes itself, to the server that asked
        brought = {"confirm": ElicitResult(action="accept", content={"statement": house.says(ask)})}
        done = await client.session.call_tool(
            "tasks.remove", TASK, request_state=ask["id"], input_responses=brought, allow_input_required=True
        )
        assert isinstance(done, CallToolResult)
        assert (done.is_error, there(data)) == (False, False)


async def test_the_list_of_an_actor_is_what_it_may_call(data: Path, wire: Any) -> None:
    path = data / "tools.sock"
    async with wire.process(data, "--socket", str(path)), wire.client(path) as client:
        for role, missing in (("guest", {"tasks_add", "tasks_remove"}), ("child", set()), ("owner", set())):
            listed = await client.list_tools(meta={"atlas.house/actor": {"role": role}}, cache_mode="bypass")
            names = {tool.name for tool in listed.tools}
            assert {"clock_time", "timers_start"} <= names
            assert {"tasks_add", "tasks_remove"} - names == missing
        traced = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        await client.call_tool("clock_time", {}, meta=traced)
    assert rows(data, "clock.time")[-1]["trace"] == "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize("era", ERAS)
async def test_what_was_just_done_is_told_and_taken_back_over_the_wire(data: Path, wire: Any, era: str) -> None:
    path, meta = data / "tools.sock", {"atlas.house/actor": {"person": "Anna", "device": "speaker", "role": "adult"}}
    async with wire.process(data, "--socket", str(path)), wire.client(path, mode=era) as client:
        started = await client.call_tool("timers_start", {"seconds": 600}, meta=meta)
        assert started.meta["atlas.house/receipt"]["undo"] is True
        details = await client.call_tool("history_last", {}, meta=meta)
        assert details.content[0].text == "Just now: Timer set for 10 minutes."
        assert details.structured_content["changes"][0]["receipt"] == started.meta["atlas.house/receipt"]["id"]
        undone = await client.call_tool("history_undo", {}, meta=meta)
        assert undone.content[0].text == "10 minute timer cancelled."
        assert undone.meta["atlas.house/receipt"]["undo"] is True
        assert (await client.call_tool("timers_list", {})).content[0].text == "There are no timers."
    assert verify(data / "audit.jsonl").problems == ()
