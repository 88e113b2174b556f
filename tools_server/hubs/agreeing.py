"""Is a device as it was told to be? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools_server.hubs.devices import Device, State

TOLERANCE: Mapping[str, float] = {
    "brightness": 2,
    "volume": 2,
    "position": 3,
    "temperature": 0.25,
    "kelvin": 150,
}  # of what devices round


def agrees(device: Device, wanted: State, before: State) -> bool:
    """Whether a device is as wanted; a blind that has set out is."""
    told = device.state
    if device.kind == "cover":
        moved = "position" in before and told.get("position") != before["position"]
        going = told.get("heading") == ("open" if wanted.get("open", wanted.get("position", 0) > 0) else "closed")
        if moved or (going and before):
            return True
    return all(_near(name, told.get(name), value) for name, value in wanted.items())


def _near(name: str, told: Any, wanted: Any) -> bool:
    if name == "colour" and isinstance(told, str) and isinstance(wanted, str):
        return all(abs(a - b) < 12 for a, b in zip(bytes.fromhex(told[1:]), bytes.fromhex(wanted[1:]), strict=True))
    if name in TOLERANCE and isinstance(told, (int, float)) and isinstance(wanted, (int, float)):
        return abs(told - wanted) <= TOLERANCE[name]
    return bool(told == wanted)
