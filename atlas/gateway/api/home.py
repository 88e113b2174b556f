"""The home: devices by room with their state, what they are set to, and scenes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from atlas.errors import RequestError
from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import NAME_CHARACTERS, ApiReply, Body, QueryText, ToolReply

router = resource("home")
DeviceID = Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS, description="The id of a device, or its name")]
Percent = Annotated[int, Field(ge=0, le=100)]


class DeviceItem(ApiReply):
    """One device, as it is now."""

    id: str
    name: str
    room: str
    floor: str
    kind: str = Field(description="light, switch, climate, cover, lock, media, fan, sensor, scene, vacuum …")
    shape: str = Field(description="A kind within the kind: curtain, window, garage, motion")
    aliases: list[str]
    can: list[str] = Field(description="What can be set of it")
    state: dict[str, Any] = Field(description="What is known of it: on, brightness, target, position, locked …")
    reachable: bool
    status: str = Field(default="", description="In words, of what only reports: open, at home, docked")
    lacks: str = ""
    refused: dict[str, str] = Field(default={}, description="What rules deny of it to the caller now: tool → why")


class RoomItem(ApiReply):
    """One room."""

    name: str
    floor: str
    aliases: list[str]


class FloorItem(ApiReply):
    """One floor."""

    name: str
    aliases: list[str]


class HomeReply(ToolReply):
    """Every device, room and floor."""

    devices: list[DeviceItem]
    rooms: list[RoomItem]
    floors: list[FloorItem]


class DevicesReply(ToolReply):
    """The devices that were set."""

    devices: list[DeviceItem]
    silent: list[str] = Field(default=[], description="Those that did not say that they took it")


class DeviceChange(Body):
    """What a device is to be: one thing, or several of a light, of heating or of a player."""

    on: bool | None = None
    open: bool | None = Field(default=None, description="Of a cover or valve")
    locked: bool | None = Field(default=None, description="Unlocking is asked about first")
    playing: bool | None = None
    muted: bool | None = None
    brightness: Percent | None = None
    colour: Annotated[str, Field(min_length=1, max_length=20)] | None = None
    kelvin: Annotated[int, Field(ge=1_000, le=10_000)] | None = None
    temperature: Annotated[float, Field(gt=0, le=120, strict=False)] | None = Field(
        default=None, description="In the unit of the device"
    )
    position: Percent | None = Field(default=None, description="How far a cover is open")
    volume: Percent | None = None
    speed: Percent | None = None
    mode: Annotated[str, Field(min_length=1, max_length=40)] | None = None


@router.get("")
async def show_home(caller: ToolCaller, room: QueryText = "") -> HomeReply:
    """Show every device with its state, or those of a room."""
    return await caller.use(HomeReply, "home.list", room=room)


@router.patch("/devices/{device:path}")
async def set_device(caller: ToolCaller, device: DeviceID, change: DeviceChange) -> DevicesReply:
    """Set a device. What its lock needs a yes for is answered with 202 and the question."""
    tool, values = _deed(change.model_dump(exclude_none=True))
    return await caller.use(DevicesReply, tool, device=device, **values)


@router.post("/scenes/{scene:path}")
async def start_scene(
    caller: ToolCaller, scene: Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS)]
) -> DevicesReply:
    """Start a scene, by its id or its name."""
    return await caller.use(DevicesReply, "home.scene", name=scene)


def _deed(change: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the one tool that does all of a change. Raises `RequestError` when there is none."""
    match change:
        case {"on": on} if len(change) == 1:
            return "home.turn", {"on": on}
        case {"open": is_open} if len(change) == 1:
            return "home.open" if is_open else "home.close", {}
        case {"locked": locked} if len(change) == 1:
            return "home.lock" if locked else "home.unlock", {}
        case {"playing": playing} if len(change) == 1:
            return "home.play" if playing else "home.pause", {}
        case {"muted": muted} if len(change) == 1:
            return "home.mute", {"muted": muted}
        case _ if change and not {"on", "open", "locked", "playing", "muted"} & set(change):
            return "home.set", change
    raise RequestError(
        "one thing is set at a time" if change else "there is nothing to set",
        code="invalid_value",
        hint="send one of on, open, locked, playing, muted, or any of the values",
    )
