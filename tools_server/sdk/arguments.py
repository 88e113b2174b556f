"""Checks arguments against the tool's schema, whatever a client or a grammar has promised."""

from __future__ import annotations

import math
from typing import Any

from jsonschema import ValidationError

from tools_server.sdk.toolkit import ToolFailed, ToolSpec
from tools_server.values.language import ENGLISH, current, noted, number
from tools_server.values.language import text as _
from wall.chain import digest

ARGUMENT_BYTES = 64 * 1024  # a long note is a tenth of it
ARGUMENT_DEPTH = 16
MOST_PAIRS = 100_000  # of a part of the schema and a part of the arguments: each may meet each, and takes some 10 µs
TOO_LARGE = noted("The arguments are too large.")
PRINTED_CHARACTERS = 300
_MISFITS = {  # by the word of the schema that forbids it: what a person may hear, and a model can do better by
    "minimum": noted("That is too little for {name}: {limit} is the least."),
    "exclusiveMinimum": noted("That is too little for {name}: it has to be more than {limit}."),
    "maximum": noted("That is too much for {name}: {limit} is the most."),
    "exclusiveMaximum": noted("That is too much for {name}: it has to be less than {limit}."),
    **dict.fromkeys(("minLength", "minItems"), noted("That is too short for {name}: {limit} is the least.")),
    **dict.fromkeys(("maxLength", "maxItems"), noted("That is too long for {name}: {limit} is the most.")),
    "enum": noted("That is not among the choices for {name}: {limit}."),
}
_UNFIT = noted("That does not fit {name}.")  # in languages that the validator does not speak


def checked(spec: ToolSpec, given: Any) -> tuple[dict[str, Any], str]:
    """Return the arguments with defaults filled in, and the SHA-256 of them in the one way to write them.

    Raises `ToolFailed` for extra ones, wrong ones and impossible texts.
    """
    arguments = {} if given is None else given
    if problem := unusable(arguments):
        raise ToolFailed("invalid", _(problem))
    # Another server's schema has up to 400 choices for an item.
    if _parts(spec.schema) * _parts(arguments) > MOST_PAIRS:
        raise ToolFailed("invalid", _(TOO_LARGE))
    # Closest to the root first, so that the sentence names the argument, not a detail inside it.
    wrong = min(spec.validator.iter_errors(arguments), key=lambda error: len(error.path), default=None)
    if wrong is not None:
        raise ToolFailed("invalid", _sentence(spec, arguments, wrong), schema=dict(spec.schema))
    filled = spec.arguments.model_validate(arguments)
    return dict(filled), digest(filled.model_dump(mode="json"))


def unusable(value: Any) -> str:
    """Say why a value cannot be handled as JSON text, "" when it can. Not recursive: depth is the attacker's choice."""
    left: list[tuple[Any, int]] = [(value, 0)]
    size = 0
    while left:
        item, depth = left.pop()
        size += len(item) + 8 if isinstance(item, (str, list, dict)) else 8
        if depth > ARGUMENT_DEPTH or size > ARGUMENT_BYTES:
            return TOO_LARGE
        if isinstance(item, float) and not math.isfinite(item):
            return noted("The arguments hold a number that is not a number.")
        if isinstance(item, str) and any("\ud800" <= character <= "\udfff" for character in item):
            return noted("The arguments hold half of a character.")
        if isinstance(item, dict):
            left += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, list):
            left += [(part, depth + 1) for part in item]
    return ""


def _parts(value: Any) -> int:
    """Return how many values there are in a value, itself among them."""
    count, left = 0, [value]
    while left:
        item = left.pop()
        count += 1
        left += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return count


def raw_digest(given: Any) -> str:
    """Return the SHA-256 of arguments as they came, for the record of a call that was refused before they mattered."""
    problem = unusable(given)
    return f"unusable: {problem}" if problem else digest(given)


def printable(text: str) -> str:
    """Return at most 300 characters that survive every wire: half characters become question marks."""
    short = text if len(text) <= PRINTED_CHARACTERS else text[: PRINTED_CHARACTERS - 3] + "..."
    return whole(short)


def whole(text: str) -> str:
    """Return a text whose half characters have become question marks."""
    return text.encode("utf-8", "replace").decode()


def _sentence(spec: ToolSpec, arguments: Any, wrong: ValidationError) -> str:
    """Say what is wrong with the arguments, so that a model can do better."""
    takes = ", ".join(spec.schema["properties"]) or _("nothing")
    if wrong.validator == "additionalProperties":
        extra = sorted(set(arguments) - set(spec.schema["properties"]))
        return _("{tool} does not take {extra}; it takes {takes}.").format(
            tool=spec.name, extra=printable(", ".join(extra)), takes=takes
        )
    if wrong.validator == "required":
        missing = [name for name in spec.schema["required"] if name not in arguments]
        return _("{tool} needs {missing}.").format(tool=spec.name, missing=", ".join(missing))
    where = ".".join(str(step) for step in wrong.path)
    if form := _MISFITS.get(str(wrong.validator)):
        return _(form).format(name=where.replace("_", " "), limit=_limit(wrong.validator_value))
    # A model that reads German errors still reads the schema; a person needs no words of a validator.
    english = current() == ENGLISH
    return (
        f"{where or spec.name}: {printable(wrong.message)}." if english else _(_UNFIT).format(name=where or spec.name)
    )


def _limit(value: Any) -> str:
    """Return what a schema sets as a limit, in words; the value may be another server's."""
    if isinstance(value, list):
        return printable(", ".join(str(choice) for choice in value if choice != ""))
    return printable(number(value)) if isinstance(value, int | float) else printable(str(value))
