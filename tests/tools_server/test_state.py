"""tools.db keeps all of a change or none of it, and so many receipts and no more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tools_server.sdk.state import ToolsDatabase

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
    details = {"agent": "family", "actor": {}, "turn": "", "at": 0.0, "before": None, "after": {}}
    made = [state.add_receipt(f"Change {number}.", tool="timers.start", **details) for number in range(25)]
    assert [stored_receipt.id for stored_receipt in state.receipts(100)] == [receipt.id for receipt in made[:-11:-1]]
    assert state.receipt(made[0].id) is None
