"""What a tool's data looks like: a shape in Python's own types → JSON Schema. Pure.

    {"timers": [{"name": str, "ends_at": float | None}], "place?": str}

A list holds any number of its one item, a name with "?" may be missing, and `{}` or `dict` is any object. What is not
named may be there all the same: clients check what they get against the schema, and more of it is no mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, TypeAlias, get_args

Shape: TypeAlias = "type | UnionType | list[Any] | Mapping[str, Any]"

PROBLEM = {"file": str, "problem": str}  # a paper that cannot be read, and why
DUE = {
    "id": str,
    "text": str,
    "device": str,
    "room": str,
    "person": str,
    "language?": str,
}  # to be said, where, in which
COMING = {"id": str, "device": str, "room": str, "in_seconds": float}  # what will be due, where
IDS = {"ids": [str]}
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", type(None): "null"}


def schema_of(shape: Shape) -> dict[str, Any]:
    """Return the JSON Schema of a shape."""
    if isinstance(shape, Mapping):
        properties = {name.removesuffix("?"): schema_of(inner) for name, inner in shape.items()}
        required = [name for name in shape if not name.endswith("?")]
        return {
            "type": "object",
            **({"properties": properties} if properties else {}),
            **({"required": required} if required else {}),
        }
    if isinstance(shape, list):
        [item] = shape
        return {"type": "array", "items": schema_of(item)}
    if isinstance(shape, UnionType):
        return {"type": [_NAMES[kind] for kind in get_args(shape)]}
    return {"type": _NAMES[shape]}
