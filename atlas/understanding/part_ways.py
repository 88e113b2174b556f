"""Opens and closes a part of the way what is wanted so: "the curtains a little". What only opens wide is asked about.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.understanding.exemptions import devices_of
from atlas.understanding.home_tools import TARGETS
from atlas.understanding.names import Names
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 200
PART_PERCENT = 20
_MOVES = {"home.open": PART_PERCENT, "home.unlock": PART_PERCENT, "home.close": -PART_PERCENT}


class PartWays:
    """How one language says that something is to move only a part of the way; without a table it never does."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._partly = pattern(words, "partly")

    def move(self, text: str, commands: Sequence[Command]) -> bool:
        """Tell whether some of these deeds are to be done a part of the way."""
        return any(one.tool in _MOVES for one in commands) and bool(self._partly.search(text[:LONGEST_CHARACTERS]))

    def whole(self, text: str) -> str:
        """Return a text as if all the way were wanted."""
        return " ".join(self._partly.sub(" ", text[:LONGEST_CHARACTERS]).split())

    def in_part(self, commands: Sequence[Command], names: Names, room: str) -> tuple[Command, ...]:
        """Return deeds that move what they are about a part of the way; `()` where something has no such way."""
        made = []
        for command in commands:
            by = _MOVES.get(command.tool)
            if by is None:
                made.append(command)
                continue
            if not all("position" in one.can or not one.can for one in devices_of(command, names, room)):
                return ()
            target = {key: value for key, value in command.arguments.items() if key in TARGETS}
            made.append(Command("home.adjust", {"what": "position", "by": by, **target}))
        return tuple(made)
