"""At a terminal nobody writes six paths: the house knows where its things lie."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools_server.values.household import add_house, at_home

POLICY = Path(__file__).parents[2] / "policy.toml"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def house(data: Path, wire: Any) -> Path:
    """Lay a house's data directory out as `atlas run` does."""
    for name in ("secrets", "run", "tools", "family-agent-config/tasks/home"):
        (data / name).mkdir(parents=True)
    shutil.move(wire.write_agents(data), data / "secrets" / "agents.toml")
    (data / "secrets" / "policy.toml").symlink_to(POLICY)
    (data / "secrets" / "tools-family.token").write_text("family-token\n")
    (data / "family-agent-config" / "tasks" / "home" / "buy-milk.md").write_text("Buy milk\n")
    return data


@pytest.fixture
def atlas_tools(house: Path) -> Run:
    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tools_server.server", *arguments]
        environment = {**os.environ, "ATLAS_DATA": str(house)}
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, env=environment)

    return run


def filled(house: Path, *given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_house(parser)
    for name in ("--data", "--agents", "--policy", "--egress"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args(given)
    at_home(parser, options, {"ATLAS_DATA": str(house)})
    return options


def test_what_is_not_said_is_the_houses(house: Path) -> None:
    arguments = filled(house)
    assert (arguments.data, arguments.agents) == (house / "tools", house / "secrets" / "agents.toml")
    assert arguments.policy == POLICY  # the file itself, for what is written beside a link is not what the house obeys
    assert arguments.egress is None  # this house has no way out
    assert filled(house, "--policy", "draft.toml").policy == Path("draft.toml")


def test_who_names_the_data_names_the_rest_too(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        filled(house, "--data", "elsewhere", "--policy", "mine.toml")
    assert "--agents must be given too" in capsys.readouterr().err


def test_without_a_house_a_sentence_says_what_to_do(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        filled(data / "nowhere")
    assert "./up" in capsys.readouterr().err


@pytest.mark.real
def test_a_call_that_names_no_path_finds_the_houses_own_papers(house: Path, atlas_tools: Run) -> None:
    listed = json.loads(atlas_tools("call", '{"tool": "tasks.list"}', "--agent", "family", "--as", "adult").stdout)
    assert listed["text"] == "You have 1 task: buy milk."
    assert not (house / "tools" / "family-agent-config").exists()


@pytest.mark.real
def test_whoever_starts_it_says_whom_it_speaks_for(atlas_tools: Run) -> None:
    add = '{"tool": "tasks.add", "params": {"title": "bread"}}'
    assert (
        json.loads(atlas_tools("call", add, "--agent", "family", "--as", "guest").stdout)["error"]["type"] == "denied"
    )
    assert json.loads(atlas_tools("call", add, "--agent", "family", "--as", "adult").stdout)["success"]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    jam = {"name": "tasks.add", "arguments": {"title": "jam"}}
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": jam},
    ]
    lines = "".join(json.dumps(item) + "\n" for item in requests)
    for role, refused in (("adult", False), ("guest", True)):
        texts = atlas_tools("--stdio", "--agent", "family", "--as", role, stdin=lines).stdout.splitlines()
        assert json.loads(texts[-1])["result"]["isError"] is refused


@pytest.mark.real
async def test_a_call_asks_the_running_server_when_there_is_one(house: Path, atlas_tools: Run, wire: Any) -> None:
    from anyio.to_thread import run_sync

    given = ("--agents", str(house / "secrets" / "agents.toml"), "--policy", str(POLICY), "--folders", str(house))
    async with wire.process(house / "tools", "--socket", str(house / "run" / "tools.sock"), *given):
        made = await run_sync(atlas_tools, "call", '{"tool": "clock.time"}', "--agent", "family")
    assert json.loads(made.stdout)["success"]
    rows = [json.loads(line) for line in (house / "tools" / "audit.jsonl").read_text().splitlines()]
    assert [row["route"] for row in rows] == ["2026-07-28 http"]
    verified = atlas_tools("audit", "verify")
    assert (verified.returncode, verified.stderr.strip()) == (0, "1 rows, all as they were written")


@pytest.mark.real
def test_the_rules_are_shown_as_this_house_has_them_or_as_a_draft_would(data: Path, atlas_tools: Run) -> None:
    assert "The rules are sound." in atlas_tools("rules", "--agent", "family").stdout
    (data / "draft.toml").write_text('[[rule]]\nid = "x"\nthen = "deny"\ntools = ["nothing.*"]\nbecause = "No."\n')
    assert atlas_tools("rules", "--policy", str(data / "draft.toml")).returncode == 1


@pytest.mark.real
def test_who_reads_no_further_ends_it_quietly() -> None:
    command = [sys.executable, "-m", "tools_server.server", "--help"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=buffered)
    assert run.stdout and run.stderr
    run.stdout.close()
    assert run.stderr.read() == ""
    assert run.wait(60) == 1


@pytest.mark.real
def test_the_help_names_every_command(atlas_tools: Run) -> None:
    message = atlas_tools("--help").stdout
    for command in ("call", "sessions", "rules", "audit verify", "upstream approve"):
        assert f"atlas-tools {command}" in message
