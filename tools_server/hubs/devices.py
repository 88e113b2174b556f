"""What a house can switch or look at, and which of it is meant. Pure: devices and words in, devices or a refusal out.

A name matches exactly, or not at all: what matches nothing is refused with the nearest there is, and never becomes
"all of them".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

from tools_server.hubs.kind_words import can_be, kind_plural
from tools_server.sdk.toolkit import Error, ToolFailed
from tools_server.values.language import noun
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import listed, place, thing

Kind = Literal[
    "light", "switch", "climate", "cover", "lock", "media", "fan", "sensor", "scene", "vacuum", "mower", "valve",
    "person",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
GUARDED = ("garage", "gate", "door")  # covers that let people in (device classes of Home Assistant)
_KIND_WORDS: Mapping[str, tuple[Kind, str]] = {  # plurals: every one of a kind, or of a shape of it
    **dict.fromkeys(("lights", "lamps"), ("light", "")),
    **dict.fromkeys(("blinds", "covers", "shutters"), ("cover", "")),
    "switches": ("switch", ""),
    "thermostats": ("climate", ""),
    "heating": ("climate", ""),
    "locks": ("lock", ""),
    "players": ("media", ""),
    "music": ("media", ""),
    "fans": ("fan", ""),
    "sensors": ("sensor", ""),
    "scenes": ("scene", ""),
    "curtains": ("cover", "curtain"),
    "valves": ("valve", ""),
    "vacuums": ("vacuum", ""),
    "mowers": ("mower", ""),
}
_ONE_WORDS: Mapping[str, Kind] = {  # a name for the only one there is
    **{"light": "light", "lamp": "light", "fan": "fan", "blind": "cover", "shutter": "cover", "lock": "lock"},
    **{"thermostat": "climate", "radiator": "climate", "heater": "climate", "player": "media", "speaker": "media"},
    **{"vacuum": "vacuum", "vacuum cleaner": "vacuum", "robot vacuum": "vacuum", "hoover": "vacuum"},
    **{"mower": "mower", "lawn mower": "mower", "lawnmower": "mower", "valve": "valve"},
}
_SHAPE_WORDS = {"garage door": "garage", "garage": "garage", "gate": "gate", "curtain": "curtain"}
_DOORS = ("door", "tür")
_ONE_BY_ONE: tuple[Kind, ...] = ("climate", "media", "vacuum", "mower", "valve", "person", "lock")  # asked about so
_ARTICLES = ("the", "my", "our", "a", "an")
NAME_CHARACTERS = 60
NAMED = 5  # in a question which one is meant

State = Mapping[str, Any]
"""What a device says of itself: on, brightness (percent), colour ("#rrggbb"), kelvin, temperature (wanted, °C),
measured (°C), mode, preset, position (percent open), open, heading ("open" or "closed" while it moves), locked,
playing, volume (percent), muted, title, speed (percent), activity ("cleaning", "mowing", "docked", "returning", …),
battery (percent), place ("home", "away", or a name), value, unit. What it does not say is not there."""


@dataclass(frozen=True, slots=True)
class Device:
    """One thing of the house, or one person whose phone tells where it is."""

    id: str  # "mqtt:light/0x01", "ha:light.hall"
    name: str
    room: str
    kind: Kind
    can: frozenset[str]  # which parts of its state can be set; clean, mow, dock, next, previous, query
    state: State = field(default_factory=dict)
    reachable: bool = True
    tells: bool = True  # it reports its state, so that a command can be believed
    shape: str = ""  # device class: "garage", "curtain", "window", "temperature"
    aliases: tuple[str, ...] = ()
    lacks: str = ""  # why not all of it can be used, in words
    floor: str = ""
    room_aliases: tuple[str, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of temperature, kelvin, speed
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of mode, preset
    fahrenheit: bool = False  # its temperatures are spoken in °F; they are held in °C

    @property
    def guarded(self) -> bool:
        """Whether opening it lets people in."""
        return self.kind == "lock" or (self.kind == "cover" and self.shape in GUARDED)


@dataclass(frozen=True, slots=True)
class Room:
    """A room, whether or not something is in it."""

    name: str
    floor: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Floor:
    """A floor, or another part of the house such as the garden."""

    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """The rooms and floors of a house, by the names that its people gave them."""

    rooms: tuple[Room, ...] = ()
    floors: tuple[Floor, ...] = ()

    def room(self, word: str) -> Room | None:
        """Return the room that goes by a name."""
        return next((room for room in self.rooms if plain(word) in map(plain, (room.name, *room.aliases))), None)

    def floor(self, word: str) -> Floor | None:
        """Return the floor that goes by a name."""
        return next((floor for floor in self.floors if plain(word) in map(plain, (floor.name, *floor.aliases))), None)


class NotMeant(ToolFailed):
    """No device, or no single one, is meant; `str()` is a sentence that says what there is."""

    def __init__(self, sentence: str, unknown: bool = True, among: Sequence[Device] = ()) -> None:
        """`among`: of several, those that the sentence asks about, in its order.

        An answer may choose from them. Nothing of how they are is told: the rules were not asked yet.
        """
        rows = [{"id": one.id, "name": one.name, "room": one.room} for one in among[:NAMED]]
        choices: dict[str, Any] = {"devices": rows, "more": len(among) > NAMED} if rows else {}
        error: Error = "not_found" if unknown else "invalid"
        super().__init__(error, sentence, code="not_found" if unknown else "which", **choices)


@dataclass(frozen=True, slots=True)
class DeviceTarget:
    """Which devices somebody means, in their words; "" is unsaid."""

    device: str = ""
    room: str = ""
    kind: str = ""
    here: str = ""  # the room they are in
    everything: bool = False  # in the whole house, said explicitly
    floor: str = ""
    shape: str = ""


def meant(
    devices: Iterable[Device], target: DeviceTarget, kinds: Sequence[Kind], plan: FloorPlan | None = None
) -> list[Device]:
    """Return the devices that are meant, of the kinds that come into question. Raises `NotMeant`; never empty."""
    every = list(devices)
    target = _in_its_room(every, placed(every, target, plan or FloorPlan()))
    # "the lights" is no name but a kind, unless something is called so.
    called = plain(target.device)
    if called in _KIND_WORDS and not any(called in names(device) for device in every):
        kind, shape = _KIND_WORDS[called]
        target = replace(target, device="", kind=target.kind or kind, shape=target.shape or shape)
    if target.device:
        return [_one(every, target, kinds)]
    if not target.kind and not target.shape:
        raise NotMeant(_("Which device do you mean?"), unknown=False)
    if target.kind and target.kind not in kinds:
        raise _can_only(target, target.kind)
    alike = [one for one in every if target.kind in ("", one.kind) and target.shape in ("", one.shape)]
    fitting = [device for device in alike if device.kind in kinds]
    matches = _there(fitting, target)
    if matches:
        return matches
    sensors = [one for one in every if one.kind == "sensor" and target.shape and target.shape == one.shape]
    if sensors and target.kind != "sensor" and not fitting:  # "shut the window", which is only looked at
        if sensor := _there(sensors, target):
            raise NotMeant(_can_only_be(sensor[0]), unknown=False)
        if not (target.room or target.floor):
            raise _can_only(target, "sensor")
    doors = [device for device in every if device.guarded] if target.shape == "door" and not fitting else []
    if doors and not (target.room or target.floor or target.everything):
        raise _which(doors)
    if target.room or target.floor or target.everything or not fitting:
        raise NotMeant(none_there(every, target))
    if target.kind in _ONE_BY_ONE:
        raise _which(fitting)
    if target.here:
        raise NotMeant(none_there(every, target))
    sentence = _("In which room? For the whole house, say all the {things} in the house.")
    raise NotMeant(sentence.format(things=things(target)), unknown=False)


def _there(fitting: list[Device], target: DeviceTarget) -> list[Device]:
    """Return those in the place that is meant: the one named, the house if said, the asker's room, or the only one."""
    if target.room or target.floor or target.everything:
        return in_place(fitting, target)
    here = [device for device in fitting if target.here and plain(device.room) == plain(target.here)]
    return here or (fitting if len(fitting) == 1 else [])


