"""How devices, and what they do, are said. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools_server.hubs.devices import Device, State, plain, spoken_name
from tools_server.hubs.kind_words import kind_plural
from tools_server.values.language import noted, number, series
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import SpokenName, is_owned, place, several, thing

COLOURS: Mapping[str, str] = {
    noted("red"): "#ff0000",
    noted("orange"): "#ff8000",
    noted("yellow"): "#ffff00",
    noted("green"): "#00ff00",
    noted("cyan"): "#00ffff",
    noted("blue"): "#0000ff",
    noted("purple"): "#8000ff",
    noted("pink"): "#ff40a0",
    noted("white"): "#ffffff",
}
ACTIVITIES: Mapping[str, str] = {
    "cleaning": noted("cleaning"),
    "mowing": noted("mowing"),
    "docked": noted("docked"),
    "returning": noted("on the way back"),
    "paused": noted("paused"),
    "idle": noted("idle"),
    "error": noted("stuck"),
}
# What a sensor's yes and no mean, by its device class: "is open", or "reports motion".
BINARY: Mapping[str, tuple[str, str]] = {
    **{shape: (noted("open"), noted("closed")) for shape in ("window", "door", "garage_door", "opening", "garage")},
    "lock": (noted("unlocked"), noted("locked")),
    "presence": (noted("at home"), noted("away")),
    "moisture": (noted("wet"), noted("dry")),
    "battery": (noted("low"), noted("fine")),
    "battery_charging": (noted("charging"), noted("not charging")),
    "plug": (noted("plugged in"), noted("unplugged")),
    "connectivity": (noted("connected"), noted("not connected")),
    "running": (noted("running"), noted("not running")),
    "moving": (noted("moving"), noted("standing still")),
    "safety": (noted("not safe"), noted("safe")),
    "cold": (noted("cold"), noted("not cold")),
    "heat": (noted("hot"), noted("not hot")),
    "power": (noted("powered"), noted("without power")),
    "update": (noted("out of date"), noted("up to date")),
}
REPORTED: Mapping[str, tuple[str, str]] = {
    "motion": (noted("motion"), noted("no motion")),
    "occupancy": (noted("somebody there"), noted("nobody there")),
    "smoke": (noted("smoke"), noted("no smoke")),
    "gas": (noted("gas"), noted("no gas")),
    "carbon_monoxide": (noted("carbon monoxide"), noted("no carbon monoxide")),
    "sound": (noted("sound"), noted("no sound")),
    "vibration": (noted("vibration"), noted("no vibration")),
    "light": (noted("light"), noted("no light")),
    "problem": (noted("a problem"), noted("no problem")),
    "tamper": (noted("tampering"), noted("no tampering")),
}


def degrees(celsius: float, fahrenheit: bool) -> str:
    """Return "21.5 degrees", as the house counts them."""
    shown = round(celsius * 9 / 5 + 32) if fahrenheit else celsius
    return _("{number} degrees").format(number=number(shown))


def percent(value: float) -> str:
    """Return "40 percent"."""
    return _("{number} percent").format(number=number(value, 0))


def measured(value: Any, unit: str, fahrenheit: bool = False) -> str:
    """Return what a sensor measures: "21.4 degrees", "63 percent", "230 W"."""
    if not isinstance(value, (int, float)):
        return spoken_name(str(value))
    if unit == "°C":
        return degrees(value, fahrenheit)
    return percent(value) if unit == "%" else f"{number(value, 2)} {spoken_name(unit)}".rstrip()


def state_words(wanted: State, fahrenheit: bool = False) -> str:
    """Return "on", "at 40 percent", "set to 21 degrees"."""
    parts = [_part(name, value, len(wanted) == 1, fahrenheit) for name, value in wanted.items()]
    return series([part for part in parts if part] or [_("set")])


def _part(name: str, value: Any, alone: bool, fahrenheit: bool) -> str:
    match name:
        case "on":
            return (_("on") if value else _("off")) if alone else ""
        case "brightness" | "position" | "volume" | "speed":
            return _("at {amount}").format(amount=percent(value))
        case "colour":
            return next((_(colour) for colour, code in COLOURS.items() if code == value), _("in that colour"))
        case "kelvin":
            return _("at {number} kelvin").format(number=round(value))
        case "temperature":
            return _("set to {value}").format(value=degrees(value, fahrenheit))
        case "open":
            return _("open") if value else _("closed")
        case "locked":
            return _("locked") if value else _("unlocked")
        case "playing":
            return _("playing") if value else _("paused")
        case "muted":
            return _("muted") if value else _("not muted")
        case "mode" | "preset":
            return _("set to {value}").format(value=spoken_name(str(value).replace("_", " ")))
        case "activity":
            return _(ACTIVITIES[value]) if value in ACTIVITIES else spoken_name(str(value))
    return ""


def clause(subject: SpokenName, device: Device) -> str:
    """Return how a device is, as a sentence without its stop: "the hall lamp is on, at 40 percent"."""
    now = device.state
    if not device.reachable:
        return _("{device} cannot be reached just now").format(device=subject)
    if device.kind == "person":
        return place_clause(subject, device)
    if device.kind == "sensor":
        return _sensed(subject, device)
    order = (
        *("on", "open", "locked", "playing", "muted", "activity", "position", "brightness", "volume", "speed"),
        *("temperature", "preset", "colour"),
    )
    shown = {name: now[name] for name in order if now.get(name) is not None}
    if shown.get("on") is False:
        shown = {"on": False}
    shown = {name: value for name, value in shown.items() if name != "muted" or value}
    if shown.get("playing"):
        shown.pop("on", None)
    if not shown:
        if device.lacks:
            return _("{device} can't be read, for {reason}").format(device=subject, reason=_(device.lacks))
        return _("{device} {device:has|have} not said how {device:it is|they are}").format(device=subject)
    parts = [_part(name, value, True, device.fahrenheit) for name, value in shown.items()]
    if "measured" in now:
        parts.append(_("measures {value}").format(value=degrees(now["measured"], device.fahrenheit)))
    if device.kind == "media" and now.get("playing") and now.get("title"):
        parts = [_("playing {title}").format(title=now["title"]) if part == _("playing") else part for part in parts]
    return _("{device} {device:is|are} {state}").format(device=subject, state=", ".join(parts))


def _sensed(subject: SpokenName, device: Device) -> str:
    now = device.state
    if isinstance(now.get("on"), bool):
        reports, how = binary_words(device.shape, now["on"])
        form = _("{device} {device:reports|report} {state}") if reports else _("{device} {device:is|are} {state}")
        return form.format(device=subject, state=how)
    if "value" not in now:
        return _("{device} {device:has|have} not said anything yet").format(device=subject)
    value = measured(now["value"], str(now.get("unit", "")), device.fahrenheit)
    return _("{device} {device:says|say} {value}").format(device=subject, value=value)


def binary_words(shape: str, on: bool) -> tuple[bool, str]:
    """Return whether a sensor of a device class reports something (else it is something), and what."""
    if shape in REPORTED:
        return True, _(REPORTED[shape][0 if on else 1])
    return False, _(BINARY.get(shape, (noted("on"), noted("off")))[0 if on else 1])


def status(device: Device) -> str:
    """Return in a word or two what a page can't tell of the bare state: "open", "at home", "docked"; "" of others."""
    now = device.state
    match device.kind:
        case "sensor" if isinstance(now.get("on"), bool):
            return binary_words(device.shape, now["on"])[1]
        case "person":
            place = str(now.get("place") or "")
            return {"home": _("at home"), "away": _("away")}.get(place, spoken_name(place))
        case "vacuum" | "mower":
            activity = str(now.get("activity") or "")
            return _(ACTIVITIES[activity]) if activity in ACTIVITIES else spoken_name(activity)
    return ""


