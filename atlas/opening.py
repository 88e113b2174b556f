"""Open everything the house is made of, in order, wire it together, and close it in reverse."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import anyio
import anyio.to_thread

from atlas import heap, own_words, trace
from atlas.agents.agent_emergency import EmergencyMind, open_helplines
from atlas.agents.house_names import HouseNames
from atlas.agents.house_sentences import FILE, HouseSentences
from atlas.agents.minds import open_agent
from atlas.assent import HouseConfirmations, HouseKey, open_wording, read_house_key
from atlas.bell import Bell, Speakers
from atlas.changes import Changes
from atlas.config import Config, LlmConfig
from atlas.conversation import HOUSE, Turn
from atlas.engine import open_engine
from atlas.errors import ConfigError
from atlas.health import Health
from atlas.hearing.ear import Ear, Sense
from atlas.hearing.house_ear import VOICES, BookKeeper, HouseBook, Senses
from atlas.hearing.sounds import Sounds
from atlas.house import House, Mind
from atlas.llm.backend_openai import BackendSettings
from atlas.llm.presence import Watched
from atlas.mcp import tools_mcp
from atlas.mcp.tools import Tools
from atlas.router import Routing, choose, may_talk, open_addressing
from atlas.speech.voices import voice_for
from atlas.store.devices import open_devices
from atlas.store.memory import open_memory
from atlas.understanding.claims import open_claims
from atlas.understanding.grammar import open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.learned import ENCODER, open_learned
from atlas.understanding.names import Names
from atlas.understanding.parser import open_parser
from atlas.understanding.public import PublicGrammar
from atlas.understanding.readings import pick
from atlas.understanding.understanding import Reader
from atlas.witness import Witness

TRIM_SECONDS = 30.0  # each time takes a tenth of a second of one core, beside everything else


@asynccontextmanager
async def open_house(config: Config) -> AsyncIterator[House]:
    """Open everything, weights loaded and warm; close it in reverse. The processes it talks to may still be starting.

    Raises `ConfigError` for settings that cannot be, `EngineError` for weights that do not load, `StoreError` for a
    memory that cannot be opened.
    """
    async with AsyncExitStack() as stack:
        own_words.speaks(config.house.language)
        zone = _zone(config)
        speech = voice_for(config.speech)
        devices = await stack.enter_async_context(open_devices(config.data))
        engines = {
            role: await _opened(stack, role, engine, speech)
            for role, engine in (
                ("vad", config.speech.vad),
                ("wake", config.speech.wake),
                ("stt", config.speech.stt),
                ("tts", speech.tts),
            )
        }
        backends = {
            name: Watched(await _opened(stack, "backend", "openai", _backend_settings(config, name, llm), name))
            for name, llm in config.llm.items()
            if name in {agent.llm for agent in config.agents.values()}
        }
        with _timed("grammar", config.house.language):
            grammar = await anyio.to_thread.run_sync(open_grammar, config.house.language)
            public = PublicReader(
                await anyio.to_thread.run_sync(PublicGrammar, config.house.language), grammar.commands
            )
        with _timed("parser", config.house.language):
            learned = await anyio.to_thread.run_sync(open_learned, config.models.folder / ENCODER)
            parser = open_parser(grammar, learned)
            judge = learned and open_claims(learned.encoder)
        agents_tools = {name: await _tools(stack, config, name) for name in config.agents}
        custom = HouseSentences(
            config.data / FILE,
            config.house.language,
            [*agents_tools.values()],
            public,
            lambda new: shelf.learn(custom=new),
        )
        reader = Reader(grammar, public, parser, custom)
        house_tools, speakers = await _tools(stack, config, "house"), Speakers()
        seal = HouseKey(read_house_key(config.house_key))
        changes = Changes([agents_tools[config.house.agent], house_tools])
        witness = Witness(seal, house_tools, config.record_head)
        assents = HouseConfirmations(
            seal,
            open_wording(config.house.language),
            house_tools,
            may_talk=partial(may_talk, config.agents),
        )
        addressing = open_addressing(config.house.language, config.agents)

        def chosen(turn: Turn) -> Routing:
            away = [name for name, agent in config.agents.items() if backends[agent.llm].away]
            return choose(turn, config.agents, config.house.agent, addressing, away=away, asker=assents.asker(turn))

        senses = Senses(config.house.language)
        # What was learnt makes sense of misheard words too, and not theirs: here it is left out.
        literal = Reader(grammar, public, custom=custom)
        sounds = Sounds(VOICES.get(config.house.language, config.house.language))

        def sense(text: str) -> Sense:
            bare = addressing.bare(text)
            return senses.of(text, literal.read(bare, heard_names()), heard_names())

        ear = Ear(engines["stt"], sounds, sense)
        shelf = BookKeeper(ear, HouseBook(config.house.language, grammar.tables, sounds))

        def prepare(known: Names) -> None:
            public.prepare(known)
            shelf.learn(known)

        helplines = open_helplines(config.house.country, config.house.contact)
        first = [EmergencyMind(config.house.language, helplines)]
        minds: dict[str, Mind] = {}
        names: dict[str, HouseNames] = {}  # each agent knows what it may look at
        for name, agent in config.agents.items():
            tools = agents_tools[name]
            llm, backend = config.llm[agent.llm], backends[agent.llm]
            _check_own(config, name)
            memory = await stack.enter_async_context(open_memory(config.data / agent.memory, backend.forget))
            names[name] = HouseNames(tools, prepare if name == config.house.agent else public.prepare)
            thinking = open_agent(
                *(name, llm, backend, tools, reader, assents, zone, memory),
                names=names[name],
                first=first,
                claims=judge.chance if judge else None,
            )
            minds[name] = Mind(thinking, memory)

        def heard_names() -> Names:
            return names[config.house.agent]()

        models = {"stt": config.speech.stt_model, "tts": engines["tts"].voice, "wake": list(engines["wake"].phrases)}
        house = House(
            config,
            **engines,
            minds=minds,
            choose=chosen,
            settle_seconds=lambda text: reader.settle_seconds(addressing.bare(text), heard_names()),
            wants_silence=grammar.wants_silence,
            is_about_ring=lambda text: reader.is_about_ring(addressing.bare(text), heard_names()),
            authenticate=devices.find,
            health=Health(
                backends,
                house_tools,
                models | {"vad": config.speech.vad},
                {"sentences": custom.health},
                lambda: witness.problem,
            ).look,
            speakers=speakers,
            assents=assents,
            zone=zone,
            ear=ear,
            tools={**agents_tools, HOUSE.device: house_tools},
            changes=changes,
            devices=devices,
            waiting=grammar.tables.get("concern", {}).get("says", {}).get("waiting", ""),
            pick=partial(pick, lambda text: reader.read(text, heard_names()), addressing.bare),
            encoders={name: backend for name, backend in backends.items() if _has_encoder(config, config.llm[name])},
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_trimmed)
            tasks.start_soon(Bell(house_tools, speakers).ring)
            tasks.start_soon(witness.watch)
            tasks.start_soon(changes.watch)
            for mind in minds.values():
                tasks.start_soon(mind.memory.run_errands)
            for watched in backends.values():
                tasks.start_soon(watched.watch)
            for known in names.values():
                tasks.start_soon(known.watch)
            tasks.start_soon(custom.watch)
            tasks.start_soon(anyio.to_thread.run_sync, lambda: shelf.learn())
            yield house
            tasks.cancel_scope.cancel()


async def _keep_trimmed() -> None:
    """Take no more memory than the house needs, within half a minute of needing less."""
    while True:
        await anyio.sleep(TRIM_SECONDS)
        await anyio.to_thread.run_sync(heap.trim)


async def _opened(stack: AsyncExitStack, role: str, name: str, settings: object, label: str = "") -> Any:
    """Open an engine, to be closed with `stack`, and log how long that took."""
    with _timed(role, label or name):
        engine = await open_engine(role, name, settings)
    stack.push_async_callback(engine.aclose)
    return engine


def _backend_settings(config: Config, name: str, llm: LlmConfig) -> BackendSettings:
    """Return where a model is served. Raises `ConfigError` when the file of its key cannot be read."""
    if llm.kind == "embedded":
        return BackendSettings(
            llm.model,
            socket=config.socket(f"llm-{name}"),
            tools=llm.tools,
            first_words_seconds=llm.patience_seconds,
        )
    try:
        key = Path(llm.api_key_file).expanduser().read_text(encoding="utf-8").strip() if llm.api_key_file else ""
    except OSError as trouble:
        raise ConfigError(
            f"llm.{name}.api_key_file {llm.api_key_file} cannot be read: {trouble.strerror}", hint="check the path"
        ) from trouble
    return BackendSettings(
        llm.model,
        base_url=llm.url,
        api_key=key,
        tools=llm.tools,
        own_host=False,
        first_words_seconds=llm.patience_seconds,
    )


def _has_encoder(config: Config, llm: LlmConfig) -> bool:
    """Is its LLM host started with a sentence encoder? `atlas run` refuses to start without one that is named."""
    return llm.kind == "embedded" and bool(llm.embedder) and (config.models.folder / llm.embedder).is_dir()


async def _tools(stack: AsyncExitStack, config: Config, agent: str) -> Tools:
    """Connect to the tool server under the agent's own token. It may still be starting: it is asked again later."""
    token = config.tools_token(agent).read_text(encoding="utf-8").strip()
    tools = await tools_mcp.open(
        tools_mcp.ToolServerSettings(
            socket=config.socket("tools"),
            token=token,
            call_seconds=config.tools.call_seconds,
            language=config.house.language,
        )
    )
    stack.push_async_callback(tools.aclose)
    return tools


def _check_own(config: Config, name: str) -> None:
    """Raise `ConfigError` when a link makes one agent's memory another's."""
    file = config.data / config.agents[name].memory
    for other, agent in config.agents.items():
        its = config.data / agent.memory
        if other != name and file.exists() and its.exists() and file.samefile(its):
            raise ConfigError(f"{file} and {its} are one file", hint=f"take the link away: {name} and {other} need two")


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
