"""One call from a command line, and the thread that leads from one to the next."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tools_server.calling.sessions import KEPT, NoSession, Sessions

POLICY = Path(__file__).parents[2] / "policy.toml"


@pytest.fixture
def sessions(data: Path) -> Sessions:
    ticks = iter(range(10_000))
    return Sessions(data, lambda: float(next(ticks)))


def test_a_session_tells_what_was_called_and_never_with_what(sessions: Sessions) -> None:
    session = sessions.start("family")
    session.write("tool_call", tool="tasks.add", outcome="ok")
    sessions.latest("family").write("tool_call", tool="tasks.list", outcome="ok")
    lines = list(sessions.find(session.id).lines())
    assert [line["type"] for line in lines] == ["session_start", "tool_call", "session_continue", "tool_call"]
    assert sessions.find(session.id).summary() == {
        "id": session.id, "agent": "family", "started": 0.0, "last": 3.0, "calls": 2
    }  # fmt: skip
    assert session.file.stat().st_mode & 0o077 == 0
    assert session.file.parent.stat().st_mode & 0o077 == 0


def test_the_latest_is_the_one_used_last_by_the_same_agent(sessions: Sessions) -> None:
    first, second, other = (sessions.start(agent) for agent in ("family", "family", "work"))
    for number, session in enumerate((second, first, other)):
        os.utime(session.file, ns=(number, number))
    assert sessions.latest("family").id == first.id
    with pytest.raises(NoSession, match="guest agent has no session"):
        sessions.latest("guest")
    with pytest.raises(NoSession, match="is not the work agent's"):
        sessions.resume(first.id, "work")


@pytest.mark.parametrize("id", ["", "../audit", "sess_", "sess_0123456789abcdeg", "sess_0123456789abcdef\n", "/etc"])
def test_what_is_no_id_is_never_looked_for(sessions: Sessions, id: str) -> None:
    with pytest.raises(NoSession, match="is named like"):
        sessions.find(id)


def test_a_session_that_is_a_link_or_something_else_is_none(sessions: Sessions, data: Path) -> None:
    sessions.start("family")
    plain = data / "sessions" / "sess_0123456789abcdef.jsonl"
    plain.write_text('{"type": "note"}\n')
    with pytest.raises(NoSession, match="There is no session"):
        sessions.find("sess_0123456789abcdef")
    assert len(sessions.all()) == 1


def test_a_line_torn_by_a_power_cut_is_skipped_and_then_cut_off(sessions: Sessions) -> None:
    session = sessions.start("family")
    session.write("tool_call", tool="a")
    whole = session.file.read_bytes()
    session.file.write_bytes(whole + b'{"type": "tool_call", "tool": "b"')
    assert [line.get("tool") for line in session.lines()] == [None, "a"]
    sessions.resume(session.id, "family").write("tool_call", tool="c")
    assert session.file.read_bytes().startswith(whole + b'{"type": "session_continue"')
    assert [line.get("tool") for line in session.lines()] == [None, "a", None, "c"]


def test_a_session_torn_at_its_birth_is_none_and_harms_no_other(sessions: Sessions, data: Path) -> None:
    session = sessions.start("family")
    (data / "sessions" / "sess_aaaaaaaaaaaaaaaa.jsonl").write_bytes(b'{"type": "sess')
    (data / "sessions" / "sess_bbbbbbbbbbbbbbbb.jsonl").write_bytes(b"\xff\x00\n[]\n7\n")
    assert [matching_session.id for matching_session in sessions.all()] == [session.id]
    assert sessions.latest("family").id == session.id


def test_old_sessions_go_when_new_ones_come(sessions: Sessions, data: Path) -> None:
    (data / "sessions").mkdir()
    for number in range(KEPT + 3):
        file = data / "sessions" / f"sess_{number:016x}.jsonl"
        file.write_text(json.dumps({"type": "session_start", "id": file.stem, "agent": "family"}) + "\n")
        os.utime(file, ns=(number, number))
    new = sessions.start("family")
    remainder = {session.id for session in sessions.all()}
    assert len(remainder) == KEPT
    assert new.id in remainder
    assert "sess_0000000000000000" not in remainder


# ── the real command ───────────────────────────────────────────────────────────────────────────────


def run(*arguments: str, stdin: str = "") -> tuple[int, Any]:
    command = [sys.executable, "-m", "tools_server.server", *arguments]
    ended = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in ended.stderr
    return ended.returncode, json.loads(ended.stdout)


@pytest.fixture
def house(data: Path, wire: Any) -> list[str]:
    key = Ed25519PrivateKey.generate()
    (data / "house.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (data / "house.pub").write_bytes(public)
    agents = str(wire.write_agents(data))
    return ["--data", str(data), "--agents", agents, "--policy", str(POLICY), "--house-key", str(data / "house.pub")]


@pytest.mark.real
def test_a_call_by_itself_answers_in_json_and_is_on_the_record(data: Path, house: list[str]) -> None:
    as_family = [*house, "--agent", "family"]
    status, answer = run("call", '{"tool": "timers.start", "params": {"seconds": 600}}', *as_family)
    assert (status, answer["success"], answer["text"]) == (0, True, "Timer set for 10 minutes.")
    session = answer["session"]
    status, answer = run("call", "-", *as_family, "--continue", stdin='{"tool": "timers.list"}')
    assert (status, answer["session"], len(answer["result"]["timers"])) == (0, session, 1)
    status, answer = run("call", '{"tool": "timers.strat"}', *as_family, "--resume", session)
    assert (status, answer["error"]["type"], answer["error"]["tool"]) == (1, "not_found", "timers.strat")
    status, answer = run("call", '{"tool": "tasks.list"}', *house, "--agent", "guest")
    assert (status, answer["error"]["type"], bool(answer["error"]["rule"])) == (1, "denied", True)
    rows = [json.loads(line) for line in (data / "audit.jsonl").read_text().splitlines()]
    assert [row["turn"] for row in rows[:3]] == [session] * 3
    assert {row["route"] for row in rows} == {"call"}
    shown = subprocess.run(
        [sys.executable, "-m", "tools_server.server", "sessions", "show", session, "--data", str(data)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [line.get("outcome", "") for line in lines] == ["", "ok", "", "ok", "", "not_found"]
    assert "600" not in shown.stdout


@pytest.mark.real
def test_what_cannot_be_asked_is_said_in_json_too(data: Path, house: list[str]) -> None:
    as_family = [*house, "--agent", "family"]
    wrong = {
        "{": "not JSON",
        "[]": "A request is an object",
        '{"tool": 7}': "by a name such as",
        '{"tool": "a b"}': "by a name such as",
        '{"tool": "x", "params": []}': "params of a request are an object",
        '{"tool": "x", "tool": "y"}': "twice",
        '{"tool": "x", "shell": "rm"}': "A request is an object with tool, params, actor",
    }
    for request, reason in wrong.items():
        status, answer = run("call", request, *as_family)
        assert (status, answer["success"], answer["session"]) == (2, False, None)
        assert reason in answer["error"]["message"]
    status, answer = run("call", '{"tool": "clock.time"}', *as_family, "--continue")
    assert (status, answer["error"]["type"]) == (2, "session")
    status, answer = run("call", '{"tool": "clock.time"}', *house, "--agent", "nobody")
    assert (status, answer["error"]["type"]) == (2, "invalid")
    (data / "tools.db").write_bytes(b"no database" * 1000)
    status, answer = run("call", '{"tool": "clock.time"}', *as_family)
    assert (status, answer["error"]["type"]) == (2, "unavailable")


def at_a_terminal(answer: bytes, *arguments: str) -> tuple[str, Any]:
    """Run with a terminal as stdin, type an answer once asked, and return the question and what came of it."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tools_server.server", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        os.write(ours, answer)  # waits in the terminal until it is read
        out, err = process.communicate(timeout=60)
        os.close(ours)
    return err.decode(), json.loads(out)


