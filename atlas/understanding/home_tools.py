"""What the tools of the house accept to say which devices are meant, and of what kind those are. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TARGETS = ("device", "room", "floor", "kind", "shape", "everything")  # arguments that say which devices
CLEANS = "home.clean"
PLAYING = ("home.play", "home.pause", "home.next", "home.previous", "home.mute")
KIND_OF_TOOL = {  # of tools that are about one kind only
    **{"home.lock": "lock", "home.unlock": "lock", CLEANS: "vacuum", "home.mow": "mower"},
    **dict.fromkeys(PLAYING, "media"),
}
_NOT_ACCEPTED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(KIND_OF_TOOL, frozenset({"kind", "shape"})),
    "home.unlock": frozenset({"floor", "kind", "shape", "everything"}),
    **dict.fromkeys(("home.next", "home.previous"), frozenset({"kind", "shape", "everything"})),
    CLEANS: frozenset({"floor", "kind", "shape", "everything"}),
    "home.mow": frozenset(TARGETS) - {"device"},
    "home.dock": frozenset(TARGETS) - {"device", "kind"},
}


def accepts(tool: str, argument: str) -> bool:
    """Tell whether a tool has this argument, of those that say which devices are meant."""
    return argument not in _NOT_ACCEPTED.get(tool, ())


def accepted(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a tool has; what cleans takes the name of a floor for all its rooms."""
    if tool == CLEANS and arguments.get("floor") and not arguments.get("room"):
        arguments = {**arguments, "room": arguments["floor"]}
    return {name: value for name, value in arguments.items() if accepts(tool, name)}
