"""Upstream: other tool servers, which of their tools are pinned by a person's yes, and which wait for it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from pydantic import Field

from atlas.gateway.api.caller import OwnerCaller, agents_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, ToolReply

router = resource("upstream", asks=False)


class UpstreamState(ApiReply):
    """How a server is just now."""

    connected: bool
    tools: list[str] = Field(description="Its tools whose definitions are as they were when a person approved them")
    waiting: dict[str, str] = Field(description="Its other tools, which nobody can call, each with why")


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
