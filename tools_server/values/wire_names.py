"""The names of tools on the wire: `timers.start` is listed as `timers_start`. Pure.

Inside, in policy.toml and in the record, a tool is called by its file and a verb, with a dot between: patterns such as
`timers.*` need that. Claude Desktop, Cursor and the APIs behind them refuse such names: they take letters, digits, `_`
and `-`, 64 at most. No tool file and no mounted server has `_` in its name, so the first one stands for the dot, and no
two tools get the same name. A name that has a dot is taken for the inner one and accepted as well: nothing else can be
meant by it, and the house and scripts that were written for it go on working. The documents that Atlas was made from
call three tools by names of their own. Those are listed beside the tools' own, for many clients call only what is
listed; the house leaves them out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

LONGEST = 64
DIGEST_CHARACTERS = 8  # of what is cut off: only mounted servers have such long names, and rarely
DOCUMENTED: Mapping[str, tuple[str, Mapping[str, str]]] = {  # name → the tool, and its arguments by their names there
    "add_task": ("tasks.add", {"title": "title", "description": "description", "priority": "priority"}),
    "echo": ("world.echo", {"message": "text"}),
    "weather": ("weather.now", {"location": "place"}),
}


def wire_name(name: str) -> str:
    """Return the name that clients are shown."""
    plain = name.replace(".", "_")
    if len(plain) <= LONGEST:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:DIGEST_CHARACTERS]
    return f"{plain[: LONGEST - DIGEST_CHARACTERS - 1]}_{digest}"


def inner_name(name: str, tools: Collection[str]) -> str:
    """Return the inner name of one of these tools, by whichever name it is called; other names as they are."""
    return name if name in tools else _by_wire_name(tuple(tools)).get(name, name)


def inner_call(name: str, arguments: Any, tools: Collection[str]) -> tuple[str, Any]:
    """Return a call by the inner names of the tool and its arguments."""
    documented, renamed = DOCUMENTED.get(name, (name, {}))
    if name in tools or documented not in tools:
        return inner_name(name, tools), arguments
    if isinstance(arguments, Mapping):
        arguments = {
            renamed.get(argument, argument) if renamed.get(argument) not in arguments else argument: value
            for argument, value in arguments.items()
        }
    return documented, arguments


@lru_cache(maxsize=4)
def _by_wire_name(names: tuple[str, ...]) -> dict[str, str]:
    return {wire_name(name): name for name in names}
