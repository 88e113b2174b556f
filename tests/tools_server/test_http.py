"""The HTTP side without a process: a client that hangs up ends what it asked for."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest
import uvicorn
from starlette.types import ASGIApp, Message

from tools_server.wires import connection_limits, notices
from tools_server.wires.connection_limits import CountedConnection
from tools_server.wires.wire_http import _Uvicorn, http_app, loopback_port

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": CLIENT}
CALL = {"name": "clock.time", "arguments": {}}
REQUESTS = {
    "2026-07-28": (
        {**CALL, "_meta": MODERN},
        {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "clock.time"},
    ),
    "2025-11-25": (CALL, {"mcp-protocol-version": "2025-11-25"}),
}


@pytest.mark.parametrize("era", REQUESTS)
@pytest.mark.parametrize("hangs_up", [True, False])
async def test_a_client_that_hangs_up_cancels_its_call(world: Any, era: str, hangs_up: bool) -> None:
    slow = world.make_slow(limit_seconds=60)
    parameters, headers = REQUESTS[era]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}).encode()
    heard: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    gone, sent = anyio.Event(), []

    async def receive() -> Message:
        if heard:
            return heard.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async with lifespan(http_app(world.gate, ["tools"])) as app, anyio.create_task_group() as tasks:
        session = {} if era == "2026-07-28" else {"mcp-session-id": await session_of(app, "family")}
        tasks.start_soon(app, scope_of({**headers, **session}), receive, send)
        with anyio.fail_after(10):
            await slow["started"].wait()
        (gone if hangs_up else slow["go"]).set()
    assert slow["cancelled"] is hangs_up
    assert world.record[-1]["outcome"] == ("cancelled" if hangs_up else "ok")
    assert (b"at last" in b"".join(message.get("body", b"") for message in sent)) is not hangs_up


async def test_a_session_is_of_no_use_to_another_agent(world: Any) -> None:
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    async with lifespan(http_app(world.gate, ["tools"])) as app:
        headers = {"mcp-protocol-version": "2025-11-25", "mcp-session-id": await session_of(app, "family")}
        assert (await post(app, body, headers, "guest"))[0]["status"] == 404
        assert (await post(app, body, headers, "family"))[0]["status"] == 200


async def test_there_are_so_many_sessions_and_no_more(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "SESSIONS", 2)
    async with lifespan(http_app(world.gate, ["tools"])) as app:
        first, _ = await session_of(app, "family"), await session_of(app, "guest")
        assert (await post(app, HELLO, {}, "family"))[0]["status"] == 503
        await post(app, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, {"mcp-session-id": first}, "family")
        await post(app, None, {"mcp-session-id": first}, "family", method="DELETE")
        assert (await post(app, HELLO, {}, "family"))[0]["status"] == 200


async def test_one_agent_cannot_take_all_sessions(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "SESSIONS_PER_AGENT", 3)
    statuses: list[int] = []
    async with lifespan(http_app(world.gate, ["tools"])) as app:

        async def open_one() -> None:
            statuses.append((await post(app, HELLO, {}, "family"))[0]["status"])

        async with anyio.create_task_group() as tasks:
            for _ in range(20):  # all at once: none has found its room taken when it asks
                tasks.start_soon(open_one)
        assert (statuses.count(200), statuses.count(503)) == (3, 17)
        modern = {**REQUESTS["2026-07-28"][1], "mcp-method": "tools/list", "mcp-name": ""}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": MODERN}}
        assert (await post(app, body, modern, "family"))[0]["status"] != 503, "the newer era has no sessions"
        assert await session_of(app, "guest")


async def test_one_agent_cannot_take_all_streams(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "STREAMS_PER_AGENT", 2)
    parameters = {"notifications": {"toolsListChanged": True}, "_meta": MODERN}
    body = {"jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen", "params": parameters}
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen"}
    async with lifespan(http_app(world.gate, ["tools"])) as app, anyio.create_task_group() as tasks:

        async def listen(agent: str, *, task_status: anyio.abc.TaskStatus[None]) -> None:
            async def receive() -> Message:
                return heard.pop() if heard else await anyio.sleep_forever()

            async def send(message: Message) -> None:
                if message.get("body"):
                    task_status.started()

            heard: list[Message] = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]
            await app(scope_of({**headers, "authorization": f"Bearer {agent}-token"}), receive, send)

        with anyio.fail_after(10):
            await tasks.start(listen, "family")
            await tasks.start(listen, "family")
            refused = await post(app, body, headers, "family")
            assert b"At most 2 streams" in b"".join(message.get("body", b"") for message in refused)
            await tasks.start(listen, "guest")
        tasks.cancel_scope.cancel()


async def test_one_agent_cannot_take_all_requests(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "REQUESTS_PER_AGENT", 2)
    async with lifespan(http_app(world.gate, ["tools"])) as app, anyio.create_task_group() as tasks:

        async def receive() -> Message:  # half a body, and then nothing for as long as we like
            if not begun.is_set():
                begun.set()
                return {"type": "http.request", "body": b"{", "more_body": True}
            return await anyio.sleep_forever()

        async def send(_: Message) -> None:
            pass

        for _ in range(2):
            begun = anyio.Event()
            tasks.start_soon(app, scope_of({}), receive, send)
            await begun.wait()
        assert (await post(app, HELLO, {}, "family"))[0]["status"] == 503
        assert await session_of(app, "guest")
        tasks.cancel_scope.cancel()


async def test_connections_that_say_nothing_keep_nobody_out(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "CONNECTIONS", 8)
    slow = world.make_slow(limit_seconds=60)
    app = http_app(world.gate, ["tools"])
    config = uvicorn.Config(
        app, http=CountedConnection, lifespan="on", ws="none", log_config=None, timeout_graceful_shutdown=1
    )
    server = _Uvicorn(config, "ready", set())
    with loopback_port(0) as listening, ExitStack() as silent, anyio.fail_after(30):
        listening.listen(128)
        port = listening.getsockname()[1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            heard: list[bytes] = []
            tasks.start_soon(_ask, port, heard)
            await slow["started"].wait()
            for _ in range(50):
                await _connect(silent, port)
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(b"GET /health HTTP/1.1\r\nHost: tools\r\n\r\n")
                assert (await stream.receive()).startswith(b"HTTP/1.1 200")
            assert len(server.server_state.connections) <= 8
            slow["go"].set()
            while not heard:
                await anyio.lowlevel.checkpoint()
            server.should_exit = True
    assert b"at last" in heard[0], "who is being answered keeps its place"


async def _connect(silent: ExitStack, port: int) -> None:
    opened = silent.enter_context(socket.socket())
    opened.setblocking(False)
    opened.connect_ex(("127.0.0.1", port))
    await anyio.wait_writable(opened)


async def _ask(port: int, heard: list[bytes]) -> None:
    parameters, headers = REQUESTS["2026-07-28"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}).encode()
    everything = {name.decode(): value.decode() for name, value in scope_of(headers)["headers"]}
    head = "".join(f"{name}: {value}\r\n" for name, value in {**everything, "content-length": len(body)}.items())
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        answer = b""
        while b"at last" not in answer:
            answer += await stream.receive()
        heard.append(answer)


async def test_a_client_of_the_older_era_cancels_by_a_notification(world: Any) -> None:
    slow = world.make_slow(limit_seconds=60)
    async with lifespan(http_app(world.gate, ["tools"])) as app, anyio.create_task_group() as tasks:
        session = {"mcp-session-id": await session_of(app, "family")}
        tasks.start_soon(
            post, app, {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": CALL}, session, "family"
        )
        await slow["started"].wait()
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        await post(app, body, session, "family")
    assert slow["cancelled"]
    assert world.record[-1]["outcome"] == "cancelled"


def test_answers_over_a_port_leave_at_once() -> None:
    with loopback_port(0) as listening:
        assert listening.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY on no other"


async def session_of(app: ASGIApp, agent: str) -> str:
    """Shake hands as clients of the older era do."""
    sent = await post(app, HELLO, {}, agent)
    session = dict(sent[0]["headers"])[b"mcp-session-id"].decode()
    await post(app, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"mcp-session-id": session}, agent)
    return session


async def post(app: ASGIApp, body: Any, headers: dict[str, str], agent: str, method: str = "POST") -> list[Message]:
    content = json.dumps(body).encode() if body else b""
    heard: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if not heard:
            await anyio.sleep_forever()
        return heard.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    with anyio.fail_after(10):
        scope = scope_of({**headers, "authorization": f"Bearer {agent}-token"})
        await app({**scope, "method": method}, receive, send)
    return sent


def scope_of(headers: dict[str, str]) -> dict[str, Any]:
    everything = {
        "host": "tools",
        "authorization": "Bearer family-token",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **headers,
    }
    return {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("tools", 80),
        "client": None,
        "headers": [(name.encode(), value.encode()) for name, value in everything.items()],
    }


@asynccontextmanager
async def lifespan(app: ASGIApp) -> AsyncIterator[ASGIApp]:
    """Start and stop an app around a block, as a server would."""
    started, stop = anyio.Event(), anyio.Event()
    steps = iter(("lifespan.startup", "lifespan.shutdown"))

    async def receive() -> Message:
        step = next(steps)
        if step == "lifespan.shutdown":
            await stop.wait()
        return {"type": step}

    async def send(message: Message) -> None:
        started.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app, {"type": "lifespan", "state": {}}, receive, send)
        await started.wait()
        yield app
        stop.set()
