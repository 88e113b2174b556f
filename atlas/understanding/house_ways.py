"""Everything that can be said to a house: its own sentences and the public ones, and the values of their slots. Pure.

The ways are the language's alone, and are made once; what the house has, its devices, rooms, people and lists, are
values, which change with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from atlas.understanding import english_ways, german_ways
from atlas.understanding.names import NamedPlace, Names
from atlas.understanding.public import DOMAINS, FROM_NAMES
from atlas.understanding.sayable import Sayable, list_values, said_by
from atlas.ways import Anything, SharedWay, Slot, Values, Way, WaySeries, either, maybe

MOST_COUNTED = 100
_SECONDS = re.compile(r"\{timer_seconds:\w+\}(?: second\[s\]| second| Sekunden)")
_LATER = ("HassStartTimer", "HassIncreaseTimer", "HassDecreaseTimer")  # the house's own sentences have lengths as well
_SPOKEN = {"en": english_ways, "de": german_ways}  # how numbers and times are said


class HouseWays:
    """What can be said in one language. `tables` and `public` are its grammars, as their files have them."""

    def __init__(self, tables: Mapping[str, Any], public: Mapping[str, Any]) -> None:
        self._spoken = _SPOKEN[tables["language"]]
        self._values: dict[str, list[tuple[str, str]]] = {}
        self._kinds = [word for word, _ in list_values(tables["lists"]["kind"])]
        self.ways = (*self._own_ways(tables), *self._public_ways(public), self._spoken.sums())

    @property
    def answers(self) -> Sequence[Way]:
        """What only answers a question of the house: how long, when, how much, which one."""
        articles = self._spoken.articles()
        the, there = maybe(either(*articles)), maybe(either(*articles, *self._spoken.place_prepositions()))
        return (
            *(self._spoken.lengths(), self._spoken.moments(), self._spoken.answers()),
            *(WaySeries((the, Slot("", key))) for key in ("name/", "person", "name/todo")),
            *(WaySeries((there, Slot("", key))) for key in ("area", "floor")),
        )

    def values(self, names: Names) -> Values:
        """Return what can stand in the slots in a house with these names."""
        named = {f"name/{'/'.join(theirs)}": _devices(names, theirs) for theirs in self._domains}
        rooms = _called(names.rooms)
        return {
            **self._values,
            **named,
            **self._spoken.counted(),
            "name/": _devices(names, ()),
            "name/todo": [(name, name) for name in names.lists],
            "area": rooms,
            "floor": _called(names.floors),
            "person": [(name, name) for name in names.people],
        }

    def _own_ways(self, tables: Mapping[str, Any]) -> Iterator[Way]:
        length, moment = SharedWay("length", self._spoken.lengths()), SharedWay("moment", self._spoken.moments())
        kind = self._slot("kind", "kind", [(word, word) for word in self._kinds])
        the = maybe(either(*self._spoken.articles()))
        target = either(
            WaySeries((the, Slot("name", "name/"))),
            WaySeries((the, kind)),
            WaySeries((the, Slot("area", "area"), kind)),
        )

        def fill(name: str, slot: str) -> Way | None:
            match name:
                case "length" | "timer_seconds":
                    return length
                case "when":
                    return moment
                case "target":
                    return SharedWay("target", target)
                case "area" | "floor":
                    return Slot(slot, name)
                case "list":
                    return Slot(slot, "name/todo")
            return self._filled(name, slot, tables["lists"])

        sayable = Sayable(tables["expansion_rules"], fill)
        for intent, block in tables["intents"].items():
            if not intent.startswith("ask."):
                for data in block["data"]:
                    for sentence in data["sentences"]:
                        if (way := sayable.way(_plain(sentence))) is not None:
                            yield way

    def _public_ways(self, public: Mapping[str, Any]) -> Iterator[Way]:
        self._domains: set[tuple[str, ...]] = set()
        sayables: dict[tuple[str, ...], Sayable] = {}
        for intent, block in public["intents"].items():
            for data in block["data"] if intent not in _LATER else ():
                required = data.get("requires_context", {}).get("domain", ())
                domains = (required,) if isinstance(required, str) else tuple(required)
                self._domains.add(domains)
                if domains not in sayables:
                    sayables[domains] = Sayable(public["expansion_rules"], self._public_fill(domains, public["lists"]))
                for sentence in data["sentences"]:
                    if (way := sayables[domains].way(sentence)) is not None:
                        yield way

    def _public_fill(self, domains: tuple[str, ...], lists: Mapping[str, Any]) -> Callable[[str, str], Way | None]:
        def fill(name: str, slot: str) -> Way | None:
            match name:
                case "name":
                    return Slot(slot, f"name/{'/'.join(domains)}")
                case "area" | "floor":
                    return Slot(slot, name)
            return self._filled(name, slot, lists)

        return fill

    def _filled(self, name: str, slot: str, lists: Mapping[str, Any]) -> Way | None:
        written = lists.get(name, {})
        if span := written.get("range"):
            first, last = int(span["from"]), min(int(span["to"]), MOST_COUNTED)
            return self._slot(slot, f"{first}-{last}", self._spoken.numbers(first, last)) if first <= last else None
        if "values" in written:
            return self._slot(slot, f"list/{name}", list_values(written))
        return Anything(slot)

    def _slot(self, name: str, key: str, values: list[tuple[str, str]]) -> Slot:
        self._values[key] = values
        return Slot(name, key)


def custom_ways(grammar: Mapping[str, Any], language: str = "en") -> tuple[Sequence[Way], Values]:
    """Return what can be said of a house's own sentences, and the values of their lists.

    The names of the house are not in them: see `HouseWays.values`.
    """
    counted: dict[str, Sequence[tuple[str, str]]] = {}

    def elsewhere(name: str, slot: str) -> Way:
        written = grammar.get("lists", {}).get(name, {})
        if name in FROM_NAMES and not written:
            return Slot(slot, "name/" if name == "name" else name)
        if span := written.get("range"):
            counted[name] = _SPOKEN[language].numbers(span["from"], min(span["to"], MOST_COUNTED))
            return Slot(slot, name)
        return Anything(slot)

    ways, values = said_by(grammar, elsewhere)
    return [way for several in ways.values() for way in several], {**values, **counted}


def _plain(sentence: str) -> str:
    """Return a sentence with lengths of time in it, where templates have a number of seconds."""
    return _SECONDS.sub("{length}", sentence)


def _devices(names: Names, domains: tuple[str, ...]) -> list[tuple[str, str]]:
    kinds = {kind for kind, theirs in DOMAINS.items() if not domains or {*theirs} & {*domains}}
    named = [(one, one) for device in names.devices if device.kind in kinds for one in device.all_names]
    return [*named, *((person, person) for person in names.people if "person" in domains)]


def _called(places: Iterable[NamedPlace]) -> list[tuple[str, str]]:
    return [(name, name) for place in places for name in place.all_names]
