"""Typed turns through the stock client: what is answered, what is refused and how, and what is remembered."""

from __future__ import annotations

import json
from typing import Any

import anyio
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.conversation import Message
from atlas.errors import LlmGone, RequestError
from atlas.gateway import chat
from tests.conftest import for_every
from tests.gateway.small_house import served, small_house

HELLO: list[Any] = [{"role": "user", "content": "why is the sky blue"}]


@pytest.fixture
async def world(config, data):
    async with served(config, data) as opened:
        yield opened


async def test_a_question_is_answered_by_the_model(config, data):
    async with served(config, data) as world:
        reply = await world.client().chat.completions.create(model="atlas", messages=HELLO)
        assert reply.object == "chat.completion"
        assert reply.model == "atlas"
        choice = reply.choices[0]
        assert (choice.message.role, choice.message.content) == ("assistant", "The sky is blue.")
        assert choice.finish_reason == "stop"
        assert reply.usage is not None
        assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (12, 5, 17)
        assert reply.usage.prompt_tokens_details.cached_tokens == 8
        details = choice.message.model_extra["atlas"]
        assert (details["agent"], details["path"], details["tools"], details["end"]) == ("family", "model", [], "done")
        assert details["reason"]
        assert reply.id == f"chatcmpl-{details['turn']}"


async def test_a_command_is_done_and_its_receipt_shown(config, data):
    async with served(config, data) as world:
        messages: list[Any] = [{"role": "user", "content": "set a timer for ten minutes"}]
        reply = await world.client().chat.completions.create(model="family", messages=messages)
        assert reply.choices[0].message.content == "Timer set for 10 minutes."
        details = reply.choices[0].message.model_extra["atlas"]
        assert details["path"] == "command"
        assert details["tools"] == [
            {
                "name": "timers.start",
                "arguments": {"seconds": 600},
                "ok": True,
                "text": "Timer set for 10 minutes.",
                "receipt": {"id": "rcpt_1", "changed": "timer set for 10 minutes"},
                "ask": None,
            }
        ]


async def test_a_stream_brings_the_words_then_how_it_ended_then_what_it_cost(config, data):
    async with served(config, data) as world:
        stream = await world.client().chat.completions.create(
            model="atlas", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
        assert len({chunk.id for chunk in chunks}) == 1
        assert chunks[0].choices[0].delta.role == "assistant"
        words = [chunk.choices[0].delta.content for chunk in chunks[:-1] if chunk.choices[0].delta.content]
        assert words == ["The sky ", "is blue."]
        assert chunks[-2].choices[0].finish_reason == "stop"
        assert chunks[-2].choices[0].delta.model_extra["atlas"]["path"] == "model"
        assert chunks[-1].choices == []
        assert chunks[-1].usage.total_tokens == 17


async def test_a_stream_says_after_a_while_that_it_takes_a_moment_and_that_is_no_part_of_the_answer(
    config, data, monkeypatch
):
    monkeypatch.setattr(chat, "WAITING_SECONDS", 0.0)
    async with served(config, data) as world:
        world.house.waiting = {"en": "One moment."}
        world.chat.goes_on = anyio.Event()
        words: list[str] = []
        stream = await world.client().chat.completions.create(model="atlas", messages=HELLO, stream=True)
        async for chunk in stream:
            words.append(chunk.choices[0].delta.content or "")
            if "One moment. " in words:
                world.chat.goes_on.set()
        assert "".join(words) == "One moment. The sky is blue."
        asked_on: list[Any] = [
            *HELLO,
            {"role": "assistant", "content": "".join(words)},
            {"role": "user", "content": "why is that"},
        ]
        await world.client().chat.completions.create(model="atlas", messages=asked_on)
        assert [message.text for message in world.chat.turns[-1].history][-1] == "The sky is blue."
        assert not world.chat.turns[-1].tainted


async def test_the_helper_that_collects_a_stream_works_too(config, data):
    async with served(config, data) as world:
        async with world.client().chat.completions.stream(model="atlas", messages=HELLO) as stream:
            whole = await stream.get_final_completion()
        assert whole.choices[0].message.content == "The sky is blue."


async def test_a_reply_cut_at_its_limit_says_length(config, data):
    async with served(config, data) as world:
        world.chat.end = "length"
        reply = await world.client().chat.completions.create(model="atlas", messages=HELLO, max_tokens=5)
        assert reply.choices[0].finish_reason == "length"
        assert world.chat.turns[0].max_tokens == 5


@pytest.mark.parametrize("stream", [False, True])
async def test_a_turn_that_failed_is_an_honest_answer_that_no_client_repeats_by_itself(config, data, stream):
    async with served(config, data) as world:
        world.chat.breaks = LlmGone("connection refused at /secret/socket")
        async with world.http() as http:
            reply = await http.post(
                "/v1/chat/completions", json={"model": "atlas", "messages": HELLO, "stream": stream}
            )
        assert reply.status_code == 200
        assert "I lost my train of thought" in reply.text
        assert '"end":"failed"' in reply.text.replace(" ", "")
        assert '"error":' in reply.text
        assert len(world.chat.turns) == 1


async def test_earlier_messages_are_history_and_the_clients_instructions_are_kept_apart(config, data):
    async with served(config, data) as world:
        messages: list[Any] = [
            {"role": "system", "content": "Answer in rhyme."},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "hi"},
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": [{"type": "text", "text": "and"}, {"type": "text", "text": "now?"}]},
        ]
        await world.client().chat.completions.create(
            model="family", messages=messages, temperature=0.5, max_completion_tokens=7
        )
        turn = world.chat.turns[0]
        assert turn.history == (Message("user", "hello"), Message("assistant", "hi"))
        assert turn.text == "and\nnow?"
        assert turn.instructions == "Answer in rhyme.\n\nBe brief."
        assert (turn.temperature, turn.max_tokens) == (0.5, 7)
        assert (turn.agent, turn.remembered, turn.spoken) == ("family", False, False)
        assert turn.actor.device == "the owner"


