"""History: what was changed lately, and taking it back."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body, Name, ToolReply

router = resource("history")


class ChangeItem(ApiReply):
    """One change."""

    receipt: str
    at: float = Field(description="Seconds since 1970")
    tool: str
    changed: str
    actor: dict[str, Any]
    undo: bool = Field(description="Whether it can be taken back")
    undone: bool


class HistoryReply(ToolReply):
    """The changes, the latest first."""

    changes: list[ChangeItem]


class Undo(Body):
    """Which change is to be taken back."""

    receipt: Name


@router.get("")
async def list_changes(
    caller: ToolCaller, limit: Annotated[int, Query(ge=1, le=20)] = 10, everyone: bool = False
) -> HistoryReply:
    """List what the caller changed lately, or what everybody did."""
    return await caller.use(HistoryReply, "history.last", count=limit, everyone=everyone)


@router.post("/undo")
async def undo_change(caller: ToolCaller, body: Undo) -> ToolReply:
    """Take a change back."""
    return await caller.use(ToolReply, "history.undo", receipt=body.receipt)
