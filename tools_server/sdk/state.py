"""tools.db: what tools must not forget. Returned from a transaction means committed and on the disk."""

from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEPT_RECEIPTS = 20_000  # fifty changes a day for a year; counted, for a clock that is wrong must not make them all old
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY_SECONDS = 5.0  # a second process (stdio beside HTTP) holds the lock for one commit at most
MIGRATIONS = {
    "receipts": """
        CREATE TABLE receipts (
            id TEXT PRIMARY KEY,
            at REAL NOT NULL,      -- wall clock, seconds since 1970
            tool TEXT NOT NULL,
            agent TEXT NOT NULL,
            actor TEXT NOT NULL,   -- JSON
            turn TEXT NOT NULL,
            changed TEXT NOT NULL, -- in words
            before TEXT NOT NULL,  -- JSON: what an undo puts back; null when there was nothing
            after TEXT NOT NULL    -- JSON: what an undo expects to find; null when nothing is left
        );
        CREATE INDEX receipts_by_time ON receipts (at);
    """,
    "receipts.undone": """
        ALTER TABLE receipts ADD COLUMN undone_by TEXT NOT NULL DEFAULT '';
    """,
    "receipts.arguments": """
        ALTER TABLE receipts ADD COLUMN arguments TEXT NOT NULL DEFAULT '{}'; -- JSON
        ALTER TABLE receipts ADD COLUMN undoes TEXT NOT NULL DEFAULT '';      -- the receipt that this one took back
    """,
    "asks": """
        CREATE TABLE asks (
            id TEXT PRIMARY KEY,
            asked_at REAL NOT NULL,    -- wall clock, seconds since 1970
            expires_at REAL NOT NULL,
            ask TEXT NOT NULL          -- JSON: the question, and the answer until it is used up
        );
    """,
    "receipts.tainted": """
        ALTER TABLE receipts ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0;   -- who wished it had read words of others
        CREATE INDEX receipts_tainted ON receipts (tainted) WHERE tainted;
    """,
}


