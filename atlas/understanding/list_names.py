"""Finds which list is meant by a name that no list has: one whose name is nearly that, or a new one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from atlas.understanding.names import Names
from atlas.understanding.slots import Command

ALIKE = 0.8  # of two names, so that one is the other mistyped: "shoping" 0.93, "packing" 0.67
LEAST_LETTERS = 4


def with_near_name(command: Command, names: Names, usual: Sequence[str]) -> Command | None:
    """Return a command for the list that it means; `None` where no list of the house has nearly such a name.

    `usual`: names of the list that is meant where none is named.
    """
    name = str(command.arguments.get("list", "")).casefold()
    if not command.tool.startswith("lists.") or not name or name in {one.casefold() for one in names.lists}:
        return command
    words = name.split()
    ends = [end for at in range(len(words)) if len(end := " ".join(words[at:])) >= LEAST_LETTERS]
    known = [*usual, *names.lists]
    alike = [(SequenceMatcher(None, end, one.casefold()).ratio(), one) for end in ends for one in known]
    likeness, nearest = max(alike, default=(0.0, ""))
    if likeness < ALIKE:
        return None
    given = {key: value for key, value in command.arguments.items() if key != "list"}
    return replace(command, arguments=given if nearest in usual else {**given, "list": nearest})