async def test_the_house_keeps_a_conversation_when_it_is_asked_to(config, data):
    async with served(config, data) as world:
        for _ in range(2):
            await world.client().chat.completions.create(
                model="atlas", messages=HELLO, extra_body={"atlas": {"remember": True, "room": "kitchen"}}
            )
        first, second = world.chat.turns
        assert first.history == ()
        assert second.history == (Message("user", HELLO[0]["content"]), Message("assistant", "The sky is blue."))
        assert second.actor.room == "kitchen"
        await world.client().chat.completions.create(model="atlas", messages=HELLO)
        assert world.chat.turns[2].history == ()


async def test_only_an_owner_speaks_for_somebody_else(config, data):
    async with served(config, data) as world:
        for own_values in ({"person": "Mia"}, {"device": "door"}):
            await world.client().chat.completions.create(
                model="atlas", messages=HELLO, extra_body={"atlas": own_values}
            )
            with pytest.raises(openai.PermissionDeniedError):
                await world.client("adult").chat.completions.create(
                    model="atlas", messages=HELLO, extra_body={"atlas": own_values}
                )
        assert [(turn.actor.person, turn.actor.device) for turn in world.chat.turns] == [
            ("Mia", "the owner"),
            ("", "door"),
        ]
        for role in ("adult", "child", "guest", "satellite"):  # a room is its devices', and so is its conversation
            with pytest.raises(openai.PermissionDeniedError):
                await world.client(role).chat.completions.create(
                    model="atlas", messages=HELLO, extra_body={"atlas": {"room": "study", "remember": True}}
                )


async def test_models_are_those_that_one_may_use(config, data):
    async with served(config, data) as world:
        assert [model.id async for model in world.client().models.list()] == ["atlas", "family", "work"]
        assert [model.id async for model in world.client("child").models.list()] == ["atlas", "family"]
        assert (await world.client().models.retrieve("work")).owned_by == "atlas"
        with pytest.raises(openai.PermissionDeniedError, match="does not answer the role child"):
            await world.client("child").models.retrieve("work")
        with pytest.raises(openai.NotFoundError):
            await world.client().models.retrieve("gpt-4o")


async def test_work_answers_only_its_owner_and_unknown_names_get_the_list(config, data):
    async with served(config, data) as world:
        with pytest.raises(openai.PermissionDeniedError, match="does not answer the role guest"):
            await world.client("guest").chat.completions.create(model="work", messages=HELLO)
        with pytest.raises(openai.NotFoundError, match="atlas, family, work") as trouble:
            await world.client().chat.completions.create(model="gpt-4o", messages=HELLO)
        assert (trouble.value.code, trouble.value.param) == ("model_not_found", "model")
        assert world.chat.turns == []


