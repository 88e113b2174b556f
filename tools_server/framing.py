"""Bytes into messages: lines of bounded length, and JSON without surprises. Pure: no wire, no clock.

Two parsers that read one text differently are how a guard is passed, and the SDK uses three (strict and lax ones; one
drops what it cannot read without a word). So every message of every wire is read here first, by RFC 8259 to the letter
and a little narrower: no key twice, no NaN, no half of a UTF-16 pair, no more depth than any tool needs.
What is not a message is refused with a JSON-RPC error that says why, and the wire goes on.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

MESSAGE_BYTES = 512 * 1024  # the largest argument a tool takes is an eighth of it
DEPTH = 64  # the gate takes 16 in arguments; the rest is room for the envelope and other methods
ID_CHARACTERS = 256
INTEGER_DIGITS = 4300  # Python refuses longer ones by itself: reading them takes quadratic time
KEPT_BYTES = 1024  # of each end of a line too long, to find its id
TOO_LARGE = -32003
BOM = b"\xef\xbb\xbf"  # PowerShell begins a pipe with one


class Refused(Exception):
    """What came is no message. `str()` is a sentence for whoever wrote the client."""

    def __init__(self, code: int, sentence: str, id: RequestId | None = None, data: Any = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.id = id
        self.data = data

    def answer(self) -> JSONRPCError:
        """Return what goes back; the id is null where none could be read, as JSON-RPC wants it."""
        known = {"data": self.data} if self.data is not None else {}
        return JSONRPCError(jsonrpc="2.0", id=self.id, error=ErrorData(code=self.code, message=str(self), **known))


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was thrown away while it came: its size, and both its ends."""

    size: int
    head: bytes
    tail: bytes


