"""Writes what was said to a file while it is read, as lines of JSON or as Markdown."""

from __future__ import annotations

import json
from datetime import datetime, tzinfo
from typing import Any

from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response

from atlas.errors import RequestError
from atlas.gateway.wire import Stream, Write
from atlas.house import House
from atlas.store.conversations import OF_DEVICE
from atlas.store.memory import Memory
from atlas.store.recall import RememberedTurn, TimeSpan, Whose

LONGEST_SECONDS = 10 * 366 * 86_400
EXPORTS_AT_ONCE = 2
PAGE = 200  # exchanges that are read at once


def exported(
    request: Request, house: House, exports: CapacityLimiter, kind: str, memory: Memory, whose: Whose, span: TimeSpan
) -> Response:
    """Return a file of everything that was said, "jsonl" or "markdown", written while it is read."""
    media, ending = ("application/x-ndjson", "jsonl") if kind == "jsonl" else ("text/markdown; charset=utf-8", "md")
    as_text = as_json_line if kind == "jsonl" else Markdown().text

    async def write_all(write: Write) -> None:
        if exports.available_tokens < 1:
            raise RequestError("two exports are under way", code="overloaded", hint="try again when they are done")
        async with exports:
            after = 0
            while page := await memory.exchanges(whose, span, after=after, most=PAGE):
                await write("".join(as_text(one, house.zone) for one in page).encode())
                after = page[-1].number

    reply = Stream(request, write_all, media)
    reply.headers["content-disposition"] = f'attachment; filename="conversations.{ending}"'
    return reply


def as_json_line(one: RememberedTurn, zone: tzinfo | None) -> str:
    """Return one exchange as a line of JSON."""
    rows = [{"author": m.author, "text": m.text, "tools": list(m.tools)} for m in one.messages]
    details: dict[str, Any] = {
        "turn": one.turn,
        "at": _iso(one.at, zone),
        "agent": one.agent,
        "person": _person(one),
        "room": one.room,
    }
    details |= {"device": one.device, "spoken": one.spoken, "end": one.end}
    return json.dumps({**details, "messages": rows}, ensure_ascii=False) + "\n"


class Markdown:
    """Exchanges as a page that people read: a heading for each day, then who said what."""

    def __init__(self) -> None:
        self._day = ""

    def text(self, one: RememberedTurn, zone: tzinfo | None) -> str:
        """Return one exchange, under the heading of its day when it is the first of it."""
        at = _local(one.at, zone)
        day = f"{at:%A} {at.day} {at:%B} {at.year}"
        heading = "" if day == self._day else f"## {day}\n\n"
        self._day = day
        where = f", {_line(one.room)}" if one.room else ""
        used = [name for message in one.messages for name in message.tools]
        lines = [f"**{at:%H:%M}**{where}" + (f" ({', '.join(used)})" if used else "")]
        names = {"user": _person(one) or one.device, "assistant": one.agent}
        lines += [f"- {_line(names[m.author])}: {_line(m.text)}" for m in one.messages if m.text and m.author in names]
        return heading + "\n".join(lines) + "\n\n"


def _person(one: RememberedTurn) -> str:
    """Return a name; "" for a conversation that is a room's or a device's."""
    return "" if one.person.startswith(OF_DEVICE) else one.person


def _iso(at: float, zone: tzinfo | None) -> str:
    return _local(at, zone).isoformat(timespec="seconds")


def _local(at: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at, zone).astimezone(zone)


def _line(text: str) -> str:
    """Return text as one line that holds no marks of its own: it may have come from anywhere."""
    plain = " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in text).split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in plain)
