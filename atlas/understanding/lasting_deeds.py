"""Makes of a deed that lasts the deed and its end: "the sprinkler on for ten minutes" is on now, off then. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlas.understanding.slots import LATER, Command

_ENDS = {"home.open": "home.close"}  # never the other way: what is shut or locked is not opened when nobody looks


def for_a_while(commands: Sequence[Command]) -> tuple[Command, ...]:
    """Return deeds that were read as for later, done now and ended then; `()` where one of them has no such end."""
    now, then = list[Command](), list[Command]()
    for command in commands:
        tool, seconds = str(command.arguments.get("tool", "")), command.arguments.get("seconds")
        given: dict[str, Any] = dict(command.arguments.get("arguments", {}))
        if command.tool != LATER or not seconds or not (tool in _ENDS or (tool == "home.turn" and "on" in given)):
            return ()
        ended = given if tool in _ENDS else {**given, "on": not given["on"]}
        now.append(Command(tool, given))
        then.append(Command(LATER, {"seconds": seconds, "tool": _ENDS.get(tool, tool), "arguments": ended}))
    return (*now, *then)
