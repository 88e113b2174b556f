"""tools.db keeps all of a change or none of it, and so many receipts and no more."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tools_server.sdk.state import ToolsDatabase

PAGE_BYTES = 4096
DETAILS: Any = {
    "agent": "family",
    "actor": {},
    "turn": "",
    "at": 0.0,
    "before": None,
    "after": {},
    "tool": "timers.start",
}
PROMISE = {
    "promise": """
        CREATE TABLE house (name TEXT PRIMARY KEY);
        CREATE TABLE room (house TEXT REFERENCES house (name) DEFERRABLE INITIALLY DEFERRED);
    """
}


@pytest.fixture
def state(data: Path) -> Iterator[ToolsDatabase]:
    with closing(ToolsDatabase(data / "tools.db", PROMISE)) as opened:
        yield opened


def test_what_cannot_be_committed_leaves_no_transaction_open(state: ToolsDatabase) -> None:
    broken = pytest.raises(sqlite3.IntegrityError)  # the disk says no in the same place: at the commit
    with broken, state.transaction():
        state.run("INSERT INTO room VALUES ('nowhere')")
    assert state.rows("SELECT * FROM room") == []
    with state.transaction():
        state.run("INSERT INTO house VALUES ('ours')")
    assert len(state.rows("SELECT * FROM house")) == 1


def test_a_block_that_fails_leaves_nothing_behind(state: ToolsDatabase) -> None:
    failing = pytest.raises(ValueError, match="half way")
    with failing, state.transaction():
        state.run("INSERT INTO house VALUES ('half')")
        raise ValueError("half way")
    assert state.rows("SELECT * FROM house") == []


def test_the_oldest_receipts_make_room_for_new_ones(state: ToolsDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools_server.sdk.state.KEPT_RECEIPTS", 10)
    made = [state.add_receipt(f"Change {number}.", **DETAILS) for number in range(25)]
    assert [stored_receipt.id for stored_receipt in state.receipts(100)] == [receipt.id for receipt in made[:-11:-1]]
    assert state.receipt(made[0].id) is None


@pytest.mark.parametrize("harm", ["schema", "page", "cut"])
def test_a_damaged_file_is_noticed_when_it_is_opened_and_named_with_what_to_do(data: Path, harm: str) -> None:
    file = data / "tools.db"
    with closing(ToolsDatabase(file, {})) as state:
        for number in range(100):
            state.add_receipt(f"Change {number}.", **DETAILS)
    content = file.read_bytes()
    match harm:
        case "schema":  # which SQLite quotes in what it says, though it is no text
            content = content.replace(b"tablemigrationsmigrations", b"tablem\xffgrationsm\xffgrations")
            content = content.replace(b"CREATE TABLE migrations", b"CREATE TUBLE migrations")
        case "page":
            middle = len(content) // 2 // PAGE_BYTES * PAGE_BYTES
            content = content[:middle] + bytes(PAGE_BYTES) + content[middle + PAGE_BYTES :]
        case "cut":
            content = content[: len(content) // 2]
    file.write_bytes(content)
    with pytest.raises(sqlite3.DatabaseError, match=f"{file} is damaged .*: give it back from a backup"):
        ToolsDatabase(file, {})


async def test_a_database_that_was_emptied_is_told_of_at_the_next_start(
    data: Path, reopened: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with reopened(0.0) as world:
        await world.ok("timers.start", seconds=60)
    assert "is empty" not in capsys.readouterr().err
    os.truncate(data / "tools.db", 0)
    for is_first in (True, False):
        with reopened(10.0):
            assert ("tools.db is empty, though calls were recorded" in capsys.readouterr().err) == is_first
