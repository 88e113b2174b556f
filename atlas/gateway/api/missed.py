"""Missed: what waits for somebody who was out, as far as they may see it. Nothing is asked for that is not theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from atlas.conversation import HOUSE
from atlas.gateway.api.alarms import AlarmsReply
from atlas.gateway.api.caller import Caller, ReplyShape, ToolCaller, answer_of
from atlas.gateway.api.reminders import RemindersReply
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply
from atlas.gateway.api.timers import TimersReply
from atlas.gateway.api.voice_messages import VoiceMessagesReply
from atlas.gateway.failures import ToolRefusal
from wall.roles import may

router = resource("missed", asks=False)
NOW = 2.0**40  # of what has no moment: it is not from before anything
MissedKind = Literal[
    "message", "ask", "reminder", "lateReminder", "timer", "lateTimer", "alarm", "silentAlarm", "announcement"
]


class MissedItem(ApiReply):
    """One thing that waits; what comes again and again and is missed again is something new."""

    id: str
    kind: MissedKind
    text: str = Field(default="", description="Empty for a message: it is read, and heard, among the messages")
    at: float = Field(default=0.0, description="When it was asked, or ended, in seconds since 1970")


Dated = tuple[float, MissedItem]  # with the moment at which it was missed


class MissedReply(ApiReply):
    """What was missed on this device since it came into the house."""

    missed: list[MissedItem]


@router.get("")
async def list_missed(caller: ToolCaller) -> MissedReply:
    """List what nobody heard, answered or stopped and what the caller may see of it.

    That is decided here alone: by the gate for what an agent's tools tell, by the table of roles for what the house
    was told as a whole.
    """
    since = await _since(caller)
    items = [
        *await _messages(caller),
        *[
            (one.asked_at, MissedItem(id=one.id, kind="ask", text=one.sentence, at=one.asked_at))
            for one in await caller.house.missed_asks(caller.actor)
        ],
        *await _reminders(caller),
        *await _timers(caller),
        *await _alarms(caller),
        *await _announcements(caller),
    ]
    return MissedReply(missed=[item for at, item in items if at >= since])


async def _messages(caller: Caller) -> Sequence[Dated]:
    if not may(caller.actor.role, "announce"):
        return []  # messages are not for them; to be refused each time would fill the record with nothing
    reply = await _reply_of(caller, VoiceMessagesReply, "messages.list")
    messages = reply.messages if reply else []
    unheard = [one for one in messages if not one.mine and one.heard_at is None]
    return [(one.at, MissedItem(id=one.id, kind="message")) for one in unheard]


async def _reminders(caller: Caller) -> Sequence[Dated]:
    reply = await _reply_of(caller, RemindersReply, "reminders.list", person="")
    items: list[Dated] = []
    for one in reply.reminders if reply else []:
        if not (_resides(caller) or _is_of(caller, one.person)):
            continue
        if one.state == "unanswered":
            items.append((one.at or NOW, MissedItem(id=one.id, kind="reminder", text=one.text)))
        elif one.missed_at is not None:
            id = f"{one.id} {one.missed_at}"
            items.append((one.missed_at, MissedItem(id=id, kind="lateReminder", text=one.text)))
    return items


async def _timers(caller: Caller) -> Sequence[Dated]:
    reply = await _reply_of(caller, TimersReply, "timers.list")
    ended = [one for one in (reply.timers if reply else []) if one.state == "ended"]
    items = [(one.ends_at or NOW, MissedItem(id=one.id, kind="timer", text=one.name)) for one in ended]
    for row in await _of_the_house(caller, "timers.due"):
        if _concerns(caller, row):
            at = row["ends_at"] or NOW
            items.append((at, MissedItem(id=row["id"], kind="lateTimer", text=row["name"], at=at)))
    return items


async def _alarms(caller: Caller) -> Sequence[Dated]:
    reply = await _reply_of(caller, AlarmsReply, "alarms.list")
    return [
        (
            one.missed_at,
            MissedItem(
                id=f"{one.id} {one.missed_at}", kind="silentAlarm" if one.silent else "alarm", text=one.name or one.when
            ),
        )
        for one in (reply.alarms if reply else [])
        if one.missed_at is not None and (not one.person or _is_of(caller, one.person))  # guests are told of guests'
    ]


async def _announcements(caller: Caller) -> Sequence[Dated]:
    rows = await _of_the_house(caller, "broadcast.due") if _resides(caller) else ()  # who lives here was to hear them
    return [(row["at"], MissedItem(id=row["id"], kind="announcement", text=row["text"])) for row in rows]


async def _reply_of(caller: Caller, reply: type[ReplyShape], tool: str, **arguments: Any) -> ReplyShape | None:
    """Return what a tool tells this caller; None where the gate refuses it to them."""
    try:
        return await caller.use(reply, tool, **arguments)
    except ToolRefusal as refusal:
        if refusal.code != "denied":
            raise
        return None


async def _of_the_house(caller: Caller, tool: str) -> Sequence[Mapping[str, Any]]:
    """Return what a tool tells the house of what was missed; whose it is decides who sees it."""
    result = await caller.house.use_owner_tool(tool, {"missed": True}, HOUSE)
    answer_of(result)  # raises what was refused
    return list(result.data.get("missed", ()))


def _resides(caller: Caller) -> bool:
    return may(caller.actor.role, "reside")


def _is_of(caller: Caller, person: str) -> bool:
    return bool(person) and person.casefold() == caller.actor.person.casefold()


def _concerns(caller: Caller, row: Mapping[str, Any]) -> bool:
    """Whether something is the caller's: by name, or nobody's and the household's, or set on this very device."""
    if row["person"]:
        return _is_of(caller, row["person"])
    return _resides(caller) or row.get("device") == caller.actor.device_key


async def _since(caller: Caller) -> float:
    """Return when the caller's device came into the house; 0 for one that never did, such as a terminal."""
    devices = await caller.house.devices.list() if caller.house.devices else ()
    return next((one.created for one in devices if one.id == caller.actor.device_id), 0.0)
