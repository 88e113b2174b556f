"""What `./check --quick` leaves to the full check: the tests that take long, by name, as they were measured.

A test takes long when all its rows together take a processor more than `SLOW_SECONDS`, or have somebody wait for four
times as long: four wait at once. Of one with rows the first is tried all the same, and of each file one test.

    ATLAS_EXAMPLES=quick .venv/bin/pytest -m "not real" -n 2 --dist each --measure    on a quiet machine: measures anew
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

SLOW_SECONDS = 0.08
AT_ONCE = 4
FILE = Path(__file__).with_name("slow.txt")


def test_of(nodeid: str) -> str:
    """Return the test of which this is a row, from the folder of tests on."""
    return nodeid.removeprefix("tests/").partition("[")[0]


def quick(nodeids: Sequence[str], slow: Collection[str]) -> Collection[str]:
    """Return those of them that are tried while somebody waits."""
    rows = Counter(map(test_of, nodeids))
    of_file: dict[str, str] = {}
    of_test: dict[str, str] = {}
    for nodeid in nodeids:
        of_file.setdefault(nodeid.partition("::")[0], nodeid)
        of_test.setdefault(test_of(nodeid), nodeid)
    wanted = {nodeid for nodeid in nodeids if test_of(nodeid) not in slow}
    wanted |= {nodeid for test, nodeid in of_test.items() if rows[test] > 1}
    files = {nodeid.partition("::")[0] for nodeid in wanted}
    return wanted | {nodeid for file, nodeid in of_file.items() if file not in files}


def slow_tests() -> frozenset[str]:
    """Return the tests that take long."""
    return frozenset(FILE.read_text(encoding="utf-8").split())


def write(seconds: Mapping[str, float]) -> None:
    """Write down which tests take long, given what each of their rows took."""
    whole: Counter[str] = Counter()
    for nodeid, taken in seconds.items():
        whole[test_of(nodeid)] += taken  # type: ignore[assignment]
    FILE.write_text("".join(f"{test}\n" for test in sorted(whole) if whole[test] > SLOW_SECONDS), encoding="utf-8")
