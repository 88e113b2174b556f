"""Other MCP servers: which are there, and which of their tools wait for a person to approve them."""

from __future__ import annotations

import pkgutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

import tools_server.tools
from tools_server.mounted.definitions import difference, visible
from tools_server.mounted.upstream import MIGRATIONS, Upstream, waiting
from tools_server.mounted.upstream_wires import UpstreamServer
from tools_server.sdk.toolkit import Call, Live, Result, ToolFailed, house_look, tool
from tools_server.values.language import text as _

__all__ = ["MIGRATIONS"]
MOST_CHARACTERS = 60_000  # of a definition that is shown: nobody reads more before they approve it
ServerName = Annotated[str, Field(min_length=1, max_length=40, description="As the settings call it")]
ToolName = Annotated[str, Field(min_length=1, max_length=64, description="As that server calls it")]


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
        name: {
            "connected": server.client is not None,
            "tools": list(server.listed),
            "waiting": dict(server.waiting),
            "offered": list(server.offered),
        }
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


@house_look("upstream.offered", data={"server": str, "tool": str, "sha256": str, "changed": bool, "lines": [str]})
async def offered(call: Call, server: ServerName, name: ToolName) -> Result:
    """Show an owner what another server says of a tool that waits; where another was approved, how it differs."""
    call.require_manager()
    row = _waiting(call, server, name)
    lines = difference(row["approved"], row["seen"])[2:] if row["approved"] else visible(row["seen"])  # no file names
    if sum(map(len, lines)) > MOST_CHARACTERS:
        raise ToolFailed("failed", _("It says too much of itself to be shown here: nobody should approve it."))
    data = {"server": server, "tool": name, "sha256": row["seen_sha256"], "changed": bool(row["approved"])}
    return Result(_("It waits for approval."), {**data, "lines": lines})


@tool("upstream.approve", risk="change", agents=("house",), limit_seconds=10)
async def approve(
    call: Call,
    server: ServerName,
    name: ToolName,
    sha256: Annotated[str, Field(min_length=64, max_length=64, description="Of the definition that was shown")],
) -> Result:
    """Let an owner approve what another server says of a tool, exactly as it was shown."""
    call.require_manager()
    row = _waiting(call, server, name)
    if row["seen_sha256"] != sha256:
        raise ToolFailed("failed", _("It has changed since it was shown. Look at it again."))
    text = _("{tool} of {server} is approved.").format(tool=name, server=server)
    with call.state.transaction():
        call.engine.approve(row)
        receipt = call.receipt(text, before=None, after=None)
    return Result(text, {}, receipt)


@tool("upstream.withdraw", risk="change", agents=("house",), limit_seconds=10)
async def withdraw(call: Call, server: ServerName, name: ToolName) -> Result:
    """Let an owner take back the approval of a tool of another server: nobody can call it until it is approved anew."""
    call.require_manager()
    text = _("{tool} of {server} is no longer approved. Nobody can use it.").format(tool=name, server=server)
    servers = call.engine.servers if isinstance(call.engine, Upstream) else {}
    with call.state.transaction():
        if server not in servers or not call.engine.withdraw(servers[server], name):
            raise ToolFailed("not_found", _("No such tool is approved."))
        receipt = call.receipt(text, before=None, after=None)
    return Result(text, {}, receipt)


def _waiting(call: Call, server: str, name: str) -> Mapping[str, Any]:
    """Return the row of a tool that a server offers now and that waits. Raises `ToolFailed`."""
    servers = call.engine.servers if isinstance(call.engine, Upstream) else {}
    rows = waiting(call.state, server, name) if server in servers and name in servers[server].offered else []
    if not rows:
        raise ToolFailed("not_found", _("No such tool waits for approval."))
    return rows[0]
