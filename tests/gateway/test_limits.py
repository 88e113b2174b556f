"""How much one device, one role and one address may have under way, and that nobody else notices."""

from __future__ import annotations

import math
import socket
from contextlib import AsyncExitStack, ExitStack, suppress

import anyio
import httpx2
import pytest
import websockets
from starlette.types import Message

from atlas.conversation import Actor
from atlas.errors import RequestError
from atlas.gateway import app, guard
from atlas.gateway.limits import ANONYMOUS, KINDS_OF_PATH, LIMITS, Occupancy
from tests.conftest import for_every, virtual_time
from tests.gateway.small_house import SmallHouse, served

CHAT = "/v1/chat/completions"
HELLO = {"model": "family", "messages": [{"role": "user", "content": "hello"}]}
SLOW_BODIES = 64
SILENT = 300


async def everybody_else_is_served(world: SmallHouse) -> None:
    for role in ("owner", "adult"):
        async with world.http(role) as http:
            reply = await http.post(CHAT, json=HELLO)
            assert reply.status_code == 200, (role, reply.text)
    async with world.http(None) as nobody:
        assert (await nobody.get("/health")).status_code == 200


async def begun(world: SmallHouse, opened: AsyncExitStack, path: str, token: str = "") -> anyio.abc.SocketStream:
    """Begin to send a body that never ends."""
    wire = await opened.enter_async_context(await anyio.connect_tcp("127.0.0.1", int(world.url.rpartition(":")[2])))
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    head = "Host: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 9000\r\n"
    await wire.send(f"POST {path} HTTP/1.1\r\n{head}{bearer}\r\n-".encode())
    return wire


async def test_slow_bodies_of_a_guest_take_only_what_is_the_guests(config, data):
    async with served(config, data) as world, AsyncExitStack() as opened:
        wires = [await begun(world, opened, CHAT, world.tokens["guest"]) for _ in range(SLOW_BODIES)]
        await everybody_else_is_served(world)
        assert (await wires[-1].receive()).startswith(b"HTTP/1.1 429")
        async with world.http("guest") as http:
            reply = await http.post(CHAT, json=HELLO)
        assert (reply.status_code, reply.json()["error"]["code"]) == (429, "rate_limit_exceeded")


async def test_a_guest_is_served_again_when_what_was_under_way_is_over(config, data):
    async with served(config, data) as world:
        async with AsyncExitStack() as opened:
            for _ in range(SLOW_BODIES):
                await begun(world, opened, CHAT, world.tokens["guest"])
            await everybody_else_is_served(world)
        async with world.http("guest") as http:
            with anyio.fail_after(10):
                while (await http.post(CHAT, json=HELLO)).status_code == 429:
                    await anyio.lowlevel.checkpoint()


async def test_silent_connections_of_nobody_keep_nobody_out_and_the_oldest_is_closed(config, data, monkeypatch):
    monkeypatch.setattr(app, "UNREAD_SECONDS", 0.0)
    async with served(config, data) as world, AsyncExitStack() as opened:
        port = int(world.url.rpartition(":")[2])
        wires = [await opened.enter_async_context(await anyio.connect_tcp("127.0.0.1", port)) for _ in range(SILENT)]
        await everybody_else_is_served(world)
        with anyio.fail_after(10), pytest.raises(anyio.EndOfStream):
            await wires[0].receive()
        await wires[-1].send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await wires[-1].receive()).startswith(b"HTTP/1.1 200")


async def test_many_who_ask_at_once_are_all_answered(config, data):
    async with served(config, data) as world, anyio.create_task_group() as tasks:
        codes = []

        async def ask() -> None:
            async with httpx2.AsyncClient(base_url=world.url, timeout=20) as http:
                codes.append((await http.get("/health")).status_code)

        for _ in range(2 * app.SILENT_OF_ADDRESS):
            tasks.start_soon(ask)
    assert codes == [200] * (2 * app.SILENT_OF_ADDRESS)


async def test_a_connection_on_which_an_answer_is_awaited_is_not_silent(config, data, monkeypatch):
    monkeypatch.setattr(app, "UNREAD_SECONDS", 0.0)
    monkeypatch.setattr(app, "SILENT_OF_ADDRESS", 1)
    async with served(config, data) as world, world.http() as http:
        world.chat.endless = True
        async with http.stream("POST", CHAT, json=HELLO | {"stream": True}) as reply:
            lines = reply.aiter_lines()
            await anext(lines)
            async with AsyncExitStack() as opened:
                for _ in range(8):
                    await opened.enter_async_context(
                        await anyio.connect_tcp("127.0.0.1", int(world.url.rpartition(":")[2]))
                    )
                for _ in range(8):
                    await anext(lines)


def session(world: SmallHouse, role: str) -> websockets.connect:
    address = world.url.replace("http", "ws", 1) + "/v1/realtime?model=family"
    return websockets.connect(address, additional_headers={"Authorization": f"Bearer {world.tokens[role]}"})


