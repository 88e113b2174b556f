"""The record of every call: filtered, verified, and exported. No row holds what was said or written."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from pydantic import ConfigDict, Field
from starlette.responses import Response

from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import NAME_CHARACTERS, ApiReply, Since, ToolReply
from atlas.gateway.wire import Stream, Write

EXPORT_ROWS = 500  # that are read at once
router = resource("record", asks=False)
Filter = Annotated[str, Query(max_length=NAME_CHARACTERS)]


class RecordActor(ApiReply):
    """On whose behalf a tool was called; empty where nobody knows."""

    model_config = ConfigDict(extra="allow")

    person: str = ""
    device: str = ""
    room: str = ""


class RecordRow(ApiReply):
    """A call of a tool; also risk, the hash of the arguments, verdict, rule, ms …"""

    model_config = ConfigDict(extra="allow")

    seq: int
    at: float = Field(description="Seconds since 1970")
    agent: str = ""
    actor: RecordActor = RecordActor()
    tool: str = ""
    outcome: str = ""
    reason: str = ""


class RecordReply(ToolReply):
    """Rows of the record, the latest first."""

    rows: list[RecordRow]
    next: int | None = Field(description="What `before` is for the next page; null when there is none")


class VerdictReply(ToolReply):
    """Whether the record is as it was written."""

    rows: int
    problems: list[str] = Field(description="Empty when every row is as it was written")


@router.get("")
async def show_record(
    caller: OwnerCaller,
    tool: Annotated[str, Query(max_length=NAME_CHARACTERS, description="Words of the tool's name")] = "",
    person: Filter = "",
    device: Filter = "",
    outcome: Annotated[str, Query(max_length=40, description="ok, denied, asked, failed …")] = "",
    since: Since = None,
    until: Since = None,
    before: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    looks: Annotated[bool, Query(description="Also what was only looked up, by people and by the house itself")] = True,
) -> RecordReply:
    """Show rows of the record: of a tool, a person, a device, an outcome, a time; deeds and refusals alone, or all."""
    about = {"words": tool, "person": person, "device": device, "outcome": outcome}
    when = {"since": since or 0, "until": until or 0}
    page = {"before": before, "most": limit, "looks": looks}
    return await caller.use_owner_tool(RecordReply, "record.rows", **about, **when, **page)


@router.post("/verify")
async def verify_record(caller: OwnerCaller) -> VerdictReply:
    """Read the whole record, and tell whether every row is as it was written."""
    return await caller.use_owner_tool(VerdictReply, "record.verify")


@router.get("/export", response_class=Response)
async def export_record(request: Request, caller: OwnerCaller) -> Response:
    """Download every row, as JSON lines, the latest first."""

    async def write_all(write: Write) -> None:
        before: int | None = 0
        while before is not None:
            page = await caller.use_owner_tool(RecordReply, "record.rows", before=before, most=EXPORT_ROWS)
            await write("".join(f"{row.model_dump_json()}\n" for row in page.rows).encode())
            before = page.next

    reply = Stream(request, write_all, "application/x-ndjson")
    reply.headers["content-disposition"] = 'attachment; filename="record.jsonl"'
    return reply
