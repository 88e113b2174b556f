"""Log: the latest lines that the house has written of itself, for an owner who looks what is going on."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply

router = resource("log", asks=False)


class LogLineItem(ApiReply):
    """One line, in English whatever the house speaks."""

    number: int = Field(description="What `after` is for those that follow")
    at: float = Field(description="Seconds since 1970")
    part: str = Field(description="Which process wrote it: house, tools, egress, satellite, llm-NAME")
    level: Literal["info", "warning", "error"]
    text: str = Field(description="More than one line where a failure is told with its place")


class LogReply(ApiReply):
    """The latest lines, the newest last: of this start of the house, and of those before."""

    began: float = Field(description="When the house began to write; another one, and numbers began anew")
    lines: list[LogLineItem]


@router.get("")
async def show_log(caller: OwnerCaller, after: Annotated[int, Query(ge=0, le=2**53)] = 0) -> LogReply:
    """Show the lines that came after one, or all that are in memory."""
    recent = caller.house.recent_log
    lines = recent.after(after) if recent else []
    began = recent.began if recent else 0.0
    return LogReply(began=began, lines=[LogLineItem.model_validate(line) for line in lines])
