"""What devices are to be set to: values that were said, steps from how they are now, and where a robot cleans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools_server.hubs.deeds import Deed, home_of, refuse_guarded
from tools_server.hubs.device_rules import permit_music
from tools_server.hubs.devices import Device, DeviceTarget, Kind, State, placed, plain, spoken_name
from tools_server.hubs.home_targets import chosen
from tools_server.hubs.home_words import COLOURS, degrees, the
from tools_server.sdk.toolkit import Call, ToolFailed
from tools_server.sdk.wording import capital
from tools_server.values.language import noted, series
from tools_server.values.language import text as _

SURELY_FAHRENHEIT = 45  # nobody heats a room to so many degrees Celsius
HEATING = (5.0, 35.0)  # °C, of a device that names no limits
WARMTH = (2000.0, 6500.0)  # kelvin, the same
_KINDS: Mapping[str, tuple[Kind, ...]] = {
    "brightness": ("light",),
    "colour": ("light",),
    "kelvin": ("light",),
    "temperature": ("climate",),
    "position": ("cover", "valve"),
    "volume": ("media",),
    "speed": ("fan",),
    "mode": ("climate", "fan"),
}
_STEPPED = {"warmth": "kelvin"}  # what it is of a device's state, where that is called otherwise
_AT_ITS_END: Mapping[str, tuple[str, str]] = {  # less, more
    "brightness": (
        noted("{device} {device:is|are} already at {device:its|their} dimmest."),
        noted("{device} {device:is|are} already at {device:its|their} brightest."),
    ),
    "warmth": (
        noted("{device} {device:is|are} already as cool as {device:it gets|they get}."),
        noted("{device} {device:is|are} already as warm as {device:it gets|they get}."),
    ),
    "temperature": (
        noted("{device} {device:is|are} already at {device:its|their} lowest."),
        noted("{device} {device:is|are} already at {device:its|their} highest."),
    ),
    "volume": (
        noted("{device} {device:is|are} already as quiet as {device:it gets|they get}."),
        noted("{device} {device:is|are} already as loud as {device:it gets|they get}."),
    ),
    "position": (
        noted("{device} {device:is|are} already closed."),
        noted("{device} {device:is|are} already all the way open."),
    ),
    "speed": (
        noted("{device} {device:is|are} already as slow as {device:it gets|they get}."),
        noted("{device} {device:is|are} already as fast as {device:it gets|they get}."),
    ),
}


def _was_said(name: str, value: Any) -> bool:
    """Whether a value is not the one that stands for nothing said."""
    if isinstance(value, str):
        return bool(value.strip())
    return bool(value > 0 if name == "temperature" else value >= (1000 if name == "kelvin" else 0))


def settings(call: Call, target: DeviceTarget, values: Mapping[str, Any], unit: str) -> list[Deed]:
    """Return which device is to be set to what. Raises `ToolFailed`."""
    wanted = {name: value for name, value in values.items() if _was_said(name, value)}
    if not wanted:
        raise ToolFailed(
            "invalid", _("Set it to what: a brightness, a colour, a temperature, a position, a volume or a speed?")
        )
    kinds = [kind for kind in _KINDS[next(iter(wanted))] if all(kind in _KINDS[name] for name in wanted)]
    if not kinds:
        raise ToolFailed("invalid", _("Those are settings of different devices. Say one of them at a time."))
    if "colour" in wanted:
        wanted["colour"] = _colour(wanted["colour"])
    devices = _of(call, target, kinds)
    refuse_guarded(devices, wanted)
    deeds = [(device, _fitted(device, wanted, unit)) for device in devices]
    if len(deeds) > 1:
        return deeds  # "twenty everywhere" is how loud they are, and turns on none of them
    [(device, state)] = deeds
    return [(device, _audible(call, device, state))]


def _audible(call: Call, device: Device, wanted: State) -> State:
    """Return a setting with its player on, where that is to be as loud as nobody could hear: "the radio to forty".

    Raises `ToolFailed` for one that the rules keep from playing.
    """
    if not wanted.get("volume") or "on" not in device.can or device.state.get("on") is not False:
        return wanted
    permit_music(call, device, {"on": True})
    return {"on": True, **wanted}


def _of(call: Call, target: DeviceTarget, kinds: Sequence[Kind]) -> list[Device]:
    """Return the devices of a setting; where nothing is said, those of the setting's own kind."""
    if target.device or target.kind or target.shape:
        return chosen(call, target, kinds)
    first, *others = kinds
    home = home_of(call)
    here = [device.kind for device in home.devices() if plain(device.room) == plain(target.room or target.here)]
    only = first if first in here or not any(kind in here for kind in others) else next(k for k in others if k in here)
    return chosen(call, DeviceTarget("", target.room, only, target.here, target.everything, target.floor), kinds)


