"""A house of scripted parts behind a real server on loopback: what every test of a door stands on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
from openai import AsyncOpenAI

from atlas.agents.agent import AgentAnswer
from atlas.agents.agent_asking import Asking
from atlas.agents.tool_use import carry_out, use_clients
from atlas.audio import AudioChunk, silence
from atlas.config import Config, GatewayConfig
from atlas.conversation import Message, Receipt, ToolCall, ToolResult, Turn, Usage, Utterance, fresh_id
from atlas.events import Emit, TextDelta, ToolFinished, ToolStarted
from atlas.gateway import app
from atlas.house import House, Mind
from atlas.speech.stt import Judge
from atlas.store.devices import DeviceStore, open_devices
from atlas.store.memory import open_memory
from tests.houses import assents_of, house_of
from tests.scripted_tools import ScriptedHousehold
from tests.scripted_vad import ScriptedVad
from wall.roles import ROLES, Role

ROUNDS = 100  # of the loop: what comes over loopback has come by then


class Chat:
    """An agent that knows two commands, says what it was told to, and keeps the turns it was given."""

    name = "family"

    def __init__(self, *words: str) -> None:
        self.words = words or ("The sky ", "is blue.")
        self.turns: list[Turn] = []
        self.prepared: list[Turn] = []  # what it got ready for
        self.knows_words = anyio.Event()
        self.end: str = "done"
        self.usage = Usage(prompt=12, cached=8, completion=5)
        self.endless = False  # speak until cancelled
        self.cancelled = anyio.Event()
        self.goes_on: anyio.Event | None = None  # has no word before it
        self.breaks: BaseException | None = None
        self.household = ScriptedHousehold(tasks={"buy milk": "todo"})
        self.tools = self.household.tools()

    async def respond(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        self.turns.append(turn)
        if self.breaks:
            raise self.breaks
        if turn.client_tools and "weather" in turn.text:
            return await self._ask_client(turn, emit)
        if "timer" in turn.text:
            return await self._set_timer(emit)
        if turn.text == "remove the task buy milk":
            call = ToolCall(fresh_id("call"), "tasks.remove", {"title": "buy milk"})
            return await carry_out(call, self.tools, turn, emit)
        if self.goes_on:
            await self.goes_on.wait()
        try:
            for word in self.words:
                await emit(TextDelta(word))
            while self.endless:
                await emit(TextDelta("and on "))
                await anyio.sleep(0.01)
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        text = "".join(self.words)
        end: Any = self.end
        return AgentAnswer(text, "model", end, (Message("assistant", text),), usage=self.usage)

    async def _ask_client(self, turn: Turn, emit: Emit) -> AgentAnswer:
        assert turn.client_tools
        call = ToolCall(fresh_id("call"), turn.client_tools.tools[0].name, {"city": "Paris"})
        result = await use_clients(call, turn.client_tools, emit)
        text = f"It is {result.text}."
        await emit(TextDelta(text))
        return AgentAnswer(text, "model", "done", (Message("assistant", text),))

    def answers(self, turn: Turn) -> bool:
        return False

    async def prepare(self, turn: Turn) -> bool:
        self.prepared.append(turn)
        if turn.text:
            self.knows_words.set()
        return True

    async def _set_timer(self, emit: Emit) -> AgentAnswer:
        call = ToolCall("call_1", "timers.start", {"seconds": 600})
        receipt = Receipt("rcpt_1", "timer set for 10 minutes")
        await emit(ToolStarted(call))
        await emit(ToolFinished(call, ToolResult("call_1", True, "Timer set for 10 minutes.", receipt=receipt)))
        await emit(TextDelta("Timer set for 10 minutes."))
        messages = (Message("assistant", calls=(call,)), Message("tool", "Timer set for 10 minutes.", call_id="call_1"))
        message = Message("assistant", "Timer set for 10 minutes.")
        return AgentAnswer(message.text, "command", "done", (*messages, message), (receipt,))


class Ear:
    """Understands every utterance as the next of its lines, and of one that goes on the next of `skims`."""

    idle = True

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.skims: list[str] = []
        self.heard: list[AudioChunk] = []
        self.trouble: Exception | None = None

    async def skim(self, speech: AudioChunk) -> str | None:
        return self.skims.pop(0) if self.skims else None

    async def transcribe(self, speech: AudioChunk, judge: Judge | None = None) -> Utterance:
        self.heard.append(speech)
        if self.trouble:
            raise self.trouble
        return Utterance(self.lines.pop(0) if self.lines else "", speech.seconds)

    async def aclose(self) -> None: ...


class Voice:
    """Hums a tenth of a second for every word."""

    voice = "en_US-joe-medium"
    rate = 22_050

    def __init__(self) -> None:
        self.texts: list[tuple[str, float]] = []
        self.trouble: Exception | None = None
        self.fails_after = 0  # sentences

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncIterator[AudioChunk]:
        if self.trouble and len(self.texts) >= self.fails_after:
            raise self.trouble
        self.texts.append((text, speed))
        for _ in text.split():
            yield silence(0.1 / speed, self.rate)

    async def aclose(self) -> None: ...


class Asleep:
    """No wake word is ever heard."""

    phrases = ("okay nabu",)
    said_on_seconds = score = threshold = 0.0

    def own_threshold(self, phrase: str) -> float:
        return 0.5

    def listen(self, *given: Any) -> Any:
        return self

    def hear(self, chunk: AudioChunk) -> None: ...

    def reset(self) -> None: ...

    async def aclose(self) -> None: ...


@dataclass
class SmallHouse:
    """The house, its scripted parts to look at, and where it is served."""

    house: House
    devices: DeviceStore
    chat: Chat
    ear: Ear
    voice: Voice
    health: dict[str, object]
    url: str = ""
    tokens: dict[str, str] = field(default_factory=dict)
    clients: dict[str, AsyncOpenAI] = field(default_factory=dict)

    def client(self, role: Role = "owner") -> AsyncOpenAI:
        """Return the stock client with a token of that role. It asks once, so that a test sees the first answer."""
        token = self.tokens[role]
        if token not in self.clients:
            self.clients[token] = AsyncOpenAI(base_url=f"{self.url}/v1", api_key=token, max_retries=0)
        return self.clients[token]

    def http(self, role: Role | None = "owner", **headers: str) -> httpx2.AsyncClient:
        """Return a plain client, without a token when `role` is None."""
        token = {"Authorization": f"Bearer {self.tokens[role]}"} if role else {}
        return httpx2.AsyncClient(base_url=self.url, headers={**token, **headers}, timeout=20)


@asynccontextmanager
async def small_house(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    """Open the house without serving it."""
    chat, ear, voice = Chat(), Ear(), Voice()
    health: dict[str, object] = {"status": "ok", "version": "0.1.0"}

    async def look_around() -> Mapping[str, object]:
        return health

    async with (
        open_devices(data) as devices,
        open_memory(data / "atlas.db") as family,
        open_memory(data / "work.db") as work,
    ):
        confirmations = assents_of(
            chat.tools.for_the_house(), may_talk=lambda actor, agent: actor.role in config.agents[agent].roles
        )
        agent = Asking(chat, chat.tools, confirmations)
        house = house_of(
            config,
            {"family": Mind(agent, family), "work": Mind(agent, work)},
            confirmations,
            stt=ear,
            tts=voice,
            vad=ScriptedVad(),
            wake=Asleep(),
            settle_seconds=lambda text: 0.0 if "timer" in text else None,
            authenticate=devices.find,
            devices=devices,
            health=look_around,
        )
        world = SmallHouse(house, devices, chat, ear, voice, health)
        for role in ROLES:
            world.tokens[role] = await devices.create(f"the {role}", role)
        yield world


async def let_others_run() -> None:
    """Let everybody else go on for a while.

    `wait_all_tasks_blocked` looks each tenth of a second, as uvicorn does: in step with it, it waits for ever.
    """
    for _ in range(ROUNDS):
        await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def served(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    """Open the house and serve it on a free port of loopback."""
    with app.listen(GatewayConfig(port=0)) as listener:
        port = listener.getsockname()[1]
        config = replace(config, gateway=GatewayConfig(https_host="", port=port))
        async with small_house(config, data) as world, anyio.create_task_group() as tasks:
            ready = anyio.Event()
            tasks.start_soon(app.serve, world.house, ready.set, listener)
            with anyio.fail_after(20):
                await ready.wait()
            world.url = f"http://127.0.0.1:{port}"
            try:
                yield world
            finally:
                for client in world.clients.values():
                    await client.close()
            tasks.cancel_scope.cancel()
