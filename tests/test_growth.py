"""The soak's judgement: what swings stands, what leaks does not, and who has ended holds nothing."""

from __future__ import annotations

import os
import subprocess
import sys

from atlas_bench._growth import grown, held

MEGABYTES = (789, 795, 804, 755, 839, 755, 755, 860, 864, 758, 743, 759, 928, 885, 790, 859, 776, 775, 760, 875)


def looks(*values: float) -> list[dict[str, float]]:
    return [{"seconds": 60.0 * minute, "mb": value} for minute, value in enumerate(values)]


def test_memory_that_goes_up_and_down_stands_where_it_was() -> None:
    assert abs(grown(looks(*MEGABYTES), "mb")) < 20
    assert grown(looks(50, 50, 50, 90, 50, 50), "mb") == 0


def test_a_leak_below_a_swing_is_seen() -> None:
    leaking = looks(*(value + 10 * minute for minute, value in enumerate(MEGABYTES)))
    assert grown(leaking, "mb") > 150


def test_one_look_tells_nothing_and_a_figure_of_some_looks_is_judged_by_those() -> None:
    assert grown(looks(1), "mb") == 0
    assert grown([{"seconds": 0.0}, *looks(3, 5)[1:], {"seconds": 120.0, "mb": 7.0}], "mb") == 2


def test_a_process_that_ends_while_it_is_looked_at_holds_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    alone = held([os.getpid()])
    assert held([ended.pid]) == {"mb": 0, "sockets": 0, "files": 0, "threads": 0}
    assert held([ended.pid, os.getpid()])["threads"] == alone["threads"] >= 1
    assert alone["mb"] > 1
