from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from atlas.cli import children
from atlas.cli.children import Child, Program, supervised
from atlas.errors import EngineError
from tests.processes import alive, until

# A child that is healthy as soon as it listens, and does as its one argument says.
CHILD = """
import http.server, os, signal, socketserver, subprocess, sys, time

class Health(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1" if sys.argv[2] == "keeps connections" else "HTTP/1.0"
    def do_GET(self):
        with open(note, "a") as looked:
            looked.write("x")
        looks = os.path.getsize(note)
        if manner == "wordless" and looks > 1:
            time.sleep(600)
        self.send_response(503 if (manner == "sick" and looks > 1) or (manner == "hiccups" and looks % 2) else 200)
        self.send_header("content-length", "0")
        self.end_headers()
    def address_string(self):
        return "unix"
    def log_message(self, *words):
        pass

socket, manner, note, born = sys.argv[1:5]
print("2026-11-21 22:09:49,682 good morning", flush=True)
if manner == "hopeless":
    sys.exit("I have no weights")
if manner == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if manner == "parent":
    baby = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    open(born, "w").write(str(baby.pid))
if manner == "talkative":
    print("x" * 100_000 + "\\n" + "y" * 100_000, flush=True)
if os.path.exists(note) and manner in ("wordless", "sick"):
    os.remove(note)
with socketserver.ThreadingUnixStreamServer(socket, Health) as server:
    server.serve_forever()
"""


@pytest.fixture
def program(data: Path) -> Callable[[str], Program]:
    (data / "child.py").write_text(CHILD)

    def named(manner: str) -> Program:
        socket = data / "child.sock"
        command = (
            sys.executable,
            "-S",
            str(data / "child.py"),
            str(socket),
            manner,
            str(data / "looks"),
            str(data / "baby"),
        )
        return Program("child", command, socket)

    return named


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


async def healthy_again(child: Child, dead: int) -> None:
    await until(lambda: child.pid not in (None, dead) and listens(child.program.socket))


async def test_a_child_that_was_killed_is_back_without_waiting_for_pipes_that_nobody_holds(
    program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "LAST_WORDS_SECONDS", 600)
    monkeypatch.setattr(children, "FIRST_WAIT_SECONDS", 0.01)
    async with supervised(program("well")) as child:
        await child.ready()
        for _ in range(2):
            assert child.pid
            dead = child.pid
            os.kill(dead, signal.SIGKILL)
            await healthy_again(child, dead)


