"""Reminders: which there are, add one, change, snooze, finish or cancel it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, ApiReply, Body, OptionalName, QueryText, ToolReply

router = resource("reminders")
Words = Annotated[str, Field(min_length=1, max_length=300)]


class ReminderItem(ApiReply):
    """One reminder."""

    id: str
    text: str
    person: str
    room: str
    rule: str = Field(description="A recurrence rule of RFC 5545; empty for once")
    heard: str = Field(description="Whom it waits to hear; empty when it waits for a time")
    at: float | None = Field(default=None, description="The moment that it is about, in seconds since 1970")
    iso: str = Field(default="", description="`at` on the house's clocks, by ISO 8601 without an offset")
    due_at: float | None = Field(
        description="When it is said next; null when it was said in vain, or waits for a voice"
    )
    missed_at: float | None = Field(description="When it was said long after its moment, for the house was off then")
    state: str
    when: str = Field(description="In words")


class RemindersReply(ToolReply):
    """The reminders that the caller may see."""

    reminders: list[ReminderItem]


class ReminderReply(ToolReply):
    """The reminder that changed."""

    reminder: ReminderItem


class NewReminder(Body):
    """A reminder to be added."""

    text: Words
    when: Annotated[OptionalName, Field(description="In words of the house's language: tomorrow at eight")] = ""
    person: OptionalName = ""
    room: OptionalName = ""


class ReminderChange(Body):
    """What is to be different."""

    text: Annotated[str, Field(max_length=300)] = ""
    when: OptionalName = ""
    person: OptionalName = ""
    room: OptionalName = ""


class ReminderSnooze(Body):
    """In how many minutes it is said again."""

    minutes: Annotated[int, Field(ge=1, le=1_440)] = 10


@router.get("")
async def list_reminders(caller: ToolCaller, person: QueryText = "") -> RemindersReply:
    """List the reminders, or those for a person."""
    return await caller.use(RemindersReply, "reminders.list", person=person)


@router.post("", status_code=201)
async def add_reminder(caller: ToolCaller, new: NewReminder) -> ReminderReply:
    """Add a reminder."""
    return await caller.use(ReminderReply, "reminders.add", **new.model_dump())


@router.patch("/{reminder}")
async def change_reminder(caller: ToolCaller, reminder: ID, change: ReminderChange) -> ReminderReply:
    """Change the words, the time, the person or the room of a reminder."""
    values = change.model_dump()
    return await caller.use(ReminderReply, "reminders.change", about=reminder, new_text=values.pop("text"), **values)


@router.post("/{reminder}/snooze")
async def snooze_reminder(caller: ToolCaller, reminder: ID, snooze: ReminderSnooze) -> ReminderReply:
    """Have a reminder said again later."""
    return await caller.use(ReminderReply, "reminders.snooze", about=reminder, minutes=snooze.minutes)


@router.post("/{reminder}/done")
async def finish_reminder(caller: ToolCaller, reminder: ID) -> ReminderReply:
    """Note that what a reminder is about was done."""
    return await caller.use(ReminderReply, "reminders.done", about=reminder)


@router.delete("/{reminder}")
async def cancel_reminder(caller: ToolCaller, reminder: ID) -> ReminderReply:
    """Cancel a reminder."""
    return await caller.use(ReminderReply, "reminders.cancel", about=reminder)
