"""Log: the latest lines that the house has written of itself, for an owner who looks what is going on.

Pages of the app write into it too, where they failed: of which kind and where, in no words, which may be a person's.
"""

from __future__ import annotations

import logging
from typing import Annotated, Literal

from fastapi import Query, Request
from pydantic import Field

from atlas.gateway.api.caller import AnyCaller, OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body
from atlas.gateway.device_pace import COSTS

router = resource("log", asks=False)
log = logging.getLogger("atlas")
APP = "app"  # the part of lines that are about a page


class LogLineItem(ApiReply):
    """One line, in English whatever the house speaks."""

    number: int = Field(description="What `after` is for those that follow")
    at: float = Field(description="Seconds since 1970")
    part: str = Field(description="Which process wrote it: house, tools, egress, satellite, llm-NAME; app is a page")
    level: Literal["info", "warning", "error"]
    text: str = Field(description="More than one line where a failure is told with its place")


class LogReply(ApiReply):
    """The latest lines, the newest last: of this start of the house, and of those before."""

    began: float = Field(description="When the house began to write; another one, and numbers began anew")
    lines: list[LogLineItem]


class PageFailure(Body):
    """What failed in a page of the app, and where in the app's own files."""

    kind: Annotated[str, Field(pattern="^[A-Za-z]{1,40}$", description="Such as TypeError")]
    page: Annotated[str, Field(pattern="^[a-z]{0,20}$", description="Which was shown, such as lists")] = ""
    at: Annotated[
        list[Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,60}[.]js:[0-9]{1,7}:[0-9]{1,7}$")]],
        Field(max_length=12, description="File, line and column, the innermost first"),
    ] = Field(default=[])


@router.get("")
async def show_log(caller: OwnerCaller, after: Annotated[int, Query(ge=0, le=2**53)] = 0) -> LogReply:
    """Show the lines that came after one, or all that are in memory."""
    recent = caller.house.recent_log
    lines = recent.after(after) if recent else []
    began = recent.began if recent else 0.0
    return LogReply(began=began, lines=[LogLineItem.model_validate(line) for line in lines])


@router.post("/page-failures", status_code=204)
async def note_page_failure(caller: AnyCaller, request: Request, failure: PageFailure) -> None:
    """Note in the house's log that a page of the app has failed."""
    request.app.state.page_pace.take(caller.actor.device, COSTS["page failure"])
    places = " < ".join(failure.at)
    text = f"page failed device={caller.actor.device!r} page={failure.page} kind={failure.kind} at={places}"
    log.error("%s | %s", APP, text, extra={"part": APP})
