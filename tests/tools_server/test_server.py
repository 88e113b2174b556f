"""The real process, spoken to by the official client: both transports, both eras, tokens, boot, drain and restart."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import Process
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from tools_server.boot.opening import read_agents
from tools_server.values.boot_files import BootFailed
from wall.chain import verify

POLICY = Path(__file__).parents[2] / "policy.toml"

pytestmark = pytest.mark.real
ERAS = ("legacy", "auto", "2026-07-28")


def http(wire: Path, token: str | None = "family-token") -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    return httpx2.AsyncClient(
        transport=httpx2.AsyncHTTPTransport(uds=str(wire)), base_url="http://tools", headers=headers
    )


def modern(method: str, **parameters: Any) -> dict[str, Any]:
    """A request of the 2026 era, as it goes over the wire."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**parameters, "_meta": meta}}


def headers(method: str, name: str = "") -> dict[str, str]:
    named = {"Mcp-Name": name} if name else {}
    return {
        **named,
        "Mcp-Method": method,
        "MCP-Protocol-Version": "2026-07-28",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }


async def test_a_unix_socket_serves_every_era_to_those_with_a_token(data: Path, wire: Any) -> None:
    path = data / "run" / "tools.sock"
    async with wire.process(data, "--socket", str(path)) as (_, ready):
        assert ready.startswith(f"ready socket={path} agents=family,")
        assert path.stat().st_mode & 0o777 == 0o600
        for era in ERAS:
            async with wire.client(path, mode=era) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert list(tools) == sorted(tools), "the order is fixed: prompts depend on it"
                assert "timers_start" in tools
                assert "timers_due" not in tools
                assert tools["timers_list"].annotations.read_only_hint
                assert tools["tasks_remove"].annotations.destructive_hint
                meta = {"atlas.house/actor": {"person": "Anna", "room": "kitchen"}, "atlas.house/turn": f"turn_{era}"}
                started = await client.call_tool("timers_start", {"seconds": 600}, meta=meta)
                assert started.content[0].text == "Timer set for 10 minutes."
                assert started.structured_content["timer"]["room"] == "kitchen"
                receipt = started.meta["atlas.house/receipt"]
                assert receipt["id"].startswith("receipt_")
                assert receipt["changed"] == "Timer set for 10 minutes."
                denied = await client.call_tool("timers_due", {})
                assert denied.is_error
                assert denied.meta["atlas.house/error"] == "denied"
                await client.call_tool("timers_cancel_all", {})
        async with wire.client(path, "guest-token") as client:
            assert {tool.name.split("_")[0] for tool in (await client.list_tools()).tools} == {"clock"}
        rows = [json.loads(line) for line in (data / "audit.jsonl").read_text().splitlines()]
        assert {row["turn"] for row in rows} >= {"turn_legacy", "turn_auto", "turn_2026-07-28"}
        assert {row["agent"] for row in rows} == {"family"}


async def test_a_wrong_or_missing_token_is_401_and_recorded(data: Path, wire: Any) -> None:
    path = data / "tools.sock"
    async with wire.process(data, "--socket", str(path)):
        for token in (None, "wrong", "family-token2", "FAMILY-TOKEN", "é"):
            header = {"Authorization": f"Bearer {token}".encode()} if token is not None else {}
            async with http(path, None) as client:
                answer = await client.post(
                    "/mcp", json=modern("tools/list"), headers={**headers("tools/list"), **header}
                )
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"].startswith("Bearer")
                assert (await client.get("/health")).json()["ok"] is True
        rows = [json.loads(line) for line in (data / "audit.jsonl").read_text().splitlines()]
        assert [(row["outcome"], row["rule"]) for row in rows] == [("denied", "identify")] * 5
        async with http(path, None) as client:
            answer = await client.post(
                "/mcp",
                json=modern("tools/list"),
                headers=[
                    *headers("tools/list").items(),
                    ("Authorization", "Bearer family-token"),
                    ("Authorization", "x"),
                ],
            )
            assert answer.status_code == 401


