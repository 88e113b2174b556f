"""What can be named in this house: its devices, rooms, floors, people and lists. Values; never from fixed lists."""

from __future__ import annotations

from dataclasses import dataclass, field

GUARDED = ("garage", "gate", "door")  # shapes of covers that let people in: they are opened as locks are


@dataclass(frozen=True, slots=True)
class NamedDevice:
    """One device, by the names that people may say. `kind` and `shape` are the tool server's ("cover", "curtain")."""

    name: str
    kind: str
    room: str = ""
    shape: str = ""
    aliases: tuple[str, ...] = ()
    can: frozenset[str] = frozenset()  # what of its state can be set: "on", "brightness", …

    @property
    def all_names(self) -> tuple[str, ...]:
        """Its name, and the others that people say."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A room or a floor; a room may lie on a floor."""

    name: str
    floor: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def all_names(self) -> tuple[str, ...]:
        """Its name, and the others that people say."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Names:
    """Everything of one house that has a name. Immutable: when the house changes, there is another one."""

    devices: tuple[NamedDevice, ...] = ()
    rooms: tuple[NamedPlace, ...] = ()
    floors: tuple[NamedPlace, ...] = ()
    people: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    called: tuple[tuple[str, str], ...] = ()  # other names of people, and whose: ("Mum", "Anna")
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        # Much is remembered by the names of a house, and to hash fifty devices every time takes longer than to read.
        every = (self.devices, self.rooms, self.floors, self.people, self.lists, self.called)
        object.__setattr__(self, "_hash", hash(every))

    def __hash__(self) -> int:
        return self._hash

    @property
    def places(self) -> tuple[NamedPlace, ...]:
        """The rooms, then the floors."""
        return (*self.rooms, *self.floors)

    def person(self, name: str) -> str:
        """Return who of this house is called so, or is also called so; "" for nobody."""
        known = {other.casefold(): person for other, person in (*self.called, *((one, one) for one in self.people))}
        return known.get(name.casefold(), "")


NOBODY = Names()  # a house in which nothing has a name
