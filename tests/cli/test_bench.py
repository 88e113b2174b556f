from __future__ import annotations

import json
from argparse import Namespace
from importlib import import_module
from inspect import iscoroutinefunction, signature

import pytest

from atlas.cli import bench
from atlas.cli.main import run
from atlas_bench import voice


def test_a_target_is_the_most_that_its_figure_may_be() -> None:
    assert bench.judged("x", {"wait_ms": 10.0}, {"wait_ms": 10.0})["met"]
    assert not bench.judged("x", {"wait_ms": 10.1}, {"wait_ms": 10.0})["met"]


def test_a_figure_that_could_not_be_taken_misses_its_target() -> None:
    assert not bench.judged("x", {}, {"wait_ms": 10.0})["met"]


def test_a_report_is_one_json_object_that_names_the_machine() -> None:
    report = json.loads(json.dumps(bench.judged("x", {"a": 1.0}, {"a": 2.0})))
    assert list(report) == ["bench", "machine", "figures", "targets", "met"]
    assert report["machine"]["cores"] >= 1


def test_a_table_says_which_target_was_missed() -> None:
    shown = bench.table(bench.judged("x", {"a": 1.0, "b": 3.0, "c": 5.0}, {"a": 2.0, "b": 2.0}))
    assert "within 2" in shown
    assert "BEYOND 2" in shown
    assert shown.endswith("a target was missed")


def test_benchmarks_are_listed_by_what_they_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench"]) == 0
    shown = capsys.readouterr().out
    assert "atlas bench voice" in shown
    assert "_house" not in shown


def test_every_benchmark_that_is_listed_can_be_run_with_the_settings_alone() -> None:
    for name in bench.names():
        measured = import_module(f"atlas_bench.{name}")
        assert iscoroutinefunction(measured.measure) and measured.TARGETS
        needed = [one for one in signature(measured.measure).parameters.values() if one.default is one.empty]
        assert len(needed) == 1


def test_what_is_measured_beside_a_peer_has_targets_of_its_own() -> None:
    alone, beside = (voice.targets(Namespace(peer=peer)) for peer in (False, True))
    assert "question_first_sound_p50_ms" in alone
    assert beside == {"share_of_peer_p50": 0.35, "p95_of_peer_p50": 1.0, "commands_missed": 1.0}


def test_a_benchmark_that_is_not_there_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "speed"]) == 1
    assert "voice" in capsys.readouterr().err
