"""Announcements: something said aloud in every room, or in one."""

from __future__ import annotations

from pydantic import Field

from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body, OptionalName, Text, ToolReply

router = resource("announcements")


class AnnouncementItem(ApiReply):
    """What will be said."""

    id: str
    text: str
    room: str = Field(description="Empty for every room")
    person: str
    at: float = Field(description="Seconds since 1970")


class AnnouncementReply(ToolReply):
    """The announcement, which is said as soon as somebody can be reached."""

    broadcast: AnnouncementItem


class NewAnnouncement(Body):
    """What is to be said, and where."""

    text: Text
    room: OptionalName = ""


@router.post("", status_code=201)
async def announce(caller: ToolCaller, new: NewAnnouncement) -> AnnouncementReply:
    """Say something through every speaker of the house, or through those of one room."""
    return await caller.use(AnnouncementReply, "broadcast.say", text=new.text, room=new.room)
