"""What has been used today: of the asking agent, or, for the owner, of any."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tools_server.toolkit import Call, Result, ToolFailed, tool
from tools_server.wording import capital


@tool("ledger.show", risk="read", limit_seconds=10)
async def show(
    call: Call,
    agent: Annotated[str, Field(max_length=60, description="Whose; empty is the one who asks")] = "",
) -> Result:
    """Tell what an agent has used of its day's budget, and what is left."""
    name = agent or call.agent.name
    if name != call.agent.name and call.agent.acts_as != "owner":
        raise ToolFailed("denied", f"The {call.agent.name} agent may only look at its own usage.")
    usage = dict(call.gate.usage(name))
    if not usage:
        return Result("Nobody counts here what is used.", {"agent": name, "budget": None})
    calls = "one call" if usage["calls"] == 1 else f"{usage['calls']} calls"
    spent = f"{capital(name)} has made {calls} today"
    if usage["budget"] is None:
        return Result(f"{spent} and has no budget to keep to.", usage)
    return Result(f"{spent}, for {usage['spent']} of {usage['budget']} units; {usage['left']} are left.", usage)
