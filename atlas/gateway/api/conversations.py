"""Conversations: where there are some, what was said in them; search, export and forget.

Only ever the caller's own, as `recall.belonging_to` has it. What was said in the house's terminal, and on devices of
owners that are nobody's own, is every owner's. An owner may name a device, a person or a room, for somebody must be
able to take away what is left of a guest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Path, Query, Request
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from atlas.conversation import Actor, Margins
from atlas.errors import RequestError
from atlas.gateway.api.caller import EVERYBODY, AdmitToTools, Caller, usual_agent
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import NAME_CHARACTERS, ApiReply
from atlas.gateway.conversations import LONGEST_SECONDS, exported
from atlas.gateway.device_pace import COSTS
from atlas.store.devices import TERMINAL_TALK
from atlas.store.forgetting import Forgotten
from atlas.store.memory import Memory
from atlas.store.recall import RememberedTurn, TimeSpan, Whose
from atlas.store.turns import DeedState
from wall.roles import may

router = resource("conversations", asks=False)
OwnersName = Annotated[
    str | None, Query(max_length=NAME_CHARACTERS, description="Somebody else's, for the owner; empty is nobody's")
]

_YEAR = re.compile(r"\d{4}-")


def _written_out(moment: object) -> object:
    if isinstance(moment, str) and not _YEAR.match(moment):  # a number would be taken for seconds since 1970
        raise ValueError("write a moment like 2026-11-22T16:30 or 2026-11-22")
    return moment


Moment = Annotated[
    datetime | None,
    BeforeValidator(_written_out),
    Query(description="Of ISO 8601; without an offset it is the house's own time"),
]


@dataclass(frozen=True, slots=True)
class CallerPast:
    """One agent's memory, what in it the caller may reach, and the caller."""

    memory: Memory
    whose: Whose
    caller: Caller
    person: str = ""  # "" when nobody is known by name
    of_owners: bool = False  # with what was said in the terminal, and on owners' devices that are nobody's own


class AdmitToPast(AdmitToTools):
    """Admission to one's own past; the owner may name another."""

    async def __call__(  # type: ignore[override]  # more of the query than for tools, and more that comes of it
        self,
        request: Request,
        agent: Annotated[str, Query(max_length=NAME_CHARACTERS)] = "",
        person: OwnersName = None,
        device: OwnersName = None,
        room: OwnersName = None,
    ) -> CallerPast:
        """Return the past that is meant. Raises `RequestError`."""
        caller = await AdmitToTools.__call__(self, request, agent)
        actor = caller.actor
        named = [name for name, value in (("person", person), ("device", device), ("room", room)) if value is not None]
        if named and not may(actor.role, "manage"):
            raise RequestError("only the owner may name whose conversations", code="forbidden", param=named[0])
        whom = Actor(
            actor.person if person is None else person,
            actor.device if device is None else device,
            actor.role,
            actor.room if room is None else room,
        )
        if not named and may(actor.role, "manage") and (actor.person or not actor.room):
            whoms = await _owners(caller)
            whose = caller.house.memory_of(agent or usual_agent(caller), *whoms)
            return CallerPast(*whose, caller, whoms[0].person, of_owners=True)
        devices = caller.house.devices
        ids = [actor.device_id] if device is None else ["", *(await devices.ids_of(device) if devices else ())]
        whoms = [replace(whom, device_id=one) for one in ids]
        return CallerPast(*caller.house.memory_of(agent or usual_agent(caller), *whoms), caller, whom.person)


async def _owners(caller: Caller) -> Sequence[Actor]:
    """Return as whom an owner looks: as the person, and as what owners talk through that is nobody's own.

    What is nobody's own, as the terminal, looks as the one owner who is known by name, unless there are several.
    """
    actor = caller.actor
    every = await caller.house.devices.list() if caller.house.devices else ()
    owners = [one for one in every if may(one.role, "manage")]
    people = {one.person for one in owners if one.person}
    person = actor.person or (people.pop() if len(people) == 1 else "")
    nobodys = [Actor("", one.name, one.role, device_id=one.id) for one in owners if not (one.person or one.room)]
    return replace(actor, person=person), *nobodys, Actor("", TERMINAL_TALK, actor.role)


PastCaller = Annotated[CallerPast, Depends(AdmitToPast(EVERYBODY))]


class RoomConversations(ApiReply):
    """What was said in one room."""

    room: str
    turns: int
    first_at: float = Field(description="Seconds since 1970")
    last_at: float


class ConversationsReply(ApiReply):
    """The caller's conversations with an agent, the latest first."""

    agent: str
    person: str = Field(description="Whose words these are, beside those of owners; empty where that is nobody by name")
    of_owners: bool = Field(
        description="Whether what was said in the terminal, and on owners' devices that are nobody's own, is in them"
    )
    rooms: list[RoomConversations]


class SaidMessage(ApiReply):
    """Something that was said."""

    author: Literal["user", "assistant"]
    text: str
    tools: list[str] = Field(description="What it used")


def _by_text(margins: Margins) -> dict[str, float]:
    return dict(reversed(margins))  # what stands twice counts as it was read


class HeardReadings(ApiReply):
    """What a recogniser made of what was spoken, beside the words that were taken for it."""

    others: list[str] = Field(description="Other readings, the best first")
    possible: list[str] = Field(description="Commands that it may have been, which were asked about")
    doubtful: bool = Field(description="Whether it hardly believed these words")
    voice: str = Field(description="The person whose voice it was taken for; empty where nobody's was known")
    margins: Annotated[dict[str, float], BeforeValidator(_by_text)] = Field(
        description="By how many nats a token a text is less likely than what was read best; of those that were weighed"
    )


