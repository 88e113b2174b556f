"""A tool server with nothing in it but the official SDK: what a call costs before anything is guarded."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

SCHEMA = {"type": "object", "properties": {"place": {"type": "string", "default": ""}}, "additionalProperties": False}


async def _list(_: ServerRequestContext[Any, Any], __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="clock_time", description="The time.", input_schema=SCHEMA)])


async def _call(_: ServerRequestContext[Any, Any], __: types.CallToolRequestParams) -> types.CallToolResult:
    now = datetime.now().astimezone()
    text = f"It's {now:%I:%M %p}."
    data = {"iso": now.isoformat(timespec="seconds"), "time": f"{now:%H:%M}", "weekday": f"{now:%A}"}
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=data)


async def serve(socket: Path) -> None:
    """Serve on a unix socket until killed."""
    server: Server[Any] = Server(
        "bare", on_list_tools=_list, on_call_tool=_call, get_tool_input_schema={"clock_time": SCHEMA}.get
    )
    server.middleware.clear()
    app = server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(allowed_hosts=["tools"], allowed_origins=[]),
    )
    await uvicorn.Server(uvicorn.Config(app, uds=str(socket), log_level="error", lifespan="on")).serve()


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]))