async def test_a_loopback_port_serves_too_and_only_by_its_own_name(data: Path, wire: Any) -> None:
    async with wire.process(data, "--port", "0") as (_, ready):
        port = int(ready.split("port=")[1].split()[0])
        for era in ERAS:
            async with wire.client(port, mode=era) as client:
                assert not (await client.call_tool("clock_time", {"place": "Tokyo"})).is_error
        async with httpx2.AsyncClient(headers={"Authorization": "Bearer family-token"}) as client:
            for host, status in (
                (f"127.0.0.1:{port}", 200),
                ("evil.example", 421),
                (f"127.0.0.1:{port}.evil.example", 421),
            ):
                answer = await client.post(
                    f"http://127.0.0.1:{port}/mcp",
                    json=modern("tools/list"),
                    headers={**headers("tools/list"), "Host": host},
                )
                assert answer.status_code == status
            evil = {**headers("tools/list"), "Origin": "http://evil.example"}
            answer = await client.post(f"http://127.0.0.1:{port}/mcp", json=modern("tools/list"), headers=evil)
            assert answer.status_code == 403


@pytest.mark.parametrize("era", ERAS)
async def test_stdio_serves_one_agent(data: Path, wire: Any, era: str) -> None:
    arguments = [
        "-m",
        "tools_server.server",
        "--data",
        str(data),
        "--policy",
        str(POLICY),
        "--agents",
        str(wire.write_agents(data)),
    ]
    server = StdioServerParameters(
        command=sys.executable, args=[*arguments, "--stdio", "--agent", "guest"], cwd=Path(__file__).parents[2]
    )
    with anyio.fail_after(60):
        async with Client(server, mode=era, read_timeout_seconds=30) as client:
            assert {tool.name.split("_")[0] for tool in (await client.list_tools()).tools} == {"clock"}
            assert not (await client.call_tool("clock_time", {})).is_error
            assert (await client.call_tool("tasks_list", {})).meta["atlas.house/error"] == "denied"
    rows = [json.loads(line) for line in (data / "audit.jsonl").read_text().splitlines()]
    assert [(row["agent"], row["outcome"]) for row in rows] == [("guest", "ok"), ("guest", "denied")]
    assert rows[0]["route"].endswith("stdio")


async def test_what_no_decent_client_sends_gets_an_answer_and_kills_nothing(data: Path, wire: Any) -> None:
    path = data / "tools.sock"
    bad: list[tuple[bytes, int, int]] = [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"[]", 400, -32600),
        (b"\xff\xfe", 400, -32700),
        (b"[" * 100_000, 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 400, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}', 400, -32600),
        (b"x" * (600 * 1024), 413, -32003),
    ]
    async with wire.process(data, "--socket", str(path)), http(path) as client:
        for body, status, code in bad:
            answer = await client.post("/mcp", content=body, headers=headers("tools/call", "clock.time"))
            assert answer.status_code == status, body[:40]
            assert answer.json()["error"]["code"] == code, body[:40]
            assert answer.json()["error"]["message"]
        assert answer.json()["error"]["data"] == {"bytes": 600 * 1024, "limit": 512 * 1024}
        for raw, reason in (
            (r'{"seconds": 5, "name": "\ud800"}', "half of a character"),
            ('{"seconds": NaN}', "NaN is not a number"),
            ('{"seconds": 1e999}', "too large for a number"),
        ):
            body = json.dumps(modern("tools/call", name="timers.start", arguments="HERE")).replace('"HERE"', raw)
            for era in ("2026-07-28", "2025-11-25"):
                named = {**headers("tools/call", "timers.start"), "MCP-Protocol-Version": era}
                answer = await client.post("/mcp", content=body.encode(), headers=named)
                assert (answer.status_code, answer.json()["id"]) == (400, 1), raw
                assert reason in answer.json()["error"]["message"]
        body = json.dumps(modern("tools/call", name="timers.start", arguments={"seconds": 10**4000}))
        answer = await client.post("/mcp", content=body.encode(), headers=headers("tools/call", "timers.start"))
        assert answer.json()["result"]["_meta"]["atlas.house/error"] == "invalid"
        async with wire.client(path) as good:
            assert (await good.call_tool("timers_list", {})).content[0].text == "There are no timers."
        health = (await client.get("/health")).json()
        assert (health["ok"], health["outcomes"]) == (True, {"invalid": 1, "ok": 1})
        assert health["p99_ms"] > 0
    assert verify(data / "audit.jsonl").problems == ()


async def test_sigterm_ends_it_within_five_seconds_and_takes_the_socket_along(data: Path, wire: Any) -> None:
    path = data / "tools.sock"
    async with wire.process(data, "--socket", str(path)) as (process, _), wire.client(path) as client:
        await client.call_tool("timers_start", {"seconds": 600})
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(5):
            assert await process.wait() == 0
    assert not path.exists()
    assert verify(data / "audit.jsonl").problems == ()


