"""Tokens at the door: what opens it, what does not, and why guessing is pointless."""

from __future__ import annotations

import json
import logging
import time

import anyio
import httpx2
import openai
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from atlas.errors import StoreError
from atlas.gateway import auth, live
from tests.conftest import for_every, virtual_time
from tests.gateway.small_house import SmallHouse, served


@pytest.fixture
async def world(config, data):
    async with served(config, data) as opened:
        yield opened


async def test_a_missing_token_is_told_how_to_make_one(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        for path in ("/v1/models", "/v1/models/atlas"):
            reply = await http.get(path)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"].startswith("Bearer")
            assert "atlas token create" in reply.json()["error"]["message"]
        for path in ("/v1/chat/completions", "/v1/audio/speech", "/v1/audio/transcriptions"):
            assert (await http.post(path)).status_code == 401


@for_every("sent", ["Bearer wrong", "Bearer", "Basic YTpi", "Bearer atlas_" + "a" * 32, "bearer", "x"])
async def test_a_wrong_token_opens_nothing(world, sent):
    async with world.http(role=None, Authorization=sent) as http:
        reply = await http.get("/v1/models")
        assert reply.status_code == 401
        assert reply.json()["error"]["code"] == "invalid_api_key"


async def test_the_stock_client_calls_it_an_authentication_error(config, data):
    async with served(config, data) as world:
        world.tokens["owner"] = "atlas_" + "z" * 32
        with pytest.raises(openai.AuthenticationError, match="taken back"):
            await world.client().models.list()


async def test_a_token_that_was_taken_back_opens_nothing_from_that_moment(config, data):
    async with served(config, data) as world, world.http("adult") as http:
        assert (await http.get("/v1/models")).status_code == 200
        await world.devices.revoke("the adult")
        assert (await http.get("/v1/models")).status_code == 401


@pytest.mark.parametrize("anyio_backend", [virtual_time()])
async def test_guessing_gets_slower_up_to_a_limit_until_one_is_right():
    guesses = auth.Guesses()

    async def wait_of(peer: str) -> float:
        began = anyio.current_time()
        await guesses.wrong(peer)
        return anyio.current_time() - began

    waits = [await wait_of("a phone") for _ in range(7)]
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 3.2])
    assert await wait_of("a tablet") == pytest.approx(0.1)
    guesses.right("a phone")
    assert await wait_of("a phone") == pytest.approx(0.1)


async def test_whoever_guessed_comes_in_with_the_right_token(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        for token, status in (("guess", 401), ("guess", 401), (world.tokens["adult"], 200)):
            reply = await http.get("/v1/models", headers={"Authorization": f"Bearer {token}"})
            assert reply.status_code == status


async def test_a_flood_of_guesses_is_turned_away_while_the_right_token_still_opens(config, data, monkeypatch):
    monkeypatch.setattr(auth, "WAITING_GUESSES", 2)
    monkeypatch.setattr(auth, "FIRST_WAIT_SECONDS", 0.5)
    async with served(config, data) as world, world.http(role=None, Authorization="Bearer guess") as guesser:
        codes: list[int] = []

        async def guess() -> None:
            codes.append((await guesser.get("/v1/models")).status_code)

        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(guess)
            async with world.http() as http:
                assert (await http.get("/v1/models")).status_code == 200
        assert codes.count(429) >= 4
        assert set(codes) == {401, 429}


@pytest.mark.parametrize("anyio_backend", [virtual_time()])
async def test_who_guessed_is_forgotten_once_there_are_too_many():
    guesses = auth.Guesses()
    async with anyio.create_task_group() as tasks:
        for peer in range(auth.REMEMBERED_PEERS + 10):
            tasks.start_soon(_wrong, guesses, str(peer))
    assert len(guesses._wrong) == auth.REMEMBERED_PEERS


async def _wrong(guesses: auth.Guesses, peer: str) -> None:
    try:
        await guesses.wrong(peer)
    except auth.RequestError as flood:
        assert flood.code == "too_many_guesses"


def address(world: SmallHouse) -> str:
    return world.url.replace("http", "ws") + "/v1/realtime"


async def test_a_browser_sends_its_token_as_a_sub_protocol_and_never_gets_it_back(config, data):
    async with served(config, data) as world:
        offered = [Subprotocol("realtime"), Subprotocol(auth.TOKEN_PROTOCOL + world.tokens["owner"])]
        async with connect(address(world), subprotocols=offered, origin=Origin(world.url)) as socket:
            assert socket.subprotocol == "realtime"
            assert json.loads(await socket.recv())["type"] == "session.created"


@pytest.mark.parametrize(
    ("token", "origin", "status"),
    [("right", "http://evil.example", 403), ("wrong", None, 401), ("none", None, 401)],
)
async def test_a_websocket_that_may_not_come_in_is_told_why_before_it_opens(config, data, token, origin, status):
    async with served(config, data) as world:
        sent = {"right": world.tokens["owner"], "wrong": "atlas_" + "q" * 32}.get(token)
        offered = [Subprotocol("realtime"), *([Subprotocol(auth.TOKEN_PROTOCOL + sent)] if sent else [])]
        with pytest.raises(InvalidStatus) as trouble:
            await connect(address(world), subprotocols=offered, origin=Origin(origin) if origin else None)
        reply = trouble.value.response
        assert reply.status_code == status
        assert json.loads(reply.body)["error"]["message"]
        assert reply.headers["x-request-id"].startswith("req_")


async def test_an_open_websocket_ends_when_its_token_is_taken_back(config, data, monkeypatch):
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.05)
    async with served(config, data) as world:
        headers = {"Authorization": f"Bearer {world.tokens['adult']}"}
        async with connect(address(world), additional_headers=headers) as socket:
            await world.devices.revoke("the adult")
            with anyio.fail_after(10), pytest.raises(ConnectionClosed):
                while True:
                    await socket.recv()


