"""Whatever a benchmark starts ends with it, however it ends: real processes, found in /proc."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.journeys.conftest import until

pytestmark = pytest.mark.real

PARTS = {
    "tools": ["tools_server.server", "bench._bare_server"],
    "durability": ["bench._zygote", "bench._zygote"],  # and one that it forked
    "llm": ["atlas.llm_host.server", "bench._bare_llm"],
    "voice": ["atlas.cli.main", "tools_server.server", "atlas.llm_host.server"],
}


def descendants(ancestor: int) -> dict[int, str]:
    """Return the command lines of all living processes below one."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if state != "Z":
                parents[int(entry.name)], commands[int(entry.name)] = int(parent), command
    family = {ancestor}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    return {pid: commands[pid] for pid in family - {ancestor} if pid in commands}


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
                below = descendants(bench.pid)
                run = Counter(part for command in below.values() for part in set(PARTS[name]) if f"{part} " in command)
                return below if run >= Counter(PARTS[name]) else {}

            started = until(all_run, 60, f"{name} having all its parts")
            bench.send_signal(number)
            assert bench.wait(15) in (130, -number)
            until(lambda: not any(Path(f"/proc/{pid}/cwd").exists() for pid in started), 5, "the end of every part")
        finally:
            bench.kill()
    if number == signal.SIGTERM:
        assert list(data.glob("atlas-*")) == [], "what it made for itself is taken away again"
