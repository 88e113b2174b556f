"""Announcements: something said aloud in every room, or in one, and what nobody could hear."""

from __future__ import annotations

from pydantic import Field

from atlas.conversation import HOUSE
from atlas.gateway.api.caller import ResidentCaller, ToolCaller, answer_of
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


class MissedReply(ApiReply):
    """The announcements that nobody could hear, the latest first."""

    announcements: list[AnnouncementItem]


class NewAnnouncement(Body):
    """What is to be said, and where."""

    text: Text
    room: OptionalName = ""


@router.get("/missed")
async def list_missed(caller: ResidentCaller) -> MissedReply:
    """List the announcements of the last week that no speaker could say within an hour."""
    # The house asks, as before it says them: all who live here were to hear them.
    result = await caller.house.use_owner_tool("broadcast.due", {"missed": True}, HOUSE)
    answer_of(result)  # raises what was refused
    return MissedReply.model_validate({"announcements": result.data.get("missed", ())})


@router.post("", status_code=201)
async def announce(caller: ToolCaller, new: NewAnnouncement) -> AnnouncementReply:
    """Say something through every speaker of the house, or through those of one room."""
    return await caller.use(AnnouncementReply, "broadcast.say", text=new.text, room=new.room)
