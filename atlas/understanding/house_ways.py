"""Everything that can be said to a house: its own sentences and the public ones, and the values of their slots. Pure.

The ways are the language's alone, and are made once; what the house has, its devices, rooms, people and lists, are
values, which change with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from atlas.understanding.names import Device, Names, Place
from atlas.understanding.public import DOMAINS, FROM_NAMES
from atlas.understanding.sayable import Sayable, list_values, said_by
from atlas.ways import Anything, Chain, Part, Slot, Values, Way, Words, either, maybe

MOST_COUNTED = 100
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_UP_TO_TWELVE = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_ONES = (*_UP_TO_TWELVE, *_TEENS)
_TENS = ("zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_LATER = ("HassStartTimer", "HassIncreaseTimer", "HassDecreaseTimer")  # the house's own sentences have lengths as well


class HouseWays:
    """What can be said in one language. `own` and `public` are its grammars, as their files have them."""

    def __init__(self, own: Mapping[str, Any], public: Mapping[str, Any]) -> None:
        self._values: dict[str, list[tuple[str, str]]] = {}
        self._kinds = [word for word, _ in list_values(own["lists"]["kind"])]
        self.ways = (*self._own_ways(own), *self._public_ways(public))

    def values(self, names: Names) -> Values:
        """Return what can stand in the slots in a house with these names."""
        named = {f"name/{'/'.join(theirs)}": _devices(names, theirs) for theirs in self._domains}
        rooms = _called(names.rooms)
        return {
            **self._values,
            **named,
            "1-100": numbers(1, 100),
            "hours": numbers(1, 23),
            "minutes": [*numbers(10, 59), *((f"oh {word}", f"0{digit}") for word, digit in numbers(1, 9))],
            "name/": _devices(names, ()),
            "name/todo": [(name, name) for name in names.lists],
            "area": rooms,
            "floor": _called(names.floors),
            "person": [(name, name) for name in names.people],
        }

    def _own_ways(self, own: Mapping[str, Any]) -> Iterator[Way]:
        length, moment = Part("length", lengths()), Part("moment", moments())
        kind = self._slot("kind", "kind", [(word, word) for word in self._kinds])
        the = maybe(either("the", "my", "all the"))
        target = either(
            Chain((the, Slot("name", "name/"))), Chain((the, kind)), Chain((the, Slot("area", "area"), kind))
        )

        def fill(name: str, slot: str) -> Way | None:
            match name:
                case "length" | "timer_seconds":
                    return length
                case "when":
                    return moment
                case "target":
                    return Part("target", target)
                case "area" | "floor":
                    return Slot(slot, name)
                case "list":
                    return Slot(slot, "name/todo")
            return self._filled(name, slot, own["lists"])

        sayable = Sayable(own["expansion_rules"], fill)
        for intent, block in own["intents"].items():
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
            return self._slot(slot, f"{first}-{last}", numbers(first, last)) if first <= last else None
        if "values" in written:
            return self._slot(slot, f"list/{name}", list_values(written))
        return Anything(slot)

    def _slot(self, name: str, key: str, values: list[tuple[str, str]]) -> Slot:
        self._values[key] = values
        return Slot(name, key)


def custom_ways(grammar: Mapping[str, Any]) -> tuple[Sequence[Way], Values]:
    """Return what can be said of a house's own sentences, and the values of their lists.

    The names of the house are not in them: see `HouseWays.values`.
    """
    counted: dict[str, Sequence[tuple[str, str]]] = {}

    def elsewhere(name: str, slot: str) -> Way:
        written = grammar.get("lists", {}).get(name, {})
        if name in FROM_NAMES and not written:
            return Slot(slot, "name/" if name == "name" else name)
        if span := written.get("range"):
            counted[name] = numbers(span["from"], min(span["to"], MOST_COUNTED))
            return Slot(slot, name)
        return Anything(slot)

    ways, values = said_by(grammar, elsewhere)
    return [way for several in ways.values() for way in several], {**values, **counted}


def numbers(first: int, last: int) -> list[tuple[str, str]]:
    """Return numbers as they are spoken in English, each with its digits."""
    return [(_number(number), str(number)) for number in range(first, last + 1)]


def lengths() -> Way:
    """Return the ways to say how long."""
    count = Slot("", "1-100")
    minutes, hours, seconds = either("minute", "minutes"), either("hour", "hours"), either("second", "seconds")
    rest = Chain((maybe(Words("and")), count, minutes))
    some_seconds = Chain((maybe(Words("and")), count, seconds))
    return either(
        Chain((count, seconds)),
        Chain((count, minutes, maybe(some_seconds))),
        Chain((count, hours, maybe(rest))),
        Chain((Words("an hour"), maybe(either(Words("and a half"), rest)))),
        Chain((count, Words("and a half"), either(minutes, hours))),
        *("half an hour", "a minute", "a minute and a half", "a quarter of an hour", "three quarters of an hour"),
    )


def moments() -> Way:
    """Return the ways to say when."""
    hour, minute = Slot("", "hours"), Slot("", "minutes")
    before = either(
        *(f"{part} {side}" for part in ("half", "quarter", "ten", "five", "twenty") for side in ("past", "to"))
    )
    clock = either(
        Chain((hour, maybe(minute), maybe(either("am", "pm")))),
        Chain((hour, Words("o'clock"))),
        Chain((before, hour)),
        *("noon", "midnight"),
    )
    part = either("in the morning", "in the afternoon", "in the evening", "at night")
    days = "today|tonight|tomorrow|tomorrow morning|tomorrow afternoon|tomorrow evening|this evening|this afternoon"
    named = [*days.split("|"), "the day after tomorrow", "next week"]
    day = either(*named, *(Chain((maybe(either("on", "next")), Words(one))) for one in _DAYS))
    at = Chain((Words("at"), clock, maybe(part)))
    return either(
        at, day, Chain((day, at)), Chain((at, day)), Chain((Words("in"), lengths())), Chain((Words("for"), clock))
    )


def _plain(sentence: str) -> str:
    for unit in (" second[s]", " second", "<s>"):
        sentence = sentence.replace("{timer_seconds:seconds}" + unit, "{length}")
    return sentence


def _number(number: int) -> str:
    if number < len(_ONES):
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return f"{_TENS[tens]} {_ONES[ones]}" if ones else _TENS[tens]
    return "a hundred" if number == 100 else str(number)


def _devices(names: Names, domains: tuple[str, ...]) -> list[tuple[str, str]]:
    kinds = {kind for kind, theirs in DOMAINS.items() if not domains or {*theirs} & {*domains}}
    named = [(one, one) for device in names.devices if device.kind in kinds for one in _names_of(device)]
    return [*named, *((person, person) for person in names.people if "person" in domains)]


def _names_of(device: Device) -> Iterable[str]:
    return (device.name, *device.aliases)


def _called(places: Iterable[Place]) -> list[tuple[str, str]]:
    return [(name, name) for place in places for name in (place.name, *place.aliases)]
