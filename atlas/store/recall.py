"""Finds what was said: by words, by time, or all of it in order. Only ever somebody's own."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from atlas.conversation import Actor, Author
from atlas.events import End
from atlas.store.conversations import Conversation, conversation_of
from atlas.store.turns import SpeechReadings, TurnDeed, deeds_of, readings_of
from wall.roles import ROOM

MOST_WORDS = 16  # of a search; more would find nothing anyway
Words = Literal["whole", "begun"]  # how a word of a search fits one that was said


@dataclass(frozen=True, slots=True)
class Whose:
    """One conversation, or, of a person known by name, the conversations of every room with one agent.

    Only `belonging_to` makes one: it is the wall between people.
    """

    agent: str
    people: tuple[str, ...]  # one, but where several devices had one name, or an owner looks
    room: str | None  # None: every room

    def holds(self, conversation: Conversation) -> bool:
        """Tell whether this conversation is among them."""
        same = conversation.agent == self.agent and conversation.person in self.people
        return same and self.room in (None, conversation.room)


def belonging_to(agent: str, actor: Actor, *others: Actor, here: bool = False) -> Whose:
    """Return what is `actor`'s to search and to forget: a person's own in every room, or only the one `here`.

    Who is not known by name has this room's conversation, or this device's, and never another's; who is known by
    voice alone has what they said in this room. `others` are those whose words are as much theirs: the devices that had
    one name in turn, and what owners talk through that is nobody's own.
    """
    conversation = conversation_of(agent, actor)
    people = dict.fromkeys(conversation_of(agent, one).person for one in (actor, *others))
    everywhere = actor.person and actor.role != ROOM and not here
    return Whose(agent, tuple(people), None if everywhere else conversation.room)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From when until when, in seconds since 1970; the end is not in it."""

    since: float = -math.inf
    until: float = math.inf


ALWAYS = TimeSpan()


@dataclass(frozen=True, slots=True)
class MessageMatch:
    """One message that was found, and when its turn began."""

    turn: str
    at: float  # wall clock, seconds since 1970
    room: str
    author: Author
    text: str


@dataclass(frozen=True, slots=True)
class RememberedMessage:
    """One message of an exchange; `tools` are the names of those it called."""

    author: Author
    text: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RememberedTurn:
    """One turn as it is remembered. `number` orders the turns of a memory."""

    number: int
    turn: str
    at: float
    agent: str
    person: str
    room: str
    device: str
    spoken: bool
    end: End
    messages: tuple[RememberedMessage, ...]
    readings: SpeechReadings | None = None
    deeds: tuple[TurnDeed, ...] = ()


@dataclass(frozen=True, slots=True)
class RememberedRoom:
    """The conversations with one agent in one room: how many turns, and when the first and the last began."""

    room: str
    turns: int
    first_at: float
    last_at: float


_OF = (
    " FROM turns t JOIN conversations c ON c.id = t.conversation{more}"
    " WHERE c.agent = :agent AND c.person IN (SELECT value FROM json_each(:people))"
    " AND (:room IS NULL OR c.room = :room) AND t.began >= :since AND t.began < :until"
)


def of(whose: Whose, span: TimeSpan, more: str = "") -> tuple[str, dict[str, Any]]:
    """Return the SQL that chooses turns `t` of conversations `c`, from its FROM on, and its values."""
    values = {"agent": whose.agent, "people": json.dumps(whose.people), "room": whose.room}
    return _OF.format(more=more), values | {"since": span.since, "until": span.until}


