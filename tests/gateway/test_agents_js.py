"""OpenAI's voice agents for JavaScript (@openai/agents-realtime), unmodified, as a client of the Realtime door."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from atlas.config import Config
from tests.gateway.small_house import SmallHouse, served
from tests.gateway.test_realtime import utterance
from tests.node_packages import install, node

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]
HERE = Path(__file__).parent / "agents_js"
LINE_BYTES = 1024 * 1024


class JsSession:
    """A session in a Node of its own, and every event that it had."""

    def __init__(self, process: Process) -> None:
        assert process.stdin
        assert process.stdout
        self._calls, self._lines = process.stdin, BufferedByteReceiveStream(process.stdout)
        self.events: list[tuple[str, Any]] = []

    async def call(self, method: str, *parameters: Any) -> None:
        await self._calls.send(json.dumps([method, *parameters]).encode() + b"\n")

    async def until(self, kind: str, fits: Callable[[Any], object] = lambda what: True) -> Any:
        """Return the next event of this kind that fits."""
        with anyio.fail_after(20):
            while True:
                line = json.loads(await self._lines.receive_until(b"\n", LINE_BYTES))
                self.events.append((line[0], line[1] if len(line) > 1 else None))
                if line[0] == kind and fits(self.events[-1][1]):
                    return self.events[-1][1]

    async def until_over(self) -> None:
        """Read on until the response is over."""
        await self.until("event", lambda name: name == "rate_limits.updated")

    def history(self) -> list[dict[str, Any]]:
        return list(self.all("history")[-1])

    def all(self, kind: str) -> list[Any]:
        return [what for name, what in self.events if name == kind]


@pytest.fixture(scope="module", autouse=True)
def packages() -> Path:
    return install(HERE)


@pytest.fixture
async def small(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    """A house whose model may use tools."""
    llm = {name: replace(one, tools=True) for name, one in config.llm.items()}
    async with served(replace(config, llm=llm), data) as small:
        small.chat.words = ("The sky ", "is blue.")
        yield small


@asynccontextmanager
async def talking(
    small: SmallHouse, tool: str = "", key: str = "", config: Mapping[str, Any] | None = None
) -> AsyncIterator[JsSession]:
    url = f"{small.url.replace('http', 'ws', 1)}/v1/realtime?model=atlas"
    command = [str(node()), str(HERE / "client.mjs"), url, key or small.tokens["adult"], tool, json.dumps(config or {})]
    async with await anyio.open_process(command, stderr=None) as process:
        try:
            yield JsSession(process)
        finally:
            process.kill()


async def test_a_typed_question_is_answered_in_words_and_sound(small: SmallHouse) -> None:
    async with talking(small) as session:
        await session.until("connected")
        await session.call("sendMessage", "why is the sky blue")
        assert (await session.until("answer"))["text"] == "The sky is blue."
        assert sum(session.all("sound")) > 24_000 * 2 * 0.3
        await session.until_over()
        await session.call("sendMessage", "and at night")
        await session.until("answer")
        words = [item["content"][0].get("text") or item["content"][0]["transcript"] for item in session.history()]
        assert words == ["why is the sky blue", "The sky is blue.", "and at night", "The sky is blue."]
        assert session.all("error") == []
    assert [turn.text for turn in small.chat.turns] == ["why is the sky blue", "and at night"]
    assert small.chat.turns[0].instructions == "Be brief."


async def test_a_page_with_a_token_for_minutes_is_spoken_to(small: SmallHouse) -> None:
    small.ear.lines = ["why is the sky blue"]
    secret = await small.client("adult").realtime.client_secrets.create()
    async with talking(small, key=secret.value) as session:
        await session.until("connected")
        await session.call("sendAudio", utterance())
        assert (await session.until("answer"))["text"] == "The sky is blue."
        asked = session.history()[0]
        assert (asked["role"], asked["content"][0]["transcript"]) == ("user", "why is the sky blue")
        assert session.all("error") == []


async def test_sound_and_settings_of_other_kinds_are_taken(small: SmallHouse) -> None:
    telephone = {"inputAudioFormat": "g711_ulaw", "outputAudioFormat": "g711_ulaw", "voice": "cedar", "speed": 1.2}
    detection = {"type": "server_vad", "silenceDurationMs": 300, "createResponse": True, "interruptResponse": True}
    written = {"outputModalities": ["text"], "reasoning": {"effort": "low"}, "parallelToolCalls": False}
    for config in (telephone | {"turnDetection": detection}, written):
        async with talking(small, config=config) as session:
            await session.until("connected")
            await session.call("sendMessage", "why is the sky blue")
            assert (await session.until("answer"))["text"] == "The sky is blue."
            assert bool(session.all("sound")) == (config is not written)
            assert session.all("error") == []


async def test_its_tool_is_called_for_a_spoken_question(small: SmallHouse) -> None:
    small.ear.lines = ["how is the weather"]
    async with talking(small, "reporting") as session:
        await session.until("connected")
        await session.call("sendAudio", utterance())
        assert await session.until("tool") == "raining in Paris"
        assert (await session.until("answer"))["text"] == "It is raining in Paris."
        call = next(item for item in session.history() if item["type"] == "function_call")
        assert (call["status"], call["output"]) == ("completed", "raining in Paris")


async def test_a_tool_that_wants_no_word_about_it_leaves_the_next_question_its_answer(small: SmallHouse) -> None:
    async with talking(small, "quiet") as session:
        await session.until("connected")
        await session.call("sendMessage", "how is the weather")
        assert await session.until("tool") == "noted for Paris"
        await session.call("sendMessage", "why is the sky blue")
        assert (await session.until("answer"))["text"] == "The sky is blue."


async def test_one_agent_hands_over_to_another(small: SmallHouse) -> None:
    async with talking(small, "handoff") as session:
        await session.until("connected")
        await session.call("sendMessage", "how is the weather")
        assert (await session.until("answer"))["name"] == "forecaster"
        await session.until_over()
        await session.call("sendMessage", "why is the sky blue")
        await session.until("answer")
    assert small.chat.turns[-1].instructions == "Speak of rain."


async def test_speaking_over_an_answer_ends_it_and_cuts_the_history_to_what_was_heard(small: SmallHouse) -> None:
    small.chat.words = ("One two three four five six seven eight nine ten eleven twelve. ",) * 5
    small.ear.lines = ["no stop counting now"] * 2
    async with talking(small) as session:
        await session.until("connected")
        await session.call("sendMessage", "count")
        for _ in range(8):
            await session.until("sound")
        small.chat.words = ("All right.",)
        await session.call("sendAudio", utterance())
        await session.until("interrupted")
        await session.until("answer", lambda answer: answer["text"] == "All right.")
        counted = session.history()[1]["content"][0]["transcript"]
        assert 0 < len(counted) < 60
        assert session.all("error") == []


async def test_a_program_interrupts_an_answer_and_goes_on(small: SmallHouse) -> None:
    small.chat.endless = True
    async with talking(small) as session:
        await session.until("connected")
        await session.call("sendMessage", "why is the sky blue")
        for _ in range(8):
            await session.until("sound")
        await session.call("interrupt")
        await session.until("interrupted")
        await session.until_over()
        small.chat.endless = False
        await session.call("sendMessage", "and at night")
        await session.until("answer", lambda answer: answer["text"] == "The sky is blue.")
        assert session.all("error") == []


async def test_a_history_is_brought_corrected_and_cut(small: SmallHouse) -> None:
    def item(name: str, role: str, kind: str, words: str) -> dict[str, Any]:
        part = {"type": kind, "transcript" if kind == "input_audio" else "text": words}
        return {"itemId": name, "type": "message", "role": role, "status": "completed", "content": [part]}

    rule = item("rule", "system", "input_text", "Rhyme.")
    name = item("name", "user", "input_audio", "my name is Mia")
    greeting = item("hello", "assistant", "output_text", "Hello Mia.")
    async with talking(small) as session:
        await session.until("connected")
        await session.call("updateHistory", [name, greeting])
        brought = await session.until("history", lambda history: len(history) == 2)
        corrected = item("name", "user", "input_audio", "my name is Tia")
        await session.call("updateHistory", [rule, corrected, brought[1]])
        await session.until("history", lambda history: [one["itemId"] for one in history] == ["rule", "name", "hello"])
        await session.call("sendMessage", "who am I")
        await session.until("answer")
        await session.until_over()
        await session.call("updateHistory", [rule])
        await session.until("history", lambda history: [one["itemId"] for one in history] == ["rule"])
        await session.call("sendMessage", "and now")
        await session.until("answer")
        assert session.all("error") == []
    first, second = small.chat.turns
    assert (first.text, second.text) == ("who am I", "and now")
    assert "Rhyme.\nEarlier you were told: my name is Tia\nEarlier you said: Hello Mia." in first.instructions
    assert second.instructions.endswith("Rhyme.")


async def test_what_the_house_has_not_is_an_error_and_the_talk_goes_on(small: SmallHouse) -> None:
    async with talking(small, config={"turnDetection": {"type": "server_vad", "idleTimeoutMs": 6_000}}) as session:
        await session.until("connected")
        assert (await session.until("error"))["param"] == "session.audio.input.turn_detection.idle_timeout_ms"
        await session.call("addImage", "data:image/png;base64,AAAA", {"triggerResponse": False})
        assert (await session.until("error"))["code"] == "unsupported"
        await session.call("sendMessage", "why is the sky blue")
        assert (await session.until("answer"))["text"] == "The sky is blue."


async def test_a_wrong_token_is_refused(small: SmallHouse) -> None:
    async with talking(small, key="atlas_wrong") as session:
        assert "401" in await session.until("refused")
