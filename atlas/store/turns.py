"""One row per turn: who answered whom and why, how it ended, what it cost and how long each stage took."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from atlas.conversation import Margins, Usage
from atlas.events import End, Route

DeedState = Literal["done", "asks", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class SpeechReadings:
    """What a recogniser made of an utterance, beside the words that were taken for it."""

    others: tuple[str, ...] = ()  # other readings, best first
    possible: tuple[str, ...] = ()  # commands that it may have been, which were asked about
    doubtful: bool = False  # it hardly believed these words
    voice: str = ""  # the person whose voice it was taken for
    margins: Margins = ()  # see `Utterance`


@dataclass(frozen=True, slots=True)
class TurnDeed:
    """What one call of a tool came to, as a page shows it again."""

    call: str
    tool: str
    arguments: Mapping[str, Any]
    state: DeedState
    sentence: str  # what changed, or what the tool answered
    receipt: str = ""  # proves a change and takes it back


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What is kept of a turn besides its messages."""

    id: str
    agent: str
    reason: str  # why this agent
    path: Route
    device: str
    spoken: bool
    began: float  # wall clock, seconds since 1970
    ended: float
    end: End
    error: str = ""  # a log text, when it failed
    timings: Mapping[str, int] = field(default_factory=dict)  # milliseconds: NAME_ms by stage, NAME_at_ms by mark
    usage: Usage = Usage()
    tainted: bool = False  # who answered had read words of others, so the answer may repeat them
    readings: SpeechReadings | None = None  # None when it was typed, or nobody remembers it
    deeds: tuple[TurnDeed, ...] = ()


def record(connection: sqlite3.Connection, turn: TurnRecord, conversation: int | None) -> int:
    """Keep a turn and return its number; `conversation` is None when the client remembers for itself."""
    cursor = connection.execute(
        "INSERT INTO turns (id, conversation, agent, reason, path, device, spoken, began, ended, end, error, timings,"
        " prompt_tokens, cached_tokens, completion_tokens, tainted, readings, deeds)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(turn.id, conversation, turn.agent, turn.reason, turn.path, turn.device, turn.spoken),
            *(turn.began, turn.ended, turn.end, turn.error, json.dumps(dict(turn.timings))),
            *(turn.usage.prompt, turn.usage.cached, turn.usage.completion, turn.tainted),
            json.dumps(asdict(turn.readings)) if turn.readings else "",
            json.dumps([asdict(deed) for deed in turn.deeds], ensure_ascii=False, default=str),
        ),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def interrupt(connection: sqlite3.Connection, turn_id: str) -> None:
    """Note that a reply was not heard to its end."""
    connection.execute("UPDATE turns SET end = 'interrupted' WHERE id = ? AND end <> 'failed'", (turn_id,))


def retime(connection: sqlite3.Connection, turn_id: str, timings: Mapping[str, int]) -> None:
    """Correct the timings of a turn, now that its reply has been spoken too."""
    connection.execute("UPDATE turns SET timings = ? WHERE id = ?", (json.dumps(dict(timings)), turn_id))


def latest(
    connection: sqlite3.Connection, count: int, since: float = -math.inf, before: float = math.inf
) -> list[TurnRecord]:
    """Return the last `count` turns that began in a stretch of time, newest first."""
    rows = connection.execute(
        "SELECT id, agent, reason, path, device, spoken, began, ended, end, error, timings,"
        " tainted, readings, prompt_tokens, cached_tokens, completion_tokens FROM turns"
        " WHERE began >= ? AND began < ? ORDER BY number DESC LIMIT ?",
        (since, before, count),
    )
    return [_turn(*row) for row in rows]


def _turn(*row: Any) -> TurnRecord:
    identity, agent, reason, path, device, spoken, began, ended, end, error, timings, tainted, readings, *tokens = row
    return TurnRecord(
        *(identity, agent, reason, path, device, bool(spoken), began, ended, end, error),
        timings=json.loads(timings),
        usage=Usage(*tokens),
        tainted=bool(tainted),
        readings=readings_of(readings),
    )


def readings_of(stored: str) -> SpeechReadings | None:
    """Return the readings that a row has; `None` when it has none."""
    if not stored:
        return None
    values = json.loads(stored)
    margins = tuple((text, margin) for text, margin in values.get("margins", ()))  # not in rows of older versions
    return SpeechReadings(
        tuple(values["others"]), tuple(values["possible"]), values["doubtful"], values.get("voice", ""), margins
    )


def deeds_of(stored: str) -> tuple[TurnDeed, ...]:
    """Return the deeds that a row has."""
    return tuple(TurnDeed(**values) for values in json.loads(stored))
