"""Foresees what a tool will say of a call, from what it said of the last ones like it. Pure; remembers little."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from atlas.conversation import ToolCall, ToolResult
from atlas.understanding.slots import Command

MOST_KINDS = 64  # of calls, by language, tool and names of arguments, that are remembered; the oldest goes first
MOST_SENTENCES = 8  # of each kind
LEAST_CHARACTERS = 2  # of a value that is looked for in a sentence: "a" stands in any
_SLOT = "\0{}\0"


class ForeseenReplies:
    """Sentences in which tools named what they were called with: "I added {item} to the {list} list."

    A sentence foreseen is never said for itself: a voice may begin its sound, which is used only when the tool, after
    the deed, says the very same.
    """

    def __init__(self) -> None:
        self._kinds: OrderedDict[tuple[str, str, frozenset[str]], list[tuple[Mapping[str, Any], str]]] = OrderedDict()

    def learn(self, language: str, call: ToolCall, result: ToolResult) -> None:
        """Remember what was said of a deed in a language; what only looks says something else each time."""
        if not result.ok or result.receipt is None or result.untrusted:
            return
        template, rest = result.text, dict(call.arguments)
        for name, value in sorted(call.arguments.items(), key=lambda one: -len(str(one[1]))):
            if isinstance(value, str) and len(value) >= LEAST_CHARACTERS:
                parts = re.split(rf"(?<!\w){re.escape(value)}(?!\w)", template)
                if len(parts) > 1:
                    template = _SLOT.format(name).join(parts)
                    del rest[name]
        kind = language, call.name, frozenset(call.arguments)
        sentences = [one for one in self._kinds.pop(kind, []) if one[0] != rest]
        self._kinds[kind] = [(rest, template), *sentences][:MOST_SENTENCES]
        if len(self._kinds) > MOST_KINDS:
            self._kinds.popitem(last=False)

    def foresee(self, language: str, commands: Sequence[Command]) -> str:
        """Return what will probably be said of commands in a language; "" where nobody can tell."""
        if len(commands) != 1:
            return ""
        arguments = commands[0].arguments
        for rest, template in self._kinds.get((language, commands[0].tool, frozenset(arguments)), ()):
            if all(arguments[name] == value for name, value in rest.items()):
                for name, value in arguments.items():
                    template = template.replace(_SLOT.format(name), str(value))
                return template
        return ""
