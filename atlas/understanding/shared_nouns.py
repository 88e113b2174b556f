"""Writes out a noun that two names share and that was said once or not at all: "lock front and back". Pure.

"Front and back" is the front door and the back door where the house has both; what is left of it by readers that look
for whole names would be one of the two, and who hears "done" would believe that both are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from atlas.understanding.frame_words import HOUSES
from atlas.understanding.names import Names


class SharedNouns:
    """Writes them out in one language.

    `joint` is the pattern of words between two names, `places` of those between a thing and what tells it apart;
    `short` is the noun that rooms are called by, and the words before one that is named without it: "in the utility";
    `apposed` is the pattern of a thing and, behind it, the room that tells which one is meant, and what it means.
    """

    def __init__(
        self, joint: str, places: str = "", apposed: tuple[str, str] = ("", ""), short: tuple[str, str] = ("", "")
    ) -> None:
        self._joint = joint
        self._places = places
        self._apposed, self._as_placed = apposed
        self._room, self._before_room = short
        self._short = lru_cache(HOUSES)(self._short_rooms)
        self._rooms = lru_cache(HOUSES)(self._rooms_of)
        self._turned = lru_cache(HOUSES)(self._turned_around)
        self._ways = lru_cache(HOUSES)(self._ways_of)

    def written_out(self, text: str, names: Names) -> str:
        """Return a text in which both of two names that share a noun have it."""
        for noun, way in self._ways(names).items() if self._joint else ():
            text = way.sub(rf"\g<one> {noun}\g<joint>\g<other> {noun}", text)
        for name, way in self._turned(names).items() if self._places else ():
            text = way.sub(name.casefold(), text)
        for name, way in self._short(names).items() if self._room else ():
            text = way.sub(rf"\g<before>{name}", text)
        if self._apposed and names.rooms and (apposed := self._rooms(names).match(text)):
            text = apposed.expand(self._as_placed) + text[apposed.end() :]  # "the lamp, the one in the hall": one lamp
        return text

    def _short_rooms(self, names: Names) -> Mapping[str, re.Pattern[str]]:
        """Return the rooms that are called by a word less, where nothing else of the house is called so."""
        called = [name.casefold() for place in names.places for name in place.all_names]
        called += [name.casefold() for device in names.devices for name in device.all_names]
        ways = {}
        for room in names.rooms:
            first, _, noun = room.name.casefold().rpartition(" ")
            if noun != self._room or not first or "'s" in first or first in called:
                continue
            end = r"(?=\W*$|[,.;!?]|[ ](?:and|please|now|off|on|up|down|is|are|too|then|for|at|by)\b)"
            words = rf"\b(?P<before>{self._before_room}){re.escape(first)}\b{end}"
            ways[room.name.casefold()] = re.compile(words, re.IGNORECASE)
        return ways

    def _rooms_of(self, names: Names) -> re.Pattern[str]:
        rooms = "|".join(re.escape(name) for room in names.rooms for name in room.all_names)
        return re.compile(self._apposed.replace("{room}", f"(?:{rooms})"), re.IGNORECASE)

    def _turned_around(self, names: Names) -> Mapping[str, re.Pattern[str]]:
        """Return names as they are described: "the fan on the ceiling"."""
        rooms = {place.name.casefold() for place in names.places}
        ways = {}
        for device in names.devices:
            first, _, noun = device.name.rpartition(" ")
            if first and " " not in first and first.casefold() not in rooms and device.kind not in ("scene", "person"):
                words = rf"\b{re.escape(noun)} (?:{self._places}){re.escape(first)}\b"
                ways[device.name] = re.compile(words, re.IGNORECASE)
        return ways

    def _ways_of(self, names: Names) -> Mapping[str, re.Pattern[str]]:
        places = {place.name.casefold() for place in names.places}
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for device in names.devices:
            first, _, noun = device.name.casefold().rpartition(" ")
            of_room = first in places and device.kind != "sensor"  # of rooms' lights each has its own
            if first and not of_room and device.kind not in ("scene", "person"):
                owners[noun].add(first)
        return {
            noun: self._way(noun, sorted(firsts), left_out="" if firsts & places else "?")
            for noun, firsts in owners.items()
            if len(firsts) > 1
        }

    def _way(self, noun: str, firsts: list[str], left_out: str) -> re.Pattern[str]:
        one = "|".join(map(re.escape, firsts))
        first = rf"\b(?P<one>{one})(?P<joint>{self._joint})"
        words = rf"{first}(?P<other>(?!(?P=one)\b)(?:{one}))\b(?: {re.escape(noun)}s?\b){left_out}"
        return re.compile(words, re.IGNORECASE)
