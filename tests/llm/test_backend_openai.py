"""Servers of OpenAI's API differ in the small things; the backend understands each, and nothing bad comes through."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.tls import TLSListener

from atlas.conversation import Message, Tool, ToolCall
from atlas.errors import ConfigError, ContextFull, EngineError, LlmBusy, LlmGone, LlmLoading
from atlas.llm import backend_openai
from atlas.llm.backend import BackendPrompt, Calls, Delta, Finished, TextPiece
from atlas.llm.backend_openai import BackendSettings, OpenAiBackend
from tests.certificates import certificate, serving
from tests.conftest import for_every, virtual_time

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

    def __init__(self, *texts: bytes, stays: bool = False, every_seconds: float = 0) -> None:
        self.texts, self.stays, self.every_seconds = texts, stays, every_seconds
        self.requests: list[dict[str, Any]] = []
        self.hung_up = anyio.Event()

    async def answer(self, client: SocketStream) -> None:
        async with client:
            request = b""
            while b"\r\n\r\n" not in request or (b"POST" in request and not request.endswith(b"}")):
                request += await client.receive()  # whole: what is left unread breaks the connection when it is closed
            self.requests.append(json.loads(request.split(b"\r\n\r\n", 1)[1] or "{}"))
            with anyio.CancelScope(shield=True), suppress(anyio.BrokenResourceError):
                for part in self.texts:
                    await anyio.sleep(self.every_seconds)
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
    async with aclosing(backend.stream(BackendPrompt(HELLO, [TIMER], **more))) as deltas:
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


@for_every("way", WAYS)
async def test_a_call_is_understood_in_every_way_that_servers_send_it(data: Path, way: str) -> None:
    async with before(Server(HEAD, *WAYS[way]), data) as backend:
        calls, last = await everything(backend)
    assert isinstance(calls, Calls) and isinstance(last, Finished) and last.finish == "tool_calls"
    assert (calls.calls[0].name, calls.calls[0].arguments) == ("timers.start", {"seconds": 5})
    assert calls.calls[0].id


@for_every(
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


@for_every(
    "texts",
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
async def test_a_server_that_breaks_off_is_llm_gone(data: Path, texts: list[bytes]) -> None:
    async with before(Server(*texts), data) as backend:
        with pytest.raises(LlmGone):
            await everything(backend)


async def test_a_server_that_falls_silent_is_llm_gone(data: Path) -> None:
    server = Server(HEAD, event({"content": "well"}), stays=True)
    async with before(server, data, idle_seconds=0.05) as backend:
        with pytest.raises(LlmGone):
            await everything(backend)
        await server.hung_up.wait()


@pytest.mark.parametrize(
    "texts",
    [
        [b'HTTP/1.1 400 Bad\r\ncontent-length: 27\r\n\r\n{"error":{"message":"bad"}}'],
        [HEAD, b'data: {"error": {"message": "no"}}\n\n'],
    ],
)
async def test_a_server_that_refuses_is_an_error_but_not_gone(data: Path, texts: list[bytes]) -> None:
    async with before(Server(*texts), data) as backend:
        with pytest.raises(EngineError) as refused:
            await everything(backend)
    assert not isinstance(refused.value, LlmGone)


async def test_closing_hangs_up_at_once(data: Path) -> None:
    server = Server(HEAD, event({"content": "well"}), stays=True)
    async with before(server, data) as backend:
        async with aclosing(backend.stream(BackendPrompt(HELLO))) as deltas:
            assert await anext(deltas) == TextPiece("well")
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
        aclosing(
            backend.stream(BackendPrompt(history, [TIMER], tool_choice="timers.start", conversation="k"))
        ) as deltas,
    ):
        assert [type(delta) async for delta in deltas] == [TextPiece, Finished]
    (arguments,) = server.requests
    assert arguments["messages"][1]["tool_calls"][0]["function"] == {
        "name": "timers__start",
        "arguments": '{"seconds":5}',
    }
    assert arguments["messages"][2] == {"role": "tool", "content": "Set.", "tool_call_id": "c1"}
    assert arguments["tool_choice"]["function"]["name"] == "timers__start" and arguments["atlas_conversation"] == "k"


async def test_a_model_that_is_not_trusted_with_tools_is_not_told_of_them(data: Path) -> None:
    server = Server(HEAD, event({"content": "ok"}, "stop"))
    async with before(server, data, tools=False, own_host=False) as backend:
        await everything(backend, conversation="k")
    assert not {"tools", "tool_choice", "atlas_conversation"} & set(server.requests[0])


def whole(body: Any, status: bytes = b"200 OK", head: bytes = b"") -> bytes:
    raw = json.dumps(body).encode()
    return b"HTTP/1.1 %b\r\n%bconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (status, head, len(raw), raw)


async def test_our_own_host_is_asked_to_read_ahead_and_says_nothing(data: Path) -> None:
    server = Server(whole({"choices": []}))
    async with before(server, data) as backend:
        await backend.prefill(BackendPrompt(HELLO, [TIMER], conversation="k", priority="voice"))
    (arguments,) = server.requests
    assert arguments["atlas_prefill"] is True and arguments["stream"] is False and not arguments.get("stream_options")
    assert (arguments["atlas_conversation"], arguments["atlas_priority"]) == ("k", "voice")
    assert arguments["tools"] and arguments["messages"]


async def test_our_own_host_is_asked_to_forget(data: Path) -> None:
    server = Server(whole({}))
    async with before(server, data) as backend:
        await backend.forget("k")
    assert server.requests == [{"conversation": "k"}]


async def test_other_servers_are_asked_for_nothing_that_they_do_not_know(data: Path) -> None:
    server = Server(HEAD, event({"content": "ok"}, "stop"))
    async with before(server, data, own_host=False) as backend:
        await backend.prefill(BackendPrompt(HELLO, conversation="k"))
        await backend.forget("k")
        assert server.requests == []
        await everything(backend, conversation="k", priority="voice")
    assert not any(name.startswith("atlas") for name in server.requests[0])


async def test_vectors_come_in_the_order_of_the_texts_and_have_length_one(data: Path) -> None:
    rows = [{"index": 1, "embedding": [0.0, 2]}, {"index": 0, "embedding": [3.0, 4.0]}]
    server = Server(whole({"data": rows}))
    async with before(server, data) as backend:
        assert (await backend.embed(["a", "b"])).vectors == ((0.6, 0.8), (0.0, 1.0))
    assert server.requests[0]["input"] == ["a", "b"] and server.requests[0]["encoding_format"] == "float"


async def test_what_reading_took_and_which_texts_were_cut_comes_with_the_vectors(data: Path) -> None:
    rows = [{"index": 1, "embedding": [1], "atlas_cut": True}, {"index": 0, "embedding": [1]}]
    server = Server(whole({"data": rows, "usage": {"prompt_tokens": 519, "total_tokens": 519}}))
    async with before(server, data) as backend:
        read = await backend.embed(["half a pair \ud83d", "long"], priority="background")
    assert (read.tokens, read.cut) == (519, {1})
    assert server.requests[0]["input"][0] == "half a pair \ufffd"
    assert server.requests[0]["atlas_priority"] == "background"


async def test_a_server_that_is_not_ours_is_not_told_who_waits_for_a_vector(data: Path) -> None:
    server = Server(whole({"data": [{"embedding": [1]}]}))
    async with before(server, data, own_host=False) as backend:
        assert (await backend.embed(["a"], priority="background")).tokens == 0
    assert not any(name.startswith("atlas") for name in server.requests[0])


@for_every(
    "data_of",
    [
        None,
        [],
        [{"embedding": "AAAA"}],
        [{"embedding": [0, 0]}],
        [{"embedding": [1, None]}],
        [{"embedding": [10**400]}],
        [1],
        [{"embedding": [1]}] * 2,
    ],
)
async def test_what_is_no_vector_is_an_error(data: Path, data_of: Any) -> None:
    async with before(Server(whole({"data": data_of})), data) as backend:
        with pytest.raises(EngineError):
            await backend.embed(["a"])


async def test_a_server_without_embeddings_is_an_error_and_not_gone(data: Path) -> None:
    async with before(Server(whole({"error": {"message": "no"}}, b"501 No")), data) as backend:
        with pytest.raises(EngineError) as refused:
            await backend.embed(["a"])
    assert not isinstance(refused.value, LlmGone)


@pytest.mark.parametrize("call", ["stream", "prefill"])
async def test_a_full_context_is_told_from_every_other_trouble(data: Path, call: str) -> None:
    error = {"code": "context_length_exceeded", "message": "long", "atlas": {"prompt_tokens": 9, "context": 8}}
    async with before(Server(whole({"error": error}, b"400 Bad")), data) as backend:
        with pytest.raises(ContextFull) as full:
            await (everything(backend) if call == "stream" else backend.prefill(BackendPrompt(HELLO, conversation="k")))
    assert (full.value.prompt_tokens, full.value.context_tokens) == (9, 8)


async def test_a_model_that_is_being_loaded_is_told_from_one_that_is_gone(data: Path) -> None:
    loading = whole({"error": {"message": "Loading model", "code": 503}}, b"503 Unavailable")
    async with before(Server(loading), data) as backend:
        with pytest.raises(LlmLoading):
            await everything(backend)
        with pytest.raises(LlmLoading):
            await backend.health()


async def test_a_busy_server_says_when_it_wants_to_be_asked_again(data: Path) -> None:
    busy = whole({"error": {"message": "the line is full"}}, b"429 Busy", b"retry-after: 3\r\n")
    async with before(Server(busy), data) as backend:
        with pytest.raises(LlmBusy) as error:
            await everything(backend)
    assert "3 s" in error.value.hint


@for_every(
    ("deltas", "words"),
    [
        ([{"content": "<think>\nHm."}, {"content": "</think>\n\nWide."}], "Wide."),
        ([{"reasoning": "Hm."}, {"reasoning_content": "Hm."}, {"content": "Wide."}], "Wide."),
        ([{"content": None, "refusal": "I will not."}], "I will not."),
        ([{"content": [{"type": "text", "text": "Wi"}, {"type": "text", "text": "de."}]}], "Wide."),
        ([{"content": "<"}], "<"),
        ([{"content": 5}, {"content": [5, {}]}, {"content": "Wide."}], "Wide."),
    ],
)
async def test_words_are_what_is_said_and_not_what_is_thought(data: Path, deltas: list[Any], words: str) -> None:
    async with before(Server(HEAD, *map(event, deltas), event({}, "stop")), data) as backend:
        heard = await everything(backend)
    assert "".join(delta.text for delta in heard if isinstance(delta, TextPiece)) == words


@for_every("url", ["llm:8080", "http://llm:port/v1", "http://[::1/v1", "http:///v1"])
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


async def test_encryption_is_kept_however_its_name_is_spelled(tmp_path: Path) -> None:
    """A house that nobody vouches for is told nothing, above all no key."""
    server = Server(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
    plain = await anyio.create_tcp_listener(local_host="127.0.0.1")
    listener = TLSListener(plain, serving(certificate(tmp_path)))
    port = plain.extra(SocketAttribute.local_port)
    backend = await backend_openai.open(BackendSettings("m", f"HTTPS://localhost:{port}/v1", own_host=False))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, server.answer)
        with pytest.raises(LlmGone, match="CERTIFICATE_VERIFY_FAILED"):
            await backend.health()
        await backend.aclose()
        tasks.cancel_scope.cancel()
    await listener.aclose()
    assert server.requests == []


def head(kind: str, **more: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in more.items())
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n{lines}\r\n".encode()


@pytest.mark.parametrize("charset", ["hex", "undefined", "rot13", "utf-16", "no such thing"])
async def test_json_is_utf_8_whatever_a_server_calls_it(data: Path, charset: str) -> None:
    texts = [head(f"text/event-stream; charset={charset}"), event({"content": "grün"}, "stop")]
    async with before(Server(*texts), data) as backend:
        assert (await everything(backend))[0] == TextPiece("grün")
    texts = [head(f"application/json; charset={charset}"), b'{"model": "m", "data": [{"embedding": [2]}]}']
    async with before(Server(*texts), data) as backend:
        assert (await backend.embed(["hello"])).vectors == ((1.0,),) and await backend.health() == "m"


@pytest.mark.parametrize(
    ("pieces", "words"), [([r"a\ud83d", r"\ude00b"], "a😀b"), ([r"a\ud83d", "b"], "a�b"), ([r"\ude00a\ud83d"], "�a�")]
)
async def test_halves_of_a_character_are_joined_and_lone_ones_replaced(
    data: Path, pieces: list[str], words: str
) -> None:
    events = [b'data: {"choices": [{"delta": {"content": "%b"}}]}\n\n' % piece.encode() for piece in pieces]
    async with before(Server(HEAD, *events, event({}, "stop")), data) as backend:
        assert "".join(delta.text for delta in await everything(backend) if isinstance(delta, TextPiece)) == words


async def test_an_answer_without_end_is_given_up(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_openai, "MAX_ANSWER_BYTES", 10_000)
    packed = gzip.compress(b" " * 1_000_000 + b'{"data": [{"embedding": [2]}]}')
    async with before(Server(head("application/json", content_encoding="gzip"), packed), data) as backend:
        with pytest.raises(LlmGone):
            await backend.embed(["hello"])


async def test_an_answer_that_trickles_is_given_up(data: Path) -> None:
    async def trickle(client: SocketStream) -> None:
        async with client:
            await client.receive()
            await client.send(head("application/json"))
            with suppress(anyio.BrokenResourceError):
                while True:
                    await client.send(b" ")

    server = Server()
    server.answer = trickle  # type: ignore[method-assign]
    with anyio.fail_after(5):
        async with before(server, data, first_words_seconds=0.02) as backend:
            with pytest.raises(LlmGone):
                await backend.embed(["hello"])


@pytest.mark.parametrize("anyio_backend", [virtual_time()])
async def test_the_time_for_first_words_begins_with_the_question(data: Path) -> None:
    server = Server(HEAD, event({"role": "assistant"}), event({"content": "Late."}, "stop"), every_seconds=15)
    async with before(server, data, first_words_seconds=40.0) as backend:
        with pytest.raises(LlmGone, match="said nothing"):
            await everything(backend)


@pytest.mark.parametrize("first", [HEAD, HEAD + event({"content": "well"})], ids=["first words", "more words"])
async def test_events_that_say_nothing_are_not_waited_through_for_ever(data: Path, first: bytes) -> None:
    async def trickle(client: SocketStream) -> None:
        async with client:
            await client.receive()
            await client.send(first)
            with suppress(anyio.BrokenResourceError):
                while True:
                    await client.send(event({"role": "assistant", "content": ""}))

    server = Server()
    server.answer = trickle  # type: ignore[method-assign]
    with anyio.fail_after(5):
        async with before(server, data, first_words_seconds=0.02) as backend:
            with pytest.raises(LlmGone, match="said nothing"):
                await everything(backend)


@pytest.mark.parametrize("anyio_backend", [virtual_time()])
async def test_whatever_comes_of_an_answer_is_waited_for_anew_and_whoever_reads_it_may_take_his_time(
    data: Path,
) -> None:
    slow = [event({"reasoning_content": "Hm."}), event(call(name="timers__start")), event(call(arguments=ARGUMENTS))]
    words = [event({"content": "Now."}), event({"content": " Done."}, "tool_calls")]
    server = Server(HEAD + slow[0], *slow[1:], *words, every_seconds=15)
    async with (
        before(server, data, first_words_seconds=20.0, idle_seconds=16.0) as backend,
        aclosing(backend.stream(BackendPrompt(HELLO, [TIMER]))) as deltas,
    ):
        texts = []
        async for delta in deltas:
            texts.append(type(delta))
            await anyio.sleep(100)
    assert texts == [TextPiece, TextPiece, Calls, Finished]
