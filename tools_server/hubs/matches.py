"""Tells whether a device is as it was told to be. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools_server.hubs.devices import Device, State

MOMENTARY = ("next", "previous", "query", "media_class", "scene", "room")  # done, and then nothing of it is to be seen
TOLERANCE: Mapping[str, float] = {
    "brightness": 2,
    "volume": 2,
    "position": 3,
    "speed": 5,
    "temperature": 0.3,
    "kelvin": 150,
}  # of what devices round
_ON_THE_WAY: Mapping[str, tuple[str, ...]] = {"docked": ("docked", "returning")}


def agrees(device: Device, wanted: State, before: State) -> bool:
    """Whether a device is as wanted; a blind that has set out is. Before it was told, nothing momentary is done."""
    now = device.state
    if device.kind in ("cover", "valve"):
        moved = "position" in before and now.get("position") != before["position"]
        going = now.get("heading") == ("open" if wanted.get("open", wanted.get("position", 0) > 0) else "closed")
        if moved or (going and before):
            return True
    if any(name in MOMENTARY for name in wanted):
        return bool(before)
    return all(_near(name, now.get(name), value) for name, value in wanted.items())


def _near(name: str, now: Any, wanted: Any) -> bool:
    if name == "colour" and isinstance(now, str) and isinstance(wanted, str):
        return all(abs(a - b) < 12 for a, b in zip(bytes.fromhex(now[1:]), bytes.fromhex(wanted[1:]), strict=True))
    if name in TOLERANCE and isinstance(now, (int, float)) and isinstance(wanted, (int, float)):
        return abs(now - wanted) <= TOLERANCE[name]
    if name == "activity":
        return now in _ON_THE_WAY.get(wanted, (wanted,))
    return bool(now == wanted)