class Lines:
    """Cuts a stream of bytes into lines. Holds one line at most, however long the client makes it."""

    def __init__(self, limit: int = MESSAGE_BYTES) -> None:
        self._limit = limit
        self._held = bytearray()
        self._lost = 0  # bytes of this line that are no longer held
        self._head = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """Take what has come, and give the lines that are now whole, without their newlines."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._hold(memoryview(chunk)[start:end])
            yield self._line()
            start = end + 1
        self._hold(memoryview(chunk)[start:])

    def end(self) -> Iterator[bytes | TooLong]:
        """Give what came after the last newline: some clients end without one."""
        if self._held:
            yield self._line()

    def _hold(self, part: memoryview) -> None:
        self._held += part
        # A carriage return may end the line, and a mark may begin it; neither counts.
        if self._lost or len(self._held) > self._limit + len(BOM) + 1:
            self._head = self._head or bytes(self._held[:KEPT_BYTES])
            self._lost += max(0, len(self._held) - KEPT_BYTES)
            del self._held[:-KEPT_BYTES]

    def _line(self) -> bytes | TooLong:
        held, lost, head = bytes(self._held), self._lost, self._head
        self._held, self._lost, self._head = bytearray(), 0, b""
        if lost:
            return TooLong(lost + len(held), head, held)
        line = held.removesuffix(b"\r").removeprefix(BOM)
        return TooLong(len(line), line[:KEPT_BYTES], line[-KEPT_BYTES:]) if len(line) > self._limit else line


def too_large(line: TooLong, limit: int = MESSAGE_BYTES) -> Refused:
    """Return the refusal of a message that is too long."""
    return Refused(
        TOO_LARGE,
        f"The message has {line.size:,} bytes; at most {limit:,} are taken.",
        id_of(line.head, line.tail),
        {"bytes": line.size, "limit": limit},
    )


_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\\x00-\x1f]{0,256}")'
_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"method"\s*:\s*"[^"\\]*"\s*,\s*)?' + _ID + rb"\s*,")
_LAST = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


def id_of(head: bytes, tail: bytes) -> RequestId | None:
    """Return the id of a message from its two ends, None when it is not plain to see.

    Clients write it before the parameters (Python's, Go's) or last (TypeScript's). Only where it can be nothing but
    the message's own: what comes first in the first bracket, or last before the last, is nobody else's.
    """
    found = _FIRST.match(head) or _LAST.search(tail)
    try:
        value = json.loads(found.group(1)) if found else None
    except (UnicodeDecodeError, json.JSONDecodeError):
        return None
    return value if isinstance(value, int | str) else None


def decode(line: bytes) -> JSONRPCMessage:
    """Return the one message in these bytes. Raises `Refused`."""
    if len(line) > MESSAGE_BYTES:
        raise too_large(TooLong(len(line), line[:KEPT_BYTES], line[-KEPT_BYTES:]))
    value = parse(line)
    if isinstance(value, list):
        raise Refused(INVALID_REQUEST, "Batches are not taken; send one message at a time.")
    if not isinstance(value, dict):
        raise Refused(INVALID_REQUEST, "A message is a JSON object.")
    return _message(value)


def parse(text: bytes) -> Any:
    """Return a JSON value, read to the letter. Raises `Refused`, with the id where one can be seen."""
    try:
        decoded = text.removeprefix(BOM).decode()
    except UnicodeDecodeError as wrong:
        raise Refused(PARSE_ERROR, f"Byte {wrong.start + 1} is not UTF-8.") from wrong
    try:
        value = json.loads(decoded, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
        _check(value)
    except json.JSONDecodeError as wrong:
        raise Refused(PARSE_ERROR, f"This is not JSON: {wrong.msg.lower()}, at character {wrong.pos + 1}.") from wrong
    except _Unusable as wrong:
        # Whole as JSON, and from a client that waits for an answer: tell the one who waits.
        raise Refused(INVALID_REQUEST, str(wrong), id_of(text[:KEPT_BYTES], text[-KEPT_BYTES:])) from wrong
    except RecursionError:
        raise Refused(INVALID_REQUEST, _DEEP, id_of(text[:KEPT_BYTES], text[-KEPT_BYTES:])) from None
    except ValueError as wrong:
        sentence = f"A number has more than {INTEGER_DIGITS} digits."
        raise Refused(INVALID_REQUEST, sentence, id_of(text[:KEPT_BYTES], text[-KEPT_BYTES:])) from wrong
    return value


class _Unusable(Exception):
    """JSON, but not for us."""


_DEEP = f"The message is nested more than {DEPTH} deep."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = max(times, key=lambda name: times[name])
        raise _Unusable(f"An object has the key {twice[:100]!a} twice.")
    return made


def _constant(name: str) -> NoReturn:
    raise _Unusable(f"{name} is not a number in JSON.")


def _float(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise _Unusable(f"{digits[:40]} is too large for a number.")
    return number


def _check(value: Any) -> None:
    """Refuse depth and half characters. Level by level: the depth is the sender's choice, our stack is not."""
    level: list[Any] = [[value]]
    for _ in range(DEPTH + 1):
        parts = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
        level = [part for part in parts if isinstance(part, (dict, list))]
    if level:
        raise _Unusable(_DEEP)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _Unusable(
            "A text holds half of a character: \\ud800 to \\udfff stand for something in pairs only."
        ) from None


def _message(value: dict[str, Any]) -> JSONRPCMessage:
    id = value.get("id")
    known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
    if (isinstance(known, str) and len(known) > ID_CHARACTERS) or (isinstance(known, int) and abs(known) >= 1 << 63):
        raise Refused(INVALID_REQUEST, f"An id has at most {ID_CHARACTERS} characters, or 63 bits.")
    if value.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, 'A message says "jsonrpc": "2.0".', known)
    answers = "result" in value or "error" in value
    if ("method" in value) == answers:
        raise Refused(INVALID_REQUEST, "A message has a method, or else a result or an error.", known)
    # By the key, not by whichever model fits: a request with an id that is none must not pass for a notification.
    if "id" in value and known is None and not ("error" in value and id is None):
        raise Refused(INVALID_REQUEST, "An id is a text or a whole number; a notification has none.")
    if not answers:
        if not isinstance(value["method"], str):
            raise Refused(INVALID_REQUEST, "A method is a text.", known)
        if not isinstance(value.get("params", {}), dict | None):
            raise Refused(INVALID_REQUEST, "Parameters are an object.", known)
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as wrong:
        raise Refused(INVALID_REQUEST, "This is not a JSON-RPC message.", known) from wrong
