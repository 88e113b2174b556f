"""A change that was committed when a kill came before its row has its row after the next start, once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools_server.conftest import AUDIT_FILE
from tools_server.gate.gate import Gate
from wall.chain import verify

NOW = 1_800_000_000.0


class KilledError(BaseException):
    """A kill -9 between a deed and its row."""


async def killed_before_its_row(world: Any, monkeypatch: pytest.MonkeyPatch, tool: str, **arguments: Any) -> None:
    def die(*_: object) -> bool:
        raise KilledError

    with monkeypatch.context() as context, pytest.raises(KilledError):
        context.setattr(Gate, "_write", die)
        await world.call(tool, **arguments)


async def test_a_change_that_a_kill_kept_out_of_the_record_is_in_it_after_the_next_start(
    world: Any, reopened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.ok("timers.start", seconds=60, name="tea")
    await killed_before_its_row(world, monkeypatch, "timers.start", seconds=300, name="eggs")
    assert len(world.record) == 1
    with reopened(NOW + 5) as again:
        again.gate.record_unrecorded()
        *_, row = again.record
        assert (row["tool"], row["outcome"], row["reason"]) == ("timers.start", "crashed", "unrecorded")
        assert row["receipt"] in [receipt.id for receipt in again.gate._state.receipts(1)]
        assert (row["actor"]["role"], row["cost"]) == ("adult", 2)
        again.gate.record_unrecorded()
        assert len(again.record) == 2, "once"
        assert verify(again.data / AUDIT_FILE).problems == ()


async def test_what_a_record_that_was_moved_away_told_of_is_not_told_anew(world: Any, reopened: Any) -> None:
    await world.ok("timers.start", seconds=60, name="tea")
    (world.data / AUDIT_FILE).unlink()
    with reopened(NOW + 5) as again:
        await again.ok("timers.start", seconds=300, name="eggs")
        again.gate.record_unrecorded()
        assert [row["outcome"] for row in again.record] == ["ok"]


async def test_a_change_by_whom_a_later_version_told_more_of_keeps_no_server_from_starting(
    world: Any, reopened: Any
) -> None:
    await world.ok("clock.time")
    actor = {"person": "Anna", "role": "adult", "mood": "calm"}
    world.gate._state.add_receipt(
        "Done.",
        **{"tool": "timers.start", "agent": "family", "actor": actor, "turn": "turn_2", "at": NOW, "before": 0},
        after=1,
    )
    with reopened(NOW + 5) as again:
        again.gate.record_unrecorded()
        assert [row["actor"]["person"] for row in again.record][1:] == ["Anna"]


async def test_a_call_that_was_given_up_has_its_row_already(world: Any, reopened: Any) -> None:
    await world.ok("clock.time")
    world.gate._state.add_receipt(
        "The mail may have gone.",
        **{"tool": "clock.time", "agent": "family", "actor": {}, "turn": "turn_2", "at": NOW, "before": 0, "after": 1},
    )
    await world.refused("clock.time", place="Nowhere at all")
    with reopened(NOW + 5) as again:
        again.gate.record_unrecorded()
        assert len(again.record) == 2