@dataclass(frozen=True, slots=True)
class ChangeReceipt:
    """Proof that something changed; the row of that id says what, from what and to what."""

    id: str
    changed: str
    tool: str
    undo: bool  # whether it can be taken back


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt as it was kept, with what an undo needs."""

    id: str
    at: float  # wall clock, seconds since 1970
    tool: str
    agent: str
    actor: Mapping[str, str]
    turn: str
    changed: str
    before: Any  # JSON: what an undo puts back; None when there was nothing
    after: Any  # JSON: what an undo expects to find; None when nothing is left
    undone_by: str = ""  # the receipt of the undo
    arguments: Mapping[str, Any] = field(default_factory=dict)  # that the tool was called with
    undoes: str = ""  # the receipt that this one took back
    tainted: int = 0  # who wished it had read words of others

    @property
    def reversible(self) -> bool:
        """Whether it kept anything that an undo could put back or expect."""
        return not (self.before is None and self.after is None)


_JSON = ("actor", "before", "after", "arguments")  # columns of receipts


class ToolsDatabase:
    """The one connection of this process to tools.db. Used from the event loop's thread only."""

    def __init__(self, file: Path, migrations: Mapping[str, str]) -> None:
        """Open, or make, the database and bring its tables up to date.

        `migrations` are the tools' own, by name; each runs once, in order, and all of them or none.
        Raises `sqlite3.Error` when the file is damaged or the disk refuses.
        """
        self._db = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
        file.chmod(0o600)
        try:
            self._open(migrations)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as broken:  # SQLite quotes what is no text any more
            self._db.close()
            if getattr(broken, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in DAMAGED:
                raise
            advice = f"give it back from a backup, or start without it: mv {file} {file}.damaged"
            raise sqlite3.DatabaseError(f"{file} is damaged ({' '.join(str(broken).split())}): {advice}") from broken

    def _open(self, migrations: Mapping[str, str]) -> None:
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")  # WAL alone may lose the last commits to a power cut
        self._db.execute("PRAGMA foreign_keys = ON")
        self._migrate({**MIGRATIONS, **migrations})

    def _migrate(self, migrations: Mapping[str, str]) -> None:
        """Run what never ran here, in order, in one transaction: a new house waits for the disk once."""
        with self.transaction():
            if broken := [row[0] for row in self.rows("PRAGMA quick_check(1)") if row[0] != "ok"]:
                raise sqlite3.DatabaseError(broken[0])
            self._db.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at REAL NOT NULL)")
            done = {row["name"] for row in self.rows("SELECT name FROM migrations")}
            for name, sql in migrations.items():
                if name not in done:
                    for statement in _statements(sql):
                        self._db.execute(statement)
                    self._db.execute("INSERT INTO migrations VALUES (?, ?)", (name, time.time()))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or none of it. Leaving the block means: committed, and the disk has it; inside another, with that.

        There must be no `await` inside, so nothing else can slip in between and no cancellation can cut it.
        """
        is_inside = self._db.in_transaction
        if is_inside:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk may have rolled back already
                self._db.execute("ROLLBACK")
            raise

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """Read."""
        return self._db.execute(sql, values).fetchall()

    def run(self, sql: str, *values: object) -> None:
        """Write one statement; outside a transaction it is committed at once."""
        self._db.execute(sql, values)

    def add_receipt(self, changed: str, **fields: Any) -> ChangeReceipt:
        """Keep a receipt, of the fields of a `StoredReceipt`: in the running transaction, else committed at once.

        One that `undoes` another is written together with the other's mark; the other is then undone, once.
        Past `KEPT_RECEIPTS` the oldest makes room: what it tells of can be taken back no longer. Those that are
        `tainted` stay, for as long as the words may that they brought in; each had a person's yes, so they are few.
        """
        receipt = StoredReceipt(f"receipt_{secrets.token_hex(8)}", changed=changed, **fields)
        values = {one.name: getattr(receipt, one.name) for one in dataclasses.fields(receipt)}
        values |= {name: json.dumps(values[name], default=dict) for name in _JSON}
        oldest = "rowid <= (SELECT max(rowid) FROM receipts) - ?"
        with self.transaction():
            places = ", ".join("?" * len(values))
            self.run(f"INSERT INTO receipts ({', '.join(values)}) VALUES ({places})", *values.values())  # noqa: S608
            self.run(f"DELETE FROM receipts WHERE {oldest} AND NOT tainted", KEPT_RECEIPTS)  # noqa: S608  # no value
            if receipt.undoes:
                self.run("UPDATE receipts SET undone_by = ? WHERE id = ?", receipt.id, receipt.undoes)
        return ChangeReceipt(receipt.id, changed, receipt.tool, receipt.reversible)

    def receipts(self, most: int) -> Iterator[StoredReceipt]:
        """Give the newest receipts, the newest first; each is read when it is wanted, for one may hold a whole file."""
        older = "SELECT rowid AS place, * FROM receipts WHERE rowid < ? ORDER BY rowid DESC LIMIT 1"
        place = 1 << 62
        for _ in range(most):  # no statement is left open in between: it would keep others' commits from being seen
            rows = self.rows(older, place)
            if not rows:
                return
            place = rows[0]["place"]
            yield _kept(rows[0])

    def receipts_of_taint(
        self, after: int, matters: Callable[[str, str], bool]
    ) -> Iterator[tuple[int, StoredReceipt | None]]:
        """Give what was wished after reading words of others, and of what changed since then what `matters`.

        Receipts with their places, the oldest first, of those `after` a place; None instead of one that does not
        matter. `matters` is asked with the JSON of before and after: there may be very many to be read.
        """
        since = "rowid >= (SELECT min(rowid) FROM receipts WHERE tainted)"
        page = (
            f"SELECT rowid AS place, * FROM receipts WHERE rowid > ? AND {since}"  # noqa: S608  # no value in it
            " AND (tainted OR before <> 'null' OR undoes <> '') ORDER BY rowid LIMIT 100"
        )
        while rows := self.rows(page, after):
            for row in rows:
                after = row["place"]
                yield after, _kept(row) if row["tainted"] or matters(row["before"], row["after"]) else None

    def receipt(self, id: str) -> StoredReceipt | None:
        """Return one receipt."""
        return next(map(_kept, self.rows("SELECT * FROM receipts WHERE id = ?", id)), None)

    def deed(self, stored_receipt: StoredReceipt) -> tuple[StoredReceipt, bool]:
        """Return what was done at first, and whether `stored_receipt` took it back: taking that back does it again."""
        took_back = False
        while stored_receipt.undoes and (undone := self.receipt(stored_receipt.undoes)):
            stored_receipt, took_back = undone, not took_back
        return stored_receipt, took_back

    def close(self) -> None:
        """Fold the write-ahead log into the file and let go. Idempotent."""
        self._db.close()


def _kept(row: sqlite3.Row) -> StoredReceipt:
    values = dict(row)
    values.pop("place", None)
    for name in _JSON:
        values[name] = json.loads(values[name])
    return StoredReceipt(**values)


def _statements(sql: str) -> Iterator[str]:
    # executescript would commit the surrounding transaction first, so a migration could be left half done.
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    assert not statement.strip(), f"a migration ends in the middle of a statement: {statement}"