async def test_sigterm_ends_stdio_within_five_seconds(data: Path, wire: Any) -> None:
    arguments = [sys.executable, "-m", "tools_server.server", "--data", str(data), "--policy", str(POLICY)]
    arguments += ["--agents", str(wire.write_agents(data)), "--stdio", "--agent", "family"]
    async with await anyio.open_process(arguments) as process:
        assert process.stderr
        with anyio.fail_after(60):
            assert (await process.stderr.receive()).startswith(b"ready stdio agent=family")
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(5):
            assert await process.wait() == 0


# ── the end ────────────────────────────────────────────────────────────────────────────────────────

SLOW = """
import anyio
from tools_server.sdk.toolkit import Call, Result, tool

@tool("slow.wait", risk="read")
async def wait(call: Call, seconds: int) -> Result:
    '''Wait.'''
    print("begun", flush=True)  # stray output, which must not reach the wire
    await anyio.sleep(seconds)
    return Result("That is over.")

@tool("slow.deaf", risk="read")
async def deaf(call: Call, seconds: int) -> Result:
    '''Wait, and hear nothing meanwhile.'''
    with anyio.CancelScope(shield=True):
        await anyio.sleep(seconds)
    return Result("That is over.")
"""
IDS = count(100)
WITH_SLOW = (
    "import sys, tools_server.tools as t; t.__path__.append(sys.argv.pop(1)); import tools_server.server as s; s.main()"
)


STDIO = ("--stdio", "--agent", "family")


@asynccontextmanager
async def slow_server(data: Path, wire: Any, *arguments: str) -> AsyncIterator[Process]:
    """The real server with a tool more."""
    (data / "more").mkdir()
    (data / "more" / "slow.py").write_text(SLOW)
    command = [sys.executable, "-c", WITH_SLOW, str(data / "more"), "--data", str(data), "--policy", str(POLICY)]
    command += ["--agents", str(wire.write_agents(data)), *arguments]
    async with await anyio.open_process(command) as process:
        with anyio.fail_after(60):
            assert process.stderr
            heard = b""
            while b"ready " not in heard:
                heard += await process.stderr.receive()
            yield process
        if process.returncode is None:
            process.kill()


async def ask(process: Process, tool: str, **arguments: Any) -> None:
    assert process.stdin
    message = {**modern("tools/call", name=tool, arguments=arguments), "id": next(IDS)}
    await process.stdin.send(json.dumps(message).encode() + b"\n")


async def begun(process: Process, stdio: bool = True) -> None:
    stray = process.stderr if stdio else process.stdout
    assert stray
    while b"begun" not in await stray.receive():
        pass


async def answered(process: Process) -> Any:
    assert process.stdout
    heard = b""
    while b"\n" not in heard:
        heard += await process.stdout.receive()
    return json.loads(heard)["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(1, "That is over."), (50, "The tool server is stopping, so I gave that up.")]
)
async def test_at_the_end_what_is_quick_is_finished_and_what_is_not_is_told(
    data: Path, wire: Any, seconds: int, text: str
) -> None:
    async with slow_server(data, wire, *STDIO) as process:
        await ask(process, "slow.wait", seconds=seconds)
        await begun(process)
        process.send_signal(signal.SIGTERM)
        await ask(process, "clock.time")
        with anyio.fail_after(5):
            assert await answered(process) == "The tool server is stopping. Please ask again in a moment."
            assert await answered(process) == text
            assert await process.wait() == 0
    outcomes = [json.loads(line)["outcome"] for line in (data / "audit.jsonl").read_text().splitlines()]
    assert outcomes == ["ok" if seconds == 1 else "cancelled"]


async def test_a_tool_that_will_not_hear_of_the_end_cannot_put_it_off(data: Path, wire: Any) -> None:
    async with slow_server(data, wire, *STDIO) as process:
        await ask(process, "slow.deaf", seconds=50)
        await ask(process, "clock.time")
        await answered(process)
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(5):
            assert await process.wait() == -signal.SIGALRM
    assert verify(data / "audit.jsonl").problems == ()


async def test_a_second_signal_ends_it_at_once(data: Path, wire: Any) -> None:
    async with slow_server(data, wire, *STDIO) as process:
        await ask(process, "slow.wait", seconds=50)
        await begun(process)
        process.send_signal(signal.SIGTERM)
        await ask(process, "clock.time")
        assert await answered(process) == "The tool server is stopping. Please ask again in a moment."
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(2):
            assert await process.wait() == -signal.SIGTERM


