"""Prompts and grammars with real weights, in a process of their own.

Silero's detector and llama.cpp each bring a ggml library of the same name; whichever comes second into a process
finds the other's symbols. The house keeps them apart by a process wall, and so do the tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

IN_PROCESS = Path(__file__).with_name("prompt_in_process.py")


@pytest.mark.real
def test_prompts_and_grammars_hold_with_real_weights() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(IN_PROCESS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=IN_PROCESS.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
