"""Voice messages: left for a room, a person or everybody, in a person's own voice or in words.

Only what is known of a message is here: its sound is the house's, which stores it under the id of its row and deletes
it when the row is gone. Nothing is spoken here: the house asks `messages.due`, plays what waits, and then calls
`messages.announced`. What is for a person waits until that person is there.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from tools_server.sdk import rows
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, house_look, tool
from tools_server.sdk.wording import NAMED, one_line
from tools_server.times.ownership import role_of
from tools_server.values.language import current, length, speaking, spoken_later
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import place as called
from tools_server.values.shapes import DUE, IDS
from wall.roles import ROOM, may

MESSAGE: dict[str, Any] = {
    **{"id": str, "text": str, "room": str, "person": str, "sender": str, "sender_room": str, "at": float},
    **{"heard_at": float | None, "mine": bool},
}
WAITING: dict[str, Any] = {"id": str, "person": str, "at": float}  # what an owner is told of one that is for another
MOST_MESSAGES = 60  # of the whole house: with a minute of sound each they take 115 MB
MOST_OF_ONE = 20  # that somebody has left and that nobody has heard yet
MOST_OF_CHILDREN = 10  # of each child
HEARD_DAYS = 7  # that one which was heard stays, to be heard again
DAY = 86_400
LATE_SECONDS = 60  # from here on it is said how long ago it was left …
WRONG_SECONDS = 1000 * DAY  # … up to here: longer ago is a clock that was wrong
MIGRATIONS = {
    "messages": """
        CREATE TABLE messages (
            id TEXT PRIMARY KEY,
            text TEXT NOT NULL,          -- its words, as far as they were understood
            room TEXT NOT NULL,          -- for whoever is there; '' and no person: for everybody
            person TEXT NOT NULL,        -- whom it is for
            sender TEXT NOT NULL,        -- the person who left it; '' when that is not known
            sender_device TEXT NOT NULL,
            sender_room TEXT NOT NULL,
            at REAL NOT NULL,            -- wall clock, seconds since 1970
            heard_at REAL                -- when it was played to whom it is for
        );
    """,
    "messages language": """
        ALTER TABLE messages ADD COLUMN language TEXT NOT NULL DEFAULT '';  -- in which it was left
    """,
    "messages from a device": """
        ALTER TABLE messages ADD COLUMN sender_device_key TEXT NOT NULL DEFAULT '';  -- its own, as a name is not
        UPDATE messages SET sender_device_key = sender_device;
    """,
}
MessageID = Annotated[str, Field(max_length=60, description="An id from messages.list; empty is the latest")]


@tool("messages.leave", data={"message": MESSAGE}, risk="change", limit_seconds=10)
async def leave(
    call: Call,
    text: Annotated[str, Field(max_length=1900, description="The words of the message")] = "",
    room: Annotated[str, Field(max_length=60, description="The room that it is for, if one was said")] = "",
    person: Annotated[str, Field(max_length=60, description="The person whom it is for, if one was said")] = "",
    recorded: Annotated[bool, Field(description="Its sound is at hand, and needs no words")] = False,
) -> Result:
    """Leave a message for a person, a room or everybody. It stays until they have heard it."""
    words = one_line(text)
    if not words and not recorded:
        raise ToolFailed("invalid", _("What is the message?"))
    _refuse_more(call)
    row = {
        "id": f"message_{secrets.token_hex(8)}",
        "text": words,
        "room": one_line(room),
        "person": one_line(person),
        "sender": _person(call),
        "sender_device": call.actor.device,
        "sender_device_key": call.actor.device_key,
        "sender_room": call.actor.room,
        "at": call.now(),
        "heard_at": None,
        "language": spoken_later(),
    }
    if row["person"]:
        promise = _("I'll give {person} your message: {text}") if words else _("I'll give {person} your message.")
        sentence = promise.format(person=row["person"], text=words)
    elif row["room"]:
        sentence = _("Your message goes out, {room}.").format(room=called(str(row["room"])))
    else:
        sentence = _("Your message goes out to everybody.")
    with call.state.transaction():
        _sweep(call)
        receipt = rows.changed(call, "messages", [], [row], sentence)
    return Result(sentence, {"message": _shown(call, row)}, receipt)


@tool("messages.list", data={"messages": [MESSAGE], "others?": [WAITING]}, risk="read", limit_seconds=10)
async def list_messages(call: Call) -> Result:
    """Tell which messages there are for whoever asks, and which they have left; an owner, for whom others wait."""
    messages = [row for row in _all(call) if _may_hear(call, row)]
    data: dict[str, Any] = {"messages": [_shown(call, row) for row in messages]}
    if others := [row for row in _all(call) if _may_clear(call, row) and not _may_hear(call, row)]:
        data["others"] = [{name: row[name] for name in WAITING} for row in others]
    new = [row for row in messages if row["heard_at"] is None and not _is_from(call, row)]
    sentences = [_told(row, call.now()) for row in new[:NAMED]]
    return Result(" ".join(sentences) or _("There are no new messages."), data)


@tool("messages.heard", data={"message": MESSAGE}, risk="change", idempotent=True, limit_seconds=10)
async def heard(call: Call, message: MessageID = "") -> Result:
    """Note that whoever asks has heard a message that was for them."""
    row = _one(call, message)
    if row["heard_at"] is not None or _is_from(call, row):
        return Result(_("That message was heard."), {"message": _shown(call, row)})
    for_all = not row["person"] and not row["room"]
    if not _is_to(call, row) and not (for_all and may(role_of(call), "household")):
        return Result(_("It still waits for those whom it is for."), {"message": _shown(call, row)})
    after: dict[str, Any] = {**row, "heard_at": call.now()}
    sentence = _("Message heard.")
    receipt = rows.changed(call, "messages", [row], [after], sentence, undo=False)
    return Result(sentence, {"message": _shown(call, after)}, receipt)


@tool("messages.delete", data={"message": MESSAGE}, risk="change", limit_seconds=10)
async def delete(call: Call, message: MessageID = "") -> Result:
    """Delete a message and its sound, for good: one's own, one for whoever asks; an owner, any nobody has heard."""
    unheard = next((row for row in _all(call) if row["id"] == message and _may_clear(call, row)), None)
    row = unheard or _one(call, message)
    # What is for everybody is not one child's to take away from the others.
    if not may(role_of(call), "household") and not _is_from(call, row) and not _is_to(call, row):
        raise ToolFailed("denied", _("Only a grown-up can delete a message that is for others too."))
    sentence = _("Message deleted.")
    receipt = rows.changed(call, "messages", [row], [], sentence, undo=False)  # its sound is gone
    words = {} if _may_hear(call, row) else {"text": ""}
    return Result(sentence, {"message": _shown(call, row) | words}, receipt)


