"""MCP ⇄ the gate: what a client lists and calls, whichever wire it came by."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import mcp.types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from tools_server.gate import Answer, Gate, Wish
from tools_server.policy import Agent
from tools_server.toolkit import ToolSpec

ACTOR_META = "atlas.house/actor"
TURN_META = "atlas.house/turn"
RECEIPT_META = "atlas.house/receipt"
ERROR_META = "atlas.house/error"
AGENT_SCOPE = "atlas.agent"  # where the ASGI scope carries who came


def mcp_server(gate: Gate, alone: Agent | None = None) -> Server[Any]:
    """Return the protocol's side of a gate. `alone` is the one agent of a stdio process."""

    def agent(context: ServerRequestContext[Any, Any]) -> Agent:
        if alone is not None:
            return alone
        assert context.request is not None, "HTTP requests come as requests"
        found = context.request.scope[AGENT_SCOPE]
        assert isinstance(found, Agent), "no request comes this far without a token"
        return found

    async def list_tools(
        context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(spec) for spec in gate.visible(agent(context))])

    async def call_tool(
        context: ServerRequestContext[Any, Any], parameters: types.CallToolRequestParams
    ) -> types.CallToolResult:
        meta: Mapping[str, Any] = context.meta or {}
        wish = Wish(
            agent=agent(context),
            tool=parameters.name,
            arguments=parameters.arguments,
            actor=meta.get(ACTOR_META),
            turn=meta.get(TURN_META),
            route=f"{context.protocol_version} {'stdio' if alone else 'http'}",
        )
        return _result(await gate.call(wish))

    server: Server[Any] = Server(
        "atlas-tools",
        version=own_version(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=gate.schema,  # without it, every call lists all tools first
    )
    server.middleware.clear()  # only OpenTelemetry's, and nothing in the house collects spans
    return server


def _described(spec: ToolSpec) -> types.Tool:
    return types.Tool(
        name=spec.name,
        description=spec.description,
        input_schema=dict(spec.schema),
        annotations=types.ToolAnnotations(
            read_only_hint=spec.reads,
            destructive_hint=spec.action.risk == "destructive",
            idempotent_hint=spec.idempotent,
            open_world_hint=spec.open_world,
        ),
    )


def _result(answer: Answer) -> types.CallToolResult:
    meta: dict[str, Any] = {}
    if answer.receipt:
        meta[RECEIPT_META] = {"id": answer.receipt.id, "changed": answer.receipt.changed}
    if answer.error:
        meta[ERROR_META] = answer.error
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=dict(answer.data),
        is_error=answer.error is not None,
        _meta=meta or None,
    )


def own_version() -> str:
    """Return the installed version of Atlas."""
    try:
        return version("atlas-house")
    except PackageNotFoundError:  # run from a tree that was never installed
        return "0"
