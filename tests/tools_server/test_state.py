from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tools_server.state import State

PROMISE = {
    "promise": """
        CREATE TABLE house (name TEXT PRIMARY KEY);
        CREATE TABLE room (house TEXT REFERENCES house (name) DEFERRABLE INITIALLY DEFERRED);
    """
}


@pytest.fixture
def state(data: Path) -> Iterator[State]:
    with closing(State(data / "tools.db", PROMISE)) as opened:
        yield opened


def test_what_cannot_be_committed_leaves_no_transaction_open(state: State) -> None:
    broken = pytest.raises(sqlite3.IntegrityError)  # the disk says no in the same place: at the commit
    with broken, state.transaction():
        state.run("INSERT INTO room VALUES ('nowhere')")
    assert state.rows("SELECT * FROM room") == []
    with state.transaction():
        state.run("INSERT INTO house VALUES ('ours')")
    assert len(state.rows("SELECT * FROM house")) == 1


def test_a_block_that_fails_leaves_nothing_behind(state: State) -> None:
    failing = pytest.raises(ValueError, match="half way")
    with failing, state.transaction():
        state.run("INSERT INTO house VALUES ('half')")
        raise ValueError("half way")
    assert state.rows("SELECT * FROM house") == []
