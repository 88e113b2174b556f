"""Rooms: those of the home, which devices with a token stand in each, and where somebody talks now."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import Depends
from pydantic import Field

from atlas.gateway.api.caller import OWNER, AdmitToTools, Caller, OwnerCaller
from atlas.gateway.api.devices import devices_of
from atlas.gateway.api.home import HomeReply, RoomItem
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply

router = resource("rooms", asks=False)


class RoomWithDevices(RoomItem):
    """A room, and the phones, screens and satellites that stand in it."""

    devices: list[str]
    plays: bool = Field(description="Whether a message for it would ever be played there")


class RoomsReply(ApiReply):
    """The rooms."""

    rooms: list[RoomWithDevices]


class PresentItem(ApiReply):
    """A device that is connected now."""

    name: str
    room: str = Field(description="Where it stands; empty when it is carried about")
    talking: bool = Field(description="Whether a request is answered there now")
    person: str = Field(description="Who talks; empty when nobody does or is known by name")


class PresentReply(ApiReply):
    """The devices that are connected now: phones whose app is open, screens, satellites of any make."""

    devices: list[PresentItem]


@router.get("/present")
async def list_present(caller: OwnerCaller) -> PresentReply:
    """List the devices that are connected now, and tell where somebody talks with the house. Never what is said."""
    return PresentReply(devices=[PresentItem(**asdict(one)) for one in caller.house.present()])


@router.get("")
async def list_rooms(caller: Annotated[Caller, Depends(AdmitToTools(OWNER))]) -> RoomsReply:
    """List the rooms of the home, and those that only a device says it stands in."""
    home = await caller.use(HomeReply, "home.list")
    devices = devices_of(caller)
    playing = {*await devices.rooms(), *caller.house.config.rooms_called, *caller.house.speaking_rooms("")}
    plays = {name.casefold() for name in playing}
    standing: dict[str, list[str]] = {}
    for device in await devices.list():
        if device.room:
            standing.setdefault(device.room.casefold(), []).append(device.name)
    known = [
        RoomWithDevices(
            **room.model_dump(),
            devices=standing.pop(room.name.casefold(), []),
            plays=any(name.casefold() in plays for name in (room.name, *room.aliases)),
        )
        for room in home.rooms
    ]
    others = [
        RoomWithDevices(name=name, floor="", aliases=[], devices=names, plays=name in plays)
        for name, names in standing.items()
    ]
    return RoomsReply(rooms=[*known, *others])
