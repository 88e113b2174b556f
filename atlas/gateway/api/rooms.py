"""Rooms: those of the home, and which devices with a token stand in each."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from atlas.gateway.api.caller import OWNER, AdmitToTools, Caller
from atlas.gateway.api.devices import devices_of
from atlas.gateway.api.home import HomeReply, RoomItem
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply

router = resource("rooms", asks=False)


class RoomWithDevices(RoomItem):
    """A room, and the phones, screens and satellites that stand in it."""

    devices: list[str]


class RoomsReply(ApiReply):
    """The rooms."""

    rooms: list[RoomWithDevices]


@router.get("")
async def list_rooms(caller: Annotated[Caller, Depends(AdmitToTools(OWNER))]) -> RoomsReply:
    """List the rooms of the home, and those that only a device says it stands in."""
    home = await caller.use(HomeReply, "home.list")
    standing: dict[str, list[str]] = {}
    for device in await devices_of(caller).list():
        if device.room:
            standing.setdefault(device.room.casefold(), []).append(device.name)
    known = [
        RoomWithDevices(**room.model_dump(), devices=standing.pop(room.name.casefold(), [])) for room in home.rooms
    ]
    others = [RoomWithDevices(name=name, floor="", aliases=[], devices=names) for name, names in standing.items()]
    return RoomsReply(rooms=[*known, *others])
