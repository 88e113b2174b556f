"""Tools by any server: the same cases against our own host, llama.cpp's servers, and the quirks of others.

With real weights nobody knows what a model will say, so the cases ask what must hold whatever it says.
`ATLAS_LLAMA_SERVER` names a llama-server to be tried as well.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from anyio.abc import SocketStream

from atlas.conversation import Message, Tool, ToolCall, Usage
from atlas.engine import open_engine
from atlas.errors import EngineError, LlmGone
from atlas.llm.backend import Backend, BackendPrompt, Calls, Delta, Finished, Limits, TextPiece
from atlas.llm.backend_openai import BackendSettings
from tests.contracts.streams import SERVERS, Made, Server, fragment, wire, words_of
from tests.contracts.streams import chunk as event
from tests.processes import free_port

MODEL = "smollm2-135m-instruct"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
SOBER = Limits(max_tokens=48, temperature=0)
ROOMY = Limits(max_tokens=160, temperature=0)
STRANGE = 'größe 茶 👩‍👩‍👧 "q" \\ \n'


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TIMER = Tool("timers.start", "Start a timer.", closed(seconds={"type": "integer", "minimum": 1, "maximum": 3600}))
CLOCK = Tool("clock.time", "Tell the time.", closed())
NOTE = Tool("notes.write", "Write a note.", closed(title={"type": "string", "enum": [STRANGE]}))
AMOUNT = closed(n={"type": "integer", "minimum": 1, "maximum": 9})
ITEM = closed(name={"type": "string", "enum": ["tea", "milk"]}, amount=AMOUNT)
LIST = Tool("lists.add", "Add items.", closed(items={"type": "array", "items": ITEM, "minItems": 2, "maxItems": 2}))
MADE: dict[str, dict[str, Any]] = {  # what a scripted server calls each with
    "timers.start": {"seconds": 5},
    "clock.time": {},
    "notes.write": {"title": STRANGE},
    "lists.add": {"items": [{"name": "tea", "amount": {"n": 2}}, {"name": "milk", "amount": {"n": 1}}]},
}
PERSONA = Message("system", "You are Atlas, the voice of a house.")


def asked(text: str) -> list[Message]:
    return [PERSONA, Message("user", text)]


# ── the servers ────────────────────────────────────────────────────────────────────────────────────


class World:
    """A backend before a server. `strict`: every call that it was told to make comes out."""

    backend: Backend
    strict = True
    replays = False


class Replayed(World):
    """A server that does as it is told, in the way of `server`."""

    replays = True

    def __init__(self, server: Server) -> None:
        self.server = server

    async def answer(self, client: SocketStream) -> None:
        async with client:
            request = b""
            while b"\r\n\r\n" not in request or not request.endswith(b"}"):
                request += await client.receive()
            says = self.says(json.loads(request.split(b"\r\n\r\n", 1)[1]))
            with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
                await client.send(HEAD + b"".join(says))

    def says(self, body: dict[str, Any]) -> Iterator[bytes]:
        calls = self.calls(body)
        if not calls:
            return words_of(self.server, ["The sea ", "is wide."] * (20 if "long" in str(body["messages"][-1]) else 1))
        if body["max_tokens"] < 10:
            cut = [fragment({"name": wire(calls[0][0]), "arguments": '{"sec'}, 0, "c")]
            return iter([event({"tool_calls": cut}), event({}, "length")])
        return self.server(calls, random.Random(1))

    def calls(self, body: dict[str, Any]) -> list[Made]:
        names = [tool["function"]["name"].replace("__", ".") for tool in body.get("tools", ())]
        choice, last = body.get("tool_choice", "none"), body["messages"][-1]
        if choice == "none" or (choice == "auto" and (last["role"] == "tool" or "words" in last["content"])):
            return []
        if isinstance(choice, dict):
            names = [choice["function"]["name"].replace("__", ".")]
        made = [(name, MADE.get(name, {})) for name in names]
        return made if "both" in last["content"] else made[:1]


class Process(World):
    """A server with real weights, on loopback or a unix socket, from the first test that wants it to the last."""

    settings: BackendSettings

    def __init__(self, command: list[str], folder: Path, **more: str) -> None:
        environment = (
            os.environ | {"GOMP_SPINCOUNT": "500"} | more
        )  # threads that spin starve the others of this machine
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=environment)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def our_host(model: Path, folder: Path) -> Process:
    place = folder / "llm.sock"
    options = ["--socket", str(place), "--model", str(model), "--name", MODEL, "--context", "2048"]
    world = Process([sys.executable, "-m", "atlas.llm_host.server", *options], folder)
    world.settings = BackendSettings(MODEL, socket=place)
    return world


def llama_cpp_server(model: Path, folder: Path) -> Process:
    # Extra buffers are of no use where AMX is listed but forbidden.
    start = (
        "import llama_cpp.llama_cpp as raw, runpy\n"
        "default = raw.llama_model_default_params\n"
        "def plain():\n    params = default(); params.use_extra_bufts = False; return params\n"
        "raw.llama_model_default_params = plain\n"
        "runpy.run_module('llama_cpp.server', run_name='__main__')\n"
    )
    port = free_port()
    options = ["--model", str(model), "--model_alias", MODEL, "--port", str(port), "--n_ctx", "2048"]
    options += ["--chat_format", "chatml-function-calling", "--n_threads", "2"]
    world = Process([sys.executable, "-c", start, *options], folder)
    world.settings = BackendSettings(MODEL, base_url=f"http://127.0.0.1:{port}/v1", own_host=False)
    world.strict = False
    return world


def llama_server(model: Path, folder: Path) -> Process:
    binary, port = Path(os.environ["ATLAS_LLAMA_SERVER"]), free_port()
    options = ["-m", str(model), "--alias", MODEL, "--port", str(port), "-c", "2048", "--jinja", "--no-repack"]
    world = Process([str(binary), *options], folder, LD_LIBRARY_PATH=str(binary.parent))
    world.settings = BackendSettings(MODEL, base_url=f"http://127.0.0.1:{port}/v1", own_host=False)
    world.strict = False
    return world


REAL = [our_host, *([llama_server] if "ATLAS_LLAMA_SERVER" in os.environ else [])]


@pytest.fixture(scope="module")
def processes(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Any, Process]]:
    started: dict[Any, Process] = {}
    yield started
    for world in started.values():
        world.close()


@pytest.fixture(params=[*SERVERS, *(pytest.param(start, marks=pytest.mark.real) for start in REAL)])
async def world(
    request: pytest.FixtureRequest, data: Path, models: Path, processes: dict[Any, Process]
) -> AsyncIterator[World]:
    if request.param in SERVERS:
        replayed = Replayed(request.param)
        place = data / "s.sock"
        listener = await anyio.create_unix_listener(place)
        replayed.backend = await open_engine("backend", "openai", BackendSettings("m", socket=place, own_host=False))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, replayed.answer)
            yield replayed
            await replayed.backend.aclose()
            tasks.cancel_scope.cancel()
        await listener.aclose()
        return
    if request.param not in processes:
        folder = request.getfixturevalue("tmp_path_factory").mktemp("s")
        processes[request.param] = request.param(next((models / MODEL).glob("*.gguf")), folder)
    real = processes[request.param]
    await connect(real)
    yield real
    await real.backend.aclose()


async def connect(real: Process) -> None:
    real.backend = await open_engine("backend", "openai", real.settings)
    with anyio.fail_after(60):
        while True:
            with suppress(LlmGone):
                await real.backend.health()
                return
            assert real.process.poll() is None, real.log.read_text()
            await anyio.sleep(0.05)


# ── the cases ──────────────────────────────────────────────────────────────────────────────────────


async def hear(world: World, messages: Sequence[Message], tools: Sequence[Tool], **more: Any) -> list[Delta]:
    """Return an answer in which every call fits the schema of its tool, as the tool server has it.

    A server that is not `strict` may let its model write something else, or fail: then there is no call.
    """
    more = {"limits": SOBER, **more}
    try:
        deltas = await everything(world, messages, tools, **more)
    except EngineError as trouble:
        assert not world.strict, trouble
        return [Finished("stop", Usage())]
    schemas = {tool.name: tool.parameters for tool in tools}
    for call in calls_of(deltas):
        jsonschema.Draft202012Validator(schemas[call.name]).validate(call.arguments)
    assert [type(delta) for delta in deltas].count(Finished) == 1 and isinstance(deltas[-1], Finished)
    assert deltas[-1].finish == "tool_calls" or not calls_of(deltas)
    return deltas


async def everything(world: World, messages: Sequence[Message], tools: Sequence[Tool], **more: Any) -> list[Delta]:
    async with aclosing(world.backend.stream(BackendPrompt(messages, tools, **more))) as deltas:
        return [delta async for delta in deltas]


def calls_of(deltas: Sequence[Delta]) -> list[ToolCall]:
    return [call for delta in deltas if isinstance(delta, Calls) for call in delta.calls]


def words_in(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextPiece))


async def test_it_may_answer_in_words_or_by_a_call(world: World) -> None:
    in_words = await hear(world, asked("In words: what is the sea?"), [TIMER, CLOCK])
    by_call = await hear(world, asked("Start a timer of five seconds."), [TIMER, CLOCK])
    if world.replays:
        assert words_in(in_words) == "The sea is wide." and not calls_of(in_words)
        assert [call.name for call in calls_of(by_call)] == ["timers.start"] and not words_in(by_call)


async def test_a_call_that_is_required_is_made(world: World) -> None:
    deltas = await hear(world, asked("Hello."), [TIMER, CLOCK], tool_choice="required", limits=ROOMY)
    assert calls_of(deltas) or not world.strict


async def test_the_tool_that_is_named_is_the_one_that_is_called(world: World) -> None:
    deltas = await hear(world, asked("Start a timer."), [TIMER, CLOCK], tool_choice="timers.start", limits=ROOMY)
    names = [call.name for call in calls_of(deltas)]
    assert set(names) == {"timers.start"} or not (world.strict or names)


async def test_without_a_choice_there_is_no_call(world: World) -> None:
    deltas = await hear(world, asked("Start a timer."), [TIMER], tool_choice="none")
    assert words_in(deltas) and not calls_of(deltas)


async def test_several_calls_at_once_are_each_whole(world: World) -> None:
    limits = Limits(max_tokens=160, temperature=0, parallel_calls=True)
    deltas = await hear(world, asked("Do both."), [TIMER, CLOCK], tool_choice="required", limits=limits)
    made = calls_of(deltas)
    assert len({call.id for call in made}) == len(made)
    if world.replays:
        assert [call.name for call in made] == ["timers.start", "clock.time"]


async def test_a_result_is_fed_back_and_the_next_turn_goes_on(world: World) -> None:
    first = asked("Start a timer of five seconds.")
    made = calls_of(await hear(world, first, [TIMER], tool_choice="timers.start", limits=ROOMY))
    made = made or [ToolCall("call_1", "timers.start", {"seconds": 5})]
    messages = [*first, Message("assistant", calls=tuple(made))]
    messages += [Message("tool", "The timer is set: 5 s. Größe 茶.", call_id=call.id) for call in made]
    answer = await hear(world, messages, [TIMER])
    messages += [
        Message("assistant", words_in(answer) or "Done."),
        Message("user", "Thanks. Now in words: what is a sea?"),
    ]
    assert isinstance((await hear(world, messages, [TIMER]))[-1], Finished)


async def test_arguments_of_every_script_come_out_as_they_are(world: World) -> None:
    deltas = await hear(world, asked("Write a note."), [NOTE], tool_choice="notes.write", limits=ROOMY)
    made = calls_of(deltas)
    assert [call.arguments for call in made] == [{"title": STRANGE}] or not (world.strict or made)


async def test_arguments_within_arguments_come_out_as_they_are(world: World) -> None:
    deltas = await hear(world, asked("Tea and milk."), [LIST], tool_choice="lists.add", limits=ROOMY)
    made = calls_of(deltas)
    assert len(made) == 1 or not world.strict
    assert all(len(call.arguments["items"]) == 2 for call in made)


async def test_a_call_that_is_cut_short_is_no_call(world: World) -> None:
    limits = Limits(max_tokens=4, temperature=0)
    deltas = await hear(world, asked("Start a timer."), [TIMER], tool_choice="timers.start", limits=limits)
    assert not calls_of(deltas)
    if world.strict:
        assert isinstance(deltas[-1], Finished) and deltas[-1].finish == "length"


async def test_a_tool_that_was_not_offered_is_not_called(world: World) -> None:
    try:
        made = calls_of(await everything(world, asked("Open it."), [CLOCK], tool_choice="doors.open", limits=SOBER))
    except EngineError as refused:
        assert not isinstance(refused, LlmGone) or not world.strict
    else:  # a server that overlooks such a choice
        assert not world.strict and {call.name for call in made} <= {"clock.time"}


async def test_an_answer_that_is_left_stops_and_the_next_one_comes(world: World) -> None:
    long = asked("Say something long about the sea.")
    async with aclosing(world.backend.stream(BackendPrompt(long, limits=Limits(max_tokens=1500)))) as deltas:
        assert isinstance(await anext(deltas), TextPiece)
    with anyio.fail_after(30):
        assert isinstance((await hear(world, asked("In words: hello."), [CLOCK]))[-1], Finished)


async def test_what_it_took_is_told_at_the_end(world: World) -> None:
    last = (await hear(world, asked("In words: what is the sea?"), []))[-1]
    assert isinstance(last, Finished)
    if world.strict:
        assert last.usage.prompt > 0 and last.usage.completion > 0


@pytest.mark.real
async def test_llama_cpp_pythons_own_server_says_words_and_makes_the_call_that_is_named(
    models: Path, tmp_path: Path
) -> None:
    # It cannot be asked for more: it breaks off where an answer may be a call, and dies of some schemas.
    real = llama_cpp_server(next((models / MODEL).glob("*.gguf")), tmp_path)
    await connect(real)
    try:
        assert words_in(await hear(real, asked("What is the sea?"), [TIMER], tool_choice="none"))
        (made,) = calls_of(await everything(real, asked("Start a timer."), [TIMER], tool_choice="timers.start"))
        jsonschema.Draft202012Validator(TIMER.parameters).validate(made.arguments)
        with pytest.raises(LlmGone):
            await everything(real, asked("Start a timer."), [TIMER], tool_choice="auto")
    finally:
        await real.backend.aclose()
        real.close()
