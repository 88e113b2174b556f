"""Streamable HTTP on a unix socket or a loopback port, for every agent with a token."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.gate.gate import Gate
from tools_server.values.boot_files import BootFailed
from tools_server.values.stderr import say
from tools_server.walls.confine import standing
from tools_server.wires import connection_limits, telemetry
from tools_server.wires.connection_limits import CountedConnection, Rationed, sessions_of
from tools_server.wires.drain import on_signal
from tools_server.wires.framing import MESSAGE_BYTES
from tools_server.wires.framing_http import Framed
from tools_server.wires.wire import AGENT_SCOPE, WANTED_SCOPE, mcp_server, own_version
from tools_server.wires.wire_walls import walls_tried

LAST_ANSWERS_SECONDS = 0.5  # of uvicorn's last one: after them, streams that are still open are ended
IDLE_SECONDS = 900.0  # a session that nobody uses or listens to ends
HOST = "tools"  # the Host header on a unix socket


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
        # The SDK keeps a session to the user who opened it: another agent's token does not fit.
        user = AuthenticatedUser(AccessToken(token="", client_id=agent.name, scopes=[]))
        await self._app({**scope, AGENT_SCOPE: agent, "user": user}, receive, send)


class Hangup:
    """Cancels what a client no longer waits for, wherever it runs: in the era of sessions not in the request's task.

    `live` holds the scope of every request that is being answered. Cancelling one ends its answer where it is.
    """

    def __init__(self, app: ASGIApp, live: set[anyio.CancelScope]) -> None:
        self._app = app
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request; when the connection closes before it is answered, cancel it, down to the tool."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        event, begun, answered, wanted = anyio.Event(), False, False, anyio.CancelScope()

        async def hear() -> Message:
            message = await receive()
            if not message.get("more_body"):
                event.set()
            return message

        async def answer(message: Message) -> None:
            nonlocal begun, answered
            await send(message)
            begun = True
            answered = message["type"] == "http.response.body" and not message.get("more_body")

        async with anyio.create_task_group() as tasks:
            self._live.add(tasks.cancel_scope)

            async def watch() -> None:
                await event.wait()
                while (await receive())["type"] != "http.disconnect":
                    pass
                if not answered:
                    wanted.cancel()
                    tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            try:
                await self._app({**scope, WANTED_SCOPE: wanted}, hear, answer)
            finally:
                self._live.discard(tasks.cancel_scope)
            tasks.cancel_scope.cancel()
        if begun and not answered:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _bearer(scope: Scope) -> str:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:  # two tokens are no token: which one would be meant?
        return ""
    scheme, _, token = given[0].decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def http_app(
    gate: Gate, hosts: list[str], server: Server[Any] | None = None, live: set[anyio.CancelScope] | None = None
) -> ASGIApp:
    """Return `/mcp` and `/health`. `hosts` are the Host headers that are taken, exactly; `live` is `Hangup`'s."""

    async def health(_: Request) -> JSONResponse:
        reading = {"version": own_version(), "walls": standing(), **telemetry.reading(gate.requests)}
        return JSONResponse({"ok": gate.is_well, **reading}, 200 if gate.is_well else 503)

    server = server or mcp_server(gate)
    app = server.streamable_http_app(
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=connection_limits.SESSIONS,
        max_request_body_size=MESSAGE_BYTES,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
        custom_starlette_routes=[Route("/health", health), Route("/walls", walls_tried)],
    )
    rationed = Rationed(Hangup(Framed(app), set() if live is None else live), sessions_of(server))
    return Identified(rationed, gate)


def listener(settings: ServerSettings) -> AbstractContextManager[socket.socket]:
    """Return what the settings want to be listened on; open inside the block."""
    return unix_socket(settings.socket) if settings.socket else loopback_port(settings.port or 0)


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
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
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
    # TCP by name: asyncio turns off Nagle's algorithm only for sockets that say so, and every answer would wait 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as taken:
            raise BootFailed(f"Port {port} cannot be used: {taken.strerror}.") from taken
        yield listening


class _Uvicorn(uvicorn.Server):
    """Uvicorn that leaves signals to us, says when it is ready, and in the end waits for answers, not for streams."""

    def __init__(self, config: uvicorn.Config, ready: str, live: set[anyio.CancelScope]) -> None:
        super().__init__(config)
        self._ready = ready
        self._live = live

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(
                connection_limits.QUEUE
            )  # asyncio has one number for both, and would open a file for each of these
        if self.started:
            say(self._ready)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        async def end_streams() -> None:
            await anyio.sleep(LAST_ANSWERS_SECONDS)
            for scope in list(self._live):
                scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_streams)
            await super().shutdown(sockets)
            tasks.cancel_scope.cancel()


async def serve_http(settings: ServerSettings) -> None:
    """Serve until SIGTERM or SIGINT; then refuse new calls, let live ones finish, and go, within five seconds."""
    wire = nullcontext(settings.listening) if settings.listening else listener(settings)
    with opened_gate(settings) as (gate, agents), wire as listening:
        gate.record_unrecorded()
        if settings.socket:
            hosts, address = [HOST], f"socket={settings.socket}"
        else:
            port = listening.getsockname()[1]
            hosts, address = [HOST, f"127.0.0.1:{port}", f"localhost:{port}"], f"port={port}"
        protocol, live = mcp_server(gate), set[anyio.CancelScope]()
        config = uvicorn.Config(
            http_app(gate, hosts, protocol, live),
            log_config=None,
            access_log=False,
            http=CountedConnection,
            backlog=connection_limits.ACCEPTED_AT_ONCE,
            lifespan="on",
            ws="none",
            timeout_graceful_shutdown=1,
            server_header=False,
            date_header=False,
        )
        server = _Uvicorn(config, f"ready {address} agents={','.join(agents)} version={own_version()}", live)

        def leave() -> None:
            protocol.end_streams()
            server.should_exit = True

        async with gate.engines(), anyio.create_task_group() as tasks:
            tasks.start_soon(gate.keep_flushed)
            tasks.start_soon(gate.requests.reap)
            await tasks.start(on_signal, gate, leave)
            await server.serve(sockets=[listening])
            tasks.cancel_scope.cancel()
    say("stopped")
