"""A small house for tools: a gate over an empty data directory, whose wall clock the test turns by hand."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import Process
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import tools_server.tools
from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.gate.call_request import CallRequest, CallResult
from tools_server.gate.confirmations import NO_REPLY, ConfirmationReply
from tools_server.gate.gate import Gate
from tools_server.gate.signed_head import AUDIT_FILE
from tools_server.reach.outside import Outside, Unreachable
from tools_server.sdk.state import ToolsDatabase
from tools_server.sdk.toolkit import Call, Result, find
from tools_server.values.policy import AgentAccount
from tools_server.values.uptime import Uptime

TOOLBOX = find(tools_server.tools)  # looked up once, and not by each of a thousand houses
AGENTS = """
[family]
token_sha256 = "{family}"
tools = ["*"]
roots = ["family-agent-config"]
acts_as = "adult"

[work]
token_sha256 = "{work}"
tools = ["*"]
roots = ["work-agent-config"]
roles = ["owner"]
acts_as = "owner"

[guest]
token_sha256 = "{guest}"
tools = ["clock.*", "tasks.*"]

[owner]
token_sha256 = "{owner}"
tools = ["*"]
roots = ["family-agent-config"]
roles = ["owner"]
acts_as = "owner"

[house]
token_sha256 = "{house}"
tools = ["*.due", "*.announced", "asks.*"]
acts_as = "owner"
"""
POLICY = Path(__file__).parents[2] / "policy.toml"
NAMES = ("family", "work", "guest", "owner", "house")


@cache
def shape_of(tool: str) -> Draft202012Validator:
    """Return what the data of one of our tools must fit; itself looked at once, which takes as long as ten calls."""
    schema = TOOLBOX.tools[tool].data_schema
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@cache
def new_database() -> bytes:
    """A database of the tools with all its tables and nothing in them, made once: it takes as long as a test."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tools.db"
        ToolsDatabase(file, TOOLBOX.migrations).close()
        return file.read_bytes()


def without_limits(data: Path) -> Path:
    """The rules of the house, for tests that do in no time what takes a household a day."""
    file = data / "policy.toml"
    file.write_text(POLICY.read_text().split("# ── how much")[0])
    return file


def write_agents(data: Path) -> Path:
    """Every agent's token is its name and "-token"."""
    file = data / "agents.toml"
    tokens = {name: hashlib.sha256(f"{name}-token".encode()).hexdigest() for name in NAMES}
    file.write_text(AGENTS.format(**tokens))
    return file


@dataclass
class World:
    """What a test holds in its hands."""

    data: Path
    gate: Gate
    agents: dict[str, AgentAccount]
    clock: list[float] = field(default_factory=list)  # the wall clock, one element
    house: Any = None  # who brings a person's yes
    set_by: list[float] = field(default_factory=lambda: [0.0])  # seconds that the clock was set by, one element
    language: str | None = None  # in which is called; None leaves it to the house
    turns: int = 0  # so far: each call is a person's own words, in a turn of its own

    async def call(
        self,
        tool: str,
        /,
        agent: str = "family",
        actor: Any = None,
        reply: ConfirmationReply = NO_REPLY,
        **arguments: Any,
    ) -> CallResult:
        self.turns += 1
        turn = f"turn_{self.turns}"
        answer = await self.gate.call(
            CallRequest(self.agents[agent], tool, arguments, actor, turn, "test", reply=reply, language=self.language)
        )
        spec = self.gate._tools.get(tool)
        ours = spec is not None and spec is TOOLBOX.tools.get(tool)  # and none that a test put in its place
        if answer.error is None and answer.reply is None and ours and spec and spec.data_schema:
            shape_of(tool).validate(json.loads(json.dumps(dict(answer.data))))  # as clients do
        return answer

    async def ok(self, tool: str, /, agent: str = "family", actor: Any = None, **arguments: Any) -> CallResult:
        """Have it done; where a person's yes is asked for, a person says yes."""
        answer = await self.call(tool, agent, actor, **arguments)
        if answer.ask:
            yes = ConfirmationReply(answer.ask.id, "accept", self.house.says(answer.ask.shown()))
            answer = await self.call(tool, agent, actor, yes, **arguments)
        assert answer.error is None, answer.text
        return answer

    async def said(self, tool: str, /, agent: str = "family", actor: Any = None, **arguments: Any) -> str:
        return (await self.ok(tool, agent, actor, **arguments)).text

    async def refused(self, tool: str, /, agent: str = "family", actor: Any = None, **arguments: Any) -> CallResult:
        answer = await self.call(tool, agent, actor, **arguments)
        assert answer.error, f"{tool} was not refused: {answer.text}"
        return answer

    def pass_seconds(self, seconds: float) -> None:
        self.clock[0] += seconds

    def set_clock(self, seconds: float) -> None:
        """Set the wall clock by so much; no time goes by."""
        self.clock[0] += seconds
        self.set_by[0] += seconds

    def make_slow(self, limit_seconds: float) -> dict[str, Any]:
        """Let clock.time take as long as the test likes."""
        state: dict[str, Any] = {"started": anyio.Event(), "go": anyio.Event(), "cancelled": False}

        async def run(call: Call, place: str) -> Result:
            state["started"].set()
            try:
                await state["go"].wait()
            except anyio.get_cancelled_exc_class():
                state["cancelled"] = True
                raise
            return Result("at last")

        spec = replace(self.gate._tools["clock.time"], run=run, limit_seconds=limit_seconds)
        self.gate._tools = {**self.gate._tools, "clock.time": spec}
        return state

    def speak_aloud(self, *languages: str) -> None:
        """Have the rooms of this house speak only these languages, the usual one first."""
        self.gate._spoken_languages = languages

    @property
    def board(self) -> Path:
        return self.data / "family-agent-config" / "tasks" / "home"

    @property
    def record(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.data / AUDIT_FILE).read_text().splitlines()]


