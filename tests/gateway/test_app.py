"""The front door as a whole: what is said about health and trouble, who is let near it, and how it stops."""

from __future__ import annotations

import json
import logging

import anyio
import httpx2
import pytest

from atlas.config import GatewayConfig
from atlas.errors import ConfigError
from atlas.gateway import app, guard
from tests.conftest import for_every
from tests.gateway.small_house import let_others_run, served


def error_of(reply: httpx2.Response) -> dict[str, object]:
    """Return the error of a reply, which must have the shape that OpenAI's has."""
    assert reply.headers["content-type"] == "application/json"
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return error


@pytest.fixture
async def world(config, data):
    async with served(config, data) as opened:
        yield opened


async def test_health_needs_no_token_and_says_what_is_loaded(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        world.health["models"] = ["smollm2-135m-instruct"]
        reply = await http.get("/health")
        assert (reply.status_code, reply.json()) == (200, world.health)


async def test_health_is_503_while_a_part_is_down_and_names_it(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        world.health.update(status="degraded", down=["tools"])
        reply = await http.get("/health")
        assert reply.status_code == 503
        assert reply.json()["down"] == ["tools"]


@for_every(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("GET", "/../atlas/config.py", 404, "not_found"),
        ("GET", "/%2e%2e/atlas.toml", 404, "not_found"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("DELETE", "/v1/models", 405, "method_not_allowed"),
        ("POST", "/", 405, "method_not_allowed"),
    ],
)
async def test_what_is_not_there_is_said_in_the_shape_that_clients_read(world, method, path, status, code):
    async with world.http() as http:
        reply = await http.request(method, path)
        assert reply.status_code == status
        assert error_of(reply)["code"] == code


async def test_a_mistake_of_ours_has_a_number_that_the_log_knows_and_tells_nothing_else(config, data, caplog):
    async with served(config, data) as world, world.http() as http:
        world.chat.breaks = ZeroDivisionError("secret-of-the-inside")
        body = {"model": "family", "messages": [{"role": "user", "content": "hello"}]}
        with caplog.at_level(logging.INFO):
            reply = await http.post("/v1/chat/completions", json=body)
        assert reply.status_code == 500
        assert error_of(reply)["type"] == "server_error"
        assert "secret" not in reply.text
        assert "Traceback" not in reply.text
        number = reply.headers["x-request-id"]
        assert number in str(error_of(reply)["message"])
        assert number in caplog.text
        world.chat.breaks = None
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200


async def test_every_reply_has_a_number_and_gives_browsers_no_room(config, data):
    async with served(config, data) as world, world.http() as http:
        numbers = set()
        for path in ("/", "/health", "/v1/models", "/nothing"):
            reply = await http.get(path)
            numbers.add(reply.headers["x-request-id"])
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert reply.headers["referrer-policy"] == "no-referrer"
            assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
            assert "unsafe" not in reply.headers["content-security-policy"]
            assert "access-control-allow-origin" not in reply.headers
            assert "server" not in reply.headers
        assert len(numbers) == 4


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8600", "127.0.0.1.evil.example", "localhost.evil", ""])
async def test_a_strange_name_for_this_machine_is_turned_away(config, data, host):
    async with served(config, data) as world, world.http() as http:
        reply = await http.get("/v1/models", headers={"Host": host})
        assert reply.status_code in (400, 421)  # h11 itself refuses a request without a host


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8600", "127.0.0.1:1", "[::1]:8600", "192.168.1.20"])
async def test_its_own_names_and_any_address_are_welcome(config, data, host):
    async with served(config, data) as world, world.http() as http:
        assert (await http.get("/v1/models", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_pages_of_others_are_turned_away(config, data, headers):
    async with served(config, data) as world, world.http() as http:
        body = {"model": "atlas", "messages": [{"role": "user", "content": "hello"}]}
        reply = await http.post("/v1/chat/completions", json=body, headers=headers)
        assert reply.status_code == 403
        assert world.chat.turns == []
        assert (await http.post("/v1/chat/completions", json=body, headers={"Origin": world.url})).status_code == 200


async def test_a_body_that_is_too_large_is_refused_before_it_is_read_and_while_it_is(config, data):
    async with served(config, data) as world, world.http() as http:
        response = await http.post("/v1/chat/completions", content=b"x" * (guard.JSON_BYTES + 1))
        assert response.status_code == 413
        assert error_of(response)["code"] == "request_too_large"

        async def endless():
            for _ in range(guard.JSON_BYTES // 65_536 + 2):
                yield b" " * 65_536

        untold = await http.post("/v1/chat/completions", content=endless())
        assert untold.status_code == 413


async def test_a_body_that_never_comes_is_given_up(config, data, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.05)
    async with served(config, data) as world:
        port = int(world.url.rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as wire:
            head = f"Host: localhost\r\nAuthorization: Bearer {world.tokens['owner']}\r\nContent-Length: 10\r\n\r\n{{"
            await wire.send(f"POST /v1/chat/completions HTTP/1.1\r\n{head}".encode())
            reply = b""
            while not reply.endswith(b"}}"):
                reply += await wire.receive()
        assert reply.startswith(b"HTTP/1.1 408")
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["code"] == "request_timeout"


@pytest.mark.parametrize("before", [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"], ids=["at once", "later"])
@pytest.mark.parametrize("text", [b"", b"G", b"GET /health HTTP/1.1\r\nHost: loc"])
async def test_who_connects_and_does_not_ask_is_sent_away(config, data, monkeypatch, before, text):
    monkeypatch.setattr(app, "IDLE_SECONDS", 0.3)
    async with served(config, data) as world, await anyio.connect_tcp("127.0.0.1", port_of(world)) as wire:
        if before:
            await wire.send(before)
            assert (await wire.receive()).startswith(b"HTTP/1.1 200")
        if text:
            await wire.send(text)
        with anyio.fail_after(10), pytest.raises(anyio.EndOfStream):
            while True:
                await wire.receive()


@pytest.mark.parametrize("path", ["chat/completions", "audio/speech", "audio/transcriptions"])
async def test_who_leaves_in_the_middle_of_a_body_is_no_mistake_of_ours(config, data, caplog, path):
    async with served(config, data) as world:
        head = f"Host: localhost\r\nAuthorization: Bearer {world.tokens['owner']}\r\nContent-Length: 10\r\n"
        form = "Content-Type: multipart/form-data; boundary=x\r\n"
        async with await anyio.connect_tcp("127.0.0.1", port_of(world)) as wire:
            await wire.send(f"POST /v1/{path} HTTP/1.1\r\n{head}{form}\r\n{{".encode())
            await let_others_run()
        async with world.http() as http:
            assert (await http.get("/v1/models")).status_code == 200
        await let_others_run()
    assert [line.getMessage() for line in caplog.records if line.levelno >= logging.ERROR] == []


async def test_who_waits_for_an_answer_is_not_sent_away(config, data, monkeypatch):
    monkeypatch.setattr(app, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.5)  # how long this answer takes
    async with served(config, data) as world, await anyio.connect_tcp("127.0.0.1", port_of(world)) as wire:
        head = f"Host: localhost\r\nAuthorization: Bearer {world.tokens['owner']}\r\nContent-Length: 10\r\n\r\n{{"
        await wire.send(f"POST /v1/chat/completions HTTP/1.1\r\n{head}".encode())
        assert (await wire.receive()).startswith(b"HTTP/1.1 408")


def port_of(world):
    """Return where a house that is served listens."""
    return int(world.url.rpartition(":")[2])


async def test_a_port_that_is_taken_is_said_with_what_to_do():
    with app.listen(GatewayConfig(port=0)) as listener:
        with pytest.raises(ConfigError) as trouble:
            app.listen(GatewayConfig(port=listener.getsockname()[1]))
        assert "running already" in trouble.value.hint
    for host, port in (("192.0.2.1", 0), ("no.such.host.invalid", 0), ("127.0.0.1", 99_999), ("127.0.0.1", -1)):
        with pytest.raises(ConfigError):
            app.listen(GatewayConfig(host, port))


async def test_stopping_ends_replies_under_way(config, data):
    with anyio.fail_after(20):
        async with served(config, data) as world, world.http() as http:
            world.chat.endless = True
            body = {"model": "atlas", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
            reply = await http.send(http.build_request("POST", "/v1/chat/completions", json=body), stream=True)
            assert reply.status_code == 200
        assert world.chat.cancelled.is_set()


async def test_the_api_never_answers_two_requests_with_one_number(config, data):
    async with served(config, data) as world, world.http() as http:
        first = await http.get("/health", headers={"X-Request-Id": "chosen by the client"})
        assert first.headers["x-request-id"].startswith("req_")
