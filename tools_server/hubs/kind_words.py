"""What kinds of devices are called, and what can be done with them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tools_server.values.language import noted
from tools_server.values.language import text as _

_PLURALS: Mapping[str, str] = {
    "": noted("devices"),
    "light": noted("lights"),
    "switch": noted("switches"),
    "climate": noted("thermostats"),
    "cover": noted("blinds"),
    "lock": noted("locks"),
    "media": noted("players"),
    "fan": noted("fans"),
    "sensor": noted("sensors"),
    "scene": noted("scenes"),
    "vacuum": noted("robot vacuums"),
    "mower": noted("lawn mowers"),
    "valve": noted("valves"),
    "person": noted("people"),
}
_SHAPES: Mapping[str, str] = {
    "awning": noted("awnings"),
    "blind": noted("blinds"),
    "curtain": noted("curtains"),
    "door": noted("doors"),
    "garage": noted("garage doors"),
    "garage_door": noted("garage doors"),
    "gate": noted("gates"),
    "shade": noted("shades"),
    "shutter": noted("shutters"),
    "window": noted("windows"),
    "outlet": noted("sockets"),
    "tv": noted("televisions"),
    "speaker": noted("speakers"),
    "motion": noted("motion sensors"),
    "occupancy": noted("motion sensors"),
    "smoke": noted("smoke detectors"),
    "carbon_monoxide": noted("carbon monoxide detectors"),
    "gas": noted("gas detectors"),
    "moisture": noted("leak sensors"),
    "battery": noted("batteries"),
    "temperature": noted("temperature sensors"),
    "humidity": noted("humidity sensors"),
    "plug": noted("plugs"),
}
_CAN_BE: Mapping[str, str] = {
    "light": noted("turned on or off, and set"),
    "switch": noted("turned on or off"),
    "climate": noted("turned on or off, and set"),
    "cover": noted("opened, closed or set"),
    "lock": noted("locked or unlocked"),
    "media": noted("played, paused, turned on or off, and set"),
    "fan": noted("turned on or off, and set"),
    "sensor": noted("read"),
    "scene": noted("set"),
    "vacuum": noted("started or sent back"),
    "mower": noted("started or sent back"),
    "valve": noted("opened or closed"),
    "person": noted("asked about"),
}


def kind_plural(kind: str, shape: str = "") -> str:
    """Return what several of a kind are called, or of a shape of it: "lights", "curtains"."""
    return _(_SHAPES.get(shape) or _PLURALS[kind])


def can_be(kind: str) -> str:
    """Return what can be done with a kind: "turned on or off"."""
    return _(_CAN_BE[kind])