async def test_a_disk_that_fails_for_a_moment_takes_nobodys_token_back(config, data, monkeypatch, caplog):
    monkeypatch.setattr(live, "LOOK_SECONDS", 0)
    caplog.set_level(logging.INFO)
    checks = 0

    async def broken(token: str) -> None:
        nonlocal checks
        checks += 1
        raise StoreError("the disk does not answer")

    async with served(config, data) as world:
        headers = {"Authorization": f"Bearer {world.tokens['adult']}"}
        async with connect(address(world), additional_headers=headers) as socket:
            assert json.loads(await socket.recv())["type"] == "session.created"
            monkeypatch.setattr(world.house, "authenticate", broken)
            with anyio.fail_after(10):
                while checks < 3:
                    await anyio.lowlevel.checkpoint()
            await socket.send('{"type": "make.coffee"}')
            with anyio.fail_after(10):
                while json.loads(await socket.recv())["type"] != "error":
                    pass
    assert "token not checked" in caplog.text


async def test_a_token_that_is_taken_back_mid_stream_cuts_the_stream_within_a_second(config, data):
    async with served(config, data) as world, world.http("adult") as http:
        world.chat.endless = True
        body = {"model": "atlas", "messages": [{"role": "user", "content": "talk"}], "stream": True}
        async with http.stream("POST", "/v1/chat/completions", json=body) as reply:
            pieces = reply.aiter_text()
            assert "data:" in await anext(pieces)
            await world.devices.revoke("the adult")
            with anyio.fail_after(1), pytest.raises(httpx2.RemoteProtocolError):  # cut: no end was said
                while True:
                    await anext(pieces)
        await world.chat.cancelled.wait()


async def test_an_open_socket_hears_why_and_is_closed_within_a_second(config, data):
    async with served(config, data) as world:
        headers = {"Authorization": f"Bearer {world.tokens['child']}"}
        async with connect(address(world), additional_headers=headers) as socket:
            assert json.loads(await socket.recv())["type"] == "session.created"
            await world.devices.revoke("the child")
            events = []
            with anyio.fail_after(1), pytest.raises(ConnectionClosed) as closed:
                while True:
                    events.append(json.loads(await socket.recv()))
            assert events[-1]["error"]["code"] == "invalid_api_key"
            assert closed.value.rcvd.code == 1008


async def test_an_open_socket_of_a_device_with_another_name_is_closed_and_comes_in_again(config, data):
    async with served(config, data) as world:
        headers = {"Authorization": f"Bearer {world.tokens['child']}"}
        async with connect(address(world), additional_headers=headers) as socket:
            assert json.loads(await socket.recv())["type"] == "session.created"
            await world.devices.change("the child", new_name="Mia's phone")
            with anyio.fail_after(1), pytest.raises(ConnectionClosed) as closed:
                while True:
                    assert json.loads(await socket.recv())["type"] != "error", "its token counts"
            assert closed.value.rcvd.code == 1012, "come in again"
        async with connect(address(world), additional_headers=headers) as socket:
            assert json.loads(await socket.recv())["type"] == "session.created"


async def test_a_guest_whose_time_is_over_mid_session_is_shown_out_and_no_clock_lets_them_in_again(config, data):
    async with served(config, data) as world:
        headers = {"Authorization": f"Bearer {world.tokens['guest']}"}
        async with connect(address(world), additional_headers=headers) as socket:
            assert json.loads(await socket.recv())["type"] == "session.created"
            world.devices._now = lambda: time.time() + 73 * 3600
            with anyio.fail_after(1), pytest.raises(ConnectionClosed):
                while True:
                    await socket.recv()
        world.devices._now = time.time
        async with world.http("guest") as http:
            assert (await http.get("/v1/models")).status_code == 401


async def test_what_is_open_on_other_tokens_goes_on(config, data, monkeypatch):
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.02)
    async with (
        served(config, data) as world,
        connect(address(world), additional_headers={"Authorization": f"Bearer {world.tokens['adult']}"}) as stays,
        connect(address(world), additional_headers={"Authorization": f"Bearer {world.tokens['child']}"}) as goes,
    ):
        await world.devices.revoke("the child")
        with anyio.fail_after(5), pytest.raises(ConnectionClosed):
            while True:
                await goes.recv()
        await stays.send('{"type": "make.coffee"}')
        with anyio.fail_after(5):
            while json.loads(await stays.recv())["type"] != "error":
                pass
