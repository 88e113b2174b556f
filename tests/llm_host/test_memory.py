"""The memory that is predicted and the memory that is taken, in a process of their own (see `test_prompt.py`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

IN_PROCESS = Path(__file__).with_name("memory_in_process.py")


@pytest.mark.real
def test_the_memory_of_a_model_is_what_fit_says() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(IN_PROCESS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=IN_PROCESS.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
