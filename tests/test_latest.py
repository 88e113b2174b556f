"""The mapping of what was set last."""

from __future__ import annotations

from atlas.latest import Latest


def test_forgets_what_was_set_longest_ago() -> None:
    latest = Latest[str, int](2)
    latest |= {"a": 1, "b": 2}
    latest["a"] = 3  # as new as a new one
    latest["c"] = 4
    assert list(latest.items()) == [("a", 3), ("c", 4)]


def test_setting_what_is_there_by_default_forgets_nothing() -> None:
    latest = Latest[str, int](2)
    latest |= {"a": 1, "b": 2}
    assert latest.setdefault("a", 3) == 1
    assert latest.setdefault("c", 4) == 4
    assert latest.pop("a", 0) == 0
    assert [*latest] == ["b", "c"]
