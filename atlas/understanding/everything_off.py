"""Reads "everything off": all of a place that can simply be switched off, or the question which place is meant. Pure.

Everything is never only what was just spoken of, and never what has to go on: a freezer, the router, what washes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.understanding.choices import MeaningChoice
from atlas.understanding.exemptions import devices_of, for_each
from atlas.understanding.frame_words import Lexicon
from atlas.understanding.names import NamedDevice, Names
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

KINDS = ("light", "switch", "media", "fan")  # no heating, and nothing that moves or locks
LONGEST_CHARACTERS = 120
MOST_WORDS_ASIDE = 2  # of a sentence before it that says nothing


class EverythingOff:
    """How one language says it. `words` is its table `everything_off`."""

    def __init__(self, words: Mapping[str, Any], lexicon: Lexicon) -> None:
        self._ways = [re.compile(way, re.IGNORECASE) for way in words.get("ways", ())]
        self._goes_on = pattern(words, "goes_on")
        self._house = pattern(words, "house")
        self._here, self._floor_here = pattern(words, "here"), pattern(words, "floor_here")
        self._aside, self._reason = pattern(words, "aside"), pattern(words, "reason")
        self._no_aside = pattern(words, "no_aside")
        self._all_of_it = pattern(words, "all_of_it")  # where nothing was spoken of that it may mean
        self._else, self._rest, self._all = pattern(words, "else"), pattern(words, "rest"), str(words.get("all", ""))
        self._in_house: str = words.get("in_house", "")
        self._in_room: str = words.get("in_room", "")
        self._lexicon = lexicon

    def read(
        self, text: str, names: Names, room: str, spoken_of: Sequence[NamedDevice] = ()
    ) -> tuple[Command, ...] | list[MeaningChoice] | None:
        """Return what turns everything off where `text` says, or the places it may mean; `None` for other words.

        Of "everything else" what was just `spoken_of` is no part; of "the rest" what is not of their kinds neither.
        """
        words = self._aside.sub("", text.strip()[: LONGEST_CHARACTERS + 1])
        words = self._reason.sub("", words)
        first, _, rest = words.partition(". ")
        is_aside = len(first.split()) <= MOST_WORDS_ASIDE and not self._no_aside.search(first)
        if rest and is_aside and not self._lexicon.known_tokens(first, names):
            words = rest  # "Blackout. Everything off in here."
        if not spoken_of:
            words = self._all_of_it.sub(self._all, words)
        beside = self._else.search(words)
        if beside and spoken_of:
            rooms, kinds = {one.room for one in spoken_of}, {one.kind for one in spoken_of}
            of_them = [one for one in names.devices if one.kind in kinds or not self._rest.fullmatch(beside[0])]
            names = replace(names, devices=tuple(one for one in of_them if one not in spoken_of))
            others = self.read(self._else.sub(self._all, words), names, room)
            held = isinstance(others, list) and len(rooms) == 1
            return self._one_by_one(self._in(rooms.pop(), names) if held else others, names)
        match = next((one for way in self._ways if (one := way.fullmatch(words))), None)
        if match is None or len(words) > LONGEST_CHARACTERS:
            return None
        where = (match["where"] or "").strip(" ,")
        if not where:
            return self._asked(names, room)
        if self._house.fullmatch(where):
            return self._off({"everything": True}, names.devices) or None
        if self._here.fullmatch(where):
            return self._in(room, names) or None if room else None
        if self._floor_here.fullmatch(where):
            where = next((place.floor for place in names.rooms if place.name == room), "")
        tokens = self._lexicon.tokens(where, names) or []
        places = [token for token in tokens if token.category in ("room", "floor")]
        if len(places) != 1 or any(token.category not in ("room", "floor", "word") for token in tokens):
            return None
        if places[0].category == "room":
            return self._in(places[0].value, names) or None
        rooms = {place.name for place in names.rooms if place.floor == places[0].value}
        there = [device for device in names.devices if device.room in rooms]
        return self._off({"floor": places[0].value}, there) or None

    def _one_by_one(
        self, others: tuple[Command, ...] | list[MeaningChoice] | None, names: Names
    ) -> tuple[Command, ...] | list[MeaningChoice] | None:
        """Return deeds on kinds as one on each device: some of the kind are left alone."""
        if isinstance(others, list):
            return [MeaningChoice(one.label, self._of_each(one.commands, names)) for one in others]
        return self._of_each(others, names) or None if others else None

    @staticmethod
    def _of_each(commands: Sequence[Command], names: Names) -> tuple[Command, ...]:
        return tuple(
            one
            for command in commands
            for one in (
                for_each(command, devices_of(command, names, "")) if "kind" in command.arguments else (command,)
            )
        )

    def _asked(self, names: Names, room: str) -> list[MeaningChoice] | None:
        """Return the places that may be meant where none is named: the house, and the room in which it is said."""
        whole, here = self._off({"everything": True}, names.devices), self._in(room, names) if room else ()
        both = [(self._in_house, whole), (self._in_room.format(room), here)]
        return [MeaningChoice(label, commands) for label, commands in both if commands] or None

    def _in(self, room: str, names: Names) -> tuple[Command, ...]:
        return self._off({"room": room}, [device for device in names.devices if device.room == room])

    def _off(self, where: Mapping[str, Any], devices: Sequence[NamedDevice]) -> tuple[Command, ...]:
        return tuple(self._each(where, [one for one in devices if "on" in one.can or not one.can]))

    def _each(self, where: Mapping[str, Any], devices: Sequence[NamedDevice]) -> Iterator[Command]:
        for kind in KINDS:
            of_it = [device for device in devices if device.kind == kind]
            ends = [device for device in of_it if not self._goes_on.search(" ".join(device.all_names))]
            if ends and len(ends) == len(of_it):
                yield Command("home.turn", {"on": False, "kind": kind, **where})
            else:
                yield from (Command("home.turn", {"on": False, "device": device.name}) for device in ends)
