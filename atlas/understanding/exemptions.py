"""Reads what a wish leaves alone: "all blinds up, but the garage stays shut" opens blinds and no garage. Pure.

An exemption is a part of the sentence of its own (`exempt` in sentences/LANGUAGE): it names devices, kinds or rooms and
says that they stay as they are. It is no deed, whatever verbs are in it. What the rest asks for is done to all others,
one by one where a kind was named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from atlas.understanding.frames import Frames
from atlas.understanding.home_tools import KIND_OF_TOOL, TARGETS
from atlas.understanding.names import NamedDevice, Names
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

MOST_DEVICES = 24  # a house has some lights, and all but one of them are done one by one
LONGEST_CHARACTERS = 400  # a longer text is no wish with an exemption, and its halves would cost time
MOST_JOINTS = 6  # at which a text may part; each costs some milliseconds


@dataclass(frozen=True, slots=True)
class Exemption:
    """A sentence in two: what is wanted, and the words for what is left alone."""

    wish: str
    exempt_words: str


class Exemptions:
    """How one language leaves something alone; a language without a table never does."""

    def __init__(self, words: Mapping[str, Any], frames: Frames) -> None:
        self._frames = frames
        self._joint = pattern(words, "joints")
        self._excepts = pattern(words, "excepts")
        self._spoken = pattern(words, "spoken")
        self._keeps = pattern(words, "keeps")
        self._deed = pattern(words, "deed")
        self._and = pattern(words, "and")
        self._whose = pattern(words, "whose")
        self._after = [re.compile(way, re.IGNORECASE) for way in words.get("after", ())]
        self._before = [re.compile(way, re.IGNORECASE) for way in words.get("before", ())]

    def read(self, text: str, names: Names) -> Exemption | None:
        """Return a sentence in two when it leaves something alone that has a name here; `None` when it does not."""
        text = text.strip(" .,!?")
        return next((one for one in self._halves(text) if self._parts(one.exempt_words, names)), None)

    def excepts(self, text: str) -> re.Match[str] | None:
        """Return the words behind which a text can only go on with what is left alone: "all lights off except"."""
        return self._excepts.search(text)

    def is_sure_to_exempt(self, text: str) -> bool:
        """Tell whether a text surely leaves something alone, be it read or not: it says "except"."""
        return bool(self._spoken.search(text[:LONGEST_CHARACTERS]))

    def says_but(self, text: str) -> bool:
        """Tell whether a text that takes something away leaves a part: "except the milk", "keep the pasta one"."""
        text = text[:LONGEST_CHARACTERS]
        return any(way.search(text) for way in (self._excepts, self._spoken, self._keeps))

    def without(
        self, commands: Sequence[Command], exemption: Exemption, names: Names, room: str
    ) -> tuple[Command, ...] | None:
        """Return commands for all but what is left alone; `None` when that cannot be told, or nothing is left to do."""
        done: list[Command] = []
        concerned: list[NamedDevice] = []
        for command in commands:
            if command.tool == "home.state":
                return None
            if not command.tool.startswith("home."):
                done.append(command)
                continue
            of_it = devices_of(command, names, room)
            concerned += of_it
            left = self.left_of(exemption.exempt_words, of_it, names, room)
            others = [device for device in of_it if device not in left]
            if len(others) == len(of_it):
                done.append(command)
                continue
            done += for_each(command, others)
        placed = all("room" in one.arguments or "device" in one.arguments for one in commands)
        like = {one.kind for one in concerned} if placed else set()  # "off in the kitchen, and leave it on in the hall"
        touchable = [*concerned, *(one for one in names.devices if one.kind in like)]
        clear = all(self._names_some(part, touchable, names) for part in self._parts(exemption.exempt_words, names))
        return tuple(done) if clear and 0 < len(done) <= MOST_DEVICES else None

    def _names_some(self, part: str, concerned: Sequence[NamedDevice], names: Names) -> bool:
        """Whether a place holds something that would be touched: who exempts an empty one means another."""
        places = self._frames.places_alone(part, names)
        return not places or any(one.room in places for one in concerned)

    def _halves(self, text: str) -> Iterator[Exemption]:
        joints = [*islice(self._joint.finditer(text[:LONGEST_CHARACTERS]), MOST_JOINTS + 1)]
        if len(text) > LONGEST_CHARACTERS or len(joints) > MOST_JOINTS:
            return
        for way in self._before:
            if match := way.fullmatch(text):
                yield Exemption(match["wish"], match["left"])
        for joint in joints:
            wish, rest = text[: joint.start()].strip(" ,"), text[joint.end() :].strip(" ,")
            for way in self._after if wish else ():
                if match := way.fullmatch(rest):
                    yield Exemption(_rejoined(wish, match), match["left"])

    def _parts(self, left: str, names: Names) -> list[str]:
        """Return what is left alone, one by one; `[]` where some word of it names nothing here."""
        parts = [self._whose.sub("", part) for part in self._and.split(left) if part.strip()]
        read = (
            parts
            and not self._deed.search(left)
            and all(self._is_here(part) or self._frames.only_names(part, names) for part in parts)
        )
        return parts if read else []

    def _is_here(self, part: str) -> bool:
        """Whether words say nothing but "in here"."""
        here = self._frames.says_here(part)
        return here is not None and not part.replace(here[0], " ").strip()

    def left_of(self, left: str, devices: Sequence[NamedDevice], names: Names, room: str) -> list[NamedDevice]:
        """Return those of some devices that words for what is left alone name."""
        return [device for device in devices if self._is_left(device, left, devices, names, room)]

    def _is_left(self, device: NamedDevice, left: str, like: Sequence[NamedDevice], names: Names, room: str) -> bool:
        for part in self._parts(left, names):
            if self._is_here(part):
                if device.room == room:
                    return True
                continue
            if places := self._frames.places_alone(part, names):
                if device.room in places:
                    return True
                continue
            targets = self._frames.named(part, like, names, room)
            if any(device in devices_of(Command("", dict(one.arguments)), names, room) for one in targets):
                return True
        return False


def _rejoined(wish: str, match: re.Match[str]) -> str:
    """Return a wish with the verb, and with the second wish, that stand behind what it leaves alone."""
    behind = match.groupdict()
    wish = f"{wish} {behind.get('verb') or ''}".strip()
    return f"{wish} {behind['more'].strip()}" if behind.get("more") else wish


def for_each(command: Command, devices: Sequence[NamedDevice]) -> tuple[Command, ...]:
    """Return a deed on a kind as one on each of some devices."""
    given = {key: value for key, value in command.arguments.items() if key not in TARGETS}
    return tuple(Command(command.tool, {**given, "device": device.name}) for device in devices)


def devices_of(command: Command, names: Names, here: str) -> list[NamedDevice]:
    """Return the devices that a command is about: by name, or of a kind where it says or where the speaker is."""
    given = command.arguments
    if "device" in given:
        return [one for one in names.devices if one.name == given["device"] and given.get("room", one.room) == one.room]
    kind = given.get("kind", KIND_OF_TOOL.get(command.tool, ""))
    every = [
        one
        for one in names.devices
        if kind in ("", one.kind) and given.get("shape", one.shape) == one.shape and one.kind not in ("person", "scene")
    ]
    if "room" in given:
        return [one for one in every if one.room == given["room"]]
    if "floor" in given:
        rooms = {one.name for one in names.rooms if one.floor == given["floor"]}
        return [one for one in every if one.room in rooms]
    nearby = [] if given.get("everything") else [one for one in every if here and one.room == here]
    return nearby or every
