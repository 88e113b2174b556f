"""The running Atlas: opens the engines, gives them to the minds, closes them in reverse; reply, remember, announce."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any
from weakref import WeakValueDictionary
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import anyio
import anyio.to_thread

from atlas import trace
from atlas.agents.agent import Agent, Answer
from atlas.agents.grammar import open_grammar
from atlas.agents.minds import open_agent
from atlas.agents.readings import as_heard, pick
from atlas.assent import Assents, Seal, Waiting, open_wording, read_house_key
from atlas.bell import Bell, Say, Speaker, Speakers, spoken_to_any
from atlas.config import Config, LlmConfig
from atlas.conversation import HOUSE, Actor, Channel, Message, Turn, Utterance, fresh_id
from atlas.engine import open_engine
from atlas.errors import AtlasError, ConfigError, StoreError
from atlas.events import Emit, Event, Route, TextDelta, TurnEnded, TurnStarted
from atlas.health import Health
from atlas.llm.backend_openai import BackendSettings
from atlas.mcp import tools_mcp
from atlas.mcp.tools import Tools
from atlas.router import Choice, choose, may_talk
from atlas.speech.stt import Stt
from atlas.speech.tts import Tts
from atlas.speech.vad import Vad
from atlas.speech.wake import Wake
from atlas.store import conversations, turns
from atlas.store.conversations import Conversation, conversation_of
from atlas.store.database import Database, open_database
from atlas.store.devices import open_devices
from atlas.store.migrations import MEMORY
from atlas.store.turns import TurnRecord
from atlas.telling import Telling

GOODBYE_SECONDS = 1.0  # a door whose turn was cancelled gets this long to take its last event
WARMING = "Who wrote the song about the yellow submarine?"  # no command, and no wish for a tool
log = logging.getLogger("atlas")


@dataclass(frozen=True, slots=True)
class Mind:
    """An agent, and the memory that is its own."""

    agent: Agent
    memory: Database


@dataclass(slots=True, eq=False)
class Exchange:
    """A turn that is being answered."""

    turn: Turn
    choice: Choice
    conversation: Conversation
    telling: Telling
    stopwatch: trace.Trace = field(default_factory=trace.current)


class House:
    """Owner of everything that is open. A door is given this and nothing else."""

    def __init__(
        self,
        config: Config,
        *,
        stt: Stt,
        tts: Tts,
        vad: Vad,
        wake: Wake,
        minds: Mapping[str, Mind],
        choose: Callable[[Turn], Choice],
        settle_seconds: Callable[[str], float | None],
        authenticate: Callable[[str], Awaitable[Actor | None]],
        health: Callable[[], Awaitable[Mapping[str, object]]],
        speakers: Speakers,
        assents: Assents,
        pick: Callable[[Utterance], Utterance] = as_heard,
    ) -> None:
        self.config = config
        self.stt = stt
        self.tts = tts
        self.vad = vad
        self.wake = wake
        self.pick = pick
        self.settle_seconds = settle_seconds
        self.authenticate = authenticate
        self.health = health
        self._minds = minds
        self._choose = choose
        self._speakers = speakers
        self._assents = assents
        self._talks: WeakValueDictionary[Conversation, anyio.Lock] = WeakValueDictionary()
        self._aloud: dict[str, tuple[Exchange, Answer]] = {}  # answered, and still being spoken

    def agents(self) -> tuple[str, ...]:
        """Return the names of the agents."""
        return tuple(self._minds)

    async def reply(self, turn: Turn, emit: Emit) -> None:
        """Answer `turn`: emits `TurnStarted` … exactly one `TurnEnded`, and remembers what was said and done.

        A whole answer is on the disk before its `TurnEnded` goes out. Trouble in the world ends the turn as failed,
        with an honest sentence. Cancelling is safe: what was said and done by then is remembered. Two turns of one
        conversation are answered one after the other. Raises `RequestError` for an agent that there is not, or not
        for this actor, before anything is emitted.
        """
        with trace.tracing(trace.current()) as stopwatch:
            with stopwatch.stage("route"):
                choice = self._choose(turn)
            self._speakers.heard(turn.actor)
            exchange = Exchange(turn, choice, conversation_of(choice.agent, turn.actor), Telling(emit))
            async with AsyncExitStack() as stack:
                try:
                    await exchange.telling.emit(TurnStarted(turn.id, choice.agent, choice.reason))
                    if turn.remembered:
                        await stack.enter_async_context(self._alone(exchange.conversation))
                    answer = await self._answer(exchange)
                except BaseException as trouble:  # cancelled, or a mistake of ours: the turn ends all the same
                    await self._break_off(exchange, trouble)
                    raise
                with anyio.CancelScope(shield=True):
                    await self._keep(exchange, answer)
            if turn.spoken and turn.remembered:
                self._aloud[turn.id] = exchange, answer  # its line is written when the sound is over: `remember`
            else:
                _write_line(exchange, answer)
            await emit(_ended(turn, answer))

    async def prepare(self, turn: Turn) -> None:
        """Have the model read ahead what `turn` will ask, whose words may still change. Nothing is said or remembered.

        What goes wrong is left to the turn itself, which says it better. Cancelling is safe.
        """
        try:
            choice = self._choose(turn)
            mind = self._minds[choice.agent]
            if turn.remembered:
                past = await mind.memory.read(
                    lambda c: conversations.load(c, conversation_of(choice.agent, turn.actor))
                )
                turn = replace(turn, history=past)
            await mind.agent.prepare(turn)
        except AtlasError as trouble:
            log.info("not prepared turn=%s: %s", turn.id, trouble)

    async def remember(self, turn_id: str, heard: str) -> None:
        """Note what was heard of a reply that was spoken: its memory is shortened to that. Raises `StoreError`.

        To be called once its sound is over; and again when it turns out later that less was heard.
        """
        self._assents.was_heard(turn_id, heard)
        exchange, answer = self._aloud.pop(turn_id, (None, None))
        timings = exchange.stopwatch.milliseconds() if exchange else {}
        if exchange and answer:
            _write_line(exchange, answer, heard=len(heard))

        def work(connection: Connection) -> None:
            if conversations.shorten(connection, turn_id, heard):
                turns.interrupt(connection, turn_id)
            if timings:
                turns.retime(connection, turn_id, timings)

        for mind in [self._minds[exchange.choice.agent]] if exchange else self._minds.values():
            await mind.memory.write(work)

    async def asks(self, viewer: Actor) -> Sequence[Waiting]:
        """Return the questions that wait for a yes and that `viewer` may answer. Raises `EngineError`."""
        return await self._assents.waiting(viewer)

    async def answer_ask(self, ask_id: str, by: Actor, channel: Channel, *, yes: bool) -> str:
        """Take an answer that was pressed, do what it was about, and return what to say.

        What an agent of this house had asked is done and remembered in its conversation. Cancelling is safe. Raises
        `RequestError` ("not_found") when the question does not wait any more, or not for this person; `EngineError`.
        """
        turn = await self._assents.answer(ask_id, by, channel, yes=yes)
        if isinstance(turn, str):
            return turn
        told: list[str] = []

        async def emit(event: Event) -> None:
            if isinstance(event, TurnEnded):
                told.append(event.text)

        await self.reply(turn, emit)
        return told[-1]

    def speaking_device(self, device: str, room: str, say: Say) -> AbstractContextManager[None]:
        """Let the house speak through `device` inside the block. `say` returns when the device took the words.

        It raises `AtlasError`, or anyio's errors of a broken stream, when the device did not.
        """

        async def say_in_between(text: str) -> None:
            try:
                await say(text)
            finally:
                self._assents.said_in_between(device)

        return self._speakers.connected(Speaker(device, room, say_in_between))

    async def announce(self, device: str, text: str) -> bool:
        """Say `text` on `device`, "" for every connected one; False when nobody took it. Cancelling is safe."""
        return await spoken_to_any(self._speakers.on(device), text)

    async def warm(self) -> None:
        """Have every agent answer once, unheard, so that the first person does not wait for what is done only once.

        A model that is away is not waited for. Cancelling is safe.
        """

        async def nobody(event: Event) -> None:
            pass

        for name, mind in self._minds.items():
            began = time.monotonic()
            answer = await mind.agent.respond(
                Turn(fresh_id("turn"), WARMING, HOUSE, time.time(), max_tokens=1, remembered=False), nobody
            )
            trace.line("warmed", agent=name, seconds=f"{time.monotonic() - began:.1f}", error=answer and answer.error)

    async def _answer(self, exchange: Exchange) -> Answer:
        turn, mind, telling = exchange.turn, self._minds[exchange.choice.agent], exchange.telling
        try:
            if turn.remembered:
                past = await mind.memory.read(lambda c: conversations.load(c, exchange.conversation))
                turn = replace(turn, history=past)
            answer = await mind.agent.respond(turn, telling.emit)
        except AtlasError as trouble:
            await telling.emit(TextDelta(f" {trouble.spoken}" if telling.text else trouble.spoken))
            return Answer(telling.text, _path(exchange), "failed", telling.messages(), error=str(trouble))
        assert answer is not None, "nobody is left to answer a turn that an agent declines"
        return answer

    async def _break_off(self, exchange: Exchange, trouble: BaseException) -> None:
        """End a turn that has no answer, within bounded time."""
        telling = exchange.telling
        cancelled = isinstance(trouble, anyio.get_cancelled_exc_class())
        answer = Answer(
            telling.text,
            _path(exchange),
            "cancelled" if cancelled else "failed",
            telling.messages(),
            error="" if cancelled else repr(trouble),
        )
        with anyio.CancelScope(shield=True):
            await self._keep(exchange, answer)
        _write_line(exchange, answer)
        if not telling.deaf:
            with anyio.move_on_after(GOODBYE_SECONDS, shield=True):
                await telling.emit(_ended(exchange.turn, answer))

    async def _keep(self, exchange: Exchange, answer: Answer) -> None:
        """Put the turn into its agent's memory; a memory that fails costs no answer."""
        turn = exchange.turn
        record = TurnRecord(
            *(turn.id, exchange.choice.agent, exchange.choice.reason, answer.path, turn.actor.device, turn.spoken),
            *(turn.at, time.time(), answer.end, answer.error),
            timings=exchange.stopwatch.milliseconds(),
            usage=answer.usage,
        )

        def work(connection: Connection) -> None:
            number = conversations.number_of(connection, exchange.conversation) if turn.remembered else None
            row = turns.record(connection, record, number)
            if turn.remembered:
                conversations.append(connection, row, (Message("user", turn.text), *answer.messages))

        try:
            await self._minds[exchange.choice.agent].memory.write(work)
        except StoreError as trouble:
            log.error("turn not remembered turn=%s: %s; %s", turn.id, trouble, trouble.hint)  # noqa: TRY400

    @asynccontextmanager
    async def _alone(self, conversation: Conversation) -> AsyncIterator[None]:
        """Wait until no other turn of this conversation is being answered."""
        async with self._talks.setdefault(conversation, anyio.Lock()):
            yield


