"""The official suite, against our gate, our auth and our wire: everything that a revision requires passes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]  # installing Node's packages comes first, once
REVISIONS = {"2025-11-25": 30, "2026-07-28": 37}  # and how many scenarios each requires of a server


@pytest.fixture
def url(data: Path) -> Iterator[str]:
    command = [sys.executable, "-W", "ignore", str(Path(__file__).parent / "serve.py"), str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        server.terminate()


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_required_scenario_passes(revision: str, url: str, node: str, official: Path, data: Path) -> None:
    suite = official / "conformance" / "dist" / "index.js"
    run = subprocess.run(
        [node, str(suite), "server", "--url", url, "--requirements", revision, "-o", str(data / "results")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    summary = run.stdout.partition("=== SUMMARY ===")[2]
    required = _required(official / "conformance" / "requirements" / f"{revision}.yaml")
    assert len(required) == REVISIONS[revision]
    passed = set(re.findall(r"^✓ ([\w-]+): [1-9]\d* passed, 0 failed", summary, re.MULTILINE))
    assert not required - passed, summary + run.stderr
    assert run.returncode == 0


def _required(file: Path) -> set[str]:
    section = re.search(r"^server:\n((?:\s*(?:- .*|#.*)?\n)+)", file.read_text(), re.MULTILINE)
    assert section
    return set(re.findall(r"^\s*- ([\w-]+)", section[1], re.MULTILINE))
