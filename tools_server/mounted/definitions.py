"""What another server says of its tools → what we show of it, or why we do not. Pure.

A definition is text that a model will read, written by somebody else: it is cleaned, cut, pinned by its hash, and
shown only after a person has approved exactly that. Its schema is reduced to what can be checked without harm.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import referencing
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from wall.approval import Unfitness
from wall.chain import canonical, digest

DESCRIPTION_CHARACTERS = 600  # every prompt pays for it
WORD_CHARACTERS = 200  # of the description of one argument
SCHEMA_BYTES = 16 * 1024
SCHEMA_NODES = 400
SCHEMA_DEPTH = 10
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
# No patterns: one of them can stop a server for ever, and grammars of small models choke on them.
_KEPT = frozenset(
    ("type", "properties", "required", "items", "enum", "const", "description", "additionalProperties", "default")
) | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"} | {
    "anyOf", "oneOf", "allOf"
}  # fmt: skip
_COMMENT = re.compile(r"<!--.*?(-->|$)", re.DOTALL)
_MARKUP = re.compile(r"<[^<>]{0,200}>|```|\[/?INST\]|<\|[^|]{0,40}\|>")


class Unfit(Exception):
    """A definition that is not shown."""

    def __init__(self, reason: Unfitness) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool of another server, as it may be shown."""

    name: str
    description: str
    schema: Mapping[str, Any]
    sha256: str  # of all that it said of itself, before cleaning
    hints: Mapping[str, Any]


def pinned(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a server says of a tool. Raises `Unfit` for what cannot be written as JSON."""
    try:
        return digest({key: values.get(key) for key in ("name", "title", "description", "inputSchema", "annotations")})
    except (ValueError, TypeError, RecursionError) as broken:
        raise Unfit("no_json") from broken


def definition(values: Mapping[str, Any]) -> Definition:
    """Return a tool as it may be shown. Raises `Unfit`."""
    name = values.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Unfit("odd_name")
    sha256 = pinned(values)
    hints = values.get("annotations")
    schema = projected(values.get("inputSchema"))
    description = clean(values.get("description") or "", DESCRIPTION_CHARACTERS) or f"{name}."
    return Definition(name, description, schema, sha256, hints if isinstance(hints, dict) else {})


def clean(text: Any, most: int) -> str:
    """Return text without what people do not see and models do: hidden signs, comments, tags, marks of prompts."""
    shown = str(text)[: most * 20]
    shown = re.sub(r"[\n\r\t]", " ", shown)
    shown = "".join(c for c in shown if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    # Cutting may join what was apart ("<<x>b>"), so until there is nothing left to cut.
    while (cut := _MARKUP.sub(" ", _COMMENT.sub(" ", shown))) != shown:
        shown = cut
    shown = " ".join(shown.split())
    return shown if len(shown) <= most else shown[: most - 1].rstrip() + "…"


def difference(before: str, after: str) -> list[str]:
    """Return the lines that differ, and those around them; signs that cannot be seen are written as their codes."""
    was, now = visible(before), visible(after)
    return list(difflib.unified_diff(was, now, fromfile="approved", tofile="offered", lineterm=""))


def visible(text: str) -> list[str]:
    """Return a definition line by line."""
    # ASCII only: what hides in a description, or in a terminal's escape codes, is seen here.
    return json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=True).splitlines() if text else []


# ── schemas ────────────────────────────────────────────────────────────────────────────────────────


def projected(schema: Any) -> dict[str, Any]:
    """Return a closed schema of an object, with its references filled in. Raises `Unfit`.

    What is left out (patterns, formats) the other server checks itself: it is never believed to be narrower than ours.
    """
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise Unfit("no_object")
    try:
        if len(canonical(schema)) > SCHEMA_BYTES:
            raise Unfit("too_long")
    except (ValueError, TypeError, RecursionError) as broken:
        raise Unfit("no_json_schema") from broken
    left = [SCHEMA_NODES]
    made = _part(schema, schema, 0, left)
    assert isinstance(made, dict)
    made.setdefault("properties", {})
    made["additionalProperties"] = False
    try:
        Draft202012Validator.check_schema(made)
    except (SchemaError, RecursionError) as wrong:
        raise Unfit("no_json_schema") from wrong
    return made


def validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    """Return what checks arguments; it fetches nothing."""
    return Draft202012Validator(schema, registry=referencing.Registry())


def _part(part: Any, whole: Mapping[str, Any], depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if depth > SCHEMA_DEPTH or left[0] < 0:
        raise Unfit("too_deep")
    if isinstance(part, bool):
        return part
    if not isinstance(part, dict):
        raise Unfit("no_json_schema")
    if "$ref" in part:
        return _part(_referred(part["$ref"], whole), whole, depth + 1, left)
    made: dict[str, Any] = {}
    for key, value in part.items():
        if key not in _KEPT:
            continue
        if key == "properties" and isinstance(value, dict):
            made[key] = {_argument(name): _part(item, whole, depth + 1, left) for name, item in value.items()}
        elif key in ("items", "additionalProperties"):
            made[key] = _part(value, whole, depth + 1, left)
        elif key in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            made[key] = [_part(item, whole, depth + 1, left) for item in value]
        elif key == "description":
            made[key] = clean(value, WORD_CHARACTERS)
        elif key in ("enum", "const", "default"):
            made[key] = _choice(value)
        else:
            made[key] = value
    return made


def _referred(reference: Any, whole: Mapping[str, Any]) -> Any:
    result: Any = whole
    if not isinstance(reference, str) or not reference.startswith("#/"):
        raise Unfit("refers_elsewhere")
    for step in reference[2:].split("/"):
        result = result.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(result, dict) else None
    return result


def _argument(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.$@-]{1,64}", name):
        raise Unfit("odd_argument")
    return name


def _choice(value: Any) -> Any:
    """Return a value that a model may be offered; a choice is no place for a letter to the model."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and clean(text, WORD_CHARACTERS) != " ".join(text.split()):
            raise Unfit("hidden_text")
        if isinstance(text, (dict, list)) and text:
            raise Unfit("odd_choice")
    return value
