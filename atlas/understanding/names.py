"""What can be named in this house: its devices, rooms, floors, people and lists. Values; never from fixed lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamedDevice:
    """One device, by the names that people may say. `kind` and `shape` are the tool server's ("cover", "curtain")."""

    name: str
    kind: str
    room: str = ""
    shape: str = ""
    aliases: tuple[str, ...] = ()
    can: frozenset[str] = frozenset()  # what of its state can be set: "on", "brightness", …


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A room or a floor; a room may lie on a floor."""

    name: str
    floor: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """Everything of one house that has a name. Immutable: when the house changes, there is another one."""

    devices: tuple[NamedDevice, ...] = ()
    rooms: tuple[NamedPlace, ...] = ()
    floors: tuple[NamedPlace, ...] = ()
    people: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()


NOBODY = Names()  # a house in which nothing has a name