@pytest.mark.real
async def test_a_person_at_the_terminal_is_asked_and_nobody_else_can_say_yes(
    data: Path, house: list[str], wire: Any
) -> None:
    (data / "token").write_text("family-token\n")
    socket = data / "s.sock"
    over_socket = ["--data", str(data), "--socket", str(socket), "--token-file", str(data / "token")]
    remove = '{"tool": "tasks.remove", "params": {"title": "milk"}}'
    key = ["--house-private-key", str(data / "house.pem")]

    def tried(way: list[str]) -> None:
        way = [*way, "--agent", "family"]
        assert run("call", '{"tool": "tasks.add", "params": {"title": "milk"}}', *way)[0] == 0
        status, answer = run("call", remove, *way, *key)  # there is a key, but nobody at a terminal
        assert (status, answer["error"]["type"]) == (1, "confirm")
        assert answer["error"]["ask"]["sentence"] == "Remove milk from the task board?"
        question, answer = at_a_terminal(b"no\n", "call", remove, *way, *key)
        assert question.startswith("Remove milk from the task board? [yes/no]")
        assert answer["error"]["type"] == "denied"
        _, answer = at_a_terminal(b"yes\n", "call", remove, *way, "--continue", *key)
        assert answer["success"], answer
        assert answer["receipt"]["changed"] == "Removed milk from your tasks."

    await anyio.to_thread.run_sync(tried, house)
    async with wire.process(data, "--socket", str(socket), "--house-key", str(data / "house.pub")):
        await anyio.to_thread.run_sync(tried, over_socket)
        (data / "token").write_text("wrong")
        status, answer = await anyio.to_thread.run_sync(run, "call", remove, *over_socket, "--agent", "family")
        assert (status, answer["error"]["message"]) == (2, "The server does not know this token.")
    status, answer = await anyio.to_thread.run_sync(run, "call", remove, *over_socket, "--agent", "family")
    assert (status, answer["error"]["type"]) == (2, "unavailable")