def in_place(devices: Sequence[Device], target: DeviceTarget) -> list[Device]:
    """Return what is in the room and on the floor that a target names, by their own names."""
    return [
        device
        for device in devices
        if (not target.room or plain(device.room) == plain(target.room))
        and (not target.floor or plain(device.floor) == plain(target.floor))
    ]


def things(target: DeviceTarget) -> str:
    """Return what a target asks for, as a plural: "lights", "curtains"."""
    return kind_plural(target.kind, target.shape)


def _can_only(target: DeviceTarget, kind: str) -> NotMeant:
    """Return that something else cannot be done with such things."""
    sentence = _("I can't do that with {things}: they can only be {verbs}.")
    return NotMeant(sentence.format(things=things(target), verbs=can_be(kind)), unknown=False)


def _can_only_be(device: Device) -> str:
    """Return the sentence that something else cannot be done with a device."""
    sentence = _("I can't do that with {device}: {device:it|they} can only be {verbs}.")
    return sentence.format(device=thing(device.name), verbs=can_be(device.kind))


def none_there(every: Sequence[Device], target: DeviceTarget) -> str:
    """Return the sentence that there is none of what a target asks for, where it asks for it."""
    where = target.room or target.floor or ("" if target.everything else target.here)
    if not where:
        return _("There are no {things} in this house.").format(things=things(target))
    room = next((device.room for device in every if plain(device.room) == plain(where)), noun(spoken_name(where)))
    return _("There are no {things} in {place:the}.").format(things=things(target), place=place(room))


