"""What `./up` and `./check` say when something is missing: one sentence, and what to install."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def in_shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a function of the scripts, under a PATH or settings of its own."""
    return subprocess.run(
        # What was started in the background ignores Ctrl-C, and so would this.
        ["/usr/bin/env", "--default-signal=INT", "/bin/bash", "-c", f". {ROOT}/scripts/prepare.sh; {command}"],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": os.environ["PATH"], **environment},
    )


def old_python(folder: Path) -> Path:
    python = folder / "python3"
    python.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'Python 3.9.2' && exit\nexit 1\n")
    python.chmod(0o755)
    return python


def test_an_old_python_gets_one_sentence_that_says_what_to_install(tmp_path: Path) -> None:
    old_python(tmp_path)
    completed = in_shell("find_python", ATLAS_PYTHON="python3", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert completed.returncode == 1
    assert completed.stderr.count("\n") == 1
    assert "Python 3.11 to 3.14 is needed and Python 3.9.2 is here" in completed.stderr
    assert "apt install" in completed.stderr


def test_a_missing_compiler_gets_one_sentence_that_says_what_to_install(tmp_path: Path) -> None:
    for needed in ("dirname", "cat"):
        (tmp_path / needed).symlink_to(f"/usr/bin/{needed}")
    completed = in_shell("compiler", PATH=str(tmp_path))
    assert completed.returncode == 1
    assert completed.stderr.count("\n") == 1
    assert "a C++ compiler is needed" in completed.stderr
    assert "g++" in completed.stderr


def test_a_compiler_that_is_there_is_not_asked_for() -> None:
    assert in_shell("compiler").returncode == 0


def test_progress_of_the_one_long_step_is_told_and_the_installers_chatter_is_not() -> None:
    lines = ["Collecting chatter", "  [1/140] c++ a.cpp", "  [2/140] c++ b.cpp", "  [140/140] ld", "ERROR: bad"]
    text = in_shell(f"printf '%s\\n' {' '.join(repr(line) for line in lines)} | show_compiling").stdout
    assert "compiling llama.cpp, once: about" in text
    assert "llama.cpp 1 of 140" in text
    assert "llama.cpp 2 of 140" not in text  # too soon after the last
    assert "llama.cpp 140 of 140" in text
    assert "ERROR: bad" in text
    assert "chatter" not in text


def test_an_installation_that_fails_shows_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\n".join(f"line {number}" for number in range(100)))
    completed = in_shell(f"show_last_words {tmp_path}/log")
    assert completed.stdout.splitlines() == [f"       line {number}" for number in range(90, 100)]
    assert in_shell(f"show_last_words {tmp_path}/none").stderr == ""


def test_ctrl_c_during_setup_is_no_failure() -> None:
    completed = in_shell("stoppable; kill -INT $$; sleep 5")
    assert completed.returncode == 130
    assert "stopped" in completed.stderr
    assert "run it again" in completed.stderr


def test_both_commands_explain_themselves() -> None:
    for command, words in (("up", "--setup-only"), ("check", "--quick")):
        completed = subprocess.run([ROOT / command, "--help"], capture_output=True, text=True, timeout=30)
        assert words in completed.stdout + completed.stderr
        assert "Traceback" not in completed.stderr


def test_lock_files_carry_hashes_and_no_address() -> None:
    for lock in (*ROOT.glob("requirements*.lock"), *(ROOT / "scripts").glob("*.lock")):
        text = lock.read_text()
        assert "://" not in text, lock
        pinned = [line for line in text.splitlines() if "==" in line and not line.lstrip().startswith("#")]
        assert pinned
        assert all(line.rstrip().endswith("\\") for line in pinned), f"{lock}: a pin without its hashes"
