"""Other MCP servers: which are there, and which of their tools wait for a person to approve them."""

from __future__ import annotations

import pkgutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import anyio
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

import tools_server.tools
from tools_server.mounted.upstream import MIGRATIONS, Upstream
from tools_server.mounted.upstream_wires import UpstreamServer
from tools_server.sdk.toolkit import Call, Live, Result, tool

__all__ = ["MIGRATIONS"]


class Settings(BaseModel):
    """The servers, by the name that their tools get before their own."""

    model_config = ConfigDict(extra="forbid")
    servers: dict[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{1,30}$")], UpstreamServer] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _ours(self) -> Settings:
        ours = {file.name for file in pkgutil.iter_modules(tools_server.tools.__path__)}
        if taken := ours & set(self.servers):
            raise ValueError(f"{min(taken)} is the name of our own tools; give the server another")
        return self


@asynccontextmanager
async def opened(live: Live) -> AsyncIterator[Upstream]:
    """Keep the servers running, in the background: the start waits for none of them."""
    servers = (live.settings or Settings()).servers
    upstream = Upstream(servers, live.state, live.outside, live.mount)
    async with anyio.create_task_group() as tasks:
        for server in upstream.servers.values():
            tasks.start_soon(upstream.run, server)
        yield upstream
        tasks.cancel_scope.cancel()


@tool("upstream.status", data={"servers": dict}, risk="read", limit_seconds=10)
async def status(call: Call) -> Result:
    """Tell which other tool servers are connected, and which of their tools wait for approval."""
    servers = call.engine.servers if isinstance(call.engine, Upstream) else {}
    own_values = {name: server for name, server in servers.items() if call.agent.name in server.settings.agents}
    data = {
        name: {"connected": server.client is not None, "tools": list(server.listed), "waiting": dict(server.waiting)}
        for name, server in own_values.items()
    }
    if not own_values:
        return Result("No other tool servers are set up for you.", {"servers": data})
    parts = []
    for name, server in own_values.items():
        there = "is there" if server.client else "is not there just now"
        parts.append(f"{name} {there}, with {len(server.listed)} tools.")
        if server.waiting:
            parts.append(f"{len(server.waiting)} of its tools wait: look with atlas-tools upstream approve {name}.")
    return Result(" ".join(parts), {"servers": data})
