"""A grammar of what can be said, as a value: words in a row, one of several, a place for one of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SpokenWords:
    """Words as they are spoken."""

    text: str


@dataclass(frozen=True, slots=True)
class WaySeries:
    """One part after the other; an empty chain is silence."""

    parts: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several."""

    options: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one of the values that `key` has in this house, such as "name/light"; none, and it is not said."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class SharedWay:
    """A way that many others have in them, such as how long or when, known by its name alone."""

    name: str
    way: Way = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Anything:
    """Any words at all, as the recogniser has them."""

    name: str


Way = SpokenWords | WaySeries | OneOf | Slot | SharedWay | Anything
Values = Mapping[str, Sequence[tuple[str, str]]]  # key of a slot → as it is spoken, as it is written
SILENCE = WaySeries()


def maybe(way: Way) -> OneOf:
    """Return a way that may be left out."""
    return OneOf((way, SILENCE))


def either(*ways: Way | str) -> Way:
    """Return a choice of ways, or of words."""
    options = tuple(SpokenWords(way) if isinstance(way, str) else way for way in ways)
    return options[0] if len(options) == 1 else OneOf(options)
