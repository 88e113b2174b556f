"""Timers: which there are, start one, and change, pause, resume or cancel it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from atlas.gateway.api.caller import ResidentCaller, ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, ApiReply, Body, OptionalName, ToolReply

WEEK_SECONDS = 604_800
router = resource("timers")


class TimerItem(ApiReply):
    """One timer."""

    id: str
    name: str
    room: str
    seconds: int = Field(description="The length it was given")
    left_seconds: float
    state: Literal["running", "paused", "ended"]
    ends_at: float | None = Field(description="Seconds since 1970; null while paused")
    set_at: float = Field(description="When it was started, paused, or last given another end; in seconds since 1970")


class TimersReply(ToolReply):
    """The timers."""

    timers: list[TimerItem]


class TimerReply(ToolReply):
    """The timer that changed."""

    timer: TimerItem


class NewTimer(Body):
    """A timer to be started."""

    seconds: Annotated[int, Field(ge=1, le=WEEK_SECONDS)]
    name: OptionalName = ""
    room: OptionalName = ""


class TimerChange(Body):
    """What is to be different: seconds added or taken away, or a pause begun or ended."""

    by_seconds: Annotated[int, Field(ge=-WEEK_SECONDS, le=WEEK_SECONDS)] = 0
    paused: bool | None = None


@router.get("")
async def list_timers(caller: ToolCaller) -> TimersReply:
    """List the timers, the next to end first."""
    return await caller.use(TimersReply, "timers.list")


@router.post("", status_code=201)
async def start_timer(caller: ToolCaller, new: NewTimer) -> TimerReply:
    """Start a timer."""
    return await caller.use(TimerReply, "timers.start", **new.model_dump())


@router.patch("/{timer}")
async def change_timer(caller: ToolCaller, timer: ID, change: TimerChange) -> TimerReply:
    """Pause a timer, let it go on, or make it longer or shorter."""
    if change.paused is None:
        return await caller.use(TimerReply, "timers.add", name=timer, by_seconds=change.by_seconds)
    return await caller.use(TimerReply, "timers.pause" if change.paused else "timers.resume", name=timer)


@router.post("/{timer}/stop", status_code=204)
async def stop_timer(caller: ResidentCaller, timer: ID) -> None:
    """Stop a timer that rings, in whatever room: by the id that its event had. One that runs is cancelled instead."""
    caller.house.stop_ringing(timer)


@router.delete("/{timer}")
async def cancel_timer(caller: ToolCaller, timer: ID) -> TimerReply:
    """Cancel a timer."""
    return await caller.use(TimerReply, "timers.cancel", name=timer)