class SaidDeed(ApiReply):
    """What one call of a tool came to."""

    call: str
    tool: str
    arguments: dict[str, Any]
    state: DeedState
    sentence: str
    receipt: str = Field(description="Proves a change, and takes it back by `history/undo`; may be empty")


class SaidTurn(ApiReply):
    """One exchange."""

    number: int = Field(description="Counts the turns of a memory: `before` takes it")
    turn: str
    at: float
    room: str
    device: str
    spoken: bool
    end: str
    readings: HeardReadings | None = Field(description="Null when it was typed")
    deeds: list[SaidDeed]
    messages: list[SaidMessage]


class SaidTurnsReply(ApiReply):
    """Exchanges, the oldest first."""

    turns: list[SaidTurn]
    more: bool = Field(description="Whether there are older ones")


class SaidMatch(ApiReply):
    """A message that holds the words."""

    turn: str
    at: float
    room: str
    author: str
    text: str


class SaidMatchesReply(ApiReply):
    """The messages that hold all the words, the latest first."""

    matches: list[SaidMatch]


class ForgottenReply(ApiReply):
    """What is gone. What was done stays done, and in the tools' own record."""

    exchanges: int
    with_deeds: int
    bytes_gone: bool = Field(description="Whether the last trace is off the disk; else it goes later, by itself")
    model_forgot: bool


@router.get("")
async def list_conversations(past: PastCaller) -> ConversationsReply:
    """Tell in which rooms the caller has talked to an agent."""
    rooms = await past.memory.rooms(past.whose)
    return ConversationsReply(
        agent=past.whose.agent,
        person=past.person,
        of_owners=past.of_owners,
        rooms=[RoomConversations.model_validate(one) for one in rooms],
    )


@router.get("/turns")
async def list_said(
    past: PastCaller,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SaidTurnsReply:
    """Show what was said last, or before a turn."""
    turns = await past.memory.latest_exchanges(past.whose, before=before, most=limit + 1)
    return SaidTurnsReply(turns=[_turn_item(one) for one in turns[-limit:]], more=len(turns) > limit)


def _turn_item(one: RememberedTurn) -> SaidTurn:
    messages = tuple(message for message in one.messages if message.author in ("user", "assistant"))
    return SaidTurn.model_validate(replace(one, messages=messages))


@router.get("/search")
async def search_conversations(
    request: Request,
    past: PastCaller,
    q: Annotated[str, Query(max_length=200, pattern=r"\S")],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> SaidMatchesReply:
    """Find what was said, by words."""
    request.app.state.pace.take(past.caller.actor.device, COSTS["search"])
    matches = await past.memory.search(past.whose, q, most=limit)
    return SaidMatchesReply(matches=[SaidMatch.model_validate(one) for one in matches])


@router.get("/export", response_class=Response)
async def export_conversations(
    request: Request,
    past: PastCaller,
    file_format: Annotated[Literal["jsonl", "markdown"], Query(alias="format")] = "jsonl",
    since: Moment = None,
    until: Moment = None,
) -> Response:
    """Download everything that was said, as JSON lines or as Markdown."""
    request.app.state.pace.take(past.caller.actor.device, COSTS["export"])
    whose = past.memory, past.whose, _span(past, since, until)
    return exported(request, past.caller.house, request.app.state.exports, file_format, *whose)


@router.delete("")
async def forget_conversations(
    request: Request,
    past: PastCaller,
    everything: bool = False,
    last: Annotated[int | None, Query(ge=1, le=10_000)] = None,
    last_seconds: Annotated[int | None, Query(ge=1, le=LONGEST_SECONDS)] = None,
    since: Moment = None,
    until: Moment = None,
) -> ForgottenReply:
    """Forget everything, the last turns, the last seconds, or from one moment until another: one of these."""
    request.app.state.pace.take(past.caller.actor.device, COSTS["forget"])
    ways = (everything, last is not None, last_seconds is not None, bool(since or until))
    if sum(ways) != 1:
        raise RequestError("say what to forget, in one way", code="invalid_value", param="everything")
    span = _span(past, since, until)
    if last_seconds is not None:
        span = TimeSpan(datetime.now(past.caller.house.zone).timestamp() - last_seconds)
    return _forgotten(await past.memory.forget(past.whose, span, last=last))


@router.delete("/turns/{turn}")
async def forget_turn(
    request: Request, past: PastCaller, turn: Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS)]
) -> ForgottenReply:
    """Forget one exchange."""
    request.app.state.pace.take(past.caller.actor.device, COSTS["forget"])
    gone = await past.memory.forget(past.whose, turn=turn)
    if not gone.exchanges:
        raise RequestError("no exchange of yours has that id", code="not_found")
    return _forgotten(gone)


def _forgotten(gone: Forgotten) -> ForgottenReply:
    return ForgottenReply(
        exchanges=gone.exchanges, with_deeds=gone.deeds, bytes_gone=gone.scrubbed, model_forgot=gone.dropped
    )


def _span(past: CallerPast, since: datetime | None, until: datetime | None) -> TimeSpan:
    zone = past.caller.house.zone

    def seconds(name: str, moment: datetime) -> float:
        try:
            return (moment if moment.tzinfo or zone is None else moment.replace(tzinfo=zone)).timestamp()
        except (OverflowError, ValueError, OSError) as trouble:
            raise RequestError("that moment is too far away", code="invalid_value", param=name) from trouble

    return TimeSpan(seconds("since", since) if since else -math.inf, seconds("until", until) if until else math.inf)