@pytest.mark.parametrize("manner", ["wordless", "sick"])
async def test_a_child_that_lives_and_is_not_well_says_where_it_stands_and_is_started_again(
    program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, manner: str
) -> None:
    caplog.set_level(logging.INFO, "atlas")
    monkeypatch.setattr(children, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(children, "ANSWER_SECONDS", 0.5)
    async with supervised(program(manner)) as child:
        await child.ready()
        first = child.pid
        assert first
        await until(lambda: child.pid not in (None, first))
    assert not alive(first)
    assert any("child hung and was ended" in message for message in caplog.messages)
    assert any("in serve_forever" in message for message in caplog.messages)


async def test_a_child_whose_socket_was_deleted_is_started_again_and_reached_again(
    program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "atlas")
    monkeypatch.setattr(children, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(children, "FIRST_WAIT_SECONDS", 0.01)
    async with supervised(program("keeps connections")) as child:
        await child.ready()
        first = child.pid
        assert first
        child.program.socket.unlink()
        await healthy_again(child, first)
    assert any("ConnectError" in message for message in caplog.messages)


async def test_a_child_that_was_frozen_is_ended_and_started_again(
    program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(children, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(children, "GRACE_SECONDS", 0.1)
    async with supervised(program("well")) as child:
        await child.ready()
        assert child.pid
        frozen = child.pid
        os.kill(frozen, signal.SIGSTOP)
        await healthy_again(child, frozen)
    assert not alive(frozen)


async def test_a_child_that_misses_a_look_now_and_then_is_left_alone(
    program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    monkeypatch.setattr(children, "LOOK_SECONDS", 0.02)
    async with supervised(program("hiccups")) as child:
        await child.ready()
        pid = child.pid
        await until(lambda: (data / "looks").stat().st_size > 10 * children.MISSED_LOOKS)
        assert child.pid == pid


async def test_a_child_ends_with_the_block(program: Callable[[str], Program]) -> None:
    async with supervised(program("well")) as child:
        await child.ready()
        assert child.pid
        pid = child.pid
        assert alive(pid)
    assert not alive(pid)


async def test_a_child_that_ignores_the_polite_signal_ends_too(
    program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "GRACE_SECONDS", 0.1)
    async with supervised(program("stubborn")) as child:
        await child.ready()
        assert child.pid
        pid = child.pid
    assert not alive(pid)


async def test_what_a_child_started_ends_with_it(program: Callable[[str], Program], data: Path) -> None:
    async with supervised(program("parent")) as child:
        await child.ready()
        baby = int((data / "baby").read_text())
        assert child.pid
        os.kill(child.pid, signal.SIGKILL)
        await until(lambda: not alive(baby))


async def test_a_child_that_cannot_start_says_why(program: Callable[[str], Program]) -> None:
    async with supervised(program("hopeless")) as child:
        with pytest.raises(EngineError, match="child could not start: ended with status 1") as trouble:
            await child.ready()
    assert "I have no weights" in trouble.value.hint


async def test_a_program_that_does_not_exist_is_one_sentence(data: Path) -> None:
    async with supervised(Program("ghost", ("/no/such/program",), data / "x.sock")) as child:
        with pytest.raises(EngineError, match="ghost could not start") as trouble:
            await child.ready()
    assert "No such file" in trouble.value.hint


async def test_a_command_that_no_system_takes_is_the_end_of_the_child_and_of_nothing_else(
    program: Callable[[str], Program],
) -> None:
    async with supervised(program("healthy")) as child:
        await child.ready()
        with pytest.raises(EngineError, match="child could not start: its command cannot be run: embedded null byte"):
            await child.replace(Program("child", ("/bin/echo", "good.example:443\0"), None))
        await child.replace(program("healthy"))


async def test_a_childs_lines_come_out_under_its_name(
    program: Callable[[str], Program], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "atlas")
    async with supervised(program("talkative")) as child:
        await child.ready()
        await until(lambda: any("| y" in message for message in caplog.messages))
    assert "child | good morning" in caplog.messages
    assert max(map(len, caplog.messages)) < 2_100


async def test_a_childs_line_is_as_grave_in_the_log_of_the_house_as_in_its_own(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "atlas")
    lines = (
        "WARNING tools a\n",
        "E Enough said\n",
        "ERROR egress b\n",
        "Traceback (most recent call last):\n",
        "Well\n",
    )
    command = (sys.executable, "-S", "-c", f"print({''.join(lines)!r}, flush=True); import time; time.sleep(600)")
    async with supervised(Program("child", command, None)):
        await until(lambda: "child | Well" in caplog.messages)
    levels = {record.getMessage(): record.levelname for record in caplog.records if hasattr(record, "part")}
    assert list(levels.values()) == ["WARNING", "ERROR", "ERROR", "ERROR", "INFO"]


PARENT = """
import sys, anyio
from pathlib import Path
from atlas.cli.children import Program, supervised

async def main():
    async with supervised(Program("child", tuple(sys.argv[2:]), Path(sys.argv[1]))) as child:
        await child.ready()
        print(child.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def orphaned(program: Program) -> int:
    """Start a parent with a child, kill the parent, and return the child."""
    command = [sys.executable, "-c", PARENT, str(program.socket), *program.command]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert alive(child)
        parent.kill()
    return child


async def test_no_orphan_outlives_a_killed_parent(program: Callable[[str], Program]) -> None:
    child = await anyio.to_thread.run_sync(orphaned, program("stubborn"))
    await until(lambda: not alive(child))
