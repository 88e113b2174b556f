"""One SQLite file: a transaction is a function over a connection, and what has been committed survives a power cut."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from atlas.errors import StoreError
from atlas.store.migrations import Migrations

BUSY_MS = 5_000  # `atlas token create` may write while the house does; a commit takes milliseconds
T = TypeVar("T")


class Database:
    """One file and one connection, used by one worker thread at a time.

    `work` runs there, inside one transaction that is committed when it returns and undone when it raises. Cancelling
    while waiting for one's turn is safe and does nothing; once `work` has begun, it finishes and the cancellation is
    delivered afterwards, so a commit is never left in doubt. Raises `StoreError` when the disk or the file fails.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._turn = anyio.CapacityLimiter(1)
        self._closed = False

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction of its own; when this returns, its changes are on the disk."""
        return await self._run("IMMEDIATE", work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` over one unmoving view of the file."""
        return await self._run("DEFERRED", work)

    async def rows(self, select: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that one statement finds."""
        return await self.read(lambda connection: connection.execute(select, values).fetchall())

    async def change(self, statement: str, *values: Any) -> int:
        """Run one statement in a transaction of its own; return how many rows it changed."""
        return await self.write(lambda connection: connection.execute(statement, values).rowcount)

    async def _run(self, kind: str, work: Callable[[sqlite3.Connection], T]) -> T:
        def inside() -> T:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            with _translated(self.path), _transaction(self._connection, kind):
                return work(self._connection)

        return await anyio.to_thread.run_sync(inside, limiter=self._turn)

    async def scrub(self) -> None:
        """Write the file anew and empty its log: of what was deleted, no byte is left in either.

        Deleting alone is not enough, though deleted cells are zeroed: what SQLite moved between pages leaves copies
        behind. Takes as long as copying the file, and as much memory. Raises `StoreError`, also when another program
        reads the file: then the log still holds the old pages. Cancelling is delivered afterwards.
        """

        def inside() -> None:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            with _translated(self.path):
                self._connection.execute("VACUUM")
                (blocked, *_) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if blocked:
                raise StoreError(f"{self.path}: another program reads the file", hint="let it finish")

        await anyio.to_thread.run_sync(inside, limiter=self._turn)

    async def aclose(self) -> None:
        """Close the file after the transaction under way. Idempotent."""

        def close() -> None:
            if not self._closed:
                self._closed = True
                self._connection.close()

        with anyio.CancelScope(shield=True):  # an open handle would keep the write-ahead log from being folded in
            await anyio.to_thread.run_sync(close, limiter=self._turn)


@asynccontextmanager
async def open_database(path: Path, migrations: Migrations) -> AsyncIterator[Database]:
    """Open the file, made when missing and readable by its owner only, and bring its tables up to date.

    Raises `StoreError` for a file that is not a database, is damaged, or was written by a newer Atlas.
    """
    database = Database(path, await anyio.to_thread.run_sync(_opened, path, migrations))
    try:
        yield database
    finally:
        await database.aclose()


def _opened(path: Path, migrations: Migrations) -> sqlite3.Connection:
    with _translated(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")  # NORMAL may lose the last commits in a power cut
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")  # deleted rows are zeroed, whatever this build's default is
            connection.execute("PRAGMA temp_store = MEMORY")  # `scrub` copies everything, and not into /tmp
            _migrate(path, connection, migrations)
        except UnicodeDecodeError as quoted:  # by SQLite, out of a damaged file
            connection.close()
            raise sqlite3.DatabaseError("its schema is no text any more") from quoted
        except BaseException:
            connection.close()
            raise
    return connection


def _migrate(path: Path, connection: sqlite3.Connection, migrations: Migrations) -> None:
    """Run what has not been run, each once, all or nothing; two processes at once take turns."""
    with _transaction(connection, "IMMEDIATE"):
        if broken := [row[0] for row in connection.execute("PRAGMA quick_check(1)") if row[0] != "ok"]:
            raise sqlite3.DatabaseError(broken[0])
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        done = {name for (name,) in connection.execute("SELECT name FROM migrations")}
        if unknown := done - {name for name, _ in migrations}:
            raise StoreError(
                f"{path} was written by a newer Atlas: it has {min(unknown)!r}, which this one does not know",
                hint="update Atlas, or put back the copy of the file from before",
            )
        for name, statements in migrations:
            if name not in done:
                for statement in statements:
                    connection.execute(statement)
                connection.execute("INSERT INTO migrations VALUES (?)", (name,))


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str) -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk may have rolled back already
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the disk say into a sentence that names the file and what to do."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # a broken promise between tables is our mistake, or a caller's question; not the disk's
    except sqlite3.DatabaseError as trouble:
        raise StoreError(f"{path}: {trouble}", hint=_advice(trouble, path)) from trouble
    except OSError as trouble:
        raise StoreError(f"{path}: {trouble.strerror}", hint=f"check who owns {path.parent}") from trouble


def _advice(trouble: sqlite3.DatabaseError, path: Path) -> str:
    match getattr(trouble, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return "free some disk space"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "another program holds the file; try again when it has finished"
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return f"the file is damaged: move it away (mv {path} {path}.damaged) or put back a copy of it"
        case _:
            return f"check the disk and who owns {path}"
