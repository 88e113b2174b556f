"""What has been used today: of the asking agent, or, for the owner, of any; and on the days before."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio.to_thread
from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, house_look, tool
from tools_server.sdk.wording import capital
from tools_server.values.language import text as _
from wall.chain import newest_first, opened
from wall.roles import may

LOOKED_ROWS = 100_000
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


@house_look("ledger.days", data={"spent": [{"agent": str, "day": str, "units": int}], "whole": bool}, limit_seconds=20)
async def days(call: Call, days: Annotated[int, Field(ge=1, le=31, description="Today is one of them")] = 7) -> Result:
    """Tell the owner what each agent has spent on each of the last days."""
    call.require_manager()
    call.gate.record.flush()
    midnight = call.local().replace(hour=0, minute=0, second=0, microsecond=0)
    since = (midnight - timedelta(days=days - 1)).timestamp()
    look = partial(_spent, call.gate.record.file, since, call.local)
    spent, whole = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    rows = [{"agent": agent, "day": day, "units": units} for (agent, day), units in sorted(spent.items())]
    return Result(_("The days are told one by one."), {"spent": rows, "whole": whole})


def _spent(file: Path, since: float, local: Callable[[float], datetime]) -> tuple[Counter[tuple[str, str]], bool]:
    """Return units by agent and day since a moment, and whether those are all."""
    spent: Counter[tuple[str, str]] = Counter()
    with opened(file) as files:
        for looked, row in enumerate(newest_first(files)):
            if row["at"] < since:
                break
            if looked == LOOKED_ROWS:
                return spent, False
            if isinstance(cost := row.get("cost"), int):  # it ran
                spent[row["agent"], local(row["at"]).date().isoformat()] += cost
    return spent, True