def placed(every: Sequence[Device], target: DeviceTarget, plan: FloorPlan) -> DeviceTarget:
    """Return a target whose room and floor have their own names. Raises `NotMeant` with the nearest there is."""
    room, floor = target.room, target.floor
    if room and not floor and not _knows_room(every, room, plan) and plan.floor(room):
        room, floor = "", room
    if room:
        if not _knows_room(every, room, plan):
            known = sorted({device.room for device in every if device.room} | {one.name for one in plan.rooms})
            sentence = _("There is no room {room}.").format(room=spoken_name(room))
            raise NotMeant(sentence + nearest(plain(room), known))
        room = next((device.room for device in every if plain(device.room) == plain(room)), "") or (
            there.name if (there := plan.room(room)) else room
        )
    if floor:
        storey = plan.floor(floor)
        if storey is None:
            sentence = _("There is no floor {floor}.").format(floor=spoken_name(floor))
            raise NotMeant(sentence + nearest(plain(floor), [one.name for one in plan.floors]))
        floor = storey.name
    here = there.name if target.here and (there := plan.room(target.here)) else target.here
    return replace(target, room=room, floor=floor, here=here)


def _knows_room(every: Sequence[Device], room: str, plan: FloorPlan) -> bool:
    return plan.room(room) is not None or any(plain(device.room) == plain(room) for device in every)


def _in_its_room(every: Sequence[Device], target: DeviceTarget) -> DeviceTarget:
    """Return "the hall light" as the light in the hall, unless something is called so."""
    called = plain(target.device)
    if not target.room and not any(called in names(device) for device in every):
        for device in every:
            for room in filter(None, map(plain, (device.room, *device.room_aliases))):
                word = called.removeprefix(f"{room} ")
                if word != called and word in {*_ONE_WORDS, *_KIND_WORDS}:
                    return replace(target, device=word, room=device.room)
    return target


