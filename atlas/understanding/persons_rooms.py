"""Reads whose room a place is that is named by a person: the light "bei Mia" is the one in Mia's room. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from atlas.understanding.frame_words import spelled
from atlas.understanding.names import NamedPlace, Names
from atlas.understanding.patterns import pattern

ENDINGS = ("", "s", "'s")  # of who owns something: "Mias Zimmer", "Mia's room"


def room_of(person: str, names: Names) -> NamedPlace | None:
    """Return the one room that is called after somebody, by one of their names; `None` where there is none."""
    called = [person, *(name for name, whose in names.called if whose == person)]
    owners = {(*name[:-1], name[-1] + ending) for name in map(spelled, called) if name for ending in ENDINGS}
    rooms = [
        room
        for room in names.rooms
        if any(tuple(spelled(name)[: len(owner)]) == owner for name in room.all_names for owner in owners)
    ]
    return rooms[0] if len(rooms) == 1 else None


class PersonsRooms:
    """How one language names a room by a person. `words` is its table `persons_rooms`. Immutable."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._at = pattern(words, "at")
        self._in_room = words.get("in_room", "")

    def written_out(self, text: str, names: Names, spoken_of: Callable[[], str]) -> str | None:
        """Return a text with the name of the room in place of the person by whom it is named.

        "" where a person is named and nobody can tell which room is meant; `None` where no place is named by a person.
        `spoken_of` returns who was spoken of before, by name; "" for nobody or several.
        """
        match = self._at.search(text)
        if match is None:
            return None
        person = names.person(match["who"] or match["kin"] or "")
        if match["who"] and not person:
            return None  # by the window, in the rain
        if match["they"]:
            before = [names.person(word.strip(",.")) for word in text[: match.start()].split()]
            person = next(filter(None, reversed(before)), "") or spoken_of()
        room = room_of(person, names) if person else None
        return f"{text[: match.start()]}{self._in_room.format(room.name)}{text[match.end() :]}" if room else ""
