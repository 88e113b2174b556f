"""Whatever was acknowledged is there after kill -9, at whatever moment it comes."""

from __future__ import annotations

import pytest

from atlas_bench.durability import survive

KILLS = 25  # `atlas bench durability` takes 500

pytestmark = pytest.mark.real


@pytest.mark.timeout(240)
async def test_nothing_acknowledged_is_lost_and_nothing_is_half_written() -> None:
    seen = await survive(KILLS, seed=7)
    assert (seen.lost, seen.half_written, seen.record_problems, seen.rows_missing) == ([], [], [], [])
    assert (seen.kills, seen.acknowledged > KILLS) == (KILLS, True)
