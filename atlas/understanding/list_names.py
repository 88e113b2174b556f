"""Finds which list is meant: by its name alone, by a name that is nearly that of one, or a new one. Pure."""

from __future__ import annotations

import re
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


def on_named_list(command: Command, text: str, names: Names, onto: str) -> Command:
    """Return a command that puts things on the list whose name ends a text: "add trunks to holiday".

    `onto` is the pattern of what stands before such a name.
    """
    if command.tool != "lists.add" or not (onto and names.lists):
        return command
    called = "|".join(re.escape(name) for name in sorted(names.lists, key=len, reverse=True))
    end = re.compile(rf"\s+{onto}(?P<list>{called})\W*$", re.IGNORECASE)
    match = end.search(text)
    items = [end.sub("", str(item)) for item in command.arguments.get("items", ())]
    if match is None or not all(items):
        return command
    name = next(name for name in names.lists if name.casefold() == match["list"].casefold())
    return replace(command, arguments={**command.arguments, "items": items, "list": name})
