"""Foresees what a tool will say of a call, from what it said of the last ones like it. Pure; remembers little."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from atlas.conversation import ToolCall, ToolResult
from atlas.latest import Latest
from atlas.understanding.slots import Command

MOST_KINDS = 64  # of calls, by language, tool and names of arguments, that are remembered; the oldest goes first
MOST_SENTENCES = 8  # of each kind
LEAST_CHARACTERS = 2  # of a value that is looked for in a sentence: "a" stands in any
UNITS = (3600, 60, 1)  # seconds, in which a length is said, where it is between two and sixty of them
_SLOT = "\0{}\0"
_CAPITAL = "\0^{}\0"  # the same at the beginning of a sentence
_COUNT = "\0{}/{}\0"  # a number, or a length in a unit of so many seconds


class ForeseenReplies:
    """Sentences in which tools named what they were called with: "I added {item} to the {list} list."

    A sentence foreseen is never said for itself: a voice may begin its sound, which is used only when the tool, after
    the deed, says the very same.
    """

    def __init__(self) -> None:
        self._kinds = Latest[tuple[str, str, frozenset[str]], list[tuple[Mapping[str, Any], str]]](MOST_KINDS)

    def learn(self, language: str, call: ToolCall, result: ToolResult) -> None:
        """Remember what was said of a deed in a language; what only looks says something else each time."""
        if not result.ok or result.receipt is None or result.untrusted:
            return
        template, rest = result.text, dict(call.arguments)
        for name, value in sorted(call.arguments.items(), key=lambda one: -len(str(one[1]))):
            for slot, words in _slots(name, value).items():
                parts = re.split(rf"(?<![\w.,:]){re.escape(words)}(?![\w:]|[.,]\d)", template)
                if len(parts) > 1:
                    template = slot.join(parts)
                    rest.pop(name, None)
        kind = language, call.name, frozenset(call.arguments)
        sentences = [one for one in self._kinds.get(kind, []) if one != (rest, template)]
        self._kinds[kind] = [(rest, template), *sentences][:MOST_SENTENCES]

    def foresee(self, language: str, commands: Sequence[Command]) -> str:
        """Return what will probably be said of commands in a language; "" where nobody can tell."""
        if len(commands) != 1:
            return ""
        arguments = commands[0].arguments
        for rest, template in self._kinds.get((language, commands[0].tool, frozenset(arguments)), ()):
            if all(arguments[name] == value for name, value in rest.items()):
                for name, value in arguments.items():
                    for slot, words in _slots(name, value).items():
                        template = template.replace(slot, words)
                if "\0" not in template:  # else a length is said in another unit
                    return template
        return ""


def _slots(name: str, value: object) -> Mapping[str, str]:
    """Return the ways in which a value may stand in a sentence, each by its slot."""
    if isinstance(value, str) and len(value) >= LEAST_CHARACTERS:
        return {_SLOT.format(name): value, _CAPITAL.format(name): value[:1].upper() + value[1:]}
    if not isinstance(value, int) or isinstance(value, bool):
        return {}
    if name != "seconds":
        return {_COUNT.format(name, 1): str(value)}
    return {
        _COUNT.format(name, unit): str(value // unit) for unit in UNITS if not value % unit and 2 <= value // unit < 60
    }
