"""The public grammar's intents → the tools of this house. A table, and what a table cannot say. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from atlas.understanding.home_tools import accepted
from atlas.understanding.names import GUARDED, NamedDevice, Names
from atlas.understanding.public import KIND_OF_DOMAIN, IntentReading, PublicGrammar
from atlas.understanding.slots import LATER, Command
from atlas.understanding.templates import TOOL_OF_PUBLIC_INTENT

LONGEST_WORDS = 12  # of a list's item, a timer's name or a place; longer ones are half-understood sentences
HOTTEST_CELSIUS = 45  # nobody wants a room so warm: a higher number is in °F
REMEMBERED = 64  # sentences
VOLUME_STEP = 10  # percent points
_QUANTITIES = ("any", "all", "which", "how_many", "where")
_SAME: Mapping[str, tuple[str, Mapping[str, Any]]] = {  # intent → the tool that is it, and what every call of it says
    "HassMediaNext": ("home.next", {}),
    "HassMediaPrevious": ("home.previous", {}),
    "HassMediaPause": ("home.pause", {}),
    "HassMediaUnpause": ("home.play", {}),
    "HassMediaPlayerMute": ("home.mute", {"muted": True}),
    "HassMediaPlayerUnmute": ("home.mute", {"muted": False}),
    "HassVacuumStart": ("home.clean", {}),
    "HassVacuumReturnToBase": ("home.dock", {"kind": "vacuum"}),
    "HassLawnMowerStartMowing": ("home.mow", {}),
    "HassLawnMowerDock": ("home.dock", {"kind": "mower"}),
}
_SET = {  # intent → slot → argument of home.set, and the kind that has it
    "HassLightSet": ({"brightness": "brightness", "color": "colour", "temperature": "kelvin"}, "light"),
    "HassSetPosition": ({"position": "position"}, ""),
    "HassFanSetSpeed": ({"percentage": "speed"}, "fan"),
    "HassSetVolume": ({"volume_level": "volume"}, "media"),
    "HassClimateSetTemperature": ({"temperature": "temperature"}, "climate"),
    "HassClimateSetFanMode": ({"fan_mode": "mode"}, "climate"),
}
_LISTS = {
    "HassShoppingListAddItem": "lists.add",
    "HassShoppingListCompleteItem": "lists.check",
    "HassListAddItem": "lists.add",
    "HassListCompleteItem": "lists.check",
    "HassListRemoveItem": "lists.remove",
}
# What is said to whom nothing is to be done for. The house's own words, by language; others are answered in English.
_REPLIES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "HassNevermind": "All right.",
        "hello": "Hello.",
        "listening": "I listen once I hear my name; until then nothing is recorded.",
        "data": "It stays in this house.",
        "commands": "You can ask me about lights, heating, timers, lists and more. Say what you need.",
        "creator": "I am Atlas, made for this house.",
    },
    "de": {
        "HassNevermind": "In Ordnung.",
        "hello": "Hallo.",
        "listening": "Ich höre zu, sobald ich meinen Namen höre; bis dahin wird nichts aufgenommen.",
        "data": "Sie bleiben in diesem Haus.",
        "commands": "Frag mich nach Licht, Heizung, Timern, Listen und mehr. Sag, was du brauchst.",
        "creator": "Ich bin Atlas, gemacht für dieses Haus.",
    },
    "nl": {"HassNevermind": "Goed.", "hello": "Hallo."},
    "fr": {"HassNevermind": "D'accord.", "hello": "Bonjour."},
}

Meant = tuple[Command, ...] | str | None


class PublicReader:
    """Reads sentences by the public grammar of a language. Immutable; a sentence takes a few milliseconds.

    `again` reads the inner sentence of one that is to be done later: "turn off the lights in five minutes".
    """

    def __init__(self, grammar: PublicGrammar, again: Callable[[str], tuple[Command, ...]] | None = None) -> None:
        self.grammar = grammar
        self._again = again
        # A turn is asked about several times: while somebody speaks, at the end, and by each who may answer.
        self._read = lru_cache(REMEMBERED)(self._first_meant)
        english = _REPLIES["en"]
        self._replies = {**english, **_REPLIES.get(grammar.language.partition("-")[0], {})}

    def prepare(self, names: Names) -> None:
        """Make ready for the names of a house, so that no sentence waits for it."""
        self.grammar.prepare(names)

    def read(self, text: str, names: Names, room: str) -> Meant:
        """Return the commands that all of `text` is, or what to say to it when nothing is to be done."""
        return self._read(text, names, room)

    def _first_meant(self, text: str, names: Names, room: str) -> Meant:
        for reading in self.grammar.readings(text, names, room):
            meant = self.meant(reading, names, room)
            if meant is not None:
                return meant
        return None

    def meant(self, reading: IntentReading, names: Names, room: str) -> Meant:
        """Return what one reading asks of this house; `None` when a slot holds what it cannot mean."""
        if any(len(words.split()) > LONGEST_WORDS for slot, words in reading.wildcards.items() if slot in _SHORT):
            return None
        if reading.intent in ("HassNevermind", "HassRespond"):
            key = reading.intent if reading.intent == "HassNevermind" else reading.response
            return self._replies.get(key) or self._replies["hello"]
        if "conversation_command" in reading.slots:
            return self._later(reading, names, room)
        commands = [_command(one, names, room) for one in _of_one_shape(reading, names, room)]
        return tuple(filter(None, commands)) or None

    def _later(self, reading: IntentReading, names: Names, room: str) -> Meant:
        text = str(reading.slots["conversation_command"]).strip()
        inner = self.read(text, names, room)
        commands = inner if isinstance(inner, tuple) else self._again(text) if self._again else ()
        if len(commands) != 1 or commands[0].tool == LATER:
            return None
        return (replace(commands[0].later(seconds=_seconds(reading.slots), text=text), whole=True),)


_POINTED_AT = re.compile(r"(?:da|dort|there|here)(?: das?)?", re.IGNORECASE)
_SHORT = ("item", "name", "zone")


def _command(reading: IntentReading, names: Names, room: str) -> Command | None:
    """Return the tool call that a reading is."""
    intent, slots = reading.intent, reading.slots
    if intent in ("HassTurnOn", "HassTurnOff"):
        return _turned(reading, names, room)
    if intent in _SET:
        return _setting(reading, names)
    if intent in _SAME:
        tool, always = _SAME[intent]
        return _call(tool, {**_target(reading, names, kind=str(always.get("kind", ""))), **always})
    if tool := TOOL_OF_PUBLIC_INTENT.get(intent, ""):
        return _timer(reading, tool) if tool.startswith("timers.") else _call(tool, {})
    if intent in _LISTS:
        where = {"list": slots["name"]} if "name" in slots else {}
        return _call(_LISTS[intent], {"items": [str(slots["item"])], **where})
    return _rarer(reading, names, room)


def _rarer(reading: IntentReading, names: Names, room: str) -> Command | None:
    slots = reading.slots
    match reading.intent:
        case "HassGetState":
            return _state(reading, names)
        case "HassClimateGetTemperature":
            return _call("home.state", _target(reading, names) | {"measure": "temperature"})
        case "HassSetVolumeRelative":
            return _call("home.adjust", _target(reading, names) | {"what": "volume", "by": _step(slots["volume_step"])})
        case "HassMediaSearchAndPlay":
            wanted = {"query": slots["search_query"], "media_class": slots.get("media_class", "")}
            return _call("home.play", _target(reading, names) | wanted)
        case "HassVacuumCleanArea":
            # Which room to clean is what is said, not where the speaker stands; "clean in here" says both.
            where = room if reading.here else slots.get("area", "")
            return _call("home.clean", {"device": slots.get("name", ""), "room": where}) if where else None
        case "HassGetWeather":
            if _POINTED_AT.fullmatch(str(slots.get("name", ""))):
                return None  # "dort das", of "wie ist dort das Wetter": which place that is was said before
            return _call("weather.now", {"place": slots["name"]} if "name" in slots else {})
        case "HassBroadcast":
            return _call("broadcast.say", {"text": slots["message"]})
    return None


# ── which devices ──────────────────────────────────────────────────────────────────────────────────


def _target(reading: IntentReading, names: Names, kind: str = "") -> dict[str, Any]:
    """Return the devices that a reading is about. The speaker's own room is not said: the actor has it."""
    slots = reading.slots
    domain, shape = str(slots.get("domain", "")), slots.get("device_class", "")
    target = {
        "device": slots.get("name", ""),
        "room": "" if reading.here else slots.get("area", ""),
        "floor": slots.get("floor", ""),
        "kind": "" if slots.get("name") else KIND_OF_DOMAIN.get(domain, kind),
        "shape": shape,
    }
    if target["device"] and len(_called(str(target["device"]), names)) > 1:
        target["kind"] = KIND_OF_DOMAIN.get(reading.domain, "")  # two things of one name: the sentence says which
    return target


