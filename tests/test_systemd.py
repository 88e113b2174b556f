"""The units are sound, and as narrow as they say."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
UNITS = sorted((ROOT / "systemd").glob("*.service"))
EXPOSURE = {"atlas-egress.service": 25, "atlas-tools.service": 20, "atlas.service": 35}  # tenths; 100 is wide open
ANALYZE = shutil.which("systemd-analyze")

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not ANALYZE, reason="NO SYSTEMD-ANALYZE HERE: the units were not tested"),
]


@pytest.fixture
def here(data: Path) -> Path:
    """The units as if this checkout were where they expect it."""
    for unit in UNITS:
        text = unit.read_text().replace("/opt/atlas", str(ROOT))
        (data / unit.name).write_text(text)
    return data


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_every_line(here: Path, unit: Path) -> None:
    assert ANALYZE
    completed = subprocess.run([ANALYZE, "verify", str(here / unit.name)], capture_output=True, text=True)
    assert [line for line in completed.stderr.splitlines() if "atlas" in line] == []
    assert completed.returncode == 0


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_what_a_unit_exposes_stays_small(here: Path, unit: Path) -> None:
    assert ANALYZE
    command = [ANALYZE, "security", "--offline=true", f"--threshold={EXPOSURE[unit.name]}", str(here / unit.name)]
    completed = subprocess.run(command, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stdout[-600:]


def test_the_tools_have_no_network() -> None:
    text = (ROOT / "systemd" / "atlas-tools.service").read_text()
    assert "PrivateNetwork=yes" in text
    assert "RestrictAddressFamilies=AF_UNIX\n" in text