def _one(every: Sequence[Device], target: DeviceTarget, kinds: Sequence[Kind]) -> Device:
    called = [device for device in every if target.device == device.id or plain(target.device) in names(device)]
    word = plain(target.device)
    kind, shape = _ONE_WORDS.get(word), _SHAPE_WORDS.get(word)
    alike = [device for device in every if device.kind == kind or (shape and device.shape == shape)]
    if word in _DOORS:
        called = [device for device in every if device.guarded]  # never the garage's, since that is in the garage
    # A lamp in the study that is called "Light" is not the light of the kitchen.
    where = plain(target.room or target.here)
    if (alike and not called) or (_any_in(where, alike) and not _any_in(where, called)):
        called = alike
    elif called:
        word = ""
    matches = [device for device in called if device.kind in kinds]
    if called and not matches:
        raise NotMeant(_can_only_be(called[0]), unknown=False)
    if not matches:
        near = nearest(plain(target.device), sorted({device.name for device in every if device.kind in kinds}))
        raise NotMeant(_("There is no device {device}.").format(device=spoken_name(target.device)) + near)
    # A kind beside a name only tells namesakes apart: a lamp may hang on a switch.
    matches = [device for device in matches if device.kind == target.kind] or matches
    if target.room or target.floor:
        inside = in_place(matches, target)
        if not inside:
            where = listed([place(room) for room in sorted({device.room or _("no room") for device in matches})])
            sentence = _("There is no {device} in {place:the}; it is in {rooms}.")
            requested_called = place(noun(spoken_name(target.room or target.floor)))
            raise NotMeant(sentence.format(device=noun(word) or matches[0].name, place=requested_called, rooms=where))
        matches = inside
    elif len(matches) > 1:
        matches = [device for device in matches if target.here and plain(device.room) == plain(target.here)] or matches
    if len(matches) > 1:
        raise _which(matches)
    return matches[0]


def _which(devices: Sequence[Device]) -> NotMeant:
    """Return the question which of some devices is meant."""
    called = {device.id: thing(device.name, _room_beside(device)) for device in devices}
    among = sorted(devices, key=lambda device: called[device.id])
    choices = listed([called[device.id] for device in among[:NAMED]], "or")
    return NotMeant(_("Which one: {choices}?").format(choices=choices), unknown=False, among=among)


def _room_beside(device: Device) -> str:
    """Return the room by which a device is told from others; "" where its name says it."""
    return "" if device.room and plain(device.room) in plain(device.name) else device.room or _("house")


def _any_in(room: str, devices: Sequence[Device]) -> bool:
    return bool(room) and any(plain(device.room) == room for device in devices)


def names(device: Device) -> set[str]:
    """Return what a device may be called: by its name, with or without its room before it, or by an alias."""
    called = {plain(device.name), *map(plain, device.aliases)}
    for room in filter(None, map(plain, (device.room, *device.room_aliases))):
        for name in tuple(called):
            called |= {f"{room} {name}", f"{name} in {room}", f"{name} in the {room}"}
            if name.startswith(f"{room} "):
                called.add(name.removeprefix(f"{room} "))
    return called


def plain(name: str) -> str:
    """Return a name as names are compared: "the Kitchen  Lamp" → "kitchen lamp"."""
    words = unicodedata.normalize("NFKC", name).casefold().replace("_", " ").split()
    while len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return " ".join(words)


def spoken_name(name: str) -> str:
    """Return a name fit for speech: short, without what cannot be seen and without markup."""
    shown = "".join(c if c.isprintable() and c not in "{}<>_*`" else " " for c in name)
    return " ".join(shown.split())[:NAME_CHARACTERS]


def measured_state(text: str, number: float | None, unit: str) -> dict[str, Any]:
    """Return the state of a sensor that says `text`: a number where that is one, and °C where it was °F."""
    if number is not None and unit == "°F":
        number, unit = (number - 32) * 5 / 9, "°C"
    value = spoken_name(text) if number is None else round(number, 3)
    return {"value": value, **({"unit": spoken_name(unit)} if unit else {})}


def nearest(wanted: str, known: Sequence[str]) -> str:
    """Return the sentence that names what is nearest to a name, or what there is; it begins with a space."""
    near = get_close_matches(wanted, [plain(item) for item in known], n=1, cutoff=0.5)
    if near:
        return _(" The nearest is {name}.").format(name=next(item for item in known if plain(item) == near[0]))
    return _(" There is {names}.").format(names=", ".join(known[:8])) if known else _(" There is none yet.")