def place_clause(subject: SpokenName, person: Device) -> str:
    """Return where a person is: "Anna is at home"."""
    match person.state.get("place"):
        case "home":
            return _("{person} is at home").format(person=subject)
        case "away":
            return _("{person} is away").format(person=subject)
        case str(where) if where:
            return _("{person} is at {place}").format(person=subject, place=spoken_name(where))
    return _("I don't know where {person} is").format(person=subject)


def the(device: Device) -> SpokenName:
    """Return "the lamp in the hall"; what has a name of its own goes without an article."""
    return thing(spoken_name(device.name), _room_beside(device), is_own=_is_own_name(device))


def _room_beside(device: Device) -> str:
    """Return the room that is said with a device; "" where its name says it."""
    return "" if plain(device.room) in plain(device.name) else device.room


def _is_own_name(device: Device) -> bool:
    robot = device.kind in ("vacuum", "mower") and not any(
        word in plain(device.name)
        for word in ("vacuum", "hoover", "mower", "robot", "cleaner", "roomba", "sauger", "mäher")
    )
    return device.kind in ("person", "scene") or robot or is_owned(device.name)


def named(device: Device, roomless: bool) -> SpokenName:
    """Return what to call a device where its room is known."""
    if not roomless or _is_own_name(device):
        return the(device)
    return thing(spoken_name(device.name))


def group(devices: Sequence[Device]) -> SpokenName:
    """Return "the hall lamp", or "3 lights in the kitchen"."""
    if len(devices) == 1:
        return the(devices[0])
    kinds, rooms = {device.kind for device in devices}, {device.room for device in devices}
    shapes = {device.shape for device in devices}
    what = kind_plural(devices[0].kind if len(kinds) == 1 else "", shapes.pop() if len(shapes) == 1 else "")
    if len(rooms) == 1 and devices[0].room:
        form = _("{count} {things} in {room:the}")
        return several(form.format(count=len(devices), things=what, room=place(devices[0].room)))
    return several(_("{count} {things}").format(count=len(devices), things=what))
