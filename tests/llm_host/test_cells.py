"""What was computed before changes no answer, in a process of their own (see `test_prompt.py`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

IN_PROCESS = Path(__file__).with_name("cells_in_process.py")


@pytest.mark.real
def test_an_answer_never_depends_on_what_the_cells_held_before() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(IN_PROCESS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=IN_PROCESS.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout or "100%" in done.stdout
