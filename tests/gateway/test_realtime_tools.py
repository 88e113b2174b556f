"""What programs bring to a Realtime session: tools of their own, tokens for minutes, sessions that only write down."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from openai import APIStatusError, AsyncOpenAI

from atlas.config import Config
from atlas.gateway import realtime, realtime_calls
from atlas.voice import reply
from tests.gateway.small_house import SmallHouse, let_others_run, served
from tests.gateway.test_realtime import Caller, calling, utterance
from tests.processes import until

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
async def small(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    """A house whose model may use tools."""
    llm = {name: replace(one, tools=True) for name, one in config.llm.items()}
    async with served(replace(config, llm=llm), data) as small:
        yield small


def typed(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


async def ask_about_weather(caller: Caller) -> None:
    """Offer a tool of the client's, and ask what it is for."""
    await caller.send("session.update", session={"type": "realtime", "tools": [WEATHER]})
    await caller.send("conversation.item.create", item=typed("how is the weather"))
    await caller.send("response.create")


async def test_a_clients_tool_is_called_by_it_and_the_turn_goes_on_with_what_came_of_it(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.send("session.update", session={"type": "realtime", "tools": [WEATHER]})
        assert (await caller.until("session.updated")).session.tools[0].name == "get_weather"
        await caller.send("conversation.item.create", item=typed("how is the weather"))
        await caller.send("response.create")
        call = await caller.until("response.function_call_arguments.done")
        assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris"})
        first = (await caller.until("response.done")).response
        assert first.status == "completed"
        assert [item.type for item in first.output] == ["function_call"]

        output = {"type": "function_call_output", "call_id": call.call_id, "output": "raining"}
        await caller.send("conversation.item.create", item=output)
        await caller.until("conversation.item.done")
        await caller.send("response.create")
        second = (await caller.until("response.done")).response
        assert second.id != first.id
        assert second.output[0].content[0].transcript == "It is raining."
    kinds = caller.kinds("rate_limits.updated")
    assert kinds.index("response.function_call_arguments.delta") < kinds.index("response.done")
    assert kinds.count("response.created") == kinds.count("response.done") == 2


async def test_a_call_that_the_client_never_answers_ends(small: SmallHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime_calls, "ANSWER_SECONDS", 0.05)
    async with calling(small) as caller:
        await ask_about_weather(caller)
        await caller.until("response.done")
        said = (await caller.until("response.done")).response.output[0].content[0].transcript
        assert "no answer" in said


async def test_a_program_that_asks_for_no_word_about_its_tool_has_its_next_question_answered(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await ask_about_weather(caller)
        call = await caller.until("response.function_call_arguments.done")
        await caller.until("response.done")
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "raining"}
        await caller.send("conversation.item.create", item=output)
        await caller.send("conversation.item.create", item=typed("why is it blue"))
        await caller.send("response.create")
        done = (await caller.until("response.done")).response
    assert (done.status, done.output[0].content[0].transcript) == ("completed", "The sky is blue.")
    assert small.chat.turns[-1].text == "why is it blue"
    assert "raining" in small.chat.turns[-1].instructions, "and it is known what came of the call"


async def test_a_program_that_asks_for_no_word_about_its_tool_hears_none(
    small: SmallHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realtime, "ASKING_SECONDS", 0.0)
    async with calling(small, device="kitchen") as caller:
        await ask_about_weather(caller)
        call = await caller.until("response.function_call_arguments.done")
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "raining"}
        await caller.send("conversation.item.create", item=output)
        with anyio.fail_after(20):
            assert await small.house.announce("kitchen", "Dinner is ready.")
        said = (await caller.until("response.done")).response
        while not said.output or said.output[0].type != "message":
            said = (await caller.until("response.done")).response
        assert said.output[0].content[0].transcript == "Dinner is ready.", "the turn is over, and the house is free"


async def test_one_moment_said_while_a_clients_tool_works_is_no_response_of_its_own(
    small: SmallHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply, "WAITING_SECONDS", 0.0)
    monkeypatch.setattr(small.house, "waiting", {"en": "One moment."})
    async with calling(small) as caller:
        await ask_about_weather(caller)
        call = await caller.until("response.function_call_arguments.done")
        await until(lambda: small.voice.texts)
        await let_others_run()
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "raining"}
        await caller.send("conversation.item.create", item=output)
        while (await caller.until("conversation.item.done")).item.type != "function_call_output":
            pass
        assert caller.kinds().count("response.created") == 1
        await caller.send("response.create")
        await caller.until("response.created")
        assert (await caller.until("response.done")).response.output[0].content[0].transcript == "It is raining."


