"""Asks the rules of the house about a device by its own name and room, whatever it was called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools_server.hubs.devices import Device, State, names
from tools_server.sdk.toolkit import Call, ToolFailed
from tools_server.values.policy import STRICTNESS


def permit(call: Call, device: Device) -> None:
    """Ask the rules about the device itself: an alias or a whole room must not go round a rule about its name."""
    if call.inside is None or not call.arguments:
        return
    decide = call.inside.decide
    itself = decide(call.tool, {**call.arguments, **known_as(device)})
    decision = decide(call.tool, call.arguments)
    if STRICTNESS[itself.verdict] > STRICTNESS[decision.verdict]:
        raise ToolFailed("denied", itself.reason, rule=itself.rule, device=device.name, room=device.room)


def permitted(call: Call, device: Device) -> bool:
    """Whether the rules let this asker look at a device."""
    try:
        permit(call, device)
    except ToolFailed:
        return False
    return True


def _permit_as(call: Call, tool: str, device: Device) -> None:
    """Ask the rules about a device as if another tool had been called, to which this one comes."""
    decision = call.gate.decide(tool, known_as(device))
    if not decision.allowed:
        raise ToolFailed("denied", decision.reason, rule=decision.rule, device=device.name, room=device.room)


def known_as(device: Device) -> dict[str, Any]:
    """Return the arguments by which rules know a device: all that it is called, its own room and its kind."""
    called = [device.name, device.id, device.shape, *device.aliases, *sorted(names(device))]
    return {"device": called, "name": called, "room": device.room, "kind": device.kind}


def permit_back(call: Call, device: Device, wanted: State) -> None:
    """Ask the rules about what taking back comes to: to undo a pause is to play."""
    for name, value in wanted.items():
        _permit_as(call, _TOOL_OF.get((name, value)) or _TOOL_OF.get((name, None), "home.set"), device)
    permit_music(call, device, wanted)


def permit_music(call: Call, device: Device, wanted: State) -> None:
    """Ask the rules whether a player may play, also when it is only turned on: many play on where they were."""
    if device.kind == "media" and wanted.get("on"):
        _permit_as(call, "home.play", device)


_TOOL_OF: Mapping[tuple[str, Any], str] = {
    ("on", None): "home.turn",
    ("open", True): "home.open",
    ("open", False): "home.close",
    ("locked", None): "home.lock",
    ("playing", True): "home.play",
    ("playing", False): "home.pause",
    ("muted", None): "home.mute",
    ("activity", "cleaning"): "home.clean",
    ("activity", "mowing"): "home.mow",
    ("activity", "docked"): "home.dock",
}
