"""Reads amounts that are a share of what is: "reduce it by half", "twice as loud", "halb so hell". Pure.

How much it is now, only the device knows. So the wish is read as one for more or less, and done so many times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 200
_SHARED = ("brightness", "volume", "speed", "position")  # nobody halves a temperature


@dataclass(frozen=True, slots=True)
class Share:
    """A wish with the words that say its share as "a bit more" or "a bit less", and how many times what is it wants."""

    plain: str
    times: float

    def of(self, commands: Sequence[Command]) -> tuple[Command, ...]:
        """Return commands for more or less as commands for the share; `()` where some are for anything else."""
        if not all(one.tool == "home.adjust" and one.arguments.get("what") in _SHARED for one in commands):
            return ()
        given = [{key: value for key, value in one.arguments.items() if key != "by"} for one in commands]
        return tuple(
            replace(one, arguments={**rest, "times": self.times}) for one, rest in zip(commands, given, strict=True)
        )


class Shares:
    """How one language says a share; without a table it never does."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._ways = [(re.compile(way, re.IGNORECASE), to, times) for way, to, times in words.get("ways", ())]

    def read(self, text: str) -> Share | None:
        """Return the share that a text wants; `None` where it says none."""
        if len(text) <= LONGEST_CHARACTERS:
            for way, to, times in self._ways:
                if (plain := way.sub(to, text, count=1)) != text:
                    return Share(" ".join(plain.split()), times)
        return None
