"""Say something through every speaker of the house, or through those of one room. It waits an hour for one to say it.

What no speaker has said by then stays for a week, for who wants to know what they have missed.

Nothing is spoken here: the house asks `broadcast.due`, says it aloud, and then calls `broadcast.announced`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from tools_server.hubs.home import room_named
from tools_server.sdk import rows
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, house_look, tool
from tools_server.sdk.wording import one_line
from tools_server.values.language import current, length, speaking, spoken_later
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import place as called
from tools_server.values.shapes import DUE, IDS

BROADCAST = {"id": str, "text": str, "room": str, "person": str, "at": float}

MOST_WAITING = 50
LATE_SECONDS = 60  # from here on it is said when it was meant for
STALE_SECONDS = 3_600  # dinner is cold by then: who comes home later is not greeted with it
TELL_MISSED_SECONDS = 7 * 86_400  # that they may read what nobody heard
MOST_MISSED = 50  # of these, the latest
MIGRATIONS = {
    "broadcast": """
        CREATE TABLE broadcast (
            id TEXT PRIMARY KEY,
            text TEXT NOT NULL,
            room TEXT NOT NULL,   -- '' for everywhere
            person TEXT NOT NULL, -- who said it; '' when that is not known
            at REAL NOT NULL      -- wall clock, seconds since 1970
        );
    """,
    "broadcast device": """
        ALTER TABLE broadcast ADD COLUMN device TEXT NOT NULL DEFAULT '';  -- through which it came
    """,
    "broadcast language": """
        ALTER TABLE broadcast ADD COLUMN language TEXT NOT NULL DEFAULT '';  -- in which it was said
    """,
}


@tool("broadcast.say", data={"broadcast": BROADCAST}, risk="change", limit_seconds=10)
async def say(
    call: Call,
    text: Annotated[str, Field(min_length=1, max_length=500, description="What is to be said")],
    room: Annotated[str, Field(max_length=60, description="The room, if one was said; everywhere otherwise")] = "",
    person: Annotated[str, Field(max_length=60, description="Whom it is for, of those at home, if one was said")] = "",
) -> Result:
    """Announce something through every speaker, or in one room."""
    words, whom = one_line(text), one_line(person)
    if not words:
        raise ToolFailed("invalid", _("What should I say?"))
    words = f"{whom}: {words}" if whom else words
    if len(_waiting(call)) >= MOST_WAITING:
        raise ToolFailed("failed", _("Too much is waiting to be said already."))
    place = room_named(call, one_line(room))
    row = {
        "id": f"broadcast_{secrets.token_hex(8)}",
        "text": words,
        "room": place,
        "person": call.actor.person,
        "at": call.now(),
        "device": call.actor.device_key,
        "language": spoken_later(),
    }
    sentence = _("I'm saying it, {room}.").format(room=called(place)) if place else _("I'm saying it everywhere.")
    with call.state.transaction():
        for old in _forgotten(call):
            rows.drop(call, "broadcast", old)
        receipt = rows.changed(call, "broadcast", [], [row], f"{sentence} “{words}”")
    return Result(sentence, {"broadcast": row}, receipt)


@house_look("broadcast.due", data={"due": [DUE | {"sender_device": str}], "missed?": [BROADCAST], "now": float})
async def due(
    call: Call, missed: Annotated[bool, Field(description="Tell also what nobody could hear, the latest first")] = False
) -> Result:
    """Tell the house what is waiting to be said, and where."""
    waiting = [
        {
            **{"id": row["id"], "text": _said(row, call.now()), "room": row["room"], "device": "", "person": ""},
            "sender_device": row["device"],
            "language": row["language"] or current(),
        }
        for row in _waiting(call)
    ]
    data: dict[str, Any] = {"due": waiting, "now": call.now()}
    if missed:
        data["missed"] = [{name: row[name] for name in BROADCAST} for row in _missed(call)[:MOST_MISSED]]
    return Result(_("To be said: {count}.").format(count=len(waiting)), data)


@tool("broadcast.announced", data=IDS, risk="change", agents=("house",), idempotent=True, limit_seconds=10)
async def announced(
    call: Call, ids: Annotated[list[str], Field(max_length=MOST_WAITING, description="Ids from broadcast.due")]
) -> Result:
    """Note that the house has said these aloud."""
    return rows.drop_said(call, "broadcast", [row for row in _waiting(call) if row["id"] in ids])


async def undo(call: Call, stored_receipt: StoredReceipt) -> Result:
    """Take back what was not said yet. Raises `ToolFailed` for what was: it cannot be unsaid."""
    row = stored_receipt.after
    if isinstance(row, dict) and not call.state.rows("SELECT id FROM broadcast WHERE id = ?", row["id"]):
        raise ToolFailed("failed", _("I have said that already."))
    return rows.put_back(call, "broadcast", stored_receipt, "" if row is None else _("I won't say it."))


def _waiting(call: Call) -> list[Mapping[str, Any]]:
    since = call.now() - STALE_SECONDS
    return [dict(row) for row in call.state.rows("SELECT * FROM broadcast WHERE at > ? ORDER BY at, id", since)]


def _missed(call: Call) -> list[Mapping[str, Any]]:
    now = call.now()
    times = now - TELL_MISSED_SECONDS, now - STALE_SECONDS
    unheard = call.state.rows("SELECT * FROM broadcast WHERE at > ? AND at <= ? ORDER BY at DESC, id", *times)
    return [dict(row) for row in unheard]


def _forgotten(call: Call) -> list[str]:
    """Return the ids of those that nobody needs to know of any more."""
    old = call.state.rows("SELECT id FROM broadcast WHERE at <= ?", call.now() - TELL_MISSED_SECONDS)
    return [str(row["id"]) for row in old] + [str(row["id"]) for row in _missed(call)[MOST_MISSED:]]


def _said(row: Mapping[str, Any], now: float) -> str:
    late = now - row["at"]
    if late < LATE_SECONDS:
        return str(row["text"])
    whole = late // 60 * 60 if late < 3600 else late // 3600 * 3600
    with speaking(row["language"]):
        return _("From {length} ago: {text}").format(length=length(whole), text=row["text"])
