"""Holds what is done to the place that a sentence names, also where the house has no such place. Pure.

What was spoken of before stands for what a sentence leaves out. Where it names a place or tells one from others ("the
front one"), nothing is left out: then what was spoken of counts no more, and a place that nobody knows is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atlas.understanding.dialogue import with_target
from atlas.understanding.frame_words import Lexicon, Token, spelled
from atlas.understanding.names import NamedDevice, Names
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

_GOES_ANYWHERE = ("vacuum", "mower", "person", "scene", "sensor")  # kinds that a place does not tell apart
_ROOM = "room"  # which "spare room" and "living room heating" share
_WITHOUT_A_PLACE = ("home.scene", "home.mow", "home.dock")


class NamedPlaces:
    """The words of one language for places. `words` is its table `places`."""

    def __init__(self, words: Mapping[str, str], lexicon: Lexicon) -> None:
        self._inside = pattern(words, "inside")
        self._one = pattern(words, "one")
        self._lexicon = lexicon

    def held_to(
        self, commands: Sequence[Command], text: str, names: Names, spoken_of: Sequence[str] = (), here: str = ""
    ) -> tuple[Command, ...]:
        """Return commands as the place allows that `text` names; the same where it names none, or they are there.

        `spoken_of`: names of the devices that were just spoken of, which may have been taken for what is meant. `here`:
        the speaker's room, where something is done that no place is said for, but what there is none of.
        """
        commands = tuple(commands)
        if not names.rooms or not commands or not all(map(_is_of_devices, commands)):
            return commands
        known = self._lexicon.known_tokens(text, names)
        devices = [token.value.name for token in known if token.category == "device"]
        places = [token for token in known if token.category in ("room", "floor")]
        if not places and not any(map(_is_a_whole_name, known)) and (place := self.unknown(text, names)):
            return (_at(commands[0], {"room": place}, names),)
        commands = _where_there_are_some(commands, places, names, here)
        leaning = [one for one in commands if _device(one) in spoken_of and _device(one) not in devices]
        if not leaning or len(commands) > 1:
            return commands
        [command] = commands
        device = next((one for one in names.devices if one.name == _device(command)), None)
        if device is None or device.kind in _GOES_ANYWHERE:
            return commands
        if other := self._other(device, text, names):
            return (with_target(command, {"device": other.name}),)
        return (_there(command, device, places[0], names),) if len(places) == 1 and not devices else commands

    def unknown(self, text: str, names: Names) -> str:
        """Return the place in which a text wants something, where nothing in this house is called so; "" else."""
        for match in self._inside.finditer(text):
            words = spelled(match["place"])
            is_known = any(self._lexicon.name(" ".join(words[at:]), names) for at in range(len(words)))
            if not is_known and not _is_in_a_name([word for word in words if word != _ROOM], names):
                return match["place"]
        return ""

    def _other(self, device: NamedDevice, text: str, names: Names) -> NamedDevice | None:
        """Return the one that its name tells from what was spoken of: "the front one", after the back door."""
        for match in self._one.finditer(text):
            word = match["word"].casefold()
            called = [one for one in names.devices if one.kind == device.kind and word in spelled(one.name)]
            if len(called) == 1 and called[0] != device:
                return called[0]
        return None


def _where_there_are_some(
    commands: tuple[Command, ...], places: Sequence[Token], names: Names, here: str
) -> tuple[Command, ...]:
    """Return deeds on a kind that the speaker's room has none of in the one room that is named: "… and blind up"."""
    rooms = {one.value for one in places if one.category == "room"}
    if len(rooms) != 1 or len(commands) < 2:
        return commands
    [room] = rooms

    def is_there(command: Command, place: str) -> bool:
        given = command.due_arguments
        alike = (one for one in names.devices if one.kind == given["kind"] and one.room == place)
        return any(given.get("shape", "") in ("", one.shape) for one in alike)

    def placed(command: Command) -> Command:
        given = command.due_arguments
        if "kind" not in given or {"device", "room", "floor", "everything"} & {*given}:
            return command
        elsewhere = is_there(command, room) and not is_there(command, here)
        return (
            with_target(command, {name: given[name] for name in ("kind", "shape") if name in given} | {"room": room})
            if elsewhere
            else command
        )

    return tuple(map(placed, commands))


def _is_a_whole_name(token: Token) -> bool:
    """Whether a device is called by its name and not by a word for what it is: the lounge TV, not the telly."""
    words = spelled(token.text)
    if token.category != "device" or len(words) < 2:
        return False
    return words in [spelled(name) for name in token.value.all_names]


def _is_in_a_name(words: Sequence[str], names: Names) -> bool:
    """Whether a device is called by the last of some words: the lamp in the garden, where one is the garden lamp."""
    called = (name for device in names.devices for name in device.all_names)
    return bool(words) and any(part.startswith(words[-1]) for name in called for part in spelled(name))


def _there(command: Command, device: NamedDevice, place: Token, names: Names) -> Command:
    """Return a command for such devices in a room or on a floor, if what was spoken of is somewhere else."""
    rooms = {one.name for one in names.rooms if place.value in (one.name if place.category == "room" else one.floor,)}
    alike = [one for one in names.devices if one.kind == device.kind]
    of_its_name = {*spelled(device.name)} & {*spelled(str(place.value)), *spelled(place.text)}
    if device.room in rooms or len(alike) == 1 or of_its_name:
        return command
    inside = [one for one in alike if one.room in rooms and one.shape == device.shape]
    if len(inside) == 1:
        return with_target(command, {"device": inside[0].name})
    return _at(command, {place.category: place.value, "kind": device.kind}, names)


def _at(command: Command, place: Mapping[str, str], names: Names) -> Command:
    """Return a command for what it is about, in a place."""
    tool, given = command.due_tool, command.due_arguments
    kinds = {one.kind for one in names.devices if one.name == given.get("device")}
    kind = given.get("kind") or (kinds.pop() if kinds else "")
    named = {"kind": kind} if kind else {}
    named = {"device": given["device"]} if tool == "home.unlock" and "device" in given else named
    return with_target(command, {**named, **place})


def _device(command: Command) -> str:
    return str(command.due_arguments.get("device", ""))


def _is_of_devices(command: Command) -> bool:
    """Whether a command is a deed on devices or a look at them, and holds no words that nobody checked."""
    return command.topic == "home" and command.due_tool not in _WITHOUT_A_PLACE and "query" not in command.arguments
