"""Reads a wish that does something else with a part: "all lights off, only the hall on". Pure.

Read as two wishes one after the other, the second would undo the first, or stand alone. So the first half is done to
every device of its kind but those of the second, and the second half to these. Where the second half only names things
("…, but only in the hall"), the wish is for them alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from atlas.understanding.dialogue import Commands
from atlas.understanding.exemptions import MOST_DEVICES, devices_of, for_each
from atlas.understanding.frames import Frames
from atlas.understanding.names import NamedDevice, Names
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 200
MOST_JOINTS = 2  # each costs some readings
_DEEDS = ("home.turn", "home.set", "home.adjust", "home.open", "home.close", "home.lock", "home.unlock")


class Contrasts:
    """How one language sets a part against the rest; a language without a table never does."""

    def __init__(self, words: Mapping[str, Any], frames: Frames) -> None:
        self._frames = frames
        self._joint = pattern(words, "joints")
        self._every = pattern(words, "every")
        self._only = pattern(words, "only")
        self._nouns: Mapping[str, str] = words.get("nouns", {})
        self._units = pattern(words, "units")
        self._alone, self._verb_last = pattern(words, "alone"), pattern(words, "verb_last")

    def read(self, text: str, names: Names, room: str, commands: Commands) -> tuple[Command, ...] | None:
        """Return the deeds of a sentence that contrasts; `None` for any other, `()` where it is not clear what is."""
        if len(text) > LONGEST_CHARACTERS:
            return None
        for joint in islice(self._joint.finditer(text), MOST_JOINTS):
            wish, rest = text[: joint.start()].strip(" ,"), text[joint.end() :].strip(" ,.!")
            first = commands(wish) if wish and rest else ()
            if len({(one.tool, one.arguments.get("on")) for one in first}) != 1 or first[0].tool not in _DEEDS:
                continue
            if len(first) == 1 and "device" in first[0].arguments:
                continue
            concerned = [one for command in first for one in devices_of(command, names, room)]
            meant = self._contrasted(first[0], concerned, wish, joint[0], rest, names, room, commands)
            if meant is not None:
                return meant
        return None

    def alone(self, text: str, names: Names) -> tuple[Command, ...] | None:
        """Return what lets a lamp be the only one of its room that is on: "I only want the reading lamp on"."""
        match = self._alone.fullmatch(text.strip(" .!"))
        if match is None or not self._frames.only_names(match["left"], names):
            return None
        named = self._frames.devices_in(match["left"], names, "")
        lamps = [one for one in names.devices if one.name in named]
        places = {(one.kind, one.room) for one in lamps}
        if len(places) != 1 or lamps[0].kind != "light" or not lamps[0].room:
            return None
        others = [one for one in names.devices if (one.kind, one.room) in places and one not in lamps]
        turned = [*for_each(Command("home.turn", {"on": False}), others)]
        return (*for_each(Command("home.turn", {"on": True}), lamps), *turned)

    def _contrasted(
        self,
        first: Command,
        concerned: Sequence[NamedDevice],
        wish: str,
        joint: str,
        rest: str,
        names: Names,
        room: str,
        commands: Commands,
    ) -> tuple[Command, ...] | None:
        if self._frames.only_names(rest, names):
            part = self._named(rest, concerned, names, room)
            if not part or not self._only.search(joint):
                return None
            unclear = bool(self._every.search(wish))  # "all off, only the lamp": that alone, or all but that
            return () if unclear or len(part) > MOST_DEVICES else for_each(first, part)
        for other in self._ways(first, wish, rest):
            second = commands(other)
            part = [one for command in second for one in devices_of(command, names, room)]
            if not part or not all(one.tool in _DEEDS for one in second) or not all(one in concerned for one in part):
                continue
            left = [one for one in concerned if one not in part]
            return (*for_each(first, left), *second) if 0 < len(left) <= MOST_DEVICES else None
        return () if self._every.search(wish) and self._part(rest, concerned, names, room) else None

    def _ways(self, first: Command, wish: str, rest: str) -> Iterator[str]:
        """Yield ways to say the second half by itself: with the noun and the unit of the first."""
        if verb_last := self._verb_last.fullmatch(rest):
            yield f"{verb_last['deed']} {verb_last['left']}"
        kind = str(first.arguments.get("kind", ""))
        noun = self._nouns.get(str(first.arguments.get("shape", "")) or kind) or self._nouns.get(kind, "")
        unit = self._units.search(wish)
        if not any(device in rest for device in self._nouns.values()):
            yield f"{noun} {rest}{f' {unit[0]}' if unit else ''}".strip()
            yield f"{noun} {rest}".strip()
        yield rest

    def _named(self, words: str, like: Sequence[NamedDevice], names: Names, room: str) -> list[NamedDevice]:
        """Return those of some devices that words name, by name or by place."""
        if places := self._frames.places_alone(words, names):
            return [one for one in like if one.room in places]
        targets = self._frames.named(words, like, names, room)
        meant = [one for target in targets for one in devices_of(Command("", dict(target.arguments)), names, room)]
        return [one for one in like if one in meant]

    def _part(self, words: str, like: Sequence[NamedDevice], names: Names, room: str) -> bool:
        """Whether words name some of these devices, and not all."""
        named = self._frames.devices_in(words, names, room)
        places = self._frames.places_alone(words, names)
        part = [one for one in like if one.name in named or one.room in places]
        return 0 < len(part) < len(like)
