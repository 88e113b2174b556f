"""Tells by the last words of a sentence whether its speaker is done, could say more, or surely will. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from atlas.understanding.command_traits import only_look
from atlas.understanding.names import GUARDED, Names
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

CLOSED_SECONDS = 0.19  # of silence after what closes a command; one command in twelve has as long a pause inside it
LOOK_SECONDS = 0.15  # after a look, and at once when its words are known later; who goes on is answered anew, in one
SWEEPING_SECONDS = 0.8  # after what concerns a whole house or floor, as "except in the hall" may follow
GRAVE = frozenset({"lock", *GUARDED})  # kinds and shapes
_MARKS = " .,;:?!…-"


class Endings:
    """The endings of one language's sentences, from its tables."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._goes_on = re.compile(tables["goes_on"], re.IGNORECASE)
        self._closes = re.compile(tables["closes"], re.IGNORECASE)
        self._settled = re.compile(tables["settled"], re.IGNORECASE)
        self._open_verb = pattern(tables, "open_verb")
        self._wants_value = re.compile(tables["wants_value"], re.IGNORECASE)

    def goes_on(self, text: str) -> bool:
        """Tell whether more must follow: "turn on", "add milk and", "set a timer for"."""
        return bool(self._goes_on.search(text.strip(_MARKS)))

    def sweeps(self, commands: Sequence[Command]) -> bool:
        """Tell whether commands concern everything in a house or on a floor, so that an exception may follow."""
        return any({"everything", "floor"} & {*one.arguments} for one in commands)

    def closes(self, text: str, commands: Sequence[Command], names: Names) -> bool:
        """Tell whether nobody would sensibly go on after commands in these words, or it would do no harm if they did.

        A number, a length, a time and free words may go on in the next word ("thirty", "and a half", "and eggs"); a
        device, a room behind "in", "off" behind one of them, a list and a "please" do not. What only looks can be
        looked up again. Where a verb may still get its particle, only that closes: "mach das Licht bitte … aus". A
        lock, a door, and what puts a thing away for good are always waited for.
        """
        if any(_is_grave(one, names) for one in commands):
            return False
        if only_look(commands):
            return True
        words = text.strip(_MARKS).casefold()
        if self._open_verb.search(words):
            return bool(self._settled.search(words))
        if commands[-1].whole or self._closes.search(words):
            return True
        device, room = (str(commands[-1].arguments.get(name, "")).casefold() for name in ("device", "room"))
        if not (device or room) or self._wants_value.search(words):
            return bool(device or room) and bool(self._settled.search(words))
        in_room = bool(room) and re.search(rf"\b(?:in|im) [\w' ]*{re.escape(room)}$", words) is not None
        return (bool(device) and words.endswith(device)) or in_room or bool(self._settled.search(words))


def _is_grave(command: Command, names: Names) -> bool:
    """Tell whether a command moves a lock or a door, or puts a thing away for good."""
    if command.tool in ("home.lock", "home.unlock") or command.tool.endswith((".delete", ".clear", ".forget")):
        return True
    given = command.arguments
    moves = command.tool in ("home.open", "home.close", "home.turn", "home.set")
    device = given.get("device")
    shapes = {one.shape if one.kind == "cover" else one.kind for one in names.devices if one.name == device}
    return moves and bool(GRAVE & {given.get("kind"), given.get("shape"), *shapes})
