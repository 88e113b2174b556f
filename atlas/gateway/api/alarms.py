"""Alarms: which there are, set one, switch, change, stop, snooze or cancel it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, ApiReply, Body, Name, OptionalName, ToolReply

router = resource("alarms")


class AlarmItem(ApiReply):
    """One alarm."""

    id: str
    name: str
    person: str
    room: str
    rule: str = Field(description="A recurrence rule of RFC 5545; empty for once")
    at: float = Field(description="Seconds since 1970")
    iso: str = Field(default="", description="`at` on the house's clocks, by ISO 8601 without an offset")
    due_at: float | None
    missed_at: float | None = Field(description="When it last rang to its end and nobody stopped it, or see `silent`")
    silent: bool = Field(description="Whether it was missed because it did not ring: the house was off, say")
    state: str
    when: str = Field(description="In words")


class AlarmsReply(ToolReply):
    """The alarms, or those that changed."""

    alarms: list[AlarmItem] = Field(default=[])
    alarm: AlarmItem | None = None


class NewAlarm(Body):
    """An alarm to be set."""

    when: Annotated[Name, Field(description="In words of the house's language: at seven; every weekday at 6:30")]
    name: OptionalName = ""
    room: OptionalName = ""


class AlarmChange(Body):
    """What is to be different: its time, in words, or whether it is on."""

    when: OptionalName = ""
    on: bool | None = None


class Snooze(Body):
    """For how long what rings is to be silent."""

    minutes: Annotated[int, Field(ge=1, le=120)] = 9


@router.get("")
async def list_alarms(caller: ToolCaller) -> AlarmsReply:
    """List the alarms."""
    return await caller.use(AlarmsReply, "alarms.list")


@router.post("", status_code=201)
async def set_alarm(caller: ToolCaller, new: NewAlarm) -> AlarmsReply:
    """Set an alarm."""
    return await caller.use(AlarmsReply, "alarms.set", **new.model_dump())


@router.patch("/{alarm}")
async def change_alarm(caller: ToolCaller, alarm: ID, change: AlarmChange) -> AlarmsReply:
    """Move an alarm to another time, or switch it on or off."""
    if change.on is None:
        return await caller.use(AlarmsReply, "alarms.change", name=alarm, when=change.when)
    return await caller.use(AlarmsReply, "alarms.switch", name=alarm, on=change.on)


@router.post("/{alarm}/stop")
async def stop_alarm(caller: ToolCaller, alarm: ID) -> AlarmsReply:
    """Stop an alarm that rings."""
    return await caller.use(AlarmsReply, "alarms.stop", name=alarm)


@router.post("/{alarm}/snooze")
async def snooze_alarm(caller: ToolCaller, alarm: ID, snooze: Snooze) -> AlarmsReply:
    """Silence an alarm that rings for some minutes."""
    return await caller.use(AlarmsReply, "alarms.snooze", name=alarm, minutes=snooze.minutes)


@router.post("/{alarm}/skip")
async def skip_alarm(caller: ToolCaller, alarm: ID) -> AlarmsReply:
    """Leave out the next ring of a recurring alarm."""
    return await caller.use(AlarmsReply, "alarms.skip", name=alarm)


@router.delete("/{alarm}")
async def cancel_alarm(caller: ToolCaller, alarm: ID) -> AlarmsReply:
    """Cancel an alarm."""
    return await caller.use(AlarmsReply, "alarms.cancel", name=alarm)
