"""Conversations: ordered messages remembered together, keyed by agent, person and room."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atlas.conversation import Actor, Message, ToolCall
from wall.roles import may

# Old turns are forgotten a block at a time: were it one by one, every prompt would begin differently from the last,
# and the model would have to read all of it anew.
BLOCK_TURNS = 8
SILENCE_SECONDS = 600.0  # after which a conversation is over: what is said then begins another
OF_DEVICE = "device "  # in the place of a person, who is called nothing so by accident: of one that nobody is known on
END = "conversation.end"  # the call by which somebody ended it: what was said before is told to nobody


@dataclass(frozen=True, slots=True)
class Conversation:
    """Whose words these are. Two keys never share a message."""

    agent: str
    person: str
    room: str

    def __str__(self) -> str:
        """Return the key as one text, different for every key: a room may be called anything."""
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in (self.agent, self.person, self.room))


def conversation_of(agent: str, actor: Actor) -> Conversation:
    """Whose conversation is this? A room's, when nobody is known by name; a device's, when it is in no room either.

    Who does not live here has a conversation of their device's, in whatever room: a room's is the household's.
    """
    of_room = actor.room and may(actor.role, "reside")
    return Conversation(agent, actor.person or ("" if of_room else f"{OF_DEVICE}{actor.device_key}"), actor.room)


def number_of(connection: sqlite3.Connection, conversation: Conversation) -> int:
    """Return the row of a conversation, made when it is new."""
    key = (conversation.agent, conversation.person, conversation.room)
    connection.execute("INSERT INTO conversations (agent, person, room) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", key)
    row = connection.execute("SELECT id FROM conversations WHERE (agent, person, room) = (?, ?, ?)", key).fetchone()
    return int(row[0])


def load(
    connection: sqlite3.Connection, conversation: Conversation, strangers_since: float = -math.inf
) -> tuple[Message, ...]:
    """Return the messages of the last turns, oldest first, tool exchanges whole; `BLOCK_TURNS` to twice as many turns.

    The first message stays the same while turns are added, until a whole block is forgotten at once. Turns that may
    repeat words of others are left out when they began before `strangers_since`, in seconds since 1970.
    """
    turns = (
        "(SELECT number FROM turns JOIN conversations c ON c.id = conversation"
        " WHERE (c.agent, c.person, c.room) = (?, ?, ?) ORDER BY number LIMIT -1 OFFSET ?)"
    )
    key = (conversation.agent, conversation.person, conversation.room)
    (count,) = connection.execute(f"SELECT count(*) FROM {turns}", (*key, 0)).fetchone()  # noqa: S608  no value is in it
    forgotten = max(0, count // BLOCK_TURNS - 1) * BLOCK_TURNS
    rows = connection.execute(
        f"SELECT author, text, calls, call_id, path = 'command', tainted, began FROM messages JOIN turns ON number = turn WHERE turn IN {turns}"  # noqa: S608, E501
        " AND NOT (tainted AND began < ?) ORDER BY turn, messages.id",
        (*key, forgotten, strangers_since),
    )
    return tuple(message for message in map(_message, rows) if message.text or message.calls)


def of_now(messages: Sequence[Message], at: float) -> tuple[Message, ...]:
    """Return the messages of the conversation that goes on `at` this time: none from before its last end. Pure."""
    later, first = at, len(messages)
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if later - message.at > SILENCE_SECONDS or any(call.name == END for call in message.calls):
            break
        later, first = message.at, place
    while first < len(messages) and messages[first].author != "user":
        first += 1  # the answer to what ended it
    return tuple(messages[first:])


def append(connection: sqlite3.Connection, turn: int, messages: Sequence[Message]) -> None:
    """Add the messages of one turn; `turn` is its number, from `turns.record`."""
    connection.executemany(
        "INSERT INTO messages (turn, author, text, calls, call_id) VALUES (?, ?, ?, ?, ?)",
        [(turn, m.author, m.text, _calls_to_json(m.calls), m.call_id) for m in messages],
    )


def shorten(connection: sqlite3.Connection, turn_id: str, heard: str) -> bool:
    """Cut the reply of a turn to the words that were heard; tool exchanges stay. True when something was cut.

    Spaces do not count, for a voice trims its pieces.
    """
    replies = connection.execute(
        "SELECT id, text FROM messages WHERE author = 'assistant' AND turn = (SELECT number FROM turns WHERE id = ?)"
        " ORDER BY id",
        (turn_id,),
    ).fetchall()
    texts = [text for _, text in replies]
    remainder = list(_cut(texts, heard))
    for (identity, _), text in zip(replies, remainder, strict=True):
        connection.execute("UPDATE messages SET text = ? WHERE id = ?", (text, identity))
    return remainder != texts


def _cut(texts: Sequence[str], heard: str) -> Iterator[str]:
    """Yield the texts, each up to where the heard letters end."""
    left = sum(not character.isspace() for character in heard)
    for text in texts:
        end = 0
        while end < len(text) and (left > 0 or text[end].isspace()):
            left -= not text[end].isspace()
            end += 1
        yield text if end == len(text) else text[:end].rstrip()


def _message(row: tuple[str, str, str, str, int, int, float]) -> Message:
    author, text, calls, call_id, by_command, tainted, at = row
    tool_calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in json.loads(calls))
    ours = author == "assistant" and bool(by_command)
    others = bool(tainted) and author != "user"  # what the person said is theirs, whatever was answered
    return Message(author, text, tool_calls, call_id, ours, others, at)  # type: ignore[arg-type]  # only `append` writes authors


def _calls_to_json(calls: Sequence[ToolCall]) -> str:
    return json.dumps([{"id": c.id, "name": c.name, "arguments": dict(c.arguments)} for c in calls])
