"""The latest rows of the record: an agent sees its own calls, the owner everybody's. No row holds contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, tool
from tools_server.values.language import text as _
from wall.chain import newest_first, opened
from wall.roles import may

LOOKED_ROWS = 2_000  # of the end of the record, read in milliseconds
MOST_ROWS = 100
ERRORS = ("failed", "timeout", "crashed", "cancelled")
_FIRST = ("seq", "at", "agent", "actor", "turn", "tool", "risk", "arguments", "verdict", "rule", "confirmation")
_LAST = ("outcome", "reason", "receipt", "tainted", "untrusted", "ms", "route", "trace")
SHOWN = (*_FIRST, *_LAST)


@tool("logs.read", data={"level": str, "rows": [dict]}, risk="read", limit_seconds=10)
async def read(
    call: Call,
    level: Annotated[
        Literal["info", "warning", "error"],
        Field(description="info: every call; warning: refused, asked or failed; error: failed"),
    ] = "info",
    most: Annotated[int, Field(ge=1, le=MOST_ROWS, description="How many rows")] = 20,
) -> Result:
    """Tell the latest calls from the record, newest first."""
    everybody = may(call.agent.acts_as, "manage")
    rows = []
    for row in latest(call.gate.record.file):
        if (everybody or row.get("agent") == call.agent.name) and level in levels(row):
            rows.append({key: row[key] for key in SHOWN if key in row})
            if len(rows) == most:
                break
    return Result(_told(rows, level), {"level": level, "rows": rows})


def levels(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the levels at which a row is shown."""
    if row.get("outcome") in ERRORS:
        return ("info", "warning", "error")
    return ("info",) if row.get("outcome") == "ok" else ("info", "warning")


def latest(record: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the last rows of a record, newest first."""
    with opened(record) as files:
        yield from islice(newest_first(files), LOOKED_ROWS)


def _told(rows: list[dict[str, Any]], level: str) -> str:
    kind = {
        "info": "call",
        "warning": _("call that was refused, asked about or failed"),
        "error": _("call that failed"),
    }[level]
    if not rows:
        return _("There is no {kind} in the record of late.").format(kind=kind)
    last = _("{tool} by {agent}: {outcome}").format(
        tool=rows[0]["tool"], agent=rows[0]["agent"] or _("a stranger"), outcome=rows[0]["outcome"]
    )
    return (
        _("The last {kind} was {last}.").format(kind=kind, last=last)
        if len(rows) == 1
        else _("These are {count}; the last was {last}.").format(count=len(rows), last=last)
    )
