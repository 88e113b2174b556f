"""What a tool answers has the shape that clients are shown."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from mcp import Client

from tools_server.values.shapes import schema_of
from tools_server.wires.wire import mcp_server


def test_a_shape_says_what_must_be_there_and_what_may() -> None:
    shape = {"timers": [{"name": str, "ends_at": float | None}], "place?": str, "more?": dict}
    schema = schema_of(shape)
    timer = {"type": "object", "required": ["name", "ends_at"]}
    timer |= {"properties": {"name": {"type": "string"}, "ends_at": {"type": ["number", "null"]}}}
    assert schema["properties"]["timers"] == {"type": "array", "items": timer}
    assert schema["required"] == ["timers"]
    check = Draft202012Validator(schema)
    assert check.is_valid({"timers": [{"name": "egg", "ends_at": None, "room": "kitchen"}]}), "more is no mistake"
    assert not check.is_valid({"timers": [{"name": "egg"}]})
    assert not check.is_valid({"timers": [], "place": 1})
    assert schema_of({}) == {"type": "object"}


async def test_a_failure_has_no_data_that_a_client_would_hold_to_the_shape(world: Any) -> None:
    async with Client(mcp_server(world.gate, world.agents["family"])) as client:
        for name in ("egg", "tea"):
            await client.call_tool("timers_start", {"seconds": 600, "name": name})
        which = await client.call_tool("timers_cancel", {})
    assert which.is_error
    assert which.structured_content is None
    assert which.meta["atlas.house/data"]


async def test_every_tool_shows_a_title_a_shape_and_what_it_may_do(world: Any) -> None:
    async with Client(mcp_server(world.gate, world.agents["family"])) as client:
        listed = (await client.list_tools()).tools
    for tool in listed:
        Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema["type"] == "object", tool.name
        assert tool.title
        assert tool.annotations.title == tool.title
        assert tool.annotations.read_only_hint is not None
