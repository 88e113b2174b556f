"""The Responses API, tried by the stock client of OpenAI over a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from openai import APIStatusError

from atlas.config import Config
from atlas.errors import EngineError
from atlas.gateway import realtime_calls
from tests.conftest import for_every
from tests.gateway.small_house import SmallHouse, served

WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}


@pytest.fixture
async def small(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    """A house whose model may use tools."""
    llm = {name: replace(one, tools=True) for name, one in config.llm.items()}
    async with served(replace(config, llm=llm), data) as small:
        yield small


async def test_a_text_is_answered(small: SmallHouse) -> None:
    answer = await small.client().responses.create(model="atlas", input="what colour is the sky", instructions="Rhyme.")
    assert answer.output_text == "The sky is blue."
    assert (answer.status, answer.object) == ("completed", "response")
    assert answer.usage
    assert answer.usage.total_tokens == 17
    (turn,) = small.chat.turns
    assert (turn.text, turn.instructions, turn.remembered) == ("what colour is the sky", "Rhyme.", False)


async def test_an_answer_is_streamed_in_the_documented_order(small: SmallHouse) -> None:
    stream = await small.client().responses.create(model="family", input="hello", stream=True)
    events = [event async for event in stream]
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].response.output_text == "The sky is blue."  # type: ignore[union-attr]


async def test_the_clients_own_stream_helper_understands_it(small: SmallHouse) -> None:
    async with small.client().responses.stream(model="atlas", input="hello") as stream:
        async for _ in stream:
            pass
        assert (await stream.get_final_response()).output_text == "The sky is blue."


async def test_one_response_goes_on_from_another(small: SmallHouse) -> None:
    client = small.client()
    first = await client.responses.create(model="atlas", input="what colour is the sky")
    await client.responses.create(model="atlas", input="and why", previous_response_id=first.id)
    assert [message.text for message in small.chat.turns[1].history] == ["what colour is the sky", "The sky is blue."]
    with pytest.raises(APIStatusError) as refused:
        await small.client("guest").responses.create(model="atlas", input="and", previous_response_id=first.id)
    assert refused.value.body["code"] == "previous_response_not_found"  # type: ignore[index]  # it is another's


async def test_items_are_read_as_a_conversation(small: SmallHouse) -> None:
    said: Any = [
        {"role": "developer", "content": "Rhyme."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "raining"},
    ]
    await small.client().responses.create(model="atlas", input=said)
    (turn,) = small.chat.turns
    assert (turn.text, turn.instructions) == ("[What came of it: raining]", "Rhyme.")
    assert [message.text for message in turn.history] == ["hello", "hi", "[get_weather was called with {}]"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_clients_tool_is_called_by_it_and_the_turn_goes_on(small: SmallHouse, streamed: bool) -> None:
    client = small.client()

    async def create(**fields: Any) -> Any:
        if not streamed:
            return await client.responses.create(model="atlas", **fields)
        async with client.responses.stream(model="atlas", **fields) as stream:
            return await stream.get_final_response()

    first = await create(input="how is the weather", tools=[WEATHER])
    (call,) = first.output
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "get_weather", {"city": "Paris"})
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "raining"}
    second = await create(input=[output], previous_response_id=first.id, tools=[WEATHER])
    assert second.output_text == "It is raining."
    assert len(small.chat.turns) == 1, "one turn all along"
    await create(input="and tomorrow", previous_response_id=second.id)
    assert [message.text for message in small.chat.turns[1].history] == ["how is the weather", "It is raining."]


async def test_a_call_whose_output_comes_too_late_is_told_as_what_was_said(
    small: SmallHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realtime_calls, "ANSWER_SECONDS", 0.01)
    client = small.client()
    first = await client.responses.create(model="atlas", input="how is the weather", tools=[WEATHER])
    await anyio.sleep(0.2)
    output: Any = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "raining"}  # type: ignore[union-attr]
    second = await client.responses.create(model="atlas", input=[output], previous_response_id=first.id)
    assert second.output_text == "The sky is blue."
    assert small.chat.turns[1].text == "[What came of it: raining]"


async def test_what_nobody_reads_is_left_out_and_said(config: Config, data: Path) -> None:
    async with served(config, data) as small:
        answer = await small.client().responses.create(
            model="atlas", input="how is the weather", tools=[WEATHER], top_p=0.5, extra_body={"top_k": 3}
        )
    assert answer.atlas == {"ignored": ["top_p", "top_k", "tools"]}  # type: ignore[attr-defined]
    assert answer.output_text == "The sky is blue."


async def test_a_model_that_is_gone_is_an_answer_that_says_so(small: SmallHouse) -> None:
    small.chat.breaks = EngineError("gone", spoken="I can't think just now.")
    answer = await small.client().responses.create(model="atlas", input="hello")
    assert answer.output_text == "I can't think just now."


@for_every(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": 7}, "input"),
        ({"input": " "}, "messages"),
        ({"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": "x", "tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"input": "x", "tools": [{"type": "function"}]}, "tools[0].name"),
        ({"input": "x", "model": "gpt-9"}, "model"),
        ({"input": "x", "temperature": 9}, "temperature"),
        ({"input": [{"type": "computer_call"}]}, "input[0].type"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input[0].call_id"),
    ],
)
async def test_what_cannot_be_done_is_refused_by_name(small: SmallHouse, body: dict[str, Any], param: str) -> None:
    async with small.http() as http:
        refused = await http.post("/v1/responses", json=body)
    assert refused.status_code in (400, 404)
    assert refused.json()["error"]["param"] == param


@for_every("metadata", ["1e999", "[1]", '{"a":1e999}', '{"a":{"b":1}}', '"x"'])
async def test_metadata_that_could_not_be_said_again_is_refused_before_anything_is_done(
    small: SmallHouse, metadata: str
) -> None:
    content = f'{{"model":"atlas","input":"set a timer","metadata":{metadata}}}'
    async with small.http() as http:
        refused = await http.post("/v1/responses", content=content, headers={"content-type": "application/json"})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "metadata")
    assert small.chat.turns == []
