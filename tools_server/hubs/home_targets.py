"""Finds the devices that a call is about, and asks the rules about each by its own name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tools_server.hubs.deeds import home_of
from tools_server.hubs.device_rules import permit, permit_music
from tools_server.hubs.devices import GUARDED, Device, DeviceTarget, Kind, State, in_place, meant, names, placed, plain
from tools_server.hubs.home import Home
from tools_server.sdk.toolkit import Call, ToolFailed
from tools_server.values.language import text as _

_LETTING_IN = ("tor", "tür", "pforte", "barrier", "schranke")  # and in German; doubt is for no blind
_ALIKE = ("blind", "shutter", "shade")  # which most people call by one name


def chosen(
    call: Call, target: DeviceTarget, kinds: Sequence[Kind], among: Callable[[Device], bool] = lambda _device: True
) -> list[Device]:
    """Return the devices that are meant, of those that count, and that the rules allow. Raises `ToolFailed`."""
    home = home_of(call)
    if home.empty:
        raise ToolFailed("not_found", _("No devices are set up in this house."))
    if target.device and target.everything:
        raise ToolFailed("invalid", _("Say one device, or all of a kind, not both."))
    devices = meant(filter(among, home.devices()), target, kinds, home.plan())
    for device in devices:
        permit(call, device)
    return devices


def listed(home: Home, target: DeviceTarget) -> tuple[DeviceTarget, list[Device]]:
    """Return the devices of a place and kind, maybe none, and the place by its own name. Raises `ToolFailed`."""
    every = home.devices()
    if target.room or target.floor:
        target = placed(every, target, home.plan())
        every = in_place(every, target)
    fitting = [one for one in every if target.kind in ("", one.kind) and target.shape in ("", one.shape)]
    return target, fitting


def home_rooms(home: Home) -> dict[str, Any]:
    """Return the rooms and floors of the house, as JSON: those of the plan, and those that devices say they are in."""
    plan = home.plan()
    known = {plain(room.name) for room in plan.rooms}
    others = sorted({device.room for device in home.devices() if device.room and plain(device.room) not in known})
    return {
        "rooms": [
            *({"name": room.name, "floor": room.floor, "aliases": list(room.aliases)} for room in plan.rooms),
            *({"name": name, "floor": "", "aliases": []} for name in others),
        ],
        "floors": [{"name": floor.name, "aliases": list(floor.aliases)} for floor in plan.floors],
    }


def shutters(call: Call, target: DeviceTarget, kinds: Sequence[Kind]) -> list[Device]:
    """Return the covers and valves that are meant: blinds where nothing is said of what.

    Doors that let people in are no blinds: only who names them, or is left with nothing else, means them.
    """
    if not target.device and not target.kind:
        target = replace(target, kind="" if target.shape else "cover")
    if target.device or target.shape or target.kind != "cover":
        try:
            return chosen(call, target, kinds)
        except ToolFailed as none:
            if none.error != "not_found" or target.device or target.shape not in _ALIKE:
                raise
            for shape in _ALIKE:  # people call blinds shutters where there are only blinds
                with suppress(ToolFailed):
                    return chosen(call, replace(target, shape=shape), kinds)
            with suppress(ToolFailed):  # of which nothing says what they are
                return chosen(call, replace(target, kind="cover", shape=""), kinds, among=_may_be_blind)
            raise
    try:
        return chosen(call, target, kinds, among=lambda device: not device.guarded)
    except ToolFailed as none:
        if none.error != "not_found":
            raise
    return chosen(call, target, kinds)


def players(call: Call, target: DeviceTarget, wanted: State) -> list[Device]:
    """Return the players that are meant: where nothing is said, the one of the room, else the one that plays."""
    unsaid = not (target.device or target.room or target.floor or target.everything)
    target = replace(target, kind="" if target.device else "media")
    if unsaid:
        every = [device for device in home_of(call).devices() if device.kind == "media"]
        here = [device for device in every if target.here and plain(device.room) == plain(target.here)]
        playing = [device for device in here or every if device.state.get("playing")]
        if len(playing) == 1 and wanted.get("playing") is not True and "query" not in wanted:
            target = replace(target, device=playing[0].id)
    devices = chosen(call, target, ("media",))
    if wanted.get("playing") or "query" in wanted:
        for device in devices:
            permit_music(call, device, {"on": True})
    return devices


def switched(device: Device, on: bool) -> State:
    """Return what turning a device on or off comes to: a robot sets out, a valve opens, a scene is set."""
    match device.kind:
        case "vacuum":
            return {"activity": "cleaning" if on else "docked"}
        case "mower":
            return {"activity": "mowing" if on else "docked"}
        case "valve":
            return {"open": on}
        case "scene" if on:
            return {"scene": True}
    return {"on": on}


def _may_be_blind(device: Device) -> bool:
    """Whether nothing says that a cover is something else than a blind, its name neither: a garage, a gate, a door."""
    called = " ".join(names(device)).casefold()
    return not device.shape and not any(word in called for word in (*GUARDED, *_LETTING_IN))
