"""/v1/conversations: search, export and forget what one person and one agent said to each other.

It is always the past of the token's own actor: a device's, since tokens are devices'. Only the owner may name a person,
room or device, for the owner may speak as them at `/v1/chat/completions` as well and would be told the same past; and
somebody must be able to take away what is left of a guest or of a child's lost phone. Nobody else may name even a room:
whoever speaks there hears its past one answer at a time, but nobody carries it away whole from elsewhere. One request
reaches one agent's memory, so that nothing of two ever stands in one answer.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from atlas.conversation import Actor
from atlas.errors import RequestError
from atlas.gateway.auth import require
from atlas.gateway.chat import ANY_AGENT, MAX_NAME_CHARACTERS, agent_for, open_to
from atlas.gateway.wire import Fields, Stream, Write
from atlas.house import House
from atlas.store.memory import Memory
from atlas.store.recall import MessageMatch, RememberedTurn, TimeSpan, Whose
from wall.roles import may

MOST_FOUND = 100
LONGEST_SEARCH = 200  # characters
LONGEST_SECONDS = 10 * 366 * 86_400
PAGE = 200  # exchanges that are read at once
EXPORTS_AT_ONCE = 2
# What a device may ask for in a minute, and what each costs of it: an export reads everything, and forgetting writes
# the whole file anew.
A_MINUTE = 60.0
COSTS = {"search": 1.0, "forget": 6.0, "export": 12.0}
REMEMBERED_DEVICES = 256
NOT_FORGOTTEN = "what was done stays done, and in the tools' own record; so do notes, tasks, reminders and facts"

_WHO = ("agent", "person", "device", "room")
_WHEN = ("since", "until")
_OWNERS = ("person", "device", "room")


def routes(house: House, pace: Pace) -> list[Route]:
    """Return the URLs of this door."""

    async def search(request: Request) -> Response:
        memory_request = await _asked(request, house, pace, "search", ("q", "limit", *_WHEN))
        words = memory_request.fields.text("q", longest=LONGEST_SEARCH)
        if not words.strip():
            raise memory_request.fields.wrong("q", "words to look for", "invalid_value")
        most = _number(memory_request.fields, "limit", MOST_FOUND) or 20
        matches = await memory_request.memory.search(
            memory_request.whose, words, memory_request.span(house.zone), most=most
        )
        data = [_found(one, house.zone) for one in matches]
        return JSONResponse({"object": "list", "agent": memory_request.whose.agent, "data": data})

    async def export(request: Request) -> Response:
        memory_request = await _asked(request, house, pace, "export", ("format", *_WHEN))
        kind = memory_request.fields.choice("format", ("jsonl", "markdown"), "jsonl")
        whose = memory_request.memory, memory_request.whose, memory_request.span(house.zone)
        return exported(request, house, pace, kind, *whose)

    async def forget(request: Request) -> Response:
        memory_request = await _asked(request, house, pace, "forget", ("everything", "last", "last_seconds", *_WHEN))
        span, last = memory_request.forgettable(house.zone)
        gone = await memory_request.memory.forget(memory_request.whose, span, last=last)
        details: dict[str, Any] = {"object": "conversations.forgotten", "agent": memory_request.whose.agent}
        details |= {"exchanges": gone.exchanges, "with_deeds": gone.deeds}
        # false: that trace goes later, by itself
        details |= {"bytes_gone": gone.scrubbed, "model_forgot": gone.dropped, "not_forgotten": NOT_FORGOTTEN}
        return JSONResponse(details)

    return [
        Route("/v1/conversations/search", search, methods=["GET"]),
        Route("/v1/conversations/export", export, methods=["GET"]),
        Route("/v1/conversations", forget, methods=["DELETE"]),
    ]


def exported(
    request: Request, house: House, pace: Pace, kind: str, memory: Memory, whose: Whose, span: TimeSpan
) -> Response:
    """Return a file of everything that was said, "jsonl" or "markdown", written while it is read."""
    media, ending = ("application/x-ndjson", "jsonl") if kind == "jsonl" else ("text/markdown; charset=utf-8", "md")
    as_text = as_json_line if kind == "jsonl" else Markdown().text

    async def write_all(write: Write) -> None:
        if pace.exports.available_tokens < 1:
            raise RequestError("two exports are under way", code="overloaded", hint="try again when they are done")
        async with pace.exports:
            after = 0
            while page := await memory.exchanges(whose, span, after=after, most=PAGE):
                await write("".join(as_text(one, house.zone) for one in page).encode())
                after = page[-1].number

    reply = Stream(request, write_all, media)
    reply.headers["content-disposition"] = f'attachment; filename="conversations.{ending}"'
    return reply


class Pace:
    """How much each device may still ask for; it grows back within a minute."""

    def __init__(self) -> None:
        self.exports = anyio.CapacityLimiter(EXPORTS_AT_ONCE)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # device → what was left, and when

    def take(self, device: str, cost: float) -> None:
        """Take `cost` of what a device has left. Raises `RequestError` when that is less."""
        now = anyio.current_time()
        left, at = self._left.pop(device, (A_MINUTE, now))
        left = min(A_MINUTE, left + (now - at) * A_MINUTE / 60.0)
        enough = left >= cost
        self._left[device] = (left - cost if enough else left, now)
        if len(self._left) > REMEMBERED_DEVICES:
            self._left.popitem(last=False)
        if not enough:
            seconds = math.ceil((cost - left) * 60.0 / A_MINUTE)
            raise RequestError("that is too much at once", code="rate_limit_exceeded", hint=f"wait {seconds} seconds")


# ── what was asked ─────────────────────────────────────────────────────────────────────────────────


class MemoryRequest:
    """A request whose sender is known: whose past it is about, and its other fields."""

    def __init__(self, memory: Memory, whose: Whose, fields: Fields) -> None:
        self.memory = memory
        self.whose = whose
        self.fields = fields

    def span(self, zone: tzinfo | None) -> TimeSpan:
        """Return `since` until `until`."""
        since, until = (_moment(self.fields, key, zone) for key in _WHEN)
        return TimeSpan(-math.inf if since is None else since, math.inf if until is None else until)

    def forgettable(self, zone: tzinfo | None) -> tuple[TimeSpan, int | None]:
        """Return the span and the number of exchanges to forget. Whoever names none of them forgets nothing."""
        fields = self.fields
        everything = fields.choice("everything", ("true", "false"), "false") == "true"
        last = _number(fields, "last", 10_000)
        seconds = _number(fields, "last_seconds", LONGEST_SECONDS)
        between = any(fields.value(key) is not None for key in _WHEN)
        if sum((everything, last is not None, seconds is not None, between)) != 1:
            raise RequestError(
                "say what to forget, in one way",
                code="invalid_request",
                param="everything",
                hint="give one of everything=true, last=N, last_seconds=N, or since and until",
            )
        if seconds is not None:
            return TimeSpan(datetime.now(zone).timestamp() - seconds), None
        return self.span(zone), last


async def _asked(request: Request, house: House, pace: Pace, what: str, known: Sequence[str]) -> MemoryRequest:
    """Return who asks about whose past. Raises `RequestError`."""
    actor = require(request)
    pace.take(actor.device, COSTS[what])
    query: Mapping[str, Any] = dict(request.query_params)
    fields = Fields(query)
    fields.only((*_WHO, *known))
    agent = agent_for(fields.text("agent", ANY_AGENT), actor, house) or _usual_agent(actor, house)
    return MemoryRequest(*house.memory_of(agent, _whom(actor, fields)), fields)


def _whom(actor: Actor, fields: Fields) -> Actor:
    for key in _OWNERS:
        if fields.value(key) is not None and not may(actor.role, "manage"):
            raise RequestError(f"only the owner may name a {key} here", code="permission_denied", param=key)
    person, device, room = (fields.text(key, getattr(actor, key), MAX_NAME_CHARACTERS) for key in _OWNERS)
    return Actor(person, device, actor.role, room)


def _usual_agent(actor: Actor, house: House) -> str:
    """Return whom this actor talks to when it names nobody. Raises `RequestError` when nobody talks to it."""
    agents = [name for name in open_to(actor, house) if name != ANY_AGENT]
    if not agents:
        raise RequestError(f"no agent talks to a {actor.role}", code="forbidden")
    usual = house.config.house.agent
    return usual if usual in agents else min(agents)


def _number(fields: Fields, key: str, most: int) -> int | None:
    text = fields.text(key, "", 12)
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= most):
        raise fields.wrong(key, f"a whole number from 1 to {most}", "invalid_value")
    return int(text)


def _moment(fields: Fields, key: str, zone: tzinfo | None) -> float | None:
    """Return a moment as seconds since 1970; one without an offset is the house's own time."""
    text = fields.text(key, "", 40)
    if not text:
        return None
    for written in (text, text.replace(" ", "+")):  # a plus sign that nobody escaped arrives as a space
        try:
            at = datetime.fromisoformat(written)
            return (at if at.tzinfo or zone is None else at.replace(tzinfo=zone)).timestamp()
        except (ValueError, OverflowError):
            continue
    raise fields.wrong(key, "a moment like 2026-11-22T16:30 or 2026-11-22", "invalid_value")


# ── what is answered ───────────────────────────────────────────────────────────────────────────────


def _found(one: MessageMatch, zone: tzinfo | None) -> dict[str, Any]:
    return {"turn": one.turn, "at": _iso(one.at, zone), "room": one.room, "author": one.author, "text": one.text}


def as_json_line(one: RememberedTurn, zone: tzinfo | None) -> str:
    """Return one exchange as a line of JSON."""
    rows = [{"author": m.author, "text": m.text, "tools": list(m.tools)} for m in one.messages]
    details: dict[str, Any] = {
        "turn": one.turn,
        "at": _iso(one.at, zone),
        "agent": one.agent,
        "person": one.person,
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
    return "" if one.person == f"device {one.device}" else one.person


def _iso(at: float, zone: tzinfo | None) -> str:
    return _local(at, zone).isoformat(timespec="seconds")


def _local(at: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at, zone).astimezone(zone)


def _line(text: str) -> str:
    """Return text as one line that holds no marks of its own: it may have come from anywhere."""
    plain = " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in text).split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in plain)
