"""Bytes into messages: lines of bounded length, each one message or refused. Pure: no wire, no clock.

Two parsers that read one text differently are how a guard is passed, and the SDK uses three (strict and lax ones; one
drops what it cannot read without a word). So every message of every wire is read here first; what is none is refused
with a JSON-RPC error that says why, and the wire goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from tools_server.values.codes import Code
from tools_server.wires.strict_json import BOM, INVALID_REQUEST, KEPT_BYTES, MessageRefused, id_of, parse

MESSAGE_BYTES = 512 * 1024  # the largest argument a tool takes is an eighth of it
ID_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class LineTooLong:
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

    def feed(self, chunk: bytes) -> Iterator[bytes | LineTooLong]:
        """Take what has come, and give the lines that are now whole, without their newlines."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._hold(memoryview(chunk)[start:end])
            yield self._line()
            start = end + 1
        self._hold(memoryview(chunk)[start:])

    def end(self) -> Iterator[bytes | LineTooLong]:
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

    def _line(self) -> bytes | LineTooLong:
        held, lost, head = bytes(self._held), self._lost, self._head
        self._held, self._lost, self._head = bytearray(), 0, b""
        if lost:
            return LineTooLong(lost + len(held), head, held)
        line = held.removesuffix(b"\r").removeprefix(BOM)
        return LineTooLong(len(line), line[:KEPT_BYTES], line[-KEPT_BYTES:]) if len(line) > self._limit else line


def too_large(line: LineTooLong) -> MessageRefused:
    """Return the refusal of a message that is too long."""
    return MessageRefused(
        Code.TOO_LARGE,
        f"The message has {line.size:,} bytes; at most {MESSAGE_BYTES:,} are taken.",
        id_of(line.head, line.tail),
        {"bytes": line.size, "limit": MESSAGE_BYTES},
    )


def decode(line: bytes) -> JSONRPCMessage:
    """Return the one message in these bytes. Raises `MessageRefused`."""
    if len(line) > MESSAGE_BYTES:
        raise too_large(LineTooLong(len(line), line[:KEPT_BYTES], line[-KEPT_BYTES:]))
    value = parse(line)
    if isinstance(value, list):
        raise MessageRefused(INVALID_REQUEST, "Batches are not taken; send one message at a time.")
    if not isinstance(value, dict):
        raise MessageRefused(INVALID_REQUEST, "A message is a JSON object.")
    return _message(value)


def _message(value: dict[str, Any]) -> JSONRPCMessage:
    id = value.get("id")
    known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
    if (isinstance(known, str) and len(known) > ID_CHARACTERS) or (isinstance(known, int) and abs(known) >= 1 << 63):
        raise MessageRefused(INVALID_REQUEST, f"An id has at most {ID_CHARACTERS} characters, or 63 bits.")
    if value.get("jsonrpc") != "2.0":
        raise MessageRefused(INVALID_REQUEST, 'A message says "jsonrpc": "2.0".', known)
    answers = "result" in value or "error" in value
    if ("method" in value) == answers:
        raise MessageRefused(INVALID_REQUEST, "A message has a method, or else a result or an error.", known)
    # By the key, not by whichever model fits: a request with an id that is none must not pass for a notification.
    if "id" in value and known is None and not ("error" in value and id is None):
        raise MessageRefused(INVALID_REQUEST, "An id is a text or a whole number; a notification has none.")
    if not answers:
        if not isinstance(value["method"], str):
            raise MessageRefused(INVALID_REQUEST, "A method is a text.", known)
        if not isinstance(value.get("params", {}), dict | None):
            raise MessageRefused(INVALID_REQUEST, "Parameters are an object.", known)
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as wrong:
        raise MessageRefused(INVALID_REQUEST, "This is not a JSON-RPC message.", known) from wrong


def refusal(refused: MessageRefused) -> JSONRPCError:
    """Return what goes back; the id is null where none could be read, as JSON-RPC wants it."""
    known = {"data": refused.data} if refused.data is not None else {}
    error = ErrorData(code=refused.code, message=str(refused), **known)
    return JSONRPCError(jsonrpc="2.0", id=refused.id, error=error)
