"""Upstream: other tool servers, which of their tools are pinned by a person's yes, and which wait for it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from atlas.gateway.api.caller import OwnerCaller, agents_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, ApiReply, Body, ToolReply
from wall.approval import Wait

router = resource("upstream", asks=False)


class UpstreamState(ApiReply):
    """How a server is just now."""

    connected: bool
    tools: list[str] = Field(description="Its tools whose definitions are as they were when a person approved them")
    waiting: dict[str, Wait] = Field(description="Its other tools, which nobody can call, each with why")
    offered: list[str] = Field(description="Those of them that an owner may approve")


class UpstreamStatus(ToolReply):
    """The servers of one agent."""

    servers: dict[str, UpstreamState] = Field(description="Each by its name")


class UpstreamItem(UpstreamState):
    """Another tool server, as the settings of the tools call it."""

    name: str
    agents: list[str] = Field(description="Who may call its tools")


class UpstreamReply(ApiReply):
    """The other tool servers that are set up, in the order of their names."""

    servers: list[UpstreamItem]


class UpstreamDefinition(ToolReply):
    """What a server says of one of its tools that waits for approval."""

    server: str
    tool: str
    sha256: str = Field(description="Of just this definition")
    changed: bool = Field(description="Whether another one was approved before")
    lines: list[str] = Field(description="That definition; where another one was approved, how it differs")


class UpstreamApproval(Body):
    """Which definition is approved: the one that was shown."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@router.get("")
async def list_upstream(caller: OwnerCaller) -> UpstreamReply:
    """List the other tool servers, with what is pinned of them and what waits."""
    states: dict[str, UpstreamState] = {}
    agents: dict[str, list[str]] = defaultdict(list)
    for agent in agents_of(caller):
        status = await replace(caller, agent=agent).use(UpstreamStatus, "upstream.status")
        for name, state in status.servers.items():
            states[name] = state
            agents[name].append(agent)
    servers = [UpstreamItem(name=name, agents=agents[name], **states[name].model_dump()) for name in sorted(states)]
    return UpstreamReply(servers=servers)


@router.get("/{server}/{tool}")
async def show_definition(caller: OwnerCaller, server: ID, tool: ID) -> UpstreamDefinition:
    """Show what a server says of a tool that waits for approval."""
    return await caller.use_owner_tool(UpstreamDefinition, "upstream.offered", server=server, name=tool)


@router.put("/{server}/{tool}")
async def approve_definition(caller: OwnerCaller, server: ID, tool: ID, body: UpstreamApproval) -> ToolReply:
    """Approve just this definition. Refused where the server says another one by now."""
    return await caller.use_owner_tool(ToolReply, "upstream.approve", server=server, name=tool, sha256=body.sha256)


@router.delete("/{server}/{tool}")
async def withdraw_approval(caller: OwnerCaller, server: ID, tool: ID) -> ToolReply:
    """Take an approval back: from then on nobody can call the tool, until it is approved anew."""
    return await caller.use_owner_tool(ToolReply, "upstream.withdraw", server=server, name=tool)
