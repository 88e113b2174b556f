"""Makes of a deed that lasts the deed and its end: "the sprinkler on for ten minutes" is on now, off then. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from atlas.understanding.dialogue import UNDO
from atlas.understanding.home_tools import TARGETS
from atlas.understanding.slots import LATER, Command, for_now

EndState = Literal["", "back", "off"]  # as it is said: "… and then back", "… and then off"
_ENDS = {"home.open": "home.close"}  # never the other way: what is shut or locked is not opened when nobody looks


def for_a_while(commands: Sequence[Command]) -> tuple[Command, ...]:
    """Return deeds that were read as for later, done now and ended then; `()` where one of them has no such end."""
    now, then = list[Command](), list[Command]()
    for command, deed in zip(commands, for_now(commands), strict=True):
        tool, given, seconds = deed.tool, deed.arguments, command.arguments.get("seconds")
        if command.tool != LATER or not seconds or not (tool in _ENDS or (tool == "home.turn" and "on" in given)):
            return ()
        end = Command(_ENDS[tool], given) if tool in _ENDS else Command(tool, {**given, "on": not given["on"]})
        now.append(deed)
        then.append(end.later(seconds=seconds))
    return (*now, *then)


def with_end(commands: Sequence[Command], when: Mapping[str, Any], end: EndState = "") -> tuple[Command, ...]:
    """Return deeds, and what ends each then."""
    return (*commands, *(one.later(**when) for one in ends_of(commands, end)))


def ends_of(commands: Sequence[Command], end: EndState = "") -> tuple[Command, ...]:
    """Return what ends deeds that go on: what was turned on goes off, what plays stops, all else is put back.

    Where `end` is "back" what was turned on is put back as well, for it may have been on before; where it is "off" what
    was set goes off.
    """
    return tuple(_end(one, end) for one in commands)


def _end(command: Command, end: EndState) -> Command:
    tool, given = command.tool, command.arguments
    if end == "back":
        return Command(UNDO, {})
    if (tool == "home.turn" and given.get("on")) or (tool in ("home.set", "home.adjust") and end == "off"):
        return Command("home.turn", {**{name: given[name] for name in TARGETS if name in given}, "on": False})
    if tool == "home.play":
        return Command("home.pause", {name: given[name] for name in ("device", "room") if given.get(name)})
    return Command(UNDO, {})