def _everywhere(reading: IntentReading) -> dict[str, Any]:
    """Return that the whole house is meant, when no place and no name was said and none is meant by being there."""
    return {"everything": True} if not {"name", "area", "floor"} & set(reading.slots) else {}


def _of_one_shape(reading: IntentReading, names: Names, room: str) -> list[IntentReading]:
    """Return a reading for every shape that is there, where one word is for several: "stores" are blinds and shades."""
    shapes = reading.slots.get("device_class")
    if not isinstance(shapes, list):
        return [reading]
    place = str(room if reading.here else reading.slots.get("area", "")).casefold()
    there = {device.shape for device in names.devices if place in ("", device.room.casefold())}
    some = [shape for shape in shapes if shape in there] or shapes[:1]
    return [replace(reading, slots={**reading.slots, "device_class": shape}) for shape in some]


def _called(name: str, names: Names) -> list[NamedDevice]:
    wanted = name.casefold()
    return [device for device in names.devices if wanted in map(str.casefold, device.all_names)]


def _one(target: Mapping[str, Any], names: Names) -> NamedDevice | None:
    """Return the only device of a target, by its own name, kind, shape and place; `None` when there is not one."""
    floors = {room.name.casefold(): room.floor.casefold() for room in names.rooms}
    fitting = [
        device
        for device in (_called(target["device"], names) if target["device"] else names.devices)
        if target["kind"] in ("", device.kind)
        and target["shape"] in ("", device.shape)
        and target["room"].casefold() in ("", device.room.casefold())
        and target["floor"].casefold() in ("", floors.get(device.room.casefold(), ""))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _one_door(target: Mapping[str, Any], names: Names, room: str) -> NamedDevice | None:
    """Return the one door that is to be opened; of several, that of the room where this is said."""
    door = _one(target, names) or (None if target["room"] else _one({**target, "room": room}, names))
    return door if door and door.kind == "cover" and door.shape in GUARDED else None


# ── one by one ─────────────────────────────────────────────────────────────────────────────────────


def _turned(reading: IntentReading, names: Names, room: str) -> Command | None:
    on = reading.intent == "HassTurnOn"
    kind = KIND_OF_DOMAIN.get(reading.domain or str(reading.slots.get("domain", "")), "")
    target = _target(reading, names) | _everywhere(reading)
    match kind:
        case "cover" if on and (door := _one_door(target, names, room)):
            return _call("home.unlock", {"device": door.name, "room": door.room})
        case "cover" | "valve":
            return _call("home.open" if on else "home.close", target)
        case "lock" if on:
            return _call("home.lock", target)
        case "lock":
            door = _one(target, names)
            return _call("home.unlock", {"device": door.name, "room": door.room} if door else target)
        case "scene":
            return _call("home.scene", {"name": target["device"], "room": target["room"]}) if on else None
        case "vacuum":
            return _call("home.clean", target) if on else _call("home.dock", target | {"kind": kind})
        case "mower":
            return _call("home.mow", target) if on else _call("home.dock", target | {"kind": kind})
        case "sensor" | "person":
            return None
    return _call("home.turn", {"on": on, **target})


def _setting(reading: IntentReading, names: Names) -> Command | None:
    arguments, kind = _SET[reading.intent]
    wanted = {argument: reading.slots[slot] for slot, argument in arguments.items() if slot in reading.slots}
    if "temperature" in wanted and wanted["temperature"] > HOTTEST_CELSIUS:
        wanted["temperature"] = round((wanted["temperature"] - 32) * 5 / 9, 1)
    return _call("home.set", _target(reading, names, kind) | _everywhere(reading) | wanted)


def _state(reading: IntentReading, names: Names) -> Command | None:
    slots = reading.slots
    if reading.domain == "person":
        where = {"place": slots["state"]} if "state" in slots else {}
        return _call("presence.where", {"person": slots["name"], **where})
    quantity = reading.response if reading.response in _QUANTITIES else ""
    arguments = {"quantity": quantity, "value": slots.get("state", "")}
    return _call("home.state", _target(reading, names) | _everywhere(reading) | arguments)


def _timer(reading: IntentReading, tool: str) -> Command | None:
    slots = reading.slots
    name = str(slots.get("name", ""))
    which: dict[str, Any] = {"name": name, "room": "" if reading.here else slots.get("area", "")}
    by = _seconds(slots)
    match reading.intent:
        case "HassStartTimer":
            return _call("timers.start", {"seconds": by, **which})
        case "HassCancelAllTimers":
            return _call("timers.cancel_all", {"room": which["room"]})
        case "HassIncreaseTimer" | "HassDecreaseTimer":
            which["by_seconds"] = by if reading.intent == "HassIncreaseTimer" else -by
    return _call(tool, {"seconds": _seconds(slots, "start_") or None, **which})


def _seconds(slots: Mapping[str, Any], start: str = "") -> int:
    lengths = (("hours", 3600), ("minutes", 60), ("seconds", 1))
    return sum(int(slots.get(f"{start}{unit}", 0)) * length for unit, length in lengths)


def _step(text: Any) -> int:
    """Return by how many percent points: "up" and "down" are a step."""
    return {"up": VOLUME_STEP, "down": -VOLUME_STEP}[text] if isinstance(text, str) else int(text)


def _call(tool: str, arguments: Mapping[str, Any]) -> Command:
    """Return the call, without what was not said."""
    return Command(tool, {name: value for name, value in accepted(tool, arguments).items() if value not in ("", None)})