@asynccontextmanager
async def open_house(config: Config) -> AsyncIterator[House]:
    """Open everything, weights loaded and warm; close it in reverse. The processes it talks to may still be starting.

    Raises `ConfigError` for settings that cannot be, `EngineError` for weights that do not load, `StoreError` for a
    memory that cannot be opened.
    """
    async with AsyncExitStack() as stack:
        zone = _zone(config)
        memories = {
            name: await stack.enter_async_context(open_database(config.data / agent.memory, MEMORY))
            for name, agent in config.agents.items()
        }
        devices = await stack.enter_async_context(open_devices(config.data))
        engines = {
            role: await _opened(stack, role, engine, config.speech)
            for role, engine in (
                ("vad", config.speech.vad),
                ("wake", config.speech.wake),
                ("stt", config.speech.stt),
                ("tts", config.speech.tts),
            )
        }
        backends = {
            name: await _opened(stack, "backend", "openai", _backend_settings(config, name, llm), name)
            for name, llm in config.llm.items()
            if name in {agent.llm for agent in config.agents.values()}
        }
        with _timed("grammar", config.house.language):
            grammar = await anyio.to_thread.run_sync(open_grammar, config.house.language)
        own_tools, speakers = await _tools(stack, config, "house"), Speakers()
        assents = Assents(
            Seal(read_house_key(config.house_key)),
            open_wording(config.house.language),
            own_tools,
            may_talk=partial(may_talk, config.agents),
        )
        minds: dict[str, Mind] = {}
        for name, agent in config.agents.items():
            tools = await _tools(stack, config, name)
            llm, backend = config.llm[agent.llm], backends[agent.llm]
            minds[name] = Mind(open_agent(name, llm, backend, tools, grammar, assents, zone), memories[name])

        models = {"stt": config.speech.stt_model, "tts": engines["tts"].voice, "wake": list(engines["wake"].phrases)}
        house = House(
            config,
            **engines,
            minds=minds,
            choose=lambda turn: choose(turn, config.agents, config.house.agent),
            settle_seconds=grammar.settle_seconds,
            authenticate=devices.find,
            health=Health(backends, own_tools, models | {"vad": config.speech.vad}).look,
            speakers=speakers,
            assents=assents,
            pick=partial(pick, grammar),
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Bell(own_tools, speakers).ring)
            yield house
            tasks.cancel_scope.cancel()