@pytest.fixture
def world(data: Path, house: Any) -> Iterator[World]:
    with opened_world(data, house) as opened:
        yield opened


@contextmanager
def opened_world(data: Path, house: Any, at: float = 1_800_000_000.0, boot: str = "first") -> Iterator[World]:
    clock, set_by = [at], [0.0]

    def uptime() -> Uptime:
        return Uptime(boot, clock[0] - set_by[0])

    settings = ServerSettings(
        data, write_agents(data), without_limits(data), house_key=house.public_file, timezone="Europe/Paris"
    )
    if not (data / "tools.db").exists():
        (data / "tools.db").write_bytes(new_database())
    with opened_gate(settings, lambda: clock[0], TOOLBOX, uptime) as (gate, agents):
        yield World(data, gate, agents, clock, house, set_by)


@pytest.fixture
def reopened(data: Path, house: Any) -> Any:
    """Open the same data directory again, at another time: what a restart sees."""
    return lambda at, boot="first": opened_world(data, house, at, boot)


@pytest.fixture
def opened_in(house: Any) -> Any:
    """Open a world in a folder of the test's own."""
    return lambda folder: opened_world(folder, house)


class Straight(Outside):
    """A way out that leads only to this machine, without an egress between."""

    def dial(self, host: str, port: int, seconds: float) -> socket.socket:
        try:
            return socket.create_connection(("127.0.0.1", port), seconds)
        except OSError as gone:
            raise Unreachable(f"{host} cannot be reached.") from gone


# ── the real process ───────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def server_process(data: Path, *wire: str) -> AsyncIterator[tuple[Process, str]]:
    """Start the tool server as people do; give it and its ready line. It is killed at the end if it still runs."""
    command = [
        sys.executable,
        "-m",
        "tools_server.server",
        "--data",
        str(data),
        "--policy",
        str(POLICY),
        "--agents",
        str(write_agents(data)),
        *house_key(data),
        *wire,
    ]
    async with await anyio.open_process(command, stdin=None, stdout=None) as process:
        try:
            with anyio.fail_after(60):
                yield process, await _ready(process)
        finally:
            if process.returncode is None:
                process.kill()
            with anyio.CancelScope(shield=True):
                await process.wait()


def house_key(data: Path) -> list[str]:
    """The argument that names the key of the test's house, when it has one."""
    file = data / "house.pem"
    return ["--house-key", str(file)] if file.exists() else []


async def _ready(process: Process) -> str:
    assert process.stderr
    heard = ""
    async for more in process.stderr:
        heard += more.decode()
        if "\n" in heard:
            break
    assert heard.startswith("ready "), heard
    return heard.splitlines()[0]


@asynccontextmanager
async def client(
    wire: Path | int, token: str = "family-token", mode: str = "auto", **settings: Any
) -> AsyncIterator[Client]:
    """The official client, over a unix socket or a port."""
    transport = httpx2.AsyncHTTPTransport(uds=str(wire)) if isinstance(wire, Path) else httpx2.AsyncHTTPTransport()
    url = "http://tools/mcp" if isinstance(wire, Path) else f"http://127.0.0.1:{wire}/mcp"
    if isinstance(wire, Path):
        forgive_a_race_of_anyio()
    async with (
        httpx2.AsyncClient(transport=transport, headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=30, **settings) as opened,
    ):
        yield opened


def forgive_a_race_of_anyio() -> None:
    """Pass over one harmless error of the test's own loop.

    A unix socket of anyio that becomes readable in the very step in which its reading is cancelled sets a result on
    the cancelled future: nothing is lost, but the loop is told. A client of the older era, which keeps a stream open
    and cancels it at its end, does that now and then. (The half of it that was in closing is mended: anyio 1267.)
    """
    loop = asyncio.get_running_loop()
    abstract_event_loop_dict = loop.get_exception_handler()

    def tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if abstract_event_loop_dict and not isinstance(context.get("exception"), asyncio.InvalidStateError):
            abstract_event_loop_dict(loop, context)

    loop.set_exception_handler(tell)


class Wire:
    """The process and its client, handed to tests as a fixture: test folders are no packages to import from."""

    process = staticmethod(server_process)
    client = staticmethod(client)
    write_agents = staticmethod(write_agents)
    house_key = staticmethod(house_key)
    policy = POLICY


@pytest.fixture
def wire() -> type[Wire]:
    return Wire
