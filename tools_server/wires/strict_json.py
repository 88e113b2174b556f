"""JSON read to the letter of RFC 8259, and a little narrower: what two parsers could read differently is refused.

No key twice, no NaN, no half of a UTF-16 pair, no number that is endless, no more depth than any tool needs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from wall.strict_json import NotStrict, finite_number, joined, no_number

DEPTH = 64  # the gate takes 16 in arguments; the rest is room for the envelope and other methods
INTEGER_DIGITS = 4300  # Python refuses longer ones by itself: reading them takes quadratic time
KEPT_BYTES = 1024  # of each end of a message, to find its id
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
BOM = b"\xef\xbb\xbf"  # PowerShell begins a pipe with one


class MessageRefused(Exception):
    """What came is no message. `str()` is a sentence for whoever wrote the client."""

    def __init__(self, code: int, sentence: str, id: int | str | None = None, data: Any = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.id = id
        self.data = data


def parse(text: bytes) -> Any:
    """Return a JSON value, read to the letter. Raises `MessageRefused`, with the id where one can be seen."""
    try:
        decoded = text.removeprefix(BOM).decode()
    except UnicodeDecodeError as wrong:
        raise MessageRefused(PARSE_ERROR, f"Byte {wrong.start + 1} is not UTF-8.") from wrong
    try:
        value = json.loads(decoded, object_pairs_hook=_object, parse_constant=no_number, parse_float=finite_number)
        _check(value)
    except json.JSONDecodeError as wrong:
        raise MessageRefused(
            PARSE_ERROR, f"This is not JSON: {wrong.msg.lower()}, at character {wrong.pos + 1}."
        ) from wrong
    except (ValueError, RecursionError) as wrong:
        # Whole as JSON, and from a client that waits for an answer: tell the one who waits.
        id = id_of(text[:KEPT_BYTES], text[-KEPT_BYTES:])
        raise MessageRefused(INVALID_REQUEST, _sentence(wrong), id) from wrong
    return value


def _sentence(wrong: ValueError | RecursionError) -> str:
    match wrong:
        case NotStrict():
            return f"{str(wrong)[:1].upper()}{str(wrong)[1:]}."
        case RecursionError():
            return f"The message is nested more than {DEPTH} deep."
    return f"A number has more than {INTEGER_DIGITS} digits."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = max(times, key=lambda name: times[name])
        raise NotStrict(f"an object has the key {twice[:100]!a} twice")
    return made


def _check(value: Any) -> None:
    """Refuse depth and half characters. Level by level: the depth is the sender's choice, our stack is not."""
    level: list[Any] = [[value]]
    for _ in range(DEPTH + 1):
        parts = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
        level = [part for part in parts if isinstance(part, (dict, list))]
    if level:
        raise RecursionError
    joined(json.dumps(value, ensure_ascii=False))


_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\\x00-\x1f]{0,256}")'
_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"method"\s*:\s*"[^"\\]*"\s*,\s*)?' + _ID + rb"\s*,")
_LAST = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


def id_of(head: bytes, tail: bytes) -> int | str | None:
    """Return the id of a message from its two ends, None when it is not plain to see.

    Clients write it before the parameters (Python's, Go's) or last (TypeScript's). Only where it can be nothing but
    the message's own: what comes first in the first bracket, or last before the last, is nobody else's.
    """
    match = _FIRST.match(head) or _LAST.search(tail)
    try:
        value = json.loads(match.group(1)) if match else None
    except (UnicodeDecodeError, json.JSONDecodeError):
        return None
    return value if isinstance(value, int | str) else None
