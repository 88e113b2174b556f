"""The voiceprints of people who recorded their voice for it: numbers, never a sound, and gone when they say so."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atlas.errors import RequestError
from atlas.store.database import Database, open_database
from atlas.store.devices import PERSON
from atlas.store.migrations import Migrations

FILE = "voices.db"  # in the data directory; `atlas voices` writes it while the house runs
MOST_VOICEPRINTS = 32  # of one house
Floats = NDArray[np.float32]
VOICEPRINTS: Migrations = (
    (
        "voices",
        (
            """CREATE TABLE voices (
                person TEXT PRIMARY KEY COLLATE NOCASE,
                voiceprint BLOB NOT NULL,
                sentences INTEGER NOT NULL,
                recorded REAL NOT NULL  -- wall clock, seconds since 1970
            ) STRICT, WITHOUT ROWID""",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class StoredVoiceprint:
    """Whose voice is known, of how many sentences, and since when."""

    person: str
    sentences: int
    recorded: float


class VoiceprintStore:
    """Voiceprints by person. Every verb raises `StoreError` when the file fails, and is safe to cancel."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, person: str, voiceprint: Floats, sentences: int) -> StoredVoiceprint:
        """Store the voice of `person` in place of what there was; on the disk when this returns.

        Raises `RequestError` for an odd name, and when there are too many.
        """
        if not PERSON.fullmatch(person):
            raise RequestError(f"{person!r} cannot be the name of a person", code="invalid_person", param="person")
        profile = StoredVoiceprint(person, sentences, time.time())
        row = (person, np.asarray(voiceprint, "<f4").tobytes(), sentences, profile.recorded)

        def replace(connection: sqlite3.Connection) -> None:
            _delete(connection, person)
            if connection.execute("SELECT count(*) FROM voices").fetchone()[0] >= MOST_VOICEPRINTS:
                hint = "delete one first"
                raise RequestError(f"this house knows {MOST_VOICEPRINTS} voices", code="too_many", hint=hint)
            connection.execute("INSERT INTO voices VALUES (?, ?, ?, ?)", row)

        await self._database.write(replace)
        return profile

    async def list(self) -> tuple[StoredVoiceprint, ...]:
        """Return whose voices are known, in the order of their names."""
        rows = await self._database.rows("SELECT person, sentences, recorded FROM voices ORDER BY person")
        return tuple(StoredVoiceprint(*row) for row in rows)

    async def voiceprints(self) -> Mapping[str, Floats]:
        """Return all of them, by person."""
        rows = await self._database.rows("SELECT person, voiceprint FROM voices")
        return {person: np.frombuffer(content, "<f4") for person, content in rows}

    async def forget(self, person: str) -> bool:
        """Delete the voice of `person`, down to the bytes on the disk; False when there was none."""
        there = await self._database.write(lambda connection: _delete(connection, person))
        if there:
            await self._database.scrub()
        return there


def _delete(connection: sqlite3.Connection, person: str) -> bool:
    """Delete the voice of a person however the name is written: SQLite's NOCASE knows the letters of ASCII alone."""
    people = [one for (one,) in connection.execute("SELECT person FROM voices") if one.casefold() == person.casefold()]
    connection.executemany("DELETE FROM voices WHERE person = ?", [(one,) for one in people])
    return bool(people)


@asynccontextmanager
async def open_voiceprints(data: Path) -> AsyncIterator[VoiceprintStore]:
    """Open the voiceprints of a data directory; another process may have them open too."""
    async with open_database(data / FILE, VOICEPRINTS) as database:
        yield VoiceprintStore(database)
