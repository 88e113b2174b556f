"""A connection that fails is tried again ever more seldom, and soon again once it has worked."""

from __future__ import annotations

from wall.backoff import Backoff


def test_waits_double_up_to_the_longest_and_begin_anew_after_a_connection_that_worked() -> None:
    backoff = Backoff(0.5, 3.0)
    assert [backoff.wait_seconds(worked=False) for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert [backoff.wait_seconds(worked=worked) for worked in (True, False)] == [0.5, 1.0]
