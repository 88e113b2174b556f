"""JSON to the letter: no NaN, and no half of a character, which no bytes could hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")  # of a character, as it is or spelled out; whole ones too


class NotStrict(ValueError):
    """JSON for others, not for us; `str()` is a sentence without its capital and its stop."""


def loads(
    text: str | bytes,
    *,
    mends: bool = False,
    finite: bool = False,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return the value in `text`, halves of characters joined; `pairs` makes the objects, where a dict will not do.

    A half that is alone is refused, or, if this `mends`, becomes U+FFFD. A number too large to be one, as 1e999, is
    infinity, which its field can be refused for by name; or refused here, if all are to be `finite`. Raises
    `ValueError` for what is no JSON, and `RecursionError` for what is nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    numbers = finite_number if finite else None
    value = json.loads(
        text, parse_constant=no_number, parse_float=numbers, parse_int=whole_number, object_pairs_hook=pairs
    )
    if HALF.search(text):
        whole = joined(json.dumps(value, ensure_ascii=False), "replace" if mends else "strict")
        value = json.loads(whole)
    return value


def unbroken(text: str) -> str:
    """Return text with lone halves of characters replaced: no bytes can hold them, and one kills an MCP connection."""
    return joined(text, "replace")


def joined(text: str, errors: str = "strict") -> str:
    """Return text with halves of characters joined; one that is alone is refused, or treated as `errors` says."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", errors)
    except UnicodeDecodeError as half:
        raise NotStrict("a text holds half of a character") from half


def no_number(name: str) -> NoReturn:
    """Refuse NaN and the infinities."""
    raise NotStrict(f"{name} is not a number in JSON")


def whole_number(written: str) -> int:
    """Read a whole number; one of more digits than Python reads at once is refused."""
    try:
        return int(written)
    except ValueError as endless:
        raise NotStrict(f"{written[:40]}… is too large for a number") from endless


def finite_number(written: str) -> float:
    """Read a number; one too large to be one, as 1e999, is refused."""
    if math.isinf(number := float(written)):
        raise NotStrict(f"{written[:40]} is too large for a number")
    return number


# For a value with something behind it.
FINITE = json.JSONDecoder(parse_constant=no_number, parse_float=finite_number, parse_int=whole_number)
