"""What `./check` and `./check --quick` leave to whom: every file is some worker's, and only --quick leaves rows out."""

from __future__ import annotations

import pytest

from tests.conftest import TESTS, for_every, sample, share_of


@for_every((1, 2, 4, 32))
def test_every_file_is_in_the_share_of_one_worker_and_of_no_other(workers: int) -> None:
    shares = [file for number in range(workers) for file in share_of(number, workers)]
    assert sorted(shares) == sorted(map(str, TESTS.rglob("test_*.py")))


def test_only_the_quick_check_tries_some_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for examples, tried in (("quick", [0, 8, 16]), ("thorough", [*range(20)])):
        monkeypatch.setenv("ATLAS_EXAMPLES", examples)
        assert sample(range(20)) == tried
    monkeypatch.delenv("ATLAS_EXAMPLES")
    assert sample(range(20)) == [*range(20)], "a file that is run by itself"


def test_a_test_of_every_row_tells_each_that_misses() -> None:
    @for_every(range(5))
    def is_even(number: int) -> None:
        assert number % 2 == 0

    with pytest.raises(AssertionError, match=r"(?s)1: .*3: "):
        is_even()


def test_a_test_of_every_row_has_rows_and_waits_for_nothing() -> None:
    with pytest.raises(AssertionError, match="no row"):
        for_every(row for row in ())

    async def waits(number: int) -> None: ...

    with pytest.raises(AssertionError, match="nobody would await"):
        for_every([1])(waits)  # type: ignore[arg-type]
