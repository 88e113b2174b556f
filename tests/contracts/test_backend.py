"""Every backend keeps the promises of atlas/llm/backend.py: the scripted one, and HTTP before our own LLM host."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from atlas.conversation import Message, Tool
from atlas.engine import open_engine
from atlas.errors import EngineError, LlmGone
from atlas.llm.backend import Backend, BackendPrompt, Calls, Delta, Finished, Limits, TextPiece
from atlas.llm.backend_openai import BackendSettings
from tests.scripted_backend import Script, ScriptedBackend, ScriptedSettings, Vanish, call

MODEL, ENCODER = "smollm2-135m-instruct", "all-minilm-l6-v2"
TIMER = Tool(
    "timers.start",
    "Start a timer.",
    {
        "type": "object",
        "properties": {"seconds": {"type": "integer", "minimum": 1, "maximum": 3600}},
        "required": ["seconds"],
    },
)
CLOCK = Tool("clock.time", "Tell the time.", {"type": "object", "properties": {}})
HELLO = [Message("system", "You are Atlas, the voice of a house."), Message("user", "Tell me about the sea.")]


class World:
    """A backend, and the power to take its model away."""

    backend: Backend

    async def start(self) -> None: ...
    def vanish(self) -> None: ...
    async def close(self) -> None: ...


class Scripted(World):
    gone = False

    async def start(self) -> None:
        self.gone = False
        if not hasattr(self, "backend"):
            self.backend = ScriptedBackend(ScriptedSettings(self.answer, 0.001))

    def answer(self, prompt: BackendPrompt) -> Script:
        if prompt.tools:
            name = {"required": "timers.start"}.get(prompt.tool_choice, prompt.tool_choice)
            return call(name, seconds=5) if name == "timers.start" else call(name)
        return [TextPiece("The sea"), Vanish()] if self.gone else "The sea is wide and blue and 海 🌊 deep." * 20

    def vanish(self) -> None:
        self.gone = True


class Real(World):
    def __init__(self, data: Path, models: Path) -> None:
        self.socket = data / "llm.sock"
        self.log = data / "llm.log"
        self.model, self.encoder = (next((models / name).glob("*.gguf")) for name in (MODEL, ENCODER))
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        options = ["--socket", str(self.socket), "--model", str(self.model), "--name", MODEL]
        options += ["--embedder", str(self.encoder)]  # loaded when it is asked for
        self.process = self.spawn(options)
        if not hasattr(self, "backend"):
            self.backend = await open_engine("backend", "openai", BackendSettings(MODEL, socket=self.socket))
        await until_ready(self.backend)

    def spawn(self, options: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen([sys.executable, "-m", "atlas.llm_host.server", *options], stderr=log)

    def vanish(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    async def close(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()


async def until_ready(backend: Backend) -> None:
    with anyio.fail_after(60):
        while True:
            try:
                await backend.health()
            except LlmGone:
                await anyio.sleep(0.05)
            else:
                return


@pytest.fixture(params=["scripted", pytest.param("real", marks=pytest.mark.real)])
async def world(request: pytest.FixtureRequest, data: Path, models: Path) -> AsyncIterator[World]:
    world = Scripted() if request.param == "scripted" else Real(data, models)
    await world.start()
    yield world
    await world.backend.aclose()
    await world.close()


@pytest.fixture
async def real(data: Path, models: Path) -> AsyncIterator[Real]:
    world = Real(data, models)
    await world.start()
    yield world
    await world.backend.aclose()
    await world.close()


async def everything(backend: Backend, *args: Any, **more: Any) -> list[Delta]:
    async with aclosing(backend.stream(BackendPrompt(*args, **more))) as deltas:
        return [delta async for delta in deltas]


async def test_words_come_one_after_the_other_and_exactly_one_finished_comes_last(world: World) -> None:
    deltas = await everything(world.backend, HELLO, limits=Limits(max_tokens=12))
    assert [type(delta) for delta in deltas[:-1]] == [TextPiece] * (len(deltas) - 1)
    assert len(deltas) > 2, "the first words do not wait for the last"
    assert isinstance(deltas[-1], Finished)
    assert deltas[-1].usage.prompt > 0 and deltas[-1].usage.completion > 0


async def test_texts_alike_are_near_and_what_reading_them_took_is_told(world: World) -> None:
    texts = ["turn the light off", "please turn the light off", "shares fell on monday", "again and again " * 300]
    read = await world.backend.embed(texts, priority="background")
    assert [math.hypot(*vector) for vector in read.vectors] == pytest.approx([1.0] * len(texts))
    off, please, shares, _ = read.vectors
    assert np.dot(off, please) > 0.6 > 0.3 > np.dot(off, shares)
    assert (read.tokens > 512, read.cut) == (True, {3})


async def test_no_texts_have_no_vectors_and_an_empty_text_has_none_either(world: World) -> None:
    read = await world.backend.embed([])
    assert (read.vectors, read.tokens, read.cut) == ((), 0, frozenset())
    with pytest.raises(EngineError):
        await world.backend.embed(["a", ""])


async def test_what_was_read_ahead_or_forgotten_is_answered_as_ever(world: World) -> None:
    for _ in range(2):
        await world.backend.prefill(BackendPrompt(HELLO, [CLOCK], conversation="anna", priority="voice"))
        await world.backend.forget("anna")
        await world.backend.forget("nobody")
    deltas = await everything(world.backend, HELLO, limits=Limits(max_tokens=5), conversation="anna")
    assert isinstance(deltas[-1], Finished)


async def test_a_model_that_is_closed_may_be_closed_again(world: World) -> None:
    assert await world.backend.health() == world.backend.model
    await world.backend.aclose()
    await world.backend.aclose()


async def test_a_stream_that_is_closed_stops_and_the_next_one_works(world: World) -> None:
    async with aclosing(world.backend.stream(BackendPrompt(HELLO, limits=Limits(max_tokens=2000)))) as deltas:
        async for _ in deltas:
            break
    with anyio.fail_after(20):
        assert isinstance((await everything(world.backend, HELLO, limits=Limits(max_tokens=5)))[-1], Finished)


async def test_a_stream_whose_task_is_cancelled_stops_and_the_next_one_works(world: World) -> None:
    with anyio.CancelScope() as scope:
        async with aclosing(world.backend.stream(BackendPrompt(HELLO, limits=Limits(max_tokens=2000)))) as deltas:
            async for _ in deltas:
                scope.cancel()
    assert scope.cancelled_caught
    assert isinstance((await everything(world.backend, HELLO, limits=Limits(max_tokens=5)))[-1], Finished)


async def test_a_tool_that_must_be_called_is_called_by_its_own_name_with_arguments_that_fit(world: World) -> None:
    *_, calls, last = await everything(world.backend, HELLO, [TIMER], tool_choice="required")
    assert isinstance(calls, Calls) and last.finish == "tool_calls"  # type: ignore[union-attr]
    (made,) = calls.calls
    assert made.name == "timers.start" and made.id and 1 <= made.arguments["seconds"] <= 3600


async def test_the_tool_that_was_named_is_the_one_that_is_called(world: World) -> None:
    deltas = await everything(world.backend, HELLO, [TIMER, CLOCK], tool_choice="clock.time")
    assert [call.name for delta in deltas if isinstance(delta, Calls) for call in delta.calls] == ["clock.time"]


async def test_a_model_that_dies_in_the_middle_is_gone_and_is_back_when_it_is_started_again(world: World) -> None:
    with pytest.raises(LlmGone):
        if isinstance(world, Scripted):
            world.vanish()
        async with aclosing(world.backend.stream(BackendPrompt(HELLO, limits=Limits(max_tokens=2000)))) as deltas:
            async for _ in deltas:
                world.vanish()
    await world.start()
    assert isinstance((await everything(world.backend, HELLO, limits=Limits(max_tokens=5)))[-1], Finished)


async def test_every_script_of_the_world_and_emoji_survive_the_way_there_and_back(world: World) -> None:
    strange = "Grüße! 你好, мир, नमस्ते, שלום, 👩‍👩‍👧‍👦🏳️‍🌈, a\x00null and half a pair \ud83d <|im_end|>"
    deltas = await everything(world.backend, [Message("user", strange)], limits=Limits(max_tokens=8))
    assert isinstance(deltas[-1], Finished)


@pytest.mark.real
async def test_hanging_up_stops_the_host_before_it_is_done(real: Real) -> None:
    async with aclosing(real.backend.stream(BackendPrompt(HELLO, limits=Limits(max_tokens=2000)))) as deltas:
        async for _ in deltas:
            break
    await everything(real.backend, HELLO, limits=Limits(max_tokens=3))
    first, second = [line for line in real.log.read_text().splitlines() if " answered " in line]
    assert "end=left" in first and generated(first) < 100
    assert "end=length" in second or "end=stop" in second


def generated(line: str) -> int:
    return int(line.split("generated=")[1].split()[0])


@pytest.mark.real
async def test_two_people_who_alternate_each_keep_most_of_their_prompt(real: Real) -> None:
    persona = Message("system", "You are Atlas, the voice of a house. " + "Be brief, warm and right. " * 40)
    values: dict[str, list[Message]] = {"anna": [persona], "ben": [persona]}
    shares = []
    for turn in range(3):
        for who in values:
            values[who].append(Message("user", f"I am {who}. This is my question number {turn}: what is a boat?"))
            deltas = await everything(real.backend, values[who], limits=Limits(max_tokens=16), conversation=who)
            usage = deltas[-1].usage  # type: ignore[union-attr]
            values[who].append(Message("assistant", "".join(d.text for d in deltas if isinstance(d, TextPiece))))
            shares.append(usage.cached / usage.prompt)
    assert shares[0] == 0
    assert shares[1] > 0.85, "the second person's persona is the first one's"
    assert min(shares[2:]) > 0.9


@pytest.mark.real
async def test_nobody_at_the_address_is_llm_gone(data: Path) -> None:
    backend = await open_engine("backend", "openai", BackendSettings(MODEL, socket=data / "nobody.sock"))
    with pytest.raises(LlmGone):
        await everything(backend, HELLO)
    with pytest.raises(LlmGone):
        await backend.health()
    await backend.aclose()