async def test_a_client_that_reads_nothing_cannot_put_it_off_either(data: Path, wire: Any) -> None:
    async with slow_server(data, wire, *STDIO) as process:
        assert process.stdin
        with anyio.move_on_after(1):
            while True:
                message = {**modern("tools/list"), "id": next(IDS)}
                await process.stdin.send(json.dumps(message).encode() + b"\n")
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(5):
            assert await process.wait() == 0


@pytest.mark.parametrize("era", ["2026-07-28", "legacy"])
@pytest.mark.parametrize(
    ("seconds", "text"), [(2, "That is over."), (50, "The tool server is stopping, so I gave that up.")]
)
async def test_over_http_live_calls_are_finished_or_told_too(
    data: Path, wire: Any, era: str, seconds: int, text: str
) -> None:
    path, messages = data / "tools.sock", []
    async with (
        slow_server(data, wire, "--socket", str(path)) as process,
        wire.client(path, mode=era) as client,
        http(path) as beside,  # a failed request would take its neighbours in one client down
    ):
        await client.list_tools()  # else it asks for them after the answer, of a server that may be gone by then

        async def wait() -> None:
            messages.append((await client.call_tool("slow_wait", {"seconds": seconds})).content[0].text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await begun(process, stdio=False)
            process.send_signal(signal.SIGTERM)
            late = await last_answer(beside)
            with anyio.fail_after(5):
                assert await process.wait() == 0
    assert messages == [text]
    if seconds != 2:  # else it may be over before anybody asks again
        assert late == "The tool server is stopping. Please ask again in a moment."
    outcomes = [json.loads(line) for line in (data / "audit.jsonl").read_text().splitlines()]
    assert outcomes[-1]["outcome"] == ("ok" if seconds == 2 else "cancelled")
    assert verify(data / "audit.jsonl").problems == ()


async def last_answer(client: httpx2.AsyncClient) -> str:
    """Ask until the signal has come through; return what was answered then, "" when nobody was there any more."""
    while True:
        try:
            text = (await call(client, "clock.time"))["content"][0]["text"]
        except httpx2.TransportError:
            return ""
        if "is stopping" in text:
            return str(text)


async def test_who_asks_for_telemetry_gets_it_every_ten_seconds(data: Path, wire: Any) -> None:
    async with slow_server(data, wire, *STDIO, "--telemetry") as process:
        await ask(process, "clock.time")
        await answered(process)
        assert process.stdout
        with anyio.fail_after(15):
            details = json.loads(await process.stdout.receive())
    assert details["method"] == "telemetry/update"
    assert (details["params"]["calls"], details["params"]["outcomes"]) == (1, {"ok": 1})
    assert details["params"]["spent"]["calls"] == 1


async def call(client: httpx2.AsyncClient, tool: str, **arguments: Any) -> Any:
    body = modern("tools/call", name=tool, arguments=arguments)
    return (await client.post("/mcp", json=body, headers=headers("tools/call", tool))).json()["result"]


async def test_after_a_kill_it_starts_again_on_the_same_socket_and_connections_go_on(data: Path, wire: Any) -> None:
    path = data / "tools.sock"
    async with http(path) as kept_alive:
        async with wire.process(data, "--socket", str(path)) as (process, _):
            await call(kept_alive, "timers.start", seconds=600, name="pizza")
            process.send_signal(signal.SIGKILL)
            await process.wait()
            assert path.exists(), "a killed server cleans nothing up"
            with pytest.raises(httpx2.HTTPError):
                await call(kept_alive, "timers.list")
        async with wire.process(data, "--socket", str(path)), wire.client(path) as client:
            answered = await call(kept_alive, "timers.left")
            assert answered["content"][0]["text"].startswith("Your pizza timer has 9 minutes and ")
            left = await client.call_tool("timers_left", {"name": "pizza"})
            assert left.content[0].text.startswith("Your pizza timer has 9 minutes and ")


async def test_the_official_client_notices_a_kill_and_does_not_hang(data: Path, wire: Any) -> None:
    path = data / "tools.sock"
    async with wire.process(data, "--socket", str(path)) as (process, _):
        noticed = []
        with anyio.fail_after(20):
            try:
                async with wire.client(path) as client:
                    process.send_signal(signal.SIGKILL)
                    await process.wait()
                    await client.call_tool("timers_list", {})
            except* (MCPError, httpx2.HTTPError) as gone:
                noticed.append(gone)
    assert noticed, "a call to a dead server was answered"


def refused(data: Path, *arguments: str) -> str:
    """Start it and return what it says when it will not."""
    command = [
        sys.executable,
        "-m",
        "tools_server.server",
        "--data",
        str(data),
        "--policy",
        str(POLICY),
        *arguments,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0
    return ended.stderr


async def test_a_socket_in_use_is_left_to_its_owner(data: Path, wire: Any) -> None:
    path = data / "tools.sock"
    async with wire.process(data, "--socket", str(path)):
        text = await anyio.to_thread.run_sync(
            refused, data, "--agents", str(data / "agents.toml"), "--socket", str(path)
        )
        assert f"A tool server is already listening on {path}." in text
        async with wire.client(path) as client:
            assert not (await client.call_tool("clock_time", {})).is_error


def test_what_is_wrong_at_boot_is_said_in_a_sentence(data: Path, wire: Any) -> None:
    agents = str(wire.write_agents(data))
    plain = data / "plain"
    plain.write_text("precious")
    assert "is there and is no socket; move it away" in refused(data, "--agents", agents, "--socket", str(plain))
    assert plain.read_text() == "precious"
    assert "cannot be read: No such file" in refused(data, "--agents", str(data / "nowhere"), "--port", "0")
    assert "has no agent 'nobody'" in refused(data, "--agents", agents, "--stdio", "--agent", "nobody")
    assert "no time zone 'Mars/Base'" in refused(data, "--agents", agents, "--port", "0", "--timezone", "Mars/Base")
    (data / "tools.db").write_bytes(b"this is no database, it is a text" * 100)
    file = data / "tools.db"
    sentence = f"The tool server cannot start. {file} is damaged (file is not a database): give it back from a backup"
    assert sentence in refused(data, "--agents", agents, "--port", "0")


def test_the_record_is_checked_from_the_command_line(data: Path, wire: Any) -> None:
    from wall.chain import Chain

    audit = Chain(data / "audit.jsonl")
    for number in range(3):
        audit.append({"number": number})
    audit.close()
    command = [sys.executable, "-m", "tools_server.server", "audit", "verify", "--data", str(data)]
    sound = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (sound.returncode, sound.stderr) == (0, "3 rows, all as they were written\n")
    text = (data / "audit.jsonl").read_text()
    (data / "audit.jsonl").write_text(text.replace('"number":1', '"number":7'))
    broken = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert broken.returncode == 1
    assert "row 2 was changed" in broken.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[family]\ntols = []", "unknown key 'tols'"),
        ("[family]\ntools = 'clock.*'", "tools is not a list of texts"),
        ("[family]\ntoken_sha256 = 'abc'", "64 small hexadecimal digits"),
        (f"[a]\ntoken_sha256 = '{'0' * 64}'\n[b]\ntoken_sha256 = '{'0' * 64}'", "the same token as [a]"),
        ("[family]\nroots = ['../etc']", "not the name of a folder"),
        ("[family]\nroots = ['/etc']", "not the name of a folder"),
        ("[family]\nroots = ['.ssh']", "not the name of a folder"),
        ("[work]\nroles = ['ownr']", "'ownr' is no role"),
        ("[work]\nroles = []", "which would mean everybody"),
        ("[work]\nprivate = 'yes'\nroles = ['owner']", "private is true or false"),
        ("[work]\nprivate = true", "private and acts for everybody"),
        ("[work]\nacts_as = ['owner']", "acts_as is one of"),
        ("family = 1", "is not the table of an agent"),
        ("[", "is not TOML"),
    ],
)
def test_a_mistake_in_the_agents_file_is_named(data: Path, text: str, sentence: str) -> None:
    file = data / "agents.toml"
    file.write_text(text)
    with pytest.raises(BootFailed) as failed:
        read_agents(file)
    assert sentence in str(failed.value)


def test_an_agent_without_a_token_can_only_be_served_over_stdio(data: Path) -> None:
    file = data / "agents.toml"
    file.write_text("[ide]\ntools = ['clock.*']")
    by_token, by_name = read_agents(file)
    assert (by_token, list(by_name)) == ({}, ["ide"])


def test_only_this_user_can_read_what_is_kept(data: Path, wire: Any) -> None:
    from tools_server.boot.opening import ServerSettings, opened_gate

    with opened_gate(ServerSettings(data, wire.write_agents(data), POLICY)):
        for name in ("tools.db", "audit.jsonl", "audit.head"):
            assert os.stat(data / name).st_mode & 0o077 == 0, name
