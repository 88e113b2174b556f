"""What has been used today: of the asking agent, or, for the owner, of any."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, tool
from tools_server.sdk.wording import capital
from tools_server.values.language import text as _
from wall.roles import may

USAGE = {"agent": str, "budget": int | None, "since?": float, "spent?": int, "left?": int | None, "calls?": int}


@tool("ledger.show", data={**USAGE, "by_tool?": dict}, risk="read", limit_seconds=10)
async def show(
    call: Call,
    agent: Annotated[str, Field(max_length=60, description="Whose; empty is the one who asks")] = "",
) -> Result:
    """Tell what an agent has used of its day's budget, and what is left."""
    name = agent or call.agent.name
    if name != call.agent.name and not may(call.agent.acts_as, "manage"):
        raise ToolFailed("denied", _("The {name} agent may only look at its own usage.").format(name=call.agent.name))
    usage = dict(call.gate.usage(name))
    if not usage:
        return Result(_("Nobody counts here what is used."), {"agent": name, "budget": None})
    words = (
        _("{name} has used tools once today") if usage["calls"] == 1 else _("{name} has used tools {count} times today")
    )
    spent = words.format(name=capital(name), count=usage["calls"])
    if usage["budget"] is None:
        return Result(_("{spent}. Nothing limits that.").format(spent=spent), usage)
    percent = math.ceil(100 * usage["spent"] / max(1, usage["budget"]))
    return Result(_("{spent}: {percent} percent of what a day allows.").format(spent=spent, percent=percent), usage)
