"""What is named of the house → its devices, by name and room or all of a kind, and what can be done to such. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from atlas.understanding import durations, moments

LONGEST_NAME_WORDS = 4
_STRANGE = re.compile(r"[^\w\s'’&+/.°-]")  # no device is called so, and no speaker would say it
_NUMBER = re.compile(rf"\d+|{durations.UP_TO_99}", re.IGNORECASE)

Arguments = dict[str, Any]


class DeviceWords:
    """The words of one language for what is in a house."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._never_names = frozenset(tables["never_names"])
        self._never_devices = frozenset(tables["never_devices"])
        self._tidied = frozenset(tables["tidied"])
        self._devices = frozenset(tables["device_words"])
        self._covers, self._doors, self._media = (
            frozenset(tables[key]) for key in ("cover_words", "door_words", "media_words")
        )
        self._whole_house = re.compile(rf" {tables['whole_house']}$", re.IGNORECASE)
        self.rooms = frozenset(tables["lists"]["area"]["values"])
        self.kinds = {
            word: row["out"] for row in tables["lists"]["kind"]["values"] for word in row["in"].strip("()").split("|")
        }

    def targets(self, named: str, *, doors: bool = False) -> list[Arguments]:
        """Return the devices that were named: by name and room, or all of a kind. None at all when one is no device.

        With `doors`, a room that has a door of its name is that door: "close the garage".
        """
        if doors and (words := " ".join(without(named.split(), self._tidied))).lower() in self.rooms & self._doors:
            return [{"device": words}]
        if moments.find(named) or durations.find(named):
            return []  # "the light at five" is no light
        rows: list[Arguments] = []
        bare: list[Arguments] = []  # rooms that wait for the kind which is named last: "the kitchen and hall lights"
        for piece in re.split(r"\s+and\s+", named):
            one = self._target(piece)
            if one is None:
                return []
            if named != piece and "device" in one and not re.match(r"(?:the|my) ", piece, re.IGNORECASE):
                return []  # "the lights and dance"
            if set(one) == {"room"}:
                bare.append(one)
                continue
            if bare and "kind" in one:
                rows += [room | {"kind": one["kind"]} for room in bare]
                bare = []
            rows.append(one)
        return [] if bare else rows

    def _target(self, piece: str) -> Arguments | None:
        one: Arguments = {}
        if inside := self._whole_house.search(piece):
            piece, one["everything"] = piece[: inside.start()], True
        elif inside := re.search(r" in (?:the |my |our )?(\S+(?: \S+){0,2})$", piece, re.IGNORECASE):
            piece, one["room"] = piece[: inside.start()], inside[1]
        words = without(piece.split(), self._tidied)
        name = " ".join(words)
        room, _, last = name.rpartition(" ")
        if name.lower() in self.kinds:
            one["kind"] = self.kinds[name.lower()]
        elif room.lower() in self.rooms and last.lower() in self.kinds and "room" not in one:
            one |= {"kind": self.kinds[last.lower()], "room": room}
        elif name.lower() in self.rooms and not one:
            one["room"] = name
        else:
            one["device"] = name
        strange = any(word.lower() in self._never_names for word in [*words, *one.get("room", "").split()])
        strange = strange or last.lower() in self._never_devices
        strange = strange or bool(_STRANGE.search(name))
        strange = strange or bool(_NUMBER.fullmatch(name))  # "turn off my seven", before "o'clock alarm"
        if strange or not 0 < len(words) <= LONGEST_NAME_WORDS:
            return None
        return None if "everything" in one and "kind" not in one else one

    def is_cover(self, target: Mapping[str, Any]) -> bool:
        """Tell whether a target can only be blinds or a window."""
        return target.get("kind") == "cover" or self._has(target, self._covers)

    def is_door(self, target: Mapping[str, Any]) -> bool:
        """Tell whether a target is a door or a gate."""
        return self._has(target, self._doors)

    def is_player(self, target: Mapping[str, Any]) -> bool:
        """Tell whether a target makes sound."""
        return target.get("kind") == "media" or self._has(target, self._media)

    def _has(self, target: Mapping[str, Any], words: frozenset[str]) -> bool:
        return bool({*target.get("device", "").lower().split()} & words)

    def are_known(self, named: str) -> bool:
        """Tell whether everything that was named can only be devices."""
        pieces = [piece.partition(" in ")[0].lower().split() for piece in named.split(" and ")]
        return all(words and words[-1] in self._devices | self._covers | self._media for words in pieces)

    def done(
        self, verb: str, target: Mapping[str, Any], arguments: Arguments, percent: int | None
    ) -> tuple[str, Arguments] | None:
        """Return the tool and its arguments for one target, or `None` when that cannot be done to such a thing."""
        door, cover = self.is_door(target), self.is_cover(target)
        match verb:
            case "open" | "close" if percent is None:
                if door and not cover:
                    return ("home.unlock" if verb == "open" else "home.close"), arguments
                return (f"home.{verb}", arguments) if cover else None
            case "lock" | "unlock":
                return (f"home.{verb}", arguments) if door else None
            case "pause" | "play":
                return (f"home.{verb}", arguments) if self.is_player(target) and "device" in target else None
            case "set" if percent is not None:
                what = "position" if cover else "volume" if self.is_player(target) else "brightness"
                fits = target.get("kind", "light") in ("light", "cover", "media")
                return ("home.set", arguments | {what: percent}) if fits else None
        return f"home.{verb}", arguments


def without(words: list[str], tidied: frozenset[str]) -> list[str]:
    """Return words without those in front that mean nothing: articles."""
    while words and words[0].lower() in tidied:
        words = words[1:]
    return words