async def test_a_guest_opens_a_few_sessions_and_others_as_ever(config, data):
    async with served(config, data) as world, AsyncExitStack() as opened:
        most = LIMITS["sessions"]["guest"].device
        mine = [await opened.enter_async_context(session(world, "guest")) for _ in range(most)]
        for _ in range(3):
            with pytest.raises(websockets.InvalidStatus) as refused:
                await opened.enter_async_context(session(world, "guest"))
            assert refused.value.response.status_code == 429
            assert b"sessions are under way already" in refused.value.response.body
        for role in ("owner", "adult", "child", "satellite"):
            await opened.enter_async_context(session(world, role))
        await mine[0].close()
        with anyio.fail_after(10):
            while True:
                try:
                    await opened.enter_async_context(session(world, "guest"))
                    break
                except websockets.InvalidStatus:
                    await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("path", ["/v1/audio/transcriptions", "/v1/audio/speech", "/api/voice-messages", "/api/voices"])
async def test_a_guest_has_few_files_under_way_and_may_still_type(config, data, path):
    async with served(config, data) as world, AsyncExitStack() as opened, world.http("guest") as http:
        for _ in range(LIMITS["recordings"]["guest"].device):
            await begun(world, opened, path, world.tokens["guest"])
        await everybody_else_is_served(world)
        assert (await http.post(path, content=b"{}")).status_code == 429
        assert (await http.post(CHAT, json=HELLO)).status_code == 200


@pytest.mark.parametrize("anyio_backend", [virtual_time()])
async def test_a_body_that_comes_a_byte_at_a_time_holds_no_strangers_place_for_long():
    async def dripping() -> Message:
        await anyio.sleep(1)
        return {"type": "http.request", "body": b"x", "more_body": True}

    receive = guard._bounded(dripping, guard.JSON_BYTES, guard.STRANGER_SECONDS)
    began = anyio.current_time()
    with pytest.raises(RequestError) as refused:
        while True:
            await receive()
    assert refused.value.code == "request_timeout"
    assert anyio.current_time() - began <= guard.STRANGER_SECONDS
    with anyio.move_on_after(600) as all_day:  # who has a token holds no place but their own
        receive = guard._bounded(dripping, guard.JSON_BYTES, math.inf)
        while True:
            await receive()
    assert all_day.cancelled_caught


async def test_who_asks_for_much_and_reads_nothing_is_gone_after_a_while(config, data, monkeypatch):
    monkeypatch.setattr(app, "STALLED_MILLISECONDS", 500)
    gone = anyio.Event()

    class Watched(app._Http):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            gone.set()

    monkeypatch.setattr(app, "_Http", Watched)
    async with served(config, data) as world:
        with socket.socket() as idle:
            idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            idle.connect(("127.0.0.1", int(world.url.rpartition(":")[2])))
            idle.setblocking(False)
            asks = b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
            with anyio.fail_after(30):
                while not gone.is_set():
                    with suppress(BlockingIOError, ConnectionError):
                        idle.send(asks)  # until what waits for it is more than the system takes
                    await anyio.sleep(0.01)
        await everybody_else_is_served(world)


async def test_who_has_no_token_is_counted_by_address(config, data, monkeypatch):
    async with served(config, data) as world, anyio.create_task_group() as tasks:
        codes = []

        async def guess() -> None:
            async with httpx2.AsyncClient(base_url=world.url, headers={"Authorization": "Bearer wrong"}) as http:
                codes.append((await http.get("/v1/models")).status_code)

        for _ in range(40):
            tasks.start_soon(guess)
        await everybody_else_is_served(world)
    assert set(codes) <= {401, 429}


def actor(role: str, device: str = "phone") -> Actor:
    return Actor("", device, role)


@for_every("role", LIMITS["requests"])
@for_every("path", [*KINDS_OF_PATH, "/v1/models"])
def test_a_device_gets_what_is_its_own_and_its_role_no_more_than_is_the_roles(role, path):
    tightest = min((LIMITS[kind][role] for kind in KINDS_OF_PATH.get(path, ("requests",))), key=lambda one: one.device)
    occupancy = Occupancy()
    with ExitStack() as places:
        taken = 0
        for device in range(tightest.role + 1):
            for place in range(tightest.device):
                if taken == tightest.role:
                    with pytest.raises(RequestError):
                        places.enter_context(occupancy.place(path, actor(role, f"{device}"), "::1"))
                    break
                places.enter_context(occupancy.place(path, actor(role, f"{device}"), "::1"))
                taken += 1
                if place + 1 == tightest.device:
                    with pytest.raises(RequestError):
                        places.enter_context(occupancy.place(path, actor(role, f"{device}"), "::1"))
        for other in set(LIMITS["requests"]) - {role}:
            places.enter_context(occupancy.place(path, actor(other), "::1"))
    with occupancy.place(path, actor(role, "0"), "::1"):
        assert taken == tightest.role


def test_what_nobody_has_under_way_is_bounded_for_one_address_and_for_all():
    occupancy = Occupancy()
    with ExitStack() as places:
        for address in range(ANONYMOUS.role // ANONYMOUS.device):
            for _ in range(ANONYMOUS.device):
                places.enter_context(occupancy.place("/", None, f"{address}"))
            with pytest.raises(RequestError):
                places.enter_context(occupancy.place("/", None, f"{address}"))
        with pytest.raises(RequestError):
            places.enter_context(occupancy.place("/", None, "another"))
        places.enter_context(occupancy.place("/", actor("guest"), "another"))