@house_look("messages.due", data={"due": [DUE | {"intro": str, "sender_device": str}], "stored": [str], "now": float})
async def due(call: Call) -> Result:
    """Tell the house which messages nobody has heard yet, where they are to be played, and which are stored at all."""
    now, messages = call.now(), _all(call)
    waiting = [_to_play(row, now) for row in messages if row["heard_at"] is None]
    stored = [row["id"] for row in messages]  # also what is over: a clock that is wrong for a moment deletes no sound
    text = _("Messages that wait: {count}.").format(count=len(waiting))
    return Result(text, {"due": waiting, "stored": stored, "now": now})


def _to_play(row: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return a message as the house plays it, in the language in which it was left."""
    with speaking(row["language"]):
        return {
            **{"id": row["id"], "room": row["room"], "device": "", "person": row["person"], "language": current()},
            **{"sender_device": row["sender_device_key"], "intro": _from(row, now), "text": _told(row, now)},
        }


@tool("messages.announced", data=IDS, risk="change", agents=("house",), idempotent=True, limit_seconds=10)
async def announced(
    call: Call, ids: Annotated[list[str], Field(max_length=MOST_MESSAGES, description="Ids from messages.due")]
) -> Result:
    """Note that the house has played these to whom they are for."""
    played = [row for row in _all(call) if row["id"] in ids and row["heard_at"] is None]
    after = [{**row, "heard_at": call.now()} for row in played]
    text = _("Played: {count}.").format(count=len(played))
    return rows.note_said(call, "messages", played, after, text, _("None of them was to be played."))


async def undo(call: Call, stored_receipt: StoredReceipt) -> Result:
    """Take back a message that nobody has heard yet."""
    return rows.put_back(
        call, "messages", stored_receipt, "" if stored_receipt.after is None else _("Message deleted.")
    )


def _all(call: Call) -> list[Mapping[str, Any]]:
    return [dict(row) for row in call.state.rows("SELECT * FROM messages ORDER BY at, id")]


def _one(call: Call, id: str) -> Mapping[str, Any]:
    """Return a message that whoever asks may hear. Raises `ToolFailed`: of others nobody is told that they exist."""
    for row in _all(call)[::-1]:
        if id in ("", row["id"]) and _may_hear(call, row):
            return row
    raise ToolFailed("not_found", _("There is no such message."))


def _may_hear(call: Call, row: Mapping[str, Any]) -> bool:
    """Tell whether a message is for whoever asks, or from them; not even the owner hears what is for another."""
    return _is_from(call, row) or _is_to(call, row) or not row["person"]


def _may_clear(call: Call, row: Mapping[str, Any]) -> bool:
    """Tell whether this owner may delete a message unheard, for it takes up room and perhaps nobody comes for it."""
    return row["heard_at"] is None and may(role_of(call), "manage")


def _person(call: Call) -> str:
    """Return who asks. In a room that is a voice's word alone, and what is for one person is not told to that."""
    return "" if role_of(call) == ROOM else call.actor.person


def _is_to(call: Call, row: Mapping[str, Any]) -> bool:
    """Tell whether a message is for this person, or for this room, and not for everybody."""
    person, room = row["person"].casefold(), row["room"].casefold()
    if person:
        return bool(person == _person(call).casefold())
    return bool(room and room == call.actor.room.casefold())


def _is_from(call: Call, row: Mapping[str, Any]) -> bool:
    if row["sender"] or _person(call):
        return bool(row["sender"] and row["sender"].casefold() == _person(call).casefold())
    return bool(row["sender_device_key"] == call.actor.device_key)


def _refuse_more(call: Call) -> None:
    messages = _all(call)
    waiting = [row for row in messages if row["heard_at"] is None and _is_from(call, row)]
    if len(waiting) >= (MOST_OF_ONE if may(role_of(call), "household") else MOST_OF_CHILDREN):
        raise ToolFailed("failed", _("Too many of your messages wait to be heard. Delete some of them first."))
    if len([row for row in messages if not _is_over(row, call.now())]) >= MOST_MESSAGES:
        raise ToolFailed("failed", _("There are too many messages in this house. Delete some of them first."))


def _is_over(row: Mapping[str, Any], now: float) -> bool:
    """Tell whether a message is old: never one that nobody has heard, for the clock may be wrong."""
    return row["heard_at"] is not None and now - row["heard_at"] > HEARD_DAYS * DAY


def _sweep(call: Call) -> None:
    for row in _all(call):
        if _is_over(row, call.now()):
            rows.drop(call, "messages", row["id"])


def _from(row: Mapping[str, Any], now: float) -> str:
    """Return what is said before the sound of a message."""
    late = now - row["at"]
    ago = (
        length(late // 60 * 60 if late < 3600 else late // 3600 * 3600) if LATE_SECONDS <= late < WRONG_SECONDS else ""
    )
    if row["sender"] and ago:
        return _("A message from {person}, {length} ago:").format(person=row["sender"], length=ago)
    if row["sender"]:
        return _("A message from {person}:").format(person=row["sender"])
    return _("A message, {length} ago:").format(length=ago) if ago else _("A message:")


def _told(row: Mapping[str, Any], now: float) -> str:
    """Return a message in words alone."""
    words = row["text"] or _("its words were not understood.")
    return f"{_from(row, now)} {words}"


def _shown(call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in MESSAGE if name != "mine"}
    return {**shown, "mine": _is_from(call, row)}
