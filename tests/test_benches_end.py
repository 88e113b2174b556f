"""Whatever a benchmark starts ends with it, however it ends: real processes, found in /proc."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from atlas_bench._process import family_of
from tests.conftest import ROOT
from tests.journeys.conftest import until
from tests.processes import alive

pytestmark = pytest.mark.real

PARTS = {
    "tools": ["tools_server.server", "atlas_bench._bare_server"],
    "durability": ["atlas_bench._zygote", "atlas_bench._zygote"],  # and one that it forked
    "llm": ["atlas.llm_host.server", "atlas_bench._bare_llm"],
    "voice": ["atlas.cli.main", "tools_server.server", "atlas.llm_host.server"],
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("name", PARTS)
def test_what_a_benchmark_started_ends_with_it(name: str, number: signal.Signals, data: Path) -> None:
    environment = {**os.environ, "ATLAS_DATA": str(data / "house"), "TMPDIR": str(data)}
    command = [sys.executable, "-m", "atlas.cli.main", "bench", name]
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as bench:
        try:

            def all_run() -> dict[int, str]:
                assert bench.poll() is None, bench.stdout and bench.stdout.read()
                below = family_of(bench.pid)
                below.pop(bench.pid, None)
                run = Counter(part for command in below.values() for part in set(PARTS[name]) if f"{part} " in command)
                return below if run >= Counter(PARTS[name]) else {}

            started = until(all_run, 60, f"{name} having all its parts")
            bench.send_signal(number)
            assert bench.wait(15) in (130, -number)
            until(lambda: not any(map(alive, started)), 5, "the end of every part")
        finally:
            bench.kill()
    if number == signal.SIGTERM:
        assert list(data.glob("atlas-*")) == [], "what it made for itself is taken away again"
