"""The MCP server: streamable HTTP on a unix socket or a loopback port, or stdio. `atlas-tools` is this file.

Boot goes in order, each step needing the one before: who may come (the agents file), what there is (the tools), what
is remembered (tools.db), the record (audit), the folders (roots), and only then the wire. A line "ready …" on
stderr says that calls are answered.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import signal
import socket
import sqlite3
import stat
import sys
import time
import tomllib
import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import uvicorn
from anyio.abc import TaskStatus
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import tools_server.tools
from tools_server.audit import Audit, AuditBroken, verify
from tools_server.gate import Answer, Gate, Wish
from tools_server.paths import Root
from tools_server.policy import Agent
from tools_server.state import State
from tools_server.toolkit import ToolSpec, find

DRAIN_SECONDS = 4.0  # of the five that a supervisor waits between SIGTERM and SIGKILL
BODY_BYTES = 512 * 1024  # the largest argument a tool takes is an eighth of it
ACTOR_META = "atlas.house/actor"
TURN_META = "atlas.house/turn"
RECEIPT_META = "atlas.house/receipt"
ERROR_META = "atlas.house/error"
AUDIT_FILE = "audit.jsonl"
HOST = "tools"  # the Host header on a unix socket
AGENT_SCOPE = "atlas.agent"  # where the ASGI scope carries who came


class BootFailed(Exception):
    """The server cannot start; `str()` is a sentence that says what to do."""


# ── from MCP to the gate and back ──────────────────────────────────────────────────────────────────


def mcp_server(gate: Gate, alone: Agent | None = None) -> Server[Any]:
    """Return the protocol's side of a gate. `alone` is the one agent of a stdio process."""

    def agent(context: ServerRequestContext[Any, Any]) -> Agent:
        if alone is not None:
            return alone
        assert context.request is not None, "HTTP requests come as requests"
        found = context.request.scope[AGENT_SCOPE]
        assert isinstance(found, Agent), "no request comes this far without a token"
        return found

    async def list_tools(
        context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(spec) for spec in gate.visible(agent(context))])

    async def call_tool(
        context: ServerRequestContext[Any, Any], parameters: types.CallToolRequestParams
    ) -> types.CallToolResult:
        meta: Mapping[str, Any] = context.meta or {}
        wish = Wish(
            agent=agent(context),
            tool=parameters.name,
            arguments=parameters.arguments,
            actor=meta.get(ACTOR_META),
            turn=meta.get(TURN_META),
            route=f"{context.protocol_version} {'stdio' if alone else 'http'}",
        )
        return _result(await gate.call(wish))

    server: Server[Any] = Server(
        "atlas-tools",
        version=own_version(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=gate.schema,  # without it, every call lists all tools first
    )
    server.middleware.clear()  # only OpenTelemetry's, and nothing in the house collects spans
    return server


def _described(spec: ToolSpec) -> types.Tool:
    return types.Tool(
        name=spec.name,
        description=spec.description,
        input_schema=dict(spec.schema),
        annotations=types.ToolAnnotations(
            read_only_hint=spec.reads,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.idempotent,
            open_world_hint=False,
        ),
    )


def _result(answer: Answer) -> types.CallToolResult:
    meta: dict[str, Any] = {}
    if answer.receipt:
        meta[RECEIPT_META] = {"id": answer.receipt.id, "changed": answer.receipt.changed}
    if answer.error:
        meta[ERROR_META] = answer.error
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=dict(answer.data),
        is_error=answer.error is not None,
        _meta=meta or None,
    )