async def _opened(stack: AsyncExitStack, role: str, name: str, settings: object, label: str = "") -> Any:
    """Open an engine, to be closed with `stack`, and log how long that took."""
    with _timed(role, label or name):
        engine = await open_engine(role, name, settings)
    stack.push_async_callback(engine.aclose)
    return engine


def _backend_settings(config: Config, name: str, llm: LlmConfig) -> BackendSettings:
    """Return where a model is served. Raises `ConfigError` when the file of its key cannot be read."""
    if llm.kind == "embedded":
        return BackendSettings(llm.model, socket=config.socket(f"llm-{name}"), tools=llm.tools)
    try:
        key = Path(llm.api_key_file).expanduser().read_text(encoding="utf-8").strip() if llm.api_key_file else ""
    except OSError as trouble:
        raise ConfigError(
            f"llm.{name}.api_key_file {llm.api_key_file} cannot be read: {trouble.strerror}", hint="check the path"
        ) from trouble
    return BackendSettings(llm.model, base_url=llm.url, api_key=key, tools=llm.tools, own_host=False)


async def _tools(stack: AsyncExitStack, config: Config, agent: str) -> Tools:
    """Connect to the tool server under the agent's own token. It may still be starting: it is asked again later."""
    token = config.tools_token(agent).read_text(encoding="utf-8").strip()
    tools = await tools_mcp.open(
        tools_mcp.Settings(socket=config.socket("tools"), token=token, call_seconds=config.tools.call_seconds)
    )
    stack.push_async_callback(tools.aclose)
    return tools


