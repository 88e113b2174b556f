"""JSON to the letter: no NaN, and no half of a character, which no bytes could hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")  # of a character, as it is or spelled out; whole ones too


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
    numbers = _finite if finite else None
    value = json.loads(text, parse_constant=_no_number, parse_float=numbers, object_pairs_hook=pairs)
    if HALF.search(text):
        whole = _joined(json.dumps(value, ensure_ascii=False), "replace" if mends else "strict")
        value = json.loads(whole)
    return value


def unbroken(text: str) -> str:
    """Return text with lone halves of characters replaced: no bytes can hold them, and one kills an MCP connection."""
    return _joined(text, "replace")


def _joined(text: str, errors: str) -> str:
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", errors)
    except UnicodeDecodeError as half:
        raise ValueError("a text holds half of a character") from half


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(written: str) -> float:
    if math.isinf(number := float(written)):
        raise ValueError("a number is too large to be one")
    return number


FINITE = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)  # for a value with something behind it