def search(
    connection: sqlite3.Connection,
    whose: Whose,
    words: str,
    span: TimeSpan = ALWAYS,
    *,
    by: Author | None = None,
    fit: Words = "begun",
    most: int = 20,
) -> tuple[MessageMatch, ...]:
    """Return the messages that hold all of `words`, newest first; of anybody, or only those `by` one author.

    Letters count without their accents, and in either case. Words that only begin so are found too, unless they are to
    fit `whole`. Without any words, everything that was said is found.
    """
    chosen, values = of(whose, span, " JOIN messages m ON m.turn = t.number")
    wanted = _query(words, fit)
    if wanted is None and words.strip():
        return ()  # nothing but marks
    matching = " AND m.id IN (SELECT rowid FROM words WHERE words MATCH :wanted)" if wanted else ""
    rows = connection.execute(
        f"SELECT t.id, t.began, c.room, m.author, m.text{chosen}{matching} AND m.text <> ''"
        " AND m.author IN ('user', 'assistant') AND (:by IS NULL OR m.author = :by)"
        " ORDER BY t.number DESC, m.id DESC LIMIT :most",
        values | {"wanted": wanted, "by": by, "most": most},
    )
    return tuple(MessageMatch(*row) for row in rows)


def count(connection: sqlite3.Connection, whose: Whose, span: TimeSpan = ALWAYS) -> tuple[int, float]:
    """Return how many turns there are, and when the first of them began."""
    chosen, values = of(whose, span)
    number, first = connection.execute(f"SELECT count(*), min(t.began){chosen}", values).fetchone()
    return number, first or 0.0


def exchanges(
    connection: sqlite3.Connection, whose: Whose, span: TimeSpan = ALWAYS, *, after: int = 0, most: int = 200
) -> tuple[RememberedTurn, ...]:
    """Return the turns after the one with the number `after`, oldest first, with everything said in them."""
    chosen, values = of(whose, span)
    turns = f"{_TURNS}{chosen} AND t.number > :after ORDER BY t.number LIMIT :most"
    return _with_messages(connection, turns, values | {"after": after, "most": most})


def latest_exchanges(
    connection: sqlite3.Connection, whose: Whose, *, before: int | None = None, most: int = 50
) -> tuple[RememberedTurn, ...]:
    """Return the last turns before the one with the number `before`, oldest first, with everything said in them."""
    chosen, values = of(whose, ALWAYS)
    turns = f"{_TURNS}{chosen} AND (:before IS NULL OR t.number < :before) ORDER BY t.number DESC LIMIT :most"
    return _with_messages(connection, turns, values | {"before": before, "most": most})


def rooms(connection: sqlite3.Connection, whose: Whose) -> tuple[RememberedRoom, ...]:
    """Return where there are conversations, the latest first."""
    chosen, values = of(whose, ALWAYS)
    rows = connection.execute(
        f"SELECT c.room, count(*), min(t.began), max(t.began){chosen} GROUP BY c.room ORDER BY max(t.began) DESC",
        values,
    )
    return tuple(RememberedRoom(*row) for row in rows)


_TURNS = "SELECT t.number, t.id, t.began, t.agent, c.person, c.room, t.device, t.spoken, t.end, t.readings, t.deeds"


def _with_messages(connection: sqlite3.Connection, turns: str, values: Mapping[str, Any]) -> tuple[RememberedTurn, ...]:
    rows = connection.execute(
        f"SELECT t.*, m.author, m.text, m.calls FROM ({turns}) t"  # noqa: S608  no value is in it
        " LEFT JOIN messages m ON m.turn = t.number ORDER BY t.number, m.id",
        values,
    )
    return tuple(_exchanges(rows))


def _exchanges(rows: sqlite3.Cursor) -> Iterator[RememberedTurn]:
    for turn, messages in groupby(rows, itemgetter(slice(11))):
        number, identity, at, agent, person, room, device, spoken, end, readings, deeds = turn
        remembered_messages = tuple(
            RememberedMessage(author, text, tuple(call["name"] for call in json.loads(calls)))
            for *_, author, text, calls in messages
            if author in ("user", "assistant")
        )
        yield RememberedTurn(
            *(number, identity, at, agent, person, room, device, bool(spoken), end),
            remembered_messages,
            readings_of(readings),
            deeds_of(deeds),
        )


def _query(words: str, fit: Words) -> str | None:
    """Return `words` in the language of SQLite's index; `None` when there are none. Nothing in them is an operator."""
    hits: Sequence[str] = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", words))[:MOST_WORDS]
    star = "*" if fit == "begun" else ""
    return " ".join(f'"{word}"{star}' for word in hits) or None
