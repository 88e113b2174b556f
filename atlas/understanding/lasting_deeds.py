"""Makes of a deed that lasts the deed and its end: "the sprinkler on for ten minutes" is on now, off then. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.understanding.slots import LATER, Command, for_now

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