def _fitted(device: Device, wanted: Mapping[str, Any], unit: str) -> State:
    if device.kind == "light":
        return {"on": False} if wanted.get("brightness") == 0 else {"on": True, **wanted}
    if device.kind == "fan" and "speed" in wanted:
        return {"on": True, **wanted} if wanted["speed"] else {"on": False}
    fitted = dict(wanted)
    if "temperature" in wanted:
        fitted["temperature"] = _temperature(device, float(wanted["temperature"]), unit)
    if "mode" in wanted:
        del fitted["mode"]
        fitted.update(_mode(device, str(wanted["mode"])))
    return fitted


def _temperature(device: Device, value: float, unit: str) -> float:
    """Return a temperature in °C. Raises `ToolFailed` for one that the device does not go to."""
    if unit == "°F" or (not unit and device.fahrenheit and value > SURELY_FAHRENHEIT):
        value = round((value - 32) * 5 / 9, 2)
    lowest, highest = device.limits.get("temperature", HEATING)
    if not lowest <= value <= highest:
        sentence = _("{device} {device:goes|go} from {lowest} to {highest}.").format(
            device=the(device), lowest=degrees(lowest, device.fahrenheit), highest=degrees(highest, device.fahrenheit)
        )
        raise ToolFailed("invalid", capital(sentence))
    return value


def _mode(device: Device, mode: str) -> State:
    word = plain(mode).replace(" ", "_")
    if word == "off":
        return {"on": False}
    if word in device.options.get("preset", ()) and word not in device.options.get("mode", ()):
        return {"preset": word}
    known = (*device.options.get("mode", ()), *device.options.get("preset", ()))
    if known and word not in known:
        choices = series([spoken_name(one.replace("_", " ")) for one in known], "or")
        raise ToolFailed(
            "invalid",
            capital(_("{device} {device:has|have} no mode {mode}. It can be {modes}.").format(
                device=the(device), mode=spoken_name(mode), modes=choices)),
        )  # fmt: skip
    return {"mode": word}


def _colour(name: str) -> str:
    wanted = plain(name)
    if wanted in COLOURS:
        return COLOURS[wanted]
    if len(wanted) == 7 and wanted[0] == "#" and all(c in "0123456789abcdef" for c in wanted[1:]):
        return wanted
    sentence = _("I don't know the colour {colour}. I know {colours}.")
    raise ToolFailed("invalid", sentence.format(colour=spoken_name(name), colours=", ".join(map(_, COLOURS))))


# ── steps ──────────────────────────────────────────────────────────────────────────────────────────