@for_every(
    ("change", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 7}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": ["hello"]}, "messages[0]"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": " "}]}, "messages"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "messages[0].role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
            "messages[0].content[0].type",
        ),
        ({"messages": [{"role": "user", "content": [7]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": HELLO * (chat.MAX_MESSAGES + 1)}, "messages"),
        ({"messages": [{"role": "user", "content": "x" * (chat.MAX_CHARACTERS + 1)}]}, "messages"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": 1}, "stream_options"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_completion_tokens": True}, "max_completion_tokens"),
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"stop": ["x"]}, "stop"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"atlas": {"remember": 1}}, "atlas.remember"),
        ({"atlas": {"rember": True}}, "atlas.rember"),
        ({"atlas": {"room": "x" * 65}}, "atlas.room"),
        (
            {"atlas": {"remember": True}, "messages": [*HELLO, {"role": "assistant", "content": "x"}, *HELLO]},
            "messages",
        ),
    ],
)
async def test_what_cannot_be_done_is_refused_by_the_name_of_its_field(world, change, param):
    actor = await world.devices.find(world.tokens["owner"])
    with pytest.raises(RequestError) as trouble:
        chat.read({"model": "atlas", "messages": HELLO} | change, actor, world.house)
    assert trouble.value.param == param


async def test_what_nobody_here_reads_is_left_out_and_said(config, data):
    async with served(config, data) as world:
        tools = [{"type": "function", "function": {"name": "x"}}]
        others = {"top_k": 40, "keep_alive": "5m", "options": {"num_ctx": 4096}, "think": False}
        answer = await world.client().chat.completions.create(
            model="atlas", messages=HELLO, tools=tools, extra_body=others
        )
        assert answer.choices[0].message.content == "The sky is blue."
        assert answer.choices[0].message.atlas["ignored"] == ["keep_alive", "options", "tools", "top_k"]
        plain = await world.client().chat.completions.create(model="atlas", messages=HELLO)
        assert "ignored" not in plain.choices[0].message.atlas


async def test_hints_that_many_clients_send_are_taken(config, data):
    async with served(config, data) as world:
        await world.client().chat.completions.create(
            model="atlas",
            messages=HELLO,
            **{
                "n": 1,
                "top_p": 0.9,
                "seed": 1,
                "user": "me",
                "presence_penalty": 0.1,
                "tool_choice": "none",
                "tools": [],
            },
        )
        assert len(world.chat.turns) == 1


@for_every(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b"null",
        b"\xff\xfe",
        b'{"model": NaN}',
        b'{"model": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"temperature": 1' + b"0" * 5000 + b"}",
    ],
)
async def test_what_is_no_json_object_is_a_clear_400(world, body):
    async with world.http() as http:
        reply = await http.post("/v1/chat/completions", content=body)
        assert reply.status_code == 400
        assert reply.json()["error"]["code"] == "invalid_json"


@for_every("field", ["temperature", "max_tokens", "n"])
@for_every("number", ["1e999", "1" + "0" * 400, "-1" + "0" * 400])
async def test_a_huge_number_is_refused_by_the_name_of_its_field(world, field, number):
    async with world.http() as http:
        text = f'{{"model": "atlas", "messages": [{{"role": "user", "content": "x"}}], "{field}": {number}}}'
        reply = await http.post("/v1/chat/completions", content=text)
        assert reply.status_code == 400
        assert reply.json()["error"]["param"] == field


@pytest.mark.parametrize("stream", [False, True])
async def test_the_turn_ends_when_its_reader_goes_away(config, data, stream):
    async with served(config, data) as world, world.http() as http:
        world.chat.endless = True
        body = {"model": "atlas", "stream": stream, "messages": HELLO}
        with anyio.move_on_after(0.5):
            async with http.stream("POST", "/v1/chat/completions", json=body) as reply:
                async for _ in reply.aiter_lines():
                    break
        with anyio.fail_after(10):
            await world.chat.cancelled.wait()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(st.sampled_from(sorted(chat.READ)) | st.text(), JSON, max_size=6)


async def test_no_body_at_all_breaks_the_door(config, data):
    async with small_house(config, data) as world:
        actor = await world.devices.find(world.tokens["guest"])

        @given(FIELDS)
        def holds(body: dict[str, Any]) -> None:
            try:
                completion_request = chat.read({"model": "atlas", "messages": HELLO} | body, actor, world.house)
            except RequestError as refused:
                json.dumps(str(refused) + refused.param)
            else:
                assert completion_request.turn.text

        holds()