class Identified:
    """Lets nobody past without a known token. Pure ASGI, in front of everything but `/health`."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, or pass the request on with its agent in the scope."""
        if scope["type"] != "http" or scope["path"] == "/health":
            await self._app(scope, receive, send)
            return
        agent = self._gate.identify(_bearer(scope))
        if agent is None:
            self._gate.stranger("http")
            refusal = JSONResponse(
                {"error": "invalid_token", "error_description": "Give the token of an agent: Authorization: Bearer …"},
                status_code=401,
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
            await refusal(scope, receive, send)
            return
        await self._app({**scope, AGENT_SCOPE: agent}, receive, send)


class Hangup:
    """Cancels what a client no longer waits for: with JSON answers the SDK does not look whether anybody is there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request; when the connection closes before it is answered, cancel it, down to the tool."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked, answered = anyio.Event(), False

        async def hear() -> Message:
            message = await receive()
            if not message.get("more_body"):
                asked.set()
            return message

        async def answer(message: Message) -> None:
            nonlocal answered
            await send(message)
            answered = message["type"] == "http.response.body" and not message.get("more_body")

        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await asked.wait()
                while (await receive())["type"] != "http.disconnect":
                    pass
                if not answered:
                    tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await self._app(scope, hear, answer)
            tasks.cancel_scope.cancel()


def _bearer(scope: Scope) -> str:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:  # two tokens are no token: which one would be meant?
        return ""
    scheme, _, token = given[0].decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def http_app(gate: Gate, hosts: list[str]) -> ASGIApp:
    """Return `/mcp` and `/health`. `hosts` are the Host headers that are taken, exactly."""
    started = time.monotonic()

    async def health(_: Request) -> JSONResponse:
        up_seconds = round(time.monotonic() - started, 3)
        return JSONResponse({"ok": True, "version": own_version(), "up_seconds": up_seconds})

    app = mcp_server(gate).streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=BODY_BYTES,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
        custom_starlette_routes=[Route("/health", health)],
    )
    return Identified(Hangup(app), gate)


def own_version() -> str:
    """Return the installed version of Atlas."""
    try:
        return version("atlas-house")
    except PackageNotFoundError:  # run from a tree that was never installed
        return "0"


# ── boot ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    data: Path
    agents: Path
    socket: Path | None = None
    port: int | None = None
    agent: str = ""  # for stdio: whose process this is
    timezone: str = ""  # "" is the machine's own


_KEYS = {"token_sha256", "tools", "roots", "roles"}
_AGENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
_ROOT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}")


def read_agents(file: Path) -> tuple[dict[str, Agent], dict[str, Agent]]:
    """Return the agents by the SHA-256 of their token, and by name. Raises `BootFailed` naming the wrong key."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as missing:
        raise BootFailed(f"The agents file {file} cannot be read: {missing.strerror}.") from missing
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise BootFailed(f"The agents file {file} is not TOML: {wrong}.") from wrong
    by_token: dict[str, Agent] = {}
    by_name: dict[str, Agent] = {}
    for name, entry in table.items():
        where = f"{file}: [{name}]"
        if not _AGENT_NAME.fullmatch(name) or not isinstance(entry, dict):
            raise BootFailed(f"{where} is not the table of an agent.")
        if unknown := set(entry) - _KEYS:
            raise BootFailed(f"{where} has an unknown key {min(unknown)!r}; the keys are {', '.join(sorted(_KEYS))}.")
        by_name[name] = agent = Agent(name, *(_texts(where, entry, key) for key in ("tools", "roots", "roles")))
        for root in agent.roots:
            if not _ROOT_NAME.fullmatch(root):
                raise BootFailed(f"{where}: the root {root!r} is not the name of a folder in the data directory.")
        token = entry.get("token_sha256", "")
        if token and not (isinstance(token, str) and re.fullmatch(r"[0-9a-f]{64}", token)):
            raise BootFailed(f"{where}: token_sha256 is not 64 small hexadecimal digits.")
        if token in by_token:
            raise BootFailed(f"{where} has the same token as [{by_token[token].name}].")
        if token:
            by_token[token] = agent
    return by_token, by_name


def _texts(where: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = entry.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise BootFailed(f"{where}: {key} is not a list of texts.")
    return tuple(values)


@contextmanager
def opened_gate(settings: Settings, now: Callable[[], float] = time.time) -> Iterator[tuple[Gate, dict[str, Agent]]]:
    """Open what lies behind the wire, in order; close it in reverse. Raises `BootFailed`, OSError, sqlite3.Error."""
    by_token, by_name = read_agents(settings.agents)
    tools, migrations = find(tools_server.tools)
    zone = _zone(settings.timezone)
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(State(settings.data / "tools.db", migrations)) as state:
        try:
            audit = Audit(settings.data / AUDIT_FILE)
        except AuditBroken as broken:
            raise BootFailed(f"{broken}. Look at it with `atlas-tools audit verify`, then move it away.") from broken
        with closing(audit):
            names = {root for agent in by_name.values() for root in agent.roots}
            roots = {name: Root(settings.data / name) for name in sorted(names)}
            for root in roots.values():
                root.sweep()
            yield Gate(tools, by_token, audit, state, roots, now, zone), by_name


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name) if name else None
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as unknown:
        raise BootFailed(f"There is no time zone {name!r}; give one such as Europe/Paris.") from unknown


# ── HTTP ───────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def unix_socket(path: Path) -> Iterator[socket.socket]:
    """Listen on a unix socket that only this user may use. A stale file is replaced; a live server is not."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _clear(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    narrow = os.umask(0o177)  # bind makes the file: never for a moment may others connect
    try:
        listening.bind(str(path))
    except OSError as refused:
        listening.close()
        raise BootFailed(f"{path} cannot be a socket: {refused.strerror or refused}.") from refused
    finally:
        os.umask(narrow)
    mine = path.stat().st_ino
    try:
        yield listening
    finally:
        listening.close()
        with suppress(FileNotFoundError):
            if path.stat().st_ino == mine:  # a successor may already have its own there
                path.unlink()


def _clear(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise BootFailed(f"{path} is there and is no socket; move it away.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)  # nobody listens: what a killed server left behind
        else:
            raise BootFailed(f"A tool server is already listening on {path}.")


@contextmanager
def loopback_port(port: int) -> Iterator[socket.socket]:
    """Listen on 127.0.0.1; port 0 lets the kernel choose."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as taken:
            raise BootFailed(f"Port {port} cannot be used: {taken.strerror}.") from taken
        yield listening


class _Uvicorn(uvicorn.Server):
    """Uvicorn that leaves signals to us and says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: str) -> None:
        super().__init__(config)
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _say(self._ready)


async def serve_http(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; then refuse new calls, let live ones finish, and go, within five seconds."""
    with opened_gate(settings) as (gate, agents):
        wire = unix_socket(settings.socket) if settings.socket else loopback_port(settings.port or 0)
        with wire as listening:
            if settings.socket:
                hosts, address = [HOST], f"socket={settings.socket}"
            else:
                port = listening.getsockname()[1]
                hosts, address = [HOST, f"127.0.0.1:{port}", f"localhost:{port}"], f"port={port}"
            config = uvicorn.Config(
                http_app(gate, hosts),
                log_config=None,
                access_log=False,
                lifespan="on",
                ws="none",
                timeout_graceful_shutdown=1,
                server_header=False,
                date_header=False,
            )
            server = _Uvicorn(config, f"ready {address} agents={','.join(agents)} version={own_version()}")

            def leave() -> None:
                server.should_exit = True

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(gate.keep_flushed)
                await tasks.start(_on_signal, gate, leave)
                await server.serve(sockets=[listening])
                tasks.cancel_scope.cancel()
    _say("stopped")


async def _on_signal(gate: Gate, leave: Callable[[], None], *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()  # before anybody is told "ready", and may send one
        async for _ in signals:
            await gate.drain(DRAIN_SECONDS - 1)  # the last second is uvicorn's, to send the answers
            leave()


# ── stdio ──────────────────────────────────────────────────────────────────────────────────────────


async def serve_stdio(settings: Settings) -> None:
    """Serve the one agent who started this process, until its end of input, SIGTERM or SIGINT."""
    with ExitStack() as opened:
        gate, agents = opened.enter_context(opened_gate(settings))
        if settings.agent not in agents:
            raise BootFailed(f"{settings.agents} has no agent {settings.agent!r}; it has {', '.join(agents)}.")
        server = mcp_server(gate, agents[settings.agent])

        def leave() -> None:
            # A thread is blocked reading stdin and nothing can wake it, so an orderly exit would wait for the client.
            opened.close()
            _say("stopped")
            os._exit(0)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gate.keep_flushed)
            await tasks.start(_on_signal, gate, leave)
            async with stdio_server() as (requests, answers):
                _say(f"ready stdio agent={settings.agent} version={own_version()}")
                await server.run(requests, answers, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    _say("stopped")


# ── the command line ───────────────────────────────────────────────────────────────────────────────


def main() -> None:
    """Run the tool server, or check its record: `atlas-tools audit verify --data DIR`."""
    if sys.argv[1:3] == ["audit", "verify"]:
        sys.exit(_verify(sys.argv[3:]))
    settings, stdio = _settings(sys.argv[1:])
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    try:
        anyio.run(serve_stdio if stdio else serve_http, settings)
    except (BootFailed, OSError, sqlite3.Error) as failed:
        _say(f"The tool server cannot start. {failed}")
        sys.exit(1)


def _settings(arguments: list[str]) -> tuple[Settings, bool]:
    parser = argparse.ArgumentParser(prog="atlas-tools", description="Tools behind a gate, over MCP.")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="where tools.db, the record and the folders lie"
    )
    parser.add_argument("--agents", type=Path, required=True, metavar="FILE", help="TOML: one table per agent")
    wire = parser.add_mutually_exclusive_group(required=True)
    wire.add_argument("--socket", type=Path, metavar="PATH", help="HTTP on a unix socket")
    wire.add_argument("--port", type=int, metavar="N", help="HTTP on 127.0.0.1; 0 chooses a free port")
    wire.add_argument("--stdio", action="store_true", help="stdin and stdout, for one agent")
    parser.add_argument("--agent", default="", metavar="NAME", help="with --stdio: which agent")
    parser.add_argument("--timezone", default="", metavar="ZONE", help="of the house; the machine's own by default")
    given = parser.parse_args(arguments)
    if bool(given.agent) != given.stdio:
        parser.error("--stdio and --agent NAME go together")
    data = given.data.resolve()
    return Settings(data, given.agents, given.socket, given.port, given.agent, given.timezone), given.stdio


def _verify(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="atlas-tools audit verify", description="Check the record of every call.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    file = parser.parse_args(arguments).data / AUDIT_FILE
    try:
        verdict = verify(file)
    except OSError as missing:
        _say(f"{file} cannot be read: {missing.strerror}.")
        return 2
    for problem in verdict.problems:
        _say(problem)
    _say(f"{verdict.rows} rows, {'not as they were written' if verdict.problems else 'all as they were written'}")
    return 1 if verdict.problems else 0


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
