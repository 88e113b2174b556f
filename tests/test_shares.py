"""What `./check` and `./check --quick` leave to whom: every file is some worker's, and only --quick leaves rows out."""

from __future__ import annotations

import inspect
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests import slow
from tests.conftest import TESTS, for_every, sample, share_of


@for_every("workers", (1, 2, 4, 32))
def test_every_file_is_in_the_share_of_one_worker_and_of_no_other(workers: int) -> None:
    shares = [file for number in range(workers) for file in share_of(number, workers)]
    assert sorted(shares) == sorted(map(str, TESTS.rglob("test_*.py")))


def test_only_the_quick_check_tries_some_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for examples, tried in (("quick", [0, 8, 16]), ("thorough", [*range(20)])):
        monkeypatch.setenv("ATLAS_EXAMPLES", examples)
        assert sample(range(20)) == tried
    monkeypatch.delenv("ATLAS_EXAMPLES")
    assert sample(range(20)) == [*range(20)], "a file that is run by itself"


def test_the_quick_check_leaves_out_what_takes_long_but_for_a_first_row_and_one_test_of_each_file() -> None:
    short, rows, long = "tests/a.py::short[1]", [f"tests/a.py::rows[{row}]" for row in "xyz"], "tests/a.py::long"
    alone = ["tests/b.py::first", "tests/b.py::second"]
    listed = {"a.py::rows", "a.py::long", "b.py::first", "b.py::second", "a.py::gone"}
    assert slow.quick_ones([long, short, *rows, *alone], listed) == {short, rows[0], alone[0]}


def test_a_test_takes_long_when_its_rows_do_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "FILE", tmp_path / "slow.txt")
    slow.write({"tests/a.py::rows[x]": 0.06, "tests/a.py::rows[y]": 0.06, "tests/a.py::short": 0.06})
    assert slow.slow_tests() == {"a.py::rows"}


def test_a_test_of_every_row_tells_each_that_misses_whatever_it_raised() -> None:
    @for_every("number", range(5))
    def is_even(number: int) -> None:
        assert number % 2 == 0
        if number == 4:
            raise KeyError(number)

    with pytest.raises(AssertionError, match=r"(?s)3 rows miss.*number=1\n.*number=3\n.*number=4\n.*KeyError"):
        is_even()


async def test_a_test_that_waits_is_awaited_for_every_row_and_is_given_its_fixtures() -> None:
    @for_every("left, right", [(1, 1), (1, 2)])
    async def are_alike(house: str, left: int, right: int) -> None:
        await anyio.lowlevel.checkpoint()
        assert left == right, house

    assert list(inspect.signature(are_alike).parameters) == ["house"]
    with pytest.raises(AssertionError, match=r"(?s)1 rows miss:\nleft=1, right=2\n.*small"):
        await are_alike(house="small")


def test_tables_are_multiplied_and_every_pair_that_misses_is_told() -> None:
    @for_every("left", "ab")
    @for_every("right", "ab")
    def differ(left: str, right: str) -> None:
        assert left != right

    with pytest.raises(AssertionError, match=r"(?s)left='a'.*right='a'.*left='b'.*right='b'"):
        differ()


def test_the_time_limit_of_a_test_ends_its_table() -> None:
    @for_every("number", range(5))
    def waits(number: int) -> None:
        pytest.fail("Timeout (>120s) from pytest-timeout.")

    with pytest.raises(pytest.fail.Exception, match=r"^Timeout"):
        waits()


def test_a_test_of_every_row_has_rows() -> None:
    with pytest.raises(AssertionError, match="no row"):
        for_every("number", [])
