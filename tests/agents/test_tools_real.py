"""The whole tool loop with a real small model: its call is made, its words are not said, and no code is read aloud."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from atlas.agents.minds import open_agent
from atlas.config import LlmConfig
from atlas.confirmations import HouseConfirmations
from atlas.conversation import Tool, Turn
from atlas.errors import LlmGone
from atlas.events import Emit
from atlas.llm import backend_openai
from atlas.llm.backend_openai import BackendSettings, OpenAiBackend
from tests.houses import english, reader_of
from tests.scripted_tools import ScriptedResult, ScriptedTools

from .conftest import Room, turn

MODEL = "qwen2.5-coder-0.5b-instruct"
PATIENCE_SECONDS = 120.0
pytestmark = pytest.mark.real


@pytest.fixture
async def backend(models: Path, tmp_path: Path) -> AsyncIterator[OpenAiBackend]:
    weights = next((models / MODEL).glob("*.gguf"), None)
    if weights is None:
        pytest.skip(f"atlas models pull {MODEL}, to run this with a real model")
    socket = tmp_path / "llm.sock"
    command = [sys.executable, "-m", "atlas.llm_host.server", "--socket", str(socket), "--model", str(weights)]
    opened = await backend_openai.open(BackendSettings(MODEL, socket=socket, first_words_seconds=PATIENCE_SECONDS))
    async with await anyio.open_process([*command, "--name", MODEL], stdout=None, stderr=None) as process:
        with anyio.fail_after(PATIENCE_SECONDS):
            while not await is_ready(opened):  # noqa: ASYNC110 - another process; it tells nobody
                await anyio.sleep(0.1)
        yield opened
        await opened.aclose()
        process.terminate()


async def is_ready(backend: OpenAiBackend) -> bool:
    try:
        return bool(await backend.health())
    except LlmGone:
        return False


async def test_a_real_small_model_uses_a_tool_and_only_the_tool_speaks(
    backend: OpenAiBackend, confirmations: HouseConfirmations
) -> None:
    seconds = {"type": "object", "properties": {"seconds": {"type": "integer"}}, "required": ["seconds"]}
    start = Tool("timers.start", "Start a timer of so many seconds.", seconds)

    def started(arguments: object, actor: object) -> ScriptedResult:
        return ScriptedResult(
            f"Started: {arguments}.".translate({ord(mark): None for mark in "{}'"}), changed="a timer"
        )

    tools = ScriptedTools([(start, started)])
    llm = LlmConfig(model=MODEL, tools=True, answers=False)
    agent = open_agent("family", llm, backend, tools, reader_of(english()), confirmations)
    texts = [await answered(agent.respond, text) for text in ASKED]
    print(texts, [dict(call.arguments) for call in tools.calls])
    assert not any(set("{}[]`<>") & set(text) for text in texts), texts
    for text in texts[len(tools.calls) :]:
        assert text, "what is not done is said to be so"
    assert tools.calls, texts


ASKED = (
    "would you kindly have a timer of 60 seconds going for me, you clever thing",
    "I would be glad of a timer, 120 seconds long, for the tea that is brewing",
    "see to it that something rings when 300 seconds have gone by",
)


async def answered(respond: object, text: str) -> str:
    room = Room()
    assert callable(respond)
    question_turn: Turn = turn(text)
    emit: Emit = room.emit
    await respond(question_turn, emit)
    return room.said
