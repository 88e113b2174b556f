"""What a house can switch, and which of it is meant. Pure: devices and words in, devices or a refusal out.

A name is found exactly, or not at all: what is not found is refused with the nearest there is, and never becomes
"all of them".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

Kind = Literal["light", "switch", "climate", "cover", "lock", "media", "fan", "sensor", "scene"]
KINDS: tuple[Kind, ...] = get_args(Kind)
GUARDED = ("garage", "gate", "door")  # covers that let people in (device classes of Home Assistant)
PLURALS: Mapping[Kind, str] = {
    "light": "lights",
    "switch": "switches",
    "climate": "thermostats",
    "cover": "blinds",
    "lock": "locks",
    "media": "players",
    "fan": "fans",
    "sensor": "sensors",
    "scene": "scenes",
}
_CAN_BE: Mapping[Kind, str] = {
    "light": "turned on or off, and set",
    "switch": "turned on or off",
    "climate": "turned on or off, and set",
    "cover": "opened, closed or set",
    "lock": "locked or unlocked",
    "media": "played, paused, turned on or off, and set",
    "fan": "turned on or off",
    "sensor": "read",
    "scene": "set",
}
_KIND_WORDS: Mapping[str, Kind] = {
    **{plural: kind for kind, plural in PLURALS.items()},
    **{"lamps": "light", "covers": "cover", "shutters": "cover", "heating": "climate", "music": "media"},
}
_ONE_WORDS: Mapping[str, Kind] = {  # a name for the only one there is
    **{"light": "light", "lamp": "light", "fan": "fan", "blind": "cover", "shutter": "cover", "lock": "lock"},
    **{"thermostat": "climate", "radiator": "climate", "heater": "climate", "player": "media", "speaker": "media"},
}
_SHAPE_WORDS = {"garage door": "garage", "garage": "garage", "gate": "gate"}
_ONE_A_HOUSE: tuple[Kind, ...] = ("climate", "media")  # who says "the heating" in a house with one means that one
_ARTICLES = ("the", "my", "our", "a", "an")
NAME_CHARACTERS = 60

State = Mapping[str, Any]
"""What a device says of itself: on, brightness (percent), colour ("#rrggbb"), kelvin, temperature (wanted, °C),
measured (°C), mode, position (percent open), open, heading ("open" or "closed" while it moves), locked, playing,
volume (percent), title, value, unit. What it does not say is not there."""


@dataclass(frozen=True, slots=True)
class Device:
    """One thing of the house."""

    id: str  # "mqtt:light/0x01", "ha:light.hall"
    name: str
    room: str
    kind: Kind
    can: frozenset[str]  # which parts of its state can be set
    state: State = field(default_factory=dict)
    reachable: bool = True
    tells: bool = True  # it reports its state, so that a command can be believed
    shape: str = ""  # device class: "garage", "temperature"
    aliases: tuple[str, ...] = ()
    lacks: str = ""  # why not all of it can be used, in words

    @property
    def guarded(self) -> bool:
        """Whether opening it lets people in."""
        return self.kind == "lock" or (self.kind == "cover" and self.shape in GUARDED)


class NotMeant(Exception):
    """No device, or no single one, is meant; `str()` is a sentence that says what there is."""

    def __init__(self, sentence: str, unknown: bool = True) -> None:
        super().__init__(sentence)
        self.unknown = unknown  # False: there are several


@dataclass(frozen=True, slots=True)
class Wish:
    """Which devices somebody means, in their words; "" is unsaid."""

    device: str = ""
    room: str = ""
    kind: str = ""
    here: str = ""  # the room they are in
    everything: bool = False  # in the whole house, said explicitly


def meant(devices: Iterable[Device], wish: Wish, kinds: Sequence[Kind]) -> list[Device]:
    """Return the devices that are meant, of the kinds that come into question. Raises `NotMeant`; never empty."""
    every = list(devices)
    wish = _in_its_room(every, wish)
    # "the lights" is no name but a kind, unless something is called so.
    called = plain(wish.device)
    if called in _KIND_WORDS and not any(called in names(device) for device in every):
        wish = replace(wish, device="", kind=wish.kind or _KIND_WORDS[called])
    if wish.device:
        return [_one(every, wish, kinds)]
    if not wish.kind:
        raise NotMeant("Which device do you mean?", unknown=False)
    if wish.kind not in kinds:
        what = PLURALS[_kind(wish)]
        raise NotMeant(f"I can't do that with {what}: they can only be {_CAN_BE[_kind(wish)]}.", unknown=False)
    if wish.everything:
        found = every if not wish.room else in_room(every, wish.room)
    elif not wish.room and (only := _only_one(every, wish)):
        found = only
    elif room := wish.room or wish.here:
        found = in_room(every, room)
    else:
        raise NotMeant(f"In which room? For the whole house, say all the {PLURALS[_kind(wish)]} in the house.", False)
    found = [device for device in found if device.kind == wish.kind]
    if not found:
        where = "" if wish.everything else f" in the {_shown_room(every, wish.room or wish.here)}"
        raise NotMeant(f"There are no {PLURALS[_kind(wish)]}{where}.")
    return found


def _in_its_room(every: Sequence[Device], wish: Wish) -> Wish:
    """Return "the hall light" as the light in the hall, unless something is called so."""
    called = plain(wish.device)
    if not wish.room and not any(called in names(device) for device in every):
        for room in sorted({plain(device.room) for device in every if device.room}):
            word = called.removeprefix(f"{room} ")
            if word != called and word in {*_ONE_WORDS, *_KIND_WORDS}:
                return replace(wish, device=word, room=room)
    return wish


def _only_one(every: Sequence[Device], wish: Wish) -> list[Device]:
    """Return the only device of a kind of which houses have one, as long as the room has none of its own."""
    found = [device for device in every if device.kind == wish.kind] if wish.kind in _ONE_A_HOUSE else []
    return found if len(found) == 1 else []


def in_room(devices: Sequence[Device], room: str) -> list[Device]:
    """Return what is in a room. Raises `NotMeant` with the nearest room when there is none of that name."""
    wanted = plain(room)
    found = [device for device in devices if plain(device.room) == wanted]
    if not found:
        rooms = sorted({device.room for device in devices if device.room})
        raise NotMeant(f"There is no room {said(room)}.{_nearest(wanted, rooms)}")
    return found


def _one(every: Sequence[Device], wish: Wish, kinds: Sequence[Kind]) -> Device:
    called = [device for device in every if wish.device == device.id or plain(wish.device) in names(device)]
    word = plain(wish.device)
    kind, shape = _ONE_WORDS.get(word), _SHAPE_WORDS.get(word)
    alike = [device for device in every if device.kind == kind or (shape and device.shape == shape)]
    # A lamp in the study that is called "Light" is not the light of the kitchen.
    where = plain(wish.room or wish.here)
    if (alike and not called) or (_any_in(where, alike) and not _any_in(where, called)):
        called = alike
    elif called:
        word = ""
    found = [device for device in called if device.kind in kinds]
    if called and not found:
        raise NotMeant(f"I can't do that with the {called[0].name}: it can only be {_CAN_BE[called[0].kind]}.", False)
    if not found:
        near = _nearest(plain(wish.device), sorted({device.name for device in every if device.kind in kinds}))
        raise NotMeant(f"There is no device {said(wish.device)}.{near}")
    # A kind beside a name only tells namesakes apart: a lamp may hang on a switch.
    found = [device for device in found if device.kind == wish.kind] or found
    if wish.room:
        here = in_room(every, wish.room)
        if not (inside := [device for device in found if device in here]):
            where = ", ".join(sorted({device.room or "no room" for device in found}))
            raise NotMeant(f"There is no {word or found[0].name} in the {said(wish.room)}; it is in {where}.")
        found = inside
    elif len(found) > 1:
        found = [device for device in found if wish.here and plain(device.room) == plain(wish.here)] or found
    if len(found) > 1:
        which = " or ".join(sorted(f"the {device.name} in the {device.room or 'house'}" for device in found)[:5])
        raise NotMeant(f"Which one: {which}?", unknown=False)
    return found[0]


def _any_in(room: str, devices: Sequence[Device]) -> bool:
    return bool(room) and any(plain(device.room) == room for device in devices)


def names(device: Device) -> set[str]:
    """Return what a device may be called: by its name, with or without its room before it, or by an alias."""
    name, room = plain(device.name), plain(device.room)
    called = {name, *map(plain, device.aliases)}
    if room:
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


def said(name: str) -> str:
    """Return a name fit for speech: short, without what cannot be seen and without markup."""
    shown = "".join(c if c.isprintable() and c not in "{}<>_*`" else " " for c in name)
    return " ".join(shown.split())[:NAME_CHARACTERS]


def _nearest(wanted: str, known: Sequence[str]) -> str:
    near = get_close_matches(wanted, [plain(each) for each in known], n=1, cutoff=0.5)
    if near:
        return f" The nearest is {next(each for each in known if plain(each) == near[0])}."
    return f" There is {', '.join(known[:8])}." if known else " There is none yet."


def _kind(wish: Wish) -> Kind:
    return next(kind for kind in KINDS if kind == wish.kind)


def _shown_room(devices: Sequence[Device], room: str) -> str:
    return next((device.room for device in devices if plain(device.room) == plain(room)), said(room))
