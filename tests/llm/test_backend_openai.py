"""Servers of OpenAI's API differ in the small things; the backend understands each, and nothing bad comes through."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from atlas.conversation import Message, Tool, ToolCall
from atlas.errors import ConfigError, EngineError, LlmGone
from atlas.llm import backend_openai
from atlas.llm.backend import Calls, Delta, Finished, Words
from atlas.llm.backend_openai import BackendSettings, OpenAiBackend

TIMER = Tool(
    "timers.start",
    "Start a timer.",
    {"type": "object", "properties": {"seconds": {"type": "integer", "minimum": 1}}, "required": ["seconds"]},
)
HELLO = [Message("user", "hello")]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def event(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": delta, "finish_reason": finish}], **more}).encode() + b"\n\n"


def call(index: int | None = 0, **function: Any) -> dict[str, Any]:
    return {"tool_calls": [{**({} if index is None else {"index": index}), "function": function}]}


class Server:
    """Says the same bytes to everybody, and keeps what it was asked."""

    def __init__(self, *said: bytes, stays: bool = False) -> None:
        self.said, self.stays = said, stays
        self.asked: list[dict[str, Any]] = []
        self.hung_up = anyio.Event()

    async def answer(self, client: SocketStream) -> None:
        async with client:
            request = b""
            while b"\r\n\r\n" not in request or not request.endswith((b"}", b"\r\n\r\n")):
                request += await client.receive()
            self.asked.append(json.loads(request.split(b"\r\n\r\n", 1)[1] or "{}"))
            with anyio.CancelScope(shield=True), suppress(anyio.BrokenResourceError):
                for part in self.said:
                    await client.send(part)
            while self.stays:
                try:
                    await client.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    self.hung_up.set()
                    return


@asynccontextmanager
async def before(server: Server, data: Path, **settings: Any) -> AsyncIterator[OpenAiBackend]:
    path = data / "s.sock"
    listener = await anyio.create_unix_listener(path)
    backend = await backend_openai.open(BackendSettings("m", socket=path, **settings))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, server.answer)
        yield backend
        await backend.aclose()
        tasks.cancel_scope.cancel()
    await listener.aclose()


async def everything(backend: OpenAiBackend, **more: Any) -> list[Delta]:
    async with aclosing(backend.stream(HELLO, [TIMER], **more)) as deltas:
        return [delta async for delta in deltas]


ARGUMENTS = '{"seconds": 5}'
WAYS: dict[str, list[bytes]] = {
    "in fragments": [
        event({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "timers__start", "arguments": ""}}]}),
        *(event(call(arguments=letter)) for letter in ARGUMENTS),
        event({}, "tool_calls"),
    ],
    "name repeated": [
        *(event(call(name="timers__start", arguments=part)) for part in (ARGUMENTS[:5], ARGUMENTS[5:])),
        event({}, "tool_calls"),
    ],
    "in one piece, with the end": [event(call(name="timers__start", arguments=ARGUMENTS), "tool_calls")],
    "arguments as an object": [event(call(name="timers__start", arguments={"seconds": 5}), "stop")],
    "no index": [event(call(None, name="timers__start", arguments=ARGUMENTS)), event({}, "stop")],
    "an end without a delta": [event(call(name="timers__start", arguments=ARGUMENTS)), event(None, "stop")],
    "no end mark, pings, a usage without choices": [
        b": ping\n\n",
        event(call(name="timers__start", arguments=ARGUMENTS), "tool_calls"),
        b'data: {"usage": {"prompt_tokens": 3}}\n\n',
    ],
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_call_is_understood_in_every_way_that_servers_send_it(data: Path, way: str) -> None:
    async with before(Server(HEAD, *WAYS[way]), data) as backend:
        calls, last = await everything(backend)
    assert isinstance(calls, Calls) and isinstance(last, Finished) and last.finish == "tool_calls"
    assert (calls.calls[0].name, calls.calls[0].arguments) == ("timers.start", {"seconds": 5})
    assert calls.calls[0].id


@pytest.mark.parametrize(
    "function",
    [
        {"name": "timers__start", "arguments": '{"seconds": 0}'},
        {"name": "timers__start", "arguments": '{"seconds": '},
        {"name": "timers__start", "arguments": "[5]"},
        {"name": "timers__start"},
        {"name": "doors__open", "arguments": "{}"},
        "timers__start",
    ],
)
async def test_a_call_that_its_tool_could_not_take_is_an_error_and_no_call(data: Path, function: Any) -> None:
    fragment = {"tool_calls": [{"index": 0, "function": function}]}
    async with before(Server(HEAD, event(fragment, "tool_calls")), data) as backend:
        with pytest.raises(EngineError):
            await everything(backend)


async def test_a_call_that_was_cut_short_is_no_call(data: Path) -> None:
    async with before(Server(HEAD, event(call(name="timers__start", arguments='{"s'), "length")), data) as backend:
        (last,) = await everything(backend)
    assert isinstance(last, Finished) and last.finish == "length"


@pytest.mark.parametrize(
    "said",
    [
        [],
        [b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy"],
        [HEAD],
        [HEAD, event({"content": "half an ans"})],
        [HEAD, event({"content": "done"}), b"data: {broken\n\n"],
        [HEAD, b"data: " + b"x" * 3_000_000],
        [b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>"],
    ],
)
async def test_a_server_that_breaks_off_is_llm_gone(data: Path, said: list[bytes]) -> None:
    async with before(Server(*said), data) as backend:
        with pytest.raises(LlmGone):
            await everything(backend)


async def test_a_server_that_falls_silent_is_llm_gone(data: Path) -> None:
    server = Server(HEAD, event({"content": "well"}), stays=True)
    async with before(server, data, idle_seconds=0.05) as backend:
        with pytest.raises(LlmGone):
            await everything(backend)
        await server.hung_up.wait()


@pytest.mark.parametrize(
    "said",
    [
        [b'HTTP/1.1 400 Bad\r\ncontent-length: 27\r\n\r\n{"error":{"message":"bad"}}'],
        [HEAD, b'data: {"error": {"message": "no"}}\n\n'],
    ],
)
async def test_a_server_that_refuses_is_an_error_but_not_gone(data: Path, said: list[bytes]) -> None:
    async with before(Server(*said), data) as backend:
        with pytest.raises(EngineError) as refused:
            await everything(backend)
    assert not isinstance(refused.value, LlmGone)


async def test_closing_hangs_up_at_once(data: Path) -> None:
    server = Server(HEAD, event({"content": "well"}), stays=True)
    async with before(server, data) as backend:
        async with aclosing(backend.stream(HELLO)) as deltas:
            assert await anext(deltas) == Words("well")
        with anyio.fail_after(5):
            await server.hung_up.wait()


async def test_history_goes_out_with_names_that_the_wire_allows(data: Path) -> None:
    server = Server(HEAD, event({"content": "ok"}, "stop"))
    made = ToolCall("c1", "timers.start", {"seconds": 5})
    history = [
        Message("user", "half \ud83d"),
        Message("assistant", calls=(made,)),
        Message("tool", "Set.", call_id="c1"),
    ]
    async with (
        before(server, data) as backend,
        aclosing(backend.stream(history, [TIMER], tool_choice="timers.start", conversation="k")) as deltas,
    ):
        assert [type(delta) async for delta in deltas] == [Words, Finished]
    (asked,) = server.asked
    assert asked["messages"][1]["tool_calls"][0]["function"] == {"name": "timers__start", "arguments": '{"seconds":5}'}
    assert asked["messages"][2] == {"role": "tool", "content": "Set.", "tool_call_id": "c1"}
    assert asked["tool_choice"]["function"]["name"] == "timers__start" and asked["atlas_conversation"] == "k"


async def test_a_model_that_is_not_trusted_with_tools_is_not_told_of_them(data: Path) -> None:
    server = Server(HEAD, event({"content": "ok"}, "stop"))
    async with before(server, data, tools=False, own_host=False) as backend:
        await everything(backend, conversation="k")
    assert not {"tools", "tool_choice", "atlas_conversation"} & set(server.asked[0])


@pytest.mark.parametrize("url", ["llm:8080", "http://llm:port/v1", "http://[::1/v1", "http:///v1"])
async def test_an_impossible_address_is_a_mistake_in_the_settings(url: str) -> None:
    with pytest.raises(ConfigError):
        await backend_openai.open(BackendSettings("m", base_url=url))


async def test_a_page_instead_of_a_list_of_models_is_not_ready(data: Path) -> None:
    page = Server(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>")
    async with before(page, data, own_host=False) as backend:
        with pytest.raises(LlmGone):
            await backend.health()


async def test_a_key_is_not_printed() -> None:
    assert "secret" not in repr(BackendSettings("m", api_key="secret"))
