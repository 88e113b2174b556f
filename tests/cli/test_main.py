from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from atlas.cli import main
from atlas.cli.main import COMMANDS, error_text, run
from atlas.errors import AtlasError, ConfigError, StoreError
from tests.conftest import for_every


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert f"atlas {name}" in shown


@for_every("command", sorted({*COMMANDS} - {"satellite"}))
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run([command, "--help"])
    assert ended.value.code == 0
    assert f"atlas {command}" in capsys.readouterr().out


def test_the_satellite_explains_itself_in_the_process_that_it_becomes() -> None:
    command = [sys.executable, "-m", "atlas.cli.main", "satellite", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "atlas satellite" in shown


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['atlas', '--help']; from atlas.cli.main import run; run([]);"
        "print([name for name in ('anyio', 'numpy', 'mcp', 'starlette') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


def test_a_command_that_is_not_one_is_guessed_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["heer"]) == 2
    assert "Did you mean 'hear'?" in capsys.readouterr().err


def test_trouble_is_a_sentence_and_what_to_do() -> None:
    assert error_text(ConfigError("the port is taken", hint="choose another")) == (
        "atlas: the port is taken.\n       Now: choose another."
    )
    assert error_text(ConfigError("nothing is called 'x'", hint="did you mean y?")).endswith("Now: did you mean y?")


@pytest.mark.parametrize(
    "trouble",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EROFS, "Read-only file system"),
        BaseExceptionGroup("", [OSError(errno.ENOSPC, "No space left on device")]),
    ],
)
def test_a_disk_that_refuses_is_a_sentence_and_no_traceback(
    trouble: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(monkeypatch, trouble) == 1
    assert "atlas: the disk is " in capsys.readouterr().err


def raising(monkeypatch: pytest.MonkeyPatch, trouble: BaseException) -> int:
    class Command:
        @staticmethod
        def main(arguments: object) -> int:
            raise trouble

    monkeypatch.setattr(main, "import_module", lambda name: Command)
    return run(["ask"])


def test_trouble_inside_task_groups_is_said_as_plainly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    group = ExceptionGroup("tasks", [ExceptionGroup("more tasks", [StoreError("the disk is full")])])
    assert raising(monkeypatch, group) == 1
    assert capsys.readouterr().err == "atlas: the disk is full.\n"


def test_a_mistake_of_ours_is_not_dressed_up_as_the_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExceptionGroup):
        raising(monkeypatch, ExceptionGroup("tasks", [AtlasError("world"), KeyError("ours")]))


def test_ctrl_c_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == ""


def atlas(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ATLAS_DATA": str(data), "ATLAS_GATEWAY_PORT": "9"}
    return subprocess.run(
        [sys.executable, "-m", "atlas.cli.main", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_asking_without_a_house_says_how_to_start_it(data: Path) -> None:
    (data / "secrets").mkdir()
    (data / "secrets" / "owner.token").write_text("atlas_x")
    completed = atlas("ask", "hello", data=data)
    assert completed.returncode == 1
    assert completed.stderr == (
        "atlas: Atlas does not answer at http://127.0.0.1:9.\n       Now: start it with ./up, in another terminal.\n"
    )


def test_asking_before_the_first_run_says_what_makes_the_token(data: Path) -> None:
    completed = atlas("ask", "hello", data=data)
    assert completed.returncode == 1
    assert "owner.token cannot be read" in completed.stderr
    assert "atlas run" in completed.stderr


@pytest.mark.real
def test_a_mistake_in_the_settings_names_the_key(data: Path) -> None:
    (data / "atlas.toml").write_text("[gateway]\nprot = 1\n")
    environment = os.environ | {"ATLAS_DATA": str(data), "ATLAS_CONFIG": str(data / "atlas.toml")}
    run = subprocess.run(
        [sys.executable, "-m", "atlas.cli.main", "doctor"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 1
    assert "[gateway] has no setting 'prot'" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.real
def test_a_token_lets_in_is_listed_and_is_taken_back(data: Path) -> None:
    token = atlas("token", "create", "--name", "tablet", "--role", "child", data=data).stdout.strip()
    assert token.startswith("atlas_")
    listed = atlas("token", "list", data=data).stdout
    assert "tablet" in listed
    assert "child" in listed
    assert token not in listed
    again = atlas("token", "create", "--name", "tablet", "--role", "child", data=data)
    assert again.returncode == 1
    assert "has a token already" in again.stderr
    assert atlas("token", "revoke", "tablet", data=data).returncode == 0
    gone = atlas("token", "revoke", "tablet", data=data)
    assert gone.returncode == 1
    assert "no device is called 'tablet'" in gone.stderr
