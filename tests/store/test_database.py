from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from atlas.errors import StoreError
from atlas.store.database import open_database

NOTES = (("notes", ("CREATE TABLE notes (text TEXT NOT NULL) STRICT",)),)
STARS = (*NOTES, ("stars on notes", ("ALTER TABLE notes ADD COLUMN stars INTEGER NOT NULL DEFAULT 0",)))


def add(text: str) -> object:
    return lambda connection: connection.execute("INSERT INTO notes (text) VALUES (?)", (text,)) and None


def texts(connection: sqlite3.Connection) -> list[str]:
    return [text for (text,) in connection.execute("SELECT text FROM notes ORDER BY rowid")]


async def test_what_was_written_is_there_after_closing_and_opening(data: Path) -> None:
    async with open_database(data / "x.db", NOTES) as database:
        await database.write(add("milk"))
    async with open_database(data / "x.db", NOTES) as database:
        assert await database.read(texts) == ["milk"]


async def test_a_transaction_that_raises_leaves_nothing(data: Path) -> None:
    def half(connection: sqlite3.Connection) -> None:
        add("half")(connection)
        raise ValueError("changed my mind")

    async with open_database(data / "x.db", NOTES) as database:
        with pytest.raises(ValueError, match="changed"):
            await database.write(half)
        assert await database.read(texts) == []
        await database.write(add("whole"))
        assert await database.read(texts) == ["whole"]


async def test_cancelling_in_the_middle_lets_the_commit_finish(data: Path) -> None:
    async with open_database(data / "x.db", NOTES) as database, anyio.create_task_group() as tasks:

        def slow(connection: sqlite3.Connection) -> None:
            anyio.from_thread.run_sync(tasks.cancel_scope.cancel)  # cancelled while the transaction is open
            add("kept")(connection)

        tasks.start_soon(database.write, slow)
    async with open_database(data / "x.db", NOTES) as database:
        assert await database.read(texts) == ["kept"]


async def test_many_writers_at_once_take_turns(data: Path) -> None:
    async with open_database(data / "x.db", NOTES) as database:
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(database.write, add(str(number)))
        assert sorted(map(int, await database.read(texts))) == list(range(50))


async def test_a_file_grows_new_tables_once_and_keeps_its_rows(data: Path) -> None:
    async with open_database(data / "x.db", NOTES) as database:
        await database.write(add("old"))
    for _ in range(2):
        async with open_database(data / "x.db", STARS) as database:
            assert await database.read(lambda c: c.execute("SELECT text, stars FROM notes").fetchall()) == [("old", 0)]


async def test_a_step_that_fails_leaves_the_file_as_it_was(data: Path) -> None:
    broken = (*NOTES, ("broken", ("ALTER TABLE notes ADD COLUMN a INTEGER", "CREATE NONSENSE")))
    async with open_database(data / "x.db", NOTES) as database:
        await database.write(add("old"))
    with pytest.raises(StoreError):
        async with open_database(data / "x.db", broken):
            pass
    async with open_database(data / "x.db", NOTES) as database:
        assert await database.read(texts) == ["old"]


async def test_a_file_from_a_newer_atlas_is_refused_untouched(data: Path) -> None:
    async with open_database(data / "x.db", STARS):
        pass
    with pytest.raises(StoreError, match="newer Atlas") as refused:
        async with open_database(data / "x.db", NOTES):
            pass
    assert "update Atlas" in refused.value.hint


async def test_a_file_that_is_no_database_is_refused_with_what_to_do(data: Path) -> None:
    (data / "x.db").write_bytes(b"Dear diary, today I am not a database. " * 200)
    with pytest.raises(StoreError, match=r"x\.db") as refused:
        async with open_database(data / "x.db", NOTES):
            pass
    assert "move it away" in refused.value.hint


async def test_a_damaged_file_is_noticed_when_it_is_opened(data: Path) -> None:
    async with open_database(data / "x.db", NOTES) as database:
        for number in range(500):
            await database.write(add(f"{number} " + "x" * 200)) if number == 0 else None
        await database.write(lambda c: c.executemany("INSERT INTO notes VALUES (?)", [("x" * 200,)] * 500) and None)
    with (data / "x.db").open("r+b") as file:
        file.seek(5 * 4096)
        file.write(os.urandom(6 * 4096))
    with pytest.raises(StoreError):
        async with open_database(data / "x.db", NOTES):
            pass


async def test_a_file_whose_schema_is_no_text_any_more_is_refused_with_what_to_do(data: Path) -> None:
    async with open_database(data / "x.db", NOTES):
        pass
    content = (data / "x.db").read_bytes().replace(b"CREATE TABLE migrations", b"CREATE TUBLE migrations")
    (data / "x.db").write_bytes(content.replace(b"tablemigrationsmigrations", b"tablem\xffgrationsm\xffgrations"))
    with pytest.raises(StoreError) as refused:
        async with open_database(data / "x.db", NOTES):
            pass
    assert "move it away" in refused.value.hint


async def test_a_full_disk_says_so(data: Path) -> None:
    async with open_database(data / "x.db", NOTES) as database:
        await database.read(lambda c: c.execute("PRAGMA max_page_count = 5") and None)
        with pytest.raises(StoreError) as full:
            await database.write(add("x" * 100_000))
        assert full.value.hint == "free some disk space"
        assert await database.read(texts) == []


async def test_only_its_owner_may_read_the_file(data: Path) -> None:
    async with open_database(data / "deep" / "x.db", NOTES) as database:
        await database.write(add("secret"))
        for file in (data / "deep").iterdir():
            assert file.stat().st_mode & 0o077 == 0, file
    assert (data / "deep").stat().st_mode & 0o077 == 0


async def test_using_it_after_closing_is_an_error_with_a_name(data: Path) -> None:
    async with open_database(data / "x.db", NOTES) as database:
        pass
    await database.aclose()
    with pytest.raises(StoreError, match="closed"):
        await database.read(texts)


WRITER = """
import sys, anyio
from pathlib import Path
from atlas.store.database import open_database

NOTES = (("notes", ("CREATE TABLE notes (text TEXT NOT NULL) STRICT",)),)

async def main():
    async with open_database(Path(sys.argv[1]), NOTES) as db:
        number = 0
        while True:
            await db.write(lambda c: c.execute("INSERT INTO notes VALUES (?)", (str(number),)) and None)
            print(number, flush=True)
            number += 1

anyio.run(main)
"""


def killed_while_writing(file: Path) -> int:
    """Return the last write that the killed process had acknowledged."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        lines = [writer.stdout.readline() for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        return int([*lines, *writer.stdout][-1])


async def test_every_acknowledged_write_survives_kill_9(data: Path) -> None:
    acknowledged = await anyio.to_thread.run_sync(killed_while_writing, data / "x.db")
    async with open_database(data / "x.db", NOTES) as database:
        remainder = [int(text) for text in await database.read(texts)]
    assert remainder[: acknowledged + 1] == list(range(acknowledged + 1))
    assert len(remainder) <= acknowledged + 2  # at most the one whose acknowledgement was cut off
