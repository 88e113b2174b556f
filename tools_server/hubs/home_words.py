"""How devices, and what they do, are said. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools_server.hubs.devices import PLURALS, Device, State, plain, said

COLOURS: Mapping[str, str] = {
    "red": "#ff0000",
    "orange": "#ff8000",
    "yellow": "#ffff00",
    "green": "#00ff00",
    "cyan": "#00ffff",
    "blue": "#0000ff",
    "purple": "#8000ff",
    "pink": "#ff40a0",
    "white": "#ffffff",
}


def wish_words(wanted: State) -> str:
    """Return "on", "at 40 percent", "set to 21 degrees"."""
    parts = []
    for name, value in wanted.items():
        match name:
            case "on" if len(wanted) == 1:
                parts.append("on" if value else "off")
            case "brightness":
                parts.append(f"at {value} percent")
            case "colour":
                parts.append(next((colour for colour, code in COLOURS.items() if code == value), "in that colour"))
            case "kelvin":
                parts.append(f"at {value} kelvin")
            case "temperature":
                parts.append(f"set to {value:g} degrees")
            case "position" | "volume":
                parts.append(f"at {value:g} percent")
            case "open":
                parts.append("open" if value else "closed")
            case "locked":
                parts.append("locked" if value else "unlocked")
            case "playing":
                parts.append("playing" if value else "paused")
            case "mode":
                parts.append(f"set to {value}")
    return " and ".join(parts)


def condition(device: Device) -> str:
    """Return "is on, at 40 percent"."""
    if not device.reachable:
        return "cannot be reached just now"
    told = device.state
    if device.kind == "sensor":
        if "on" in told:
            return f"says {'yes' if told['on'] else 'no'}"
        return (
            f"says {told['value']} {told.get('unit', '')}".rstrip() if "value" in told else "has not said anything yet"
        )
    order = ("on", "open", "locked", "playing", "position", "brightness", "volume", "temperature", "mode", "colour")
    shown = {name: told[name] for name in order if name in told and name != "mode"}
    if shown.get("on") is False:
        shown = {"on": False}
    if not shown:
        return "has not said how it is" if not device.lacks else f"can't be read, for {device.lacks}"
    parts = [wish_words({name: value}) for name, value in shown.items()]
    if "measured" in told:
        parts.append(f"measures {told['measured']:g} degrees")
    return "is " + ", ".join(parts)


def the(device: Device) -> str:
    """Return "the lamp in the hall"."""
    name, room = device.name, device.room
    inside = f" in the {room}" if room and plain(room) not in plain(name) else ""
    return f"the {said(name)}{inside}"


def named(device: Device, roomless: bool) -> str:
    """Return what to call a device where its room is known."""
    return f"the {said(device.name)}" if roomless else the(device)


def group(devices: Sequence[Device]) -> str:
    """Return "the hall lamp", or "3 lights in the kitchen"."""
    if len(devices) == 1:
        return the(devices[0])
    kinds, rooms = {device.kind for device in devices}, {device.room for device in devices}
    what = PLURALS[devices[0].kind] if len(kinds) == 1 else "devices"
    return f"{len(devices)} {what}{f' in the {devices[0].room}' if len(rooms) == 1 and devices[0].room else ''}"