async def test_speaking_while_a_clients_tool_works_ends_the_turn(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await ask_about_weather(caller)
        call = await caller.until("response.function_call_arguments.done")
        await caller.send("response.cancel")
        await caller.send("conversation.item.create", item=typed("why is it blue"))
        await caller.send("response.create")
        done = await caller.until("response.done")
        while not done.response.output or done.response.output[0].type != "message":
            done = await caller.until("response.done")
        late = {"type": "function_call_output", "call_id": call.call_id, "output": "raining"}
        await caller.send("conversation.item.create", item=late)
        while (await caller.until("conversation.item.done")).item.type != "function_call_output":
            pass  # it comes too late, and is no trouble
    assert small.chat.turns[-1].text == "why is it blue"


async def test_tools_of_one_response_are_its_own(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.send("conversation.item.create", item=typed("how is the weather"))
        await caller.send("response.create", response={"tools": [WEATHER]})
        await caller.until("response.function_call_arguments.done")
    assert small.chat.turns[0].client_tools


async def test_a_choice_of_no_tool_offers_none(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.send("session.update", session={"type": "realtime", "tools": [WEATHER], "tool_choice": "none"})
        await caller.send("conversation.item.create", item=typed("how is the weather"))
        await caller.send("response.create")
        await caller.until("response.done")
    assert small.chat.turns[0].client_tools is None


async def test_a_model_that_may_use_no_tools_is_offered_none_and_the_session_goes_on(
    config: Config, data: Path
) -> None:
    async with served(config, data) as small, calling(small) as caller:
        update = {"type": "realtime", "instructions": "Rhyme.", "tools": [WEATHER]}
        await caller.send("session.update", session=update)
        session = (await caller.until("session.updated")).session
        assert (session.tools, session.instructions) == ([], "Rhyme."), "all else of the update holds"
        warning = await caller.until("atlas.warning")
        assert warning.code == "tools_left_out"
        await caller.send("conversation.item.create", item=typed("how is the weather"))
        await caller.send("response.create")
        assert (await caller.until("response.done")).response.status == "completed"


async def test_a_transcription_session_writes_down_and_answers_nothing(small: SmallHouse) -> None:
    small.ear.lines = ["the sky is blue", "and so is the sea"]
    async with calling(small, intent="transcription") as caller:
        await caller.hear()
        told = await caller.until("conversation.item.input_audio_transcription.completed")
        assert told.transcript == "the sky is blue"
        await caller.send("session.update", session={"type": "transcription"})
        assert (await caller.until("session.updated")).session.type == "transcription"
        await caller.hear()
        await caller.until("conversation.item.input_audio_transcription.completed")
        assert (await caller.refused("response.create")).code == "unsupported"
    assert small.chat.turns == []


async def test_a_client_secret_opens_sessions_as_it_was_made_for(small: SmallHouse) -> None:
    made = await small.client("adult").realtime.client_secrets.create(
        expires_after={"anchor": "created_at", "seconds": 60},
        session={"type": "realtime", "model": "atlas", "instructions": "Rhyme.", "tools": [WEATHER]},  # type: ignore[typeddict-item]
    )
    assert made.value.startswith("ek_")
    small.ear.lines = ["hello"]
    async with AsyncOpenAI(base_url=f"{small.url}/v1", api_key=made.value, max_retries=0) as page:
        async with page.realtime.connect(model="atlas") as connection:
            kinds = [(await connection.recv()) for _ in range(3)]
            assert kinds[-1].type == "session.updated"
            assert kinds[-1].session.instructions == "Rhyme."  # type: ignore[union-attr]
            await connection.input_audio_buffer.append(audio=utterance())
            while (await connection.recv()).type != "response.done":
                pass
        with pytest.raises(APIStatusError) as refused:
            await page.models.list()
        assert refused.value.status_code == 401, "nothing else is opened by it"
    assert small.chat.turns[0].actor.device == "the adult"


async def test_a_client_secret_ends_with_the_token_that_it_was_made_for(small: SmallHouse) -> None:
    made = await small.client("adult").realtime.client_secrets.create()
    await small.devices.revoke("the adult")
    async with AsyncOpenAI(base_url=f"{small.url}/v1", api_key=made.value, max_retries=0) as page:
        with pytest.raises(Exception, match="401"):
            async with page.realtime.connect(model="atlas"):
                pass


async def test_json_that_cannot_be_copied_or_shown_again_is_refused(small: SmallHouse) -> None:
    nested = '{"a":' * 900 + "1" + "}" * 900
    async with small.http("guest") as http:
        for content in (
            f'{{"session":{{"tracing":{nested}}}}}',
            f'{{"session":{{"tools":[{{"name":"x","parameters":{nested}}}]}}}}',
            '{"session":{"tools":[{"name":"x","parameters":{"a":1e999}}]}}',
        ):
            headers = {"content-type": "application/json"}
            refused = await http.post("/v1/realtime/client_secrets", content=content, headers=headers)
            assert refused.status_code == 400, refused.text


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"session": {"colour": 1}}, "session.colour"),
        ({"session": []}, "session"),
        ({"expires_after": {"seconds": 5}}, "expires_after.seconds"),
        ({"colour": 1}, "colour"),
    ],
)
async def test_a_wrong_client_secret_is_refused_by_name(small: SmallHouse, body: dict[str, Any], param: str) -> None:
    async with small.http() as http:
        refused = await http.post("/v1/realtime/client_secrets", json=body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