def steps(call: Call, target: DeviceTarget, what: str, by: float, unit: str, times: float = 1) -> list[Deed]:
    """Return what devices are to be set to: so much above or below how they are, or so many times that.

    Raises `ToolFailed`. Nobody halves a temperature.
    """
    shared = not by and times != 1 and what not in ("temperature", "warmth")
    if by == 0 and not shared:
        raise ToolFailed("invalid", _("By how much?"))
    name = _STEPPED.get(what, what)
    devices = [device for device in _of(call, target, _KINDS[name]) if name in device.can] or _of(
        call, target, _KINDS[name]
    )
    if not any(name in device.can for device in devices):
        raise ToolFailed("failed", capital(_("{device} cannot do that.").format(device=the(devices[0]))))
    if not target.device:  # a lamp that is off has no brightness to change, while another is on
        devices = [device for device in devices if device.state.get("on") is not False] or devices
    deeds: list[Deed] = []
    ended, unknown = [], []
    for device in devices:
        value = _value(device, name)
        by = (value or 0) * (times - 1) if shared else by
        if by > 0 and name in ("brightness", "speed") and device.state.get("on") is False:
            deeds.append((device, _lit(device, what, by, unit)))
            continue
        if value is None:
            unknown.append(device)
            continue
        stepped = _stepped(device, what, value, by, unit)
        if stepped == value and call.rehearsal is None:  # by then it may be at its end no more
            ended.append(device)
        else:
            deeds.append((device, {"on": True, name: stepped} if device.kind in ("light", "fan") else {name: stepped}))
    if not deeds and ended:
        raise ToolFailed("failed", capital(_(_AT_ITS_END[what][by > 0]).format(device=the(ended[0]))), code="limit")
    if not deeds:
        sentence = _("I don't know how {device} {device:is|are} set now, so I can't change it by a step.")
        raise ToolFailed("failed", sentence.format(device=the(unknown[0])))
    for device, wanted in deeds:
        if what == "position" and by > 0:
            refuse_guarded([device], wanted)
    return deeds


def _lit(device: Device, what: str, by: float, unit: str) -> State:
    """Return what makes more of a lamp or a fan that is off: on, and a step further than it was last, if it knows that.

    A step from nothing would be less than what the switch on the wall gives.
    """
    last = device.state.get(what)
    if not isinstance(last, (int, float)) or not last:
        return {"on": True}
    return {"on": True, what: _stepped(device, what, last, by, unit)}


def _value(device: Device, name: str) -> float | None:
    if name in ("brightness", "speed") and device.state.get("on") is False:
        return 0
    value = device.state.get(name)
    if name == "kelvin" and value is None:  # in a colour, or not told yet: from the middle of what it can
        return sum(device.limits.get(name, WARMTH)) / 2
    if name == "position" and value is None and isinstance(device.state.get("open"), bool):
        return 100 if device.state["open"] else 0
    return value if isinstance(value, (int, float)) else None


def _stepped(device: Device, what: str, value: float, by: float, unit: str) -> float:
    """Return the value a step further, within what the device can. Equal to `value` at its end."""
    match what:
        case "temperature":
            lowest, highest = device.limits.get("temperature", HEATING)
            step = by * 5 / 9 if unit == "°F" else by
            return round(min(highest, max(lowest, value + step)), 2)
        case "warmth":  # fewer kelvin are warmer
            lowest, highest = device.limits.get("kelvin", WARMTH)
            return round(min(highest, max(lowest, value - by * (highest - lowest) / 100)))
        case "speed":
            step, highest = device.limits.get("speed", (1.0, 100.0))
            further = value + max(abs(by), step) * (1 if by > 0 else -1)
            return round(min(highest, max(min(step, value), further)))
        case "brightness":
            return round(min(100, max(min(1, value), value + by)))
    return round(min(100, max(0, value + by)))


# ── robots ─────────────────────────────────────────────────────────────────────────────────────────


def cleaning(call: Call, device: str, room: str) -> list[Deed]:
    """Return which robot is to clean what: the room that is named, where it can; else all. Raises `ToolFailed`."""
    home = home_of(call)
    every = home.devices()
    target = DeviceTarget(device, room, "" if device else "vacuum", call.actor.room)
    if not room:
        return [(one, {"activity": "cleaning"}) for one in chosen(call, target, ("vacuum",))]
    target = placed(every, target, home.plan())
    there = [one for one in every if one.kind == "vacuum" and plain(one.room) == plain(target.room)]
    if len(there) == 1 and not device:
        target = DeviceTarget(there[0].id)
    robots = chosen(call, DeviceTarget(target.device, kind=target.kind, here=target.here), ("vacuum",))
    able = [one for one in robots if "clean_room" in one.can]
    place = placed(every, DeviceTarget(room=room), home.plan()).room
    return [(one, {"activity": "cleaning", **({"room": place} if one in able else {})}) for one in robots]
