"""Opens everything the house is made of, in order, wires it together, and closes it in reverse."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import anyio
import anyio.to_thread

from atlas import heap, own_words, trace
from atlas.agents.agent import Agent
from atlas.agents.agent_emergency import EmergencyMind, Helplines, open_helplines
from atlas.agents.house_traits import HouseTraits, traits_of
from atlas.agents.minds import InLanguages, open_agent
from atlas.agents.taught_sentences import TAUGHT_FILE, Teaching
from atlas.backup_schedule import make_backup, watch_backups
from atlas.bell import Bell, Speakers
from atlas.changes import EVERYTHING, Changes
from atlas.config import Config, LlmConfig, SpeechConfig
from atlas.confirmations import HouseConfirmations, HouseKey, open_answers, read_house_key
from atlas.conversation import HOUSE, Actor, Turn
from atlas.engine import open_engine
from atlas.errors import ConfigError
from atlas.health import Health
from atlas.house import House, Mind
from atlas.house_reader import HouseReader, Language
from atlas.llm.backend_openai import BackendSettings
from atlas.llm.presence import Watched
from atlas.mcp import tools_mcp
from atlas.mcp.recipients import RecipientTools
from atlas.mcp.tools import Tools
from atlas.models.ears import ears_for
from atlas.models.machine_load import MachineLoad
from atlas.models.pull import HUB, client
from atlas.models.pulls import ModelPulls
from atlas.models.way_out import WayOut
from atlas.push.service import PushSender, open_push_key, push_client
from atlas.push_notices import PushNotices
from atlas.router import Routing, choose, may_talk, open_addressing
from atlas.sound_sweep import sweep_sounds
from atlas.speaker_identification import SpeakerIdentification
from atlas.speech.message_sounds import MessageSounds
from atlas.speech.speaking_volumes import SpeakingVolumes
from atlas.speech.voiceprints import MODEL as VOICE_ENCODER
from atlas.speech.voiceprints import open_voice_encoder
from atlas.speech.voices import Voices, languages_of_espeak, voices_for
from atlas.store.devices import DeviceStore, open_devices
from atlas.store.memory import open_memory
from atlas.store.voiceprints import open_voiceprints
from atlas.understanding.act_model import ENCODER, open_act_model
from atlas.understanding.choices import Choices
from atlas.understanding.claims import ClaimJudge, open_claims
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.parser import open_parser
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader
from atlas.understanding.written_language import open_written_language
from atlas.witness import Witness, head_of_record, head_of_tools
from wall.meta import EGRESS_HEAD_AUDIENCE

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
        speech = ears_for(config.speech)
        devices = await stack.enter_async_context(open_devices(config.data))
        engines = await _open_engines(stack, config, speech)
        backends = await _open_backends(stack, config)
        languages, claims = await _read_languages(config)
        written = await anyio.to_thread.run_sync(open_written_language, [*languages]) if len(languages) > 1 else None
        speakers = Speakers()

        async def rooms() -> Sequence[str]:
            return sorted({*await devices.rooms(), *config.rooms_called, *speakers.rooms("")})

        agents_tools: dict[str, Tools] = {
            name: RecipientTools(
                *(await _tools(stack, config, name), devices.residents, rooms, speakers.audience),
                config.house.also_called,
            )
            for name in config.agents
        }
        addressing = open_addressing(config.house.spoken, config.agents)
        stt = engines["stt"]
        reader = HouseReader(config, languages, written, addressing, agents_tools, devices.residents, stt)
        pulls = ModelPulls(
            config.models.folder,
            lambda: client(WayOut(config.socket("egress"))),
            os.environ.get("ATLAS_MODELS_HUB", HUB),
        )
        house_tools = await _tools(stack, config, "house")
        seal = HouseKey(read_house_key(config.house_key))
        changes = Changes([agents_tools[config.house.agent], house_tools])
        witness = Witness(seal, head_of_tools(house_tools), config.record_head)
        of_egress = head_of_record(config.egress_record)
        egress_witness = Witness(seal, of_egress, config.egress_head, EGRESS_HEAD_AUDIENCE)
        confirmations = HouseConfirmations(
            seal,
            open_answers(config.house.spoken),
            house_tools,
            may_talk=partial(may_talk, config.agents),
            gone=devices.gone,
        )
        message_sounds = MessageSounds(config.data / "messages")
        volumes = SpeakingVolumes(config.data)
        load = MachineLoad({name: watched.speed.take for name, watched in backends.items()})
        push = PushNotices(
            devices,
            _push_sender(stack, config),
            lambda: house.config.push.services,
            speakers.has,
            _Questions(confirmations, changes),
        )

        def chosen(turn: Turn) -> Routing:
            agents = house.config.agents
            away = [name for name, agent in agents.items() if backends[agent.llm].away]
            return choose(turn, agents, config.house.agent, addressing, away=away, asker=confirmations.asker(turn))

        def traits(agent: str) -> HouseTraits:
            return traits_of(house.config, agent, engines["tts"].voice)

        def helplines() -> Helplines:
            return open_helplines(house.config.house.country, house.config.house.contact)

        open_helplines(config.house.country)  # a country that nobody knows is no surprise for an emergency
        shared = _MindParts(backends, agents_tools, reader, confirmations, zone, claims, helplines, traits, volumes)
        minds = {name: await _open_mind(stack, config, name, shared) for name in config.agents}
        house = House(
            config,
            **engines,
            minds=minds,
            choose=chosen,
            settle_seconds=reader.settle_seconds,
            wants_silence=reader.wants_silence,
            goes_on=reader.goes_on,
            foresee=reader.foresee,
            learn_reply=reader.learn_reply,
            answering=reader.ear.answering,
            is_about_ring=reader.is_about_ring,
            authenticate=devices.find,
            health=Health(
                backends,
                house_tools,
                _models_in_use(config, speech, engines),
                {"sentences": reader.health},
                lambda: witness.problem or egress_witness.problem,
                languages_of_espeak(speech),
            ).look,
            speakers=speakers,
            confirmations=confirmations,
            zone=zone,
            ear=reader.ear,
            tools={**agents_tools, HOUSE.device: house_tools},
            changes=changes,
            devices=devices,
            pulls=pulls,
            models=_models_read(config, speech),
            push=push,
            load=load,
            teaching=Teaching(config.data / TAUGHT_FILE, reader.read, reader.look, config.house.language),
            sounds=message_sounds,
            volumes=volumes,
            speaker_identification=await _open_speaker_identification(stack, config, devices),
            waiting={code: _waiting(one.grammar) for code, one in languages.items()},
            languages=reader if len(languages) > 1 else None,
            pick=reader.pick,
            encoders={name: backend for name, backend in backends.items() if _has_encoder(config, config.llm[name])},
        )
        stack.callback(house.wakes.close)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_trimmed)
            tasks.start_soon(house.wakes.sweep)
            tasks.start_soon(Bell(house_tools, speakers, message_sounds, push, changes.note).ring)
            tasks.start_soon(push.run)
            tasks.start_soon(load.watch)
            tasks.start_soon(sweep_sounds, message_sounds, house_tools)
            tasks.start_soon(witness.watch, changes)
            tasks.start_soon(egress_witness.watch)
            tasks.start_soon(watch_backups, lambda: house.config, zone, make_backup)
            tasks.start_soon(changes.watch)
            for mind in minds.values():
                tasks.start_soon(mind.memory.run_errands)
            for watched in backends.values():
                tasks.start_soon(watched.watch)
            tasks.start_soon(pulls.run)
            await reader.learn()  # a house that is open knows what can be said in it
            tasks.start_soon(reader.watch, changes)
            yield house
            tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class _Questions:
    """The questions that wait, as those who are away are told of them."""

    confirmations: HouseConfirmations
    watched: Changes

    async def changes(self) -> AsyncIterator[object]:
        number = self.watched.last
        while True:
            for change in await self.watched.after(number):
                number = change.number
                if change.kind in ("asks", EVERYTHING):
                    yield change

    async def waiting(self, viewer: Actor) -> Mapping[str, str]:
        return {one.ask.id: one.actor.device_key for one in await self.confirmations.waiting(viewer)}


@dataclass(frozen=True, slots=True)
class _MindParts:
    """What all minds of a house are made of."""

    backends: Mapping[str, Watched]
    tools: Mapping[str, Tools]  # of each agent, as its names are
    reader: HouseReader
    confirmations: HouseConfirmations
    zone: tzinfo | None
    claims: ClaimJudge | None
    helplines: Callable[[], Helplines]  # as they are by now, for who may answer before all others
    traits: Callable[[str], HouseTraits]  # what an agent says of the house, by its settings as they are by now
    volumes: SpeakingVolumes


async def _open_speaker_identification(
    stack: AsyncExitStack, config: Config, devices: DeviceStore
) -> SpeakerIdentification:
    """Open what knows people by voice; where the house does not want that, only the store of their voiceprints.

    Raises `EngineError` without the encoder's model.
    """
    encoder = None
    if config.voices.enabled:
        with _timed("voices", "campplus"):
            encoder = await anyio.to_thread.run_sync(open_voice_encoder, config.models.folder)
    return SpeakerIdentification(encoder, await stack.enter_async_context(open_voiceprints(config.data)), devices.list)


async def _open_engines(stack: AsyncExitStack, config: Config, speech: SpeechConfig) -> dict[str, Any]:
    roles = {"vad": config.speech.vad, "wake": config.speech.wake, "stt": config.speech.stt}
    engines = {role: await _opened(stack, role, engine, speech) for role, engine in roles.items()}
    voices = voices_for(speech)
    spoken = {language: await _opened(stack, "tts", its.tts, its) for language, its in voices.items()}
    return engines | {"tts": Voices(spoken) if len(spoken) > 1 else next(iter(spoken.values()))}


def _push_sender(stack: AsyncExitStack, config: Config) -> PushSender:
    """Return what hands messages to push services. Raises `ConfigError` for a key that cannot be read or made."""
    client_of_services = push_client(WayOut(config.socket("egress")))
    stack.push_async_callback(client_of_services.aclose)
    return PushSender(open_push_key(config.push_key), client_of_services)


async def _open_backends(stack: AsyncExitStack, config: Config) -> dict[str, Watched]:
    """Open the models that some agent thinks by."""
    used = {agent.llm for agent in config.agents.values()}
    return {
        name: Watched(await _opened(stack, "backend", "openai", _backend_settings(config, name, llm), name))
        for name, llm in config.llm.items()
        if name in used
    }


async def _read_languages(config: Config) -> tuple[Mapping[str, Language], ClaimJudge | None]:
    """Return the languages of the house, the usual one first, and what tells a claim in any of them."""
    with _timed("parser", ENCODER):
        learned = await anyio.to_thread.run_sync(open_act_model, config.models.folder / ENCODER)
        claims = open_claims(learned.encoder) if learned else None
    languages: dict[str, Language] = {}
    for code in config.house.spoken:
        with _timed("grammar", code):
            grammar = await anyio.to_thread.run_sync(open_grammar, code)
            public = PublicReader(await anyio.to_thread.run_sync(open_public, code), grammar.commands)
            languages[code] = Language(grammar, public, open_parser(grammar, learned))
    return languages, claims


def _waiting(grammar: Grammar) -> str:
    """Return what is said in a language while nobody has a word yet."""
    return str(grammar.tables.get("concern", {}).get("says", {}).get("waiting", ""))


async def _open_mind(stack: AsyncExitStack, config: Config, name: str, parts: _MindParts) -> Mind:
    """Open an agent and its memory. Raises `ConfigError` and `StoreError`."""
    _check_own(config, name)
    agent = config.agents[name]
    backend = parts.backends[agent.llm]
    memory = await stack.enter_async_context(open_memory(config.data / agent.memory, backend.forget))
    tools, waiting = parts.tools[name], dict[Actor, tuple[float, Choices]]()

    def in_language(code: str, reader: Reader) -> Agent:
        others = [one for one in parts.reader.languages if one != code]
        return open_agent(
            *(name, config.llm[agent.llm], backend, tools, reader, parts.confirmations, parts.zone, memory),
            names=parts.reader.names[name],
            first=[EmergencyMind([code, *others], parts.helplines)],  # in fear people fall back on any language
            claims=parts.claims.chance if parts.claims else None,
            waiting=waiting,
            traits=partial(parts.traits, name),
            volumes=parts.volumes,
        )

    agents = {code: in_language(code, one.sentences) for code, one in parts.reader.languages.items()}
    return Mind(InLanguages(agents), memory)


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


def _models_in_use(config: Config, speech: SpeechConfig, engines: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `/health` names as the models of speech."""
    second = {"second_pass": speech.second_pass_model} if speech.second_pass_model else {}
    ears = {"stt": config.speech.stt_model, **second, "vad": config.speech.vad}
    return ears | {"tts": engines["tts"].voice, "wake": list(engines["wake"].phrases)}


def _models_read(config: Config, speech: SpeechConfig) -> frozenset[str]:
    """Return the names of all models that this house opens, whichever part of it reads them."""
    embedded = [llm for llm in config.llm.values() if not llm.url]
    language = {name for llm in embedded for name in (llm.model, llm.embedder)}
    voices = {voice.voice for voice in voices_for(speech).values() if voice.tts == "piper"}
    others = {ENCODER, speech.stt_model, speech.second_pass_model} | (
        {VOICE_ENCODER} if config.voices.enabled else set()
    )
    here = (name for name in language | voices | others if name and (config.models.folder / name).is_dir())
    return frozenset(here)


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
