"""Usage: what each agent has used today of its budget, and on the days before."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query
from pydantic import Field

from atlas.gateway.api.caller import OwnerCaller, agents_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, ToolReply

router = resource("usage", asks=False)


class AgentUsage(ToolReply):
    """What one agent has used since the day began."""

    agent: str
    budget: int | None = Field(description="Units a day; null when there is no budget")
    since: float | None = None
    spent: int | None = None
    left: int | None = None
    calls: int | None = None
    by_tool: dict[str, int] = Field(default={}, description="Calls of each tool")


class UsageReply(ApiReply):
    """What the agents have used today."""

    agents: list[AgentUsage]


@router.get("")
async def show_usage(caller: OwnerCaller) -> UsageReply:
    """Show what every agent has used today, and what is left."""
    agents = [await replace(caller, agent=name).use(AgentUsage, "ledger.show") for name in agents_of(caller)]
    return UsageReply(agents=agents)


class DaySpent(ApiReply):
    """What one agent spent on one day."""

    agent: str
    day: str = Field(description="YYYY-MM-DD, on the house's clocks")
    units: int


class UsageDaysReply(ToolReply):
    """What the agents spent on the last days, days without anything left out."""

    spent: list[DaySpent]
    whole: bool = Field(description="False when there were more calls than were looked at")


@router.get("/days")
async def show_days(caller: OwnerCaller, days: Annotated[int, Query(ge=1, le=31)] = 7) -> UsageDaysReply:
    """Show what every agent has spent on each of the last days, today among them."""
    return await caller.use_owner_tool(UsageDaysReply, "ledger.days", days=days)
