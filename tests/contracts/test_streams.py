"""What llama-server, vLLM and Ollama make of calls on the wire comes out as the same calls, or as a failure."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from anyio.abc import SocketStream

from atlas.conversation import Message, Tool, Usage
from atlas.errors import EngineError, LlmGone
from atlas.llm import backend_openai
from atlas.llm.backend import BackendPrompt, Calls, Delta, Finished, TextPiece
from atlas.llm.backend_openai import BackendSettings, OpenAiBackend
from tests.conftest import for_every
from tests.contracts.streams import DONE, SERVERS, Made, chunk, fragment, function_of_old

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
TIMER = Tool(
    "timers.start",
    "Start a timer.",
    {
        "type": "object",
        "properties": {"seconds": {"type": "integer", "minimum": 1}, "name": {"type": "string"}},
        "required": ["seconds"],
        "additionalProperties": False,
    },
)
CLOCK = Tool("clock.time", "Tell the time.", {"type": "object", "properties": {}, "additionalProperties": False})
TOOLS = {tool.name: tool for tool in (TIMER, CLOCK)}
TWO: list[Made] = [("timers.start", {"seconds": 5, "name": 'tea "{}" 茶'}), ("timers.start", {"seconds": 9})]


class Stage:
    """A server that says what it is told to, on one socket, and a backend before it."""

    def __init__(self, backend: OpenAiBackend) -> None:
        self.backend = backend
        self.says: list[bytes] = []

    async def answer(self, client: SocketStream) -> None:
        async with client:
            request = b""
            while b"\r\n\r\n" not in request or not request.endswith(b"}"):
                request += await client.receive()
            with suppress(anyio.BrokenResourceError):
                await client.send(HEAD + b"".join(self.says))

    async def hear(self, *says: bytes) -> list[Delta]:
        self.says = list(says)
        hello = [Message("user", "hello")]
        async with aclosing(self.backend.stream(BackendPrompt(hello, list(TOOLS.values())))) as deltas:
            return [delta async for delta in deltas]


@pytest.fixture
async def stage(data: Path) -> AsyncIterator[Stage]:
    path = data / "s.sock"
    listener = await anyio.create_unix_listener(path)
    stage = Stage(await backend_openai.open(BackendSettings("m", socket=path, own_host=False)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, stage.answer)
        yield stage
        await stage.backend.aclose()
        tasks.cancel_scope.cancel()
    await listener.aclose()


def calls_of(deltas: Sequence[Delta]) -> list[Made]:
    return [(call.name, dict(call.arguments)) for d in deltas if isinstance(d, Calls) for call in d.calls]


@pytest.mark.parametrize("server", SERVERS)
async def test_two_calls_at_once_come_out_as_they_were_meant(stage: Stage, server: Any) -> None:
    deltas = await stage.hear(*server(TWO, random.Random(1)))
    assert calls_of(deltas) == TWO
    assert [type(delta) for delta in deltas] == [Calls, Finished]
    (made, last) = deltas
    assert isinstance(made, Calls) and isinstance(last, Finished) and last.finish == "tool_calls"
    assert len({call.id for call in made.calls}) == 2, "a result must find its call"
    assert last.usage in (Usage(30, 0, 7), Usage())


ARGUMENTS: list[Any] = [{"seconds": 5}, {"seconds": 1, "name": "é\n}{"}, {}, {"seconds": 0}, {"seconds": "5"}, {"x": 1}]


@pytest.mark.parametrize("server", SERVERS)
async def test_whatever_calls_a_server_sends_those_that_come_out_fit_their_schemas(stage: Stage, server: Any) -> None:
    dice = random.Random(7)
    for _ in range(25):
        chosen = [(dice.choice([*TOOLS, "doors.open"]), dice.choice(ARGUMENTS)) for _ in range(dice.randint(1, 4))]
        fits = all(
            name in TOOLS and jsonschema.Draft202012Validator(TOOLS[name].parameters).is_valid(arguments)
            for name, arguments in chosen
        )
        if fits:
            assert calls_of(await stage.hear(*server(chosen, dice))) == chosen
            continue
        with pytest.raises(EngineError) as refused:
            await stage.hear(*server(chosen, dice))
        assert not isinstance(refused.value, LlmGone), "the model is there; its call was wrong"


@pytest.mark.parametrize("server", SERVERS)
async def test_a_stream_that_is_cut_anywhere_before_its_end_makes_no_call(stage: Stage, server: Any) -> None:
    whole = list(server(TWO, random.Random(3)))
    end = next(i for i, part in enumerate(whole) if b'"finish_reason": "' in part)
    for cut in {0, 1, end // 3, end // 2, end - 1, end}:
        with pytest.raises(LlmGone):
            await stage.hear(*whole[:cut])
    with pytest.raises(LlmGone):  # in the middle of the arguments, and of the event itself
        await stage.hear(*whole[:end], whole[end][: len(whole[end]) // 2])


@pytest.mark.parametrize("server", SERVERS)
async def test_a_call_that_ran_out_of_tokens_is_no_call(stage: Stage, server: Any) -> None:
    parts = [part.replace(b'"tool_calls"}]', b'"length"}]') for part in server(TWO, random.Random(3))]
    parts = [part.replace(b'"finish_reason": "stop"', b'"finish_reason": "length"') for part in parts]
    deltas = await stage.hear(*parts)
    assert [type(delta) for delta in deltas] == [Finished] and deltas[-1].finish == "length"  # type: ignore[union-attr]


@for_every(
    "arguments",
    [
        *('{"seconds": 5', '{"seconds": 5}}', '{"seconds": 5} {"seconds": 6', "seconds=5", '"5"', "[5]", "5", "null"),
        *('{"seconds": NaN}', '{"seconds": 5, "seconds": 6}', '{"seconds": 5, "name": "\\ud83d"}'),
        *('{"seconds": 5,}', "{'seconds': 5}", '```json\n{"seconds": 5}\n```', '{"seconds": 5.5}', '{"seconds": true}'),
        *(5, ["seconds", 5], True),
    ],
)
async def test_arguments_that_are_nearly_right_are_refused_and_not_mended(stage: Stage, arguments: Any) -> None:
    with pytest.raises(EngineError) as refused:
        made = [fragment({"name": "timers__start", "arguments": arguments}, 0, "c")]
        await stage.hear(chunk({"tool_calls": made}), chunk({}, "tool_calls"), DONE)
    assert not isinstance(refused.value, LlmGone)


async def test_a_call_that_is_sent_twice_under_one_id_is_not_done_twice(stage: Stage) -> None:
    again = chunk({"tool_calls": [fragment({"name": "timers__start", "arguments": '{"seconds": 5}'}, 0, "c")]})
    with pytest.raises(EngineError):
        await stage.hear(again, again, chunk({}, "tool_calls"))


async def test_a_character_that_was_cut_between_two_fragments_is_whole_again(stage: Stage) -> None:
    parts = [chunk({"tool_calls": [fragment({"name": "timers__start", "arguments": '{"seconds": 5, "name": "'}, 0)]})]
    parts += [chunk({"tool_calls": [fragment({"arguments": half}, 0)]}) for half in ("\ud83d", "\ude00", '"}')]
    assert calls_of(await stage.hear(*parts, chunk({}, "tool_calls"))) == [
        ("timers.start", {"seconds": 5, "name": "😀"})
    ]


@pytest.mark.parametrize(
    "error",
    [
        b'data: {"error": {"message": "out of memory", "code": 500}}\n\n',
        b'data: {"error": "out of memory"}\n\n',
        b'data: {"object": "error", "message": "out of memory", "code": 500}\n\n',
        b'error: {"code": 500, "message": "out of memory"}\n\n',
    ],
)
async def test_an_error_in_the_middle_is_an_error_although_a_call_was_whole(stage: Stage, error: bytes) -> None:
    made = [fragment({"name": "timers__start", "arguments": '{"seconds": 5}'}, 0, "c")]
    with pytest.raises(EngineError):
        await stage.hear(chunk({"tool_calls": made}), error, DONE)


async def test_a_call_by_the_name_it_had_before_there_were_tools_is_a_call(stage: Stage) -> None:
    deltas = await stage.hear(*function_of_old(TWO[:1], random.Random(1)))
    assert calls_of(deltas) == TWO[:1]


async def test_words_before_a_call_are_heard_and_thoughts_are_not(stage: Stage) -> None:
    made = [fragment({"name": "clock__time"}, 0, "c")]
    rows: list[dict[str, Any]] = [
        {"reasoning_content": "Hm."},
        {"content": "Let me "},
        {"content": "see."},
        {"tool_calls": made},
    ]
    deltas = await stage.hear(*(chunk(delta) for delta in rows), chunk({}, "tool_calls"), DONE)
    assert [delta.text for delta in deltas if isinstance(delta, TextPiece)] == ["Let me ", "see."]
    assert calls_of(deltas) == [("clock.time", {})]
