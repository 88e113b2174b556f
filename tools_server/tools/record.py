"""How far the record of every call goes, for the house to sign."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tools_server.language import text as _
from tools_server.toolkit import Call, Result, tool
from wall.chain import row_hash


@tool("record.head", risk="read", agents=("house",), routine=True, limit_seconds=10)
async def head(
    call: Call,
    since: Annotated[int, Field(ge=0, description="Number of the row that the house signed last")] = 0,
) -> Result:
    """Tell the house the number and the hash of the last row that is on the disk, and the hash that row `since` has."""
    record = call.gate.record
    record.flush()
    last = record.head
    data = {"seq": last.seq, "hash": last.hash, "since_hash": row_hash(record.file, since), "problem": record.problem}
    return Result(_("The record has {count} rows.").format(count=last.seq), data)
