"""A house out of a file: devices that obey, and hold their state in memory. For benches and demonstrations.

The file is JSON: "floors" of name and aliases, "rooms" of name, floor and aliases, and "devices" of name, kind, shape,
room, aliases, what they "can" ("on", "brightness", …), and their "state" as `devices.State` has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tools_server.hubs.devices import Device, Floor, FloorPlan, Kind, Room, State
from tools_server.hubs.home_words import COLOURS
from tools_server.hubs.hub import Hub

CAN: Mapping[Kind, tuple[str, ...]] = {  # what there is to be done with each kind
    "light": ("on", "brightness", "colour", "kelvin"),
    "switch": ("on",),
    "climate": ("on", "temperature", "mode"),
    "cover": ("open", "position"),
    "lock": ("locked",),
    "media": ("on", "playing", "volume", "muted", "next", "previous", "query"),
    "fan": ("on", "speed", "mode"),
    "sensor": (),
    "scene": ("scene",),
    "vacuum": ("clean", "clean_room", "dock"),
    "mower": ("mow", "dock"),
    "valve": ("open", "position"),
    "person": (),
}
STATES = (  # as `devices.State` has them
    *("on", "brightness", "colour", "kelvin", "temperature", "measured", "mode", "preset", "position", "open"),
    *("heading", "locked", "playing", "volume", "muted", "title", "speed", "activity", "battery", "place"),
    *("value", "unit"),
)
UNHEARD = ("next", "previous", "scene", "media_class", "room")  # that leave no trace in a device's state


class ScriptedHubSettings(BaseModel):
    """Which file the house is made from. Without one there is none."""

    model_config = ConfigDict(extra="forbid")
    file: Path | None = None

    @model_validator(mode="after")
    def _readable(self) -> ScriptedHubSettings:
        if self.file:
            read_house(self.file)
        return self


class _Floor(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    aliases: list[str] = Field(default_factory=list)


class _Room(_Floor):
    floor: str = ""


class _Device(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = ""
    name: str
    kind: Kind
    shape: str = ""
    room: str = ""
    aliases: list[str] = Field(default_factory=list)
    can: list[str] = Field(default_factory=list)
    state: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, list[str]] = Field(default_factory=dict)
    fahrenheit: bool = False

    @model_validator(mode="after")
    def _known(self) -> _Device:
        for key, words, known in (("can", self.can, CAN[self.kind]), ("state", self.state, STATES)):
            if unknown := set(words) - set(known):
                possible = ", ".join(known) or "nothing"
                raise ValueError(
                    f"{self.name!r} is a {self.kind}, and its {key!r} is of {possible}; not {min(unknown)!r}"
                )
        return self


class ScriptedHouse(BaseModel):
    """A house as its file has it."""

    model_config = ConfigDict(extra="forbid")
    floors: list[_Floor] = Field(default_factory=list)
    rooms: list[_Room] = Field(default_factory=list)
    devices: list[_Device] = Field(default_factory=list)


def read_house(file: Path) -> ScriptedHouse:
    """Return the house of a file. Raises ValueError with a sentence."""
    try:
        return ScriptedHouse.model_validate(json.loads(file.read_text("utf-8")))
    except OSError as missing:
        raise ValueError(f"{file} cannot be read: {missing.strerror}") from missing
    except ValidationError as wrong:
        first = wrong.errors()[0]
        raise ValueError(
            f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
        ) from wrong
    except ValueError as wrong:
        raise ValueError(f"{file} is not JSON: {wrong}") from wrong


class Scripted(Hub):
    """The house of a file, as a hub of devices."""

    name = "scripted"

    def __init__(self, file: Path, turned: Callable[[bool], None]) -> None:
        super().__init__(turned)
        house = read_house(file)
        self._plan = FloorPlan(
            tuple(Room(room.name, room.floor, tuple(room.aliases)) for room in house.rooms),
            tuple(Floor(floor.name, tuple(floor.aliases)) for floor in house.floors),
        )
        listed = [_device(number, given) for number, given in enumerate(house.devices)]
        self._devices = {device.id: device for device in listed}

    def devices(self) -> list[Device]:
        """Return every device as it is now."""
        return list(self._devices.values())

    def plan(self) -> FloorPlan:
        """Return the rooms and floors."""
        return self._plan

    async def _session(self) -> None:
        await anyio.sleep_forever()

    async def tell(self, id: str, wanted: State) -> None:
        """Have a device take a state; it does, at once."""
        device = self._devices[id]
        state = {**device.state, **{name: value for name, value in wanted.items() if name not in UNHEARD}}
        if "query" in wanted:
            state |= {"title": state.pop("query"), "playing": True}
        if wanted.get("playing") and "on" in device.can:
            state["on"] = True
        if device.kind in ("cover", "valve") and "open" in wanted and "position" in device.can:
            state["position"] = 100 if wanted["open"] else 0
        elif device.kind in ("cover", "valve") and "position" in wanted:
            state["open"] = wanted["position"] > 0
        if device.kind == "light" and wanted.get("on") and state.get("brightness") == 0:
            state["brightness"] = 100  # a lamp that burns is not dark
        if device.kind == "media" and wanted.get("on") is False:
            state["playing"] = False
        self._devices[id] = replace(device, state=state)
        self._turned(False)


def _device(number: int, given: _Device) -> Device:
    state = dict(given.state)
    if isinstance(colour := state.get("colour"), str) and colour in COLOURS:
        state["colour"] = COLOURS[colour]
    return Device(
        id=f"scripted:{given.id or number}",
        name=given.name,
        room=given.room,
        kind=given.kind,
        can=frozenset(given.can) | (frozenset({"scene"}) if given.kind == "scene" else frozenset()),
        state=state,
        tells=given.kind != "scene",
        shape=given.shape,
        aliases=tuple(given.aliases),
        options={name: tuple(values) for name, values in given.options.items()},
        fahrenheit=given.fahrenheit,
    )