def _zone(config: Config) -> tzinfo | None:
    """Return the house's time zone; `None` is the machine's own. Raises `ConfigError` for one that there is not."""
    try:
        return ZoneInfo(config.house.timezone) if config.house.timezone else None
    except (ZoneInfoNotFoundError, ValueError) as unknown:
        raise ConfigError(
            f"house.timezone is {config.house.timezone!r}, which is no time zone", hint='write it as "Europe/Berlin"'
        ) from unknown


@contextmanager
def _timed(part: str, name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    trace.line("opened", part=part, name=name, seconds=f"{time.monotonic() - began:.2f}")


def _path(exchange: Exchange) -> Route:
    """Which way was a turn going that has no answer?"""
    return "model" if "llm" in exchange.stopwatch.stages else "command"


def _ended(turn: Turn, answer: Answer) -> TurnEnded:
    return TurnEnded(turn.id, answer.end, answer.text, answer.path, answer.usage, answer.error)


def _write_line(exchange: Exchange, answer: Answer, **more: object) -> None:
    """Leave the one line of a turn in the log."""
    error = {"error": answer.error} if answer.error else {}
    trace.line(
        "turn ended",
        turn=exchange.turn.id,
        device=exchange.turn.actor.device,
        agent=exchange.choice.agent,
        path=answer.path,
        **exchange.stopwatch.milliseconds(),
        tools=exchange.telling.tools,
        **more,
        end=answer.end,
        **error,
    )
