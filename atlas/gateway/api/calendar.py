"""The calendar: what happens from one day to another; add, change, remove, also what recurs."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import Query
from pydantic import Field

from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, ApiReply, Body, OptionalName, PaperProblem, ToolReply

router = resource("calendar")
When = Annotated[str, Field(max_length=80, description="2026-12-24T18:00, 2026-12-24 for all day, or words")]
Minutes = Annotated[int, Field(ge=0, le=525_600)]
EventPlace = Annotated[str, Field(max_length=200)]
EventDay = Annotated[date | None, Query(description="Which day's, of those with this id; the next when empty")]
WholeSeries = Annotated[bool, Query(description="All of a series, not only this one")]


class EventItem(ApiReply):
    """One event of a calendar."""

    id: str = Field(default="", description="Of the event, or of the whole series; with `day` it is one of them")
    title: str
    start: str = Field(description="A moment of ISO 8601, or a date when it lasts all day")
    end: str
    all_day: bool
    place: str
    series: bool
    calendar: str


class EventsReply(ToolReply):
    """The events, in order."""

    events: list[EventItem]
    problems: list[PaperProblem] = Field(default=[])
    remarks: list[str] = Field(default=[])


class EventReply(ToolReply):
    """The event that changed."""

    event: EventItem


class NewEvent(Body):
    """An event to be added."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    start: Annotated[When, Field(min_length=1)]
    end: When = ""
    minutes: Minutes = 0
    place: EventPlace = ""
    repeat: Annotated[OptionalName, Field(description="In words (every week), or a rule of RFC 5545")] = ""
    calendar: OptionalName = ""


class EventChange(Body):
    """What is to be different."""

    title: Annotated[str, Field(max_length=200)] = ""
    start: When = ""
    minutes: Minutes = 0
    place: EventPlace = ""
    whole_series: bool = False


@router.get("")
async def list_events(
    caller: ToolCaller,
    since: Annotated[date, Query(alias="from", description="The first day")],
    until: Annotated[date, Query(alias="to", description="The last day")],
) -> EventsReply:
    """List the events from one day to another."""
    return await caller.use(EventsReply, "calendar.list", day=since.isoformat(), to=until.isoformat())


@router.post("", status_code=201)
async def add_event(caller: ToolCaller, new: NewEvent) -> EventReply:
    """Add an event."""
    return await caller.use(EventReply, "calendar.add", **new.model_dump())


@router.patch("/{event}")
async def change_event(caller: ToolCaller, event: ID, change: EventChange, day: EventDay = None) -> EventReply:
    """Change an event, one of a series, or the whole series."""
    values = change.model_dump()
    return await caller.use(
        EventReply, "calendar.change", title=event, day=_iso(day), new_title=values.pop("title"), **values
    )


@router.delete("/{event}")
async def remove_event(
    caller: ToolCaller, event: ID, day: EventDay = None, whole_series: WholeSeries = False
) -> EventReply:
    """Remove an event, one of a series, or the whole series, after a yes."""
    return await caller.use(EventReply, "calendar.remove", title=event, day=_iso(day), whole_series=whole_series)


def _iso(day: date | None) -> str:
    return day.isoformat() if day else ""
