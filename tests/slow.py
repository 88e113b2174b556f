"""What `./check --quick` leaves to the full check: the tests that take long, by name, as they were measured.

A test takes long when all its rows together take a processor more than `SLOW_SECONDS`, or have somebody wait for four
times as long: four wait at once. Of one with rows the first is tried all the same, and of each file one test.

    ATLAS_EXAMPLES=quick .venv/bin/pytest -m "not real" -n 2 --dist each --measure    on a quiet machine: measures anew
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

SLOW_SECONDS = 0.08  # of a processor: so long take few tests, and more than a third of all the time
WAITING_AT_ONCE = 4
FILE = Path(__file__).with_name("slow.txt")


def test_of(nodeid: str) -> str:
    """Return the test of which this is a row, from the folder of tests on."""
    return nodeid.removeprefix("tests/").partition("[")[0]


def quick_ones(nodeids: Sequence[str], slow: Collection[str]) -> Collection[str]:
    """Return those of them that are tried while somebody waits."""
    rows = Counter(map(test_of, nodeids))
    first_of_file: dict[str, str] = {}
    first_of_test: dict[str, str] = {}
    for nodeid in nodeids:
        first_of_file.setdefault(nodeid.partition("::")[0], nodeid)
        first_of_test.setdefault(test_of(nodeid), nodeid)
    wanted = {nodeid for nodeid in nodeids if test_of(nodeid) not in slow}
    wanted |= {nodeid for test, nodeid in first_of_test.items() if rows[test] > 1}
    files = {nodeid.partition("::")[0] for nodeid in wanted}
    return wanted | {nodeid for file, nodeid in first_of_file.items() if file not in files}


def slow_tests() -> frozenset[str]:
    """Return the tests that take long."""
    return frozenset(FILE.read_text(encoding="utf-8").split())


def write(seconds: Mapping[str, float]) -> None:
    """Write down which tests take long, given what each of their rows took."""
    all_rows: dict[str, float] = {}
    for nodeid, one_row in seconds.items():
        all_rows[test_of(nodeid)] = all_rows.get(test_of(nodeid), 0.0) + one_row
    tests = (test for test in sorted(all_rows) if all_rows[test] > SLOW_SECONDS)
    FILE.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
