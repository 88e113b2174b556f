"""The running Atlas: takes turns to the minds and keeps what came of them; reply, remember, announce."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any, ParamSpec, Protocol
from weakref import WeakValueDictionary

import anyio

from atlas import trace
from atlas.agents import prompt
from atlas.agents.agent import Agent, AgentAnswer
from atlas.agents.answer_provenance import AnswerProvenance
from atlas.agents.taught_sentences import Teaching
from atlas.bell import Expect, Play, Ring, Say, Show, Speaker, Speakers, spoken_to_any
from atlas.changes import Changes
from atlas.config import Config
from atlas.confirmations import HouseConfirmations, MissedConfirmation, WaitingConfirmation
from atlas.conversation import HOUSE, Actor, Channel, Message, ToolCall, ToolResult, Turn, Utterance, fresh_id
from atlas.errors import AtlasError, RequestError, StoreError
from atlas.events import Emit, Event, Route, TextDelta, TurnEnded, TurnStarted
from atlas.llm.backend import Backend
from atlas.mcp.tools import Tools
from atlas.models.machine_load import MachineLoad
from atlas.models.pulls import ModelPulls
from atlas.own_voice import OwnVoices
from atlas.own_words import speaking
from atlas.pressed_calls import PressedCalls
from atlas.push_notices import PushNotices
from atlas.recent_log import RecentLog
from atlas.router import Routing
from atlas.speaker_identification import SpeakerIdentification
from atlas.speech.message_sounds import MessageSounds
from atlas.speech.speaking_volumes import SpeakingVolumes
from atlas.speech.stt import Judge, Stt
from atlas.speech.tts import Tts
from atlas.speech.vad import Vad
from atlas.speech.wake import Wake, WakeStream
from atlas.speech.wake_log import WakeEntry
from atlas.speech.wake_rooms import WakeRooms, threshold_now, wake_room
from atlas.store.conversations import Conversation, conversation_of
from atlas.store.devices import DeviceStore
from atlas.store.memory import Memory, UnderWay
from atlas.store.recall import Whose, belonging_to
from atlas.store.settings_file import HouseSettings, with_settings_at_once
from atlas.store.turns import DeedState, SpeechReadings, TurnDeed, TurnRecord
from atlas.turn_recorder import TurnRecorder
from atlas.understanding.readings import as_heard
from atlas.voice.wake_arbitration import WakeArbitration
from wall import logs
from wall.roles import may

GOODBYE_SECONDS = 1.0  # a door whose turn was cancelled gets this long to take its last event
MOST_DEEDS = 20  # of one turn, and
SENTENCE_CHARACTERS = 1_000  # of one deed, that a page can show again
WARMING = "Who wrote the song about the yellow submarine?"  # no command, and no wish for a tool
P = ParamSpec("P")
log = logging.getLogger("atlas")


@dataclass(frozen=True, slots=True)
class Mind:
    """An agent, and the memory that is its own."""

    agent: Agent
    memory: Memory


class TurnLanguages(Protocol):
    """Knows in which language a turn is said."""

    def settled(self, turn: Turn) -> Turn:
        """Return a turn with its language."""
        ...

    def note(self, turn: Turn) -> None:
        """Note that somebody is answered in the language of a turn."""
        ...

    def language_of(self, text: str) -> str:
        """Return the language of words that nobody said in a turn."""
        ...


@dataclass(frozen=True, slots=True)
class PresentDevice:
    """A device that the house can be heard on now, and whether somebody talks with it there."""

    name: str
    room: str
    talking: bool
    person: str = ""  # who talks; "" when nobody does or the house does not know


@dataclass(slots=True, eq=False)
class LiveTurn:
    """A turn that is being answered."""

    turn: Turn
    choice: Routing
    conversation: Conversation
    recorder: TurnRecorder
    under_way: UnderWay | None = None  # None when the client keeps the conversation itself
    tainted: bool = False  # what a model is told of the past may repeat words of others
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
        choose: Callable[[Turn], Routing],
        settle_seconds: Callable[[str], float | None],
        wants_silence: Callable[[str], bool],
        goes_on: Callable[[str], bool] = lambda text: False,  # words behind which a speaker has more to say
        foresee: Callable[[str], str] = lambda text: "",  # what will probably be said to a command; "" unknown
        answering: Callable[[Callable[[str], bool]], Judge] | None = None,  # what hears answers; None: nothing does
        learn_reply: Callable[[ToolCall, ToolResult], None] = lambda call, result: None,  # for the next like it
        authenticate: Callable[[str], Awaitable[Actor | None]],
        health: Callable[[], Awaitable[Mapping[str, object]]],
        speakers: Speakers,
        confirmations: HouseConfirmations,
        is_about_ring: Callable[[str], bool] | None = None,  # said to what rings; None: only what wants silence
        pick: Callable[[Utterance], Utterance] = as_heard,
        encoders: Mapping[str, Backend] | None = None,  # those LLM hosts, by name, that make vectors of texts too
        zone: tzinfo | None = None,  # None: the machine's own
        ear: Stt | None = None,  # a recogniser that knows what can be said here; None: `stt`
        waiting: Mapping[str, str] | None = None,  # by language: what is said while nobody has a word yet
        languages: TurnLanguages | None = None,  # None where one language is spoken
        tools: Mapping[str, Tools] | None = None,  # of each agent, by its name
        devices: DeviceStore | None = None,  # who may come in; None where nobody can be let in or sent away
        pulls: ModelPulls | None = None,  # of models; None where none can be pulled
        models: frozenset[str] = frozenset(),  # the names of those that any part of it reads
        load: MachineLoad | None = None,  # of this machine; None where nobody samples it
        push: PushNotices | None = None,  # for devices whose app is closed; None where none can be told
        teaching: Teaching | None = None,  # of sentences; None where none can be taught
        changes: Changes | None = None,  # None: nobody watches what changes
        sounds: MessageSounds | None = None,  # of messages; None where they are words alone
        volumes: SpeakingVolumes | None = None,  # of devices; None: all speak as loudly as the voice is made
        speaker_identification: SpeakerIdentification | None = None,  # None: nobody is known by voice
    ) -> None:
        self.config = config
        self.stt = stt
        self.ear = ear or stt
        self.tts = tts
        self.vad = vad
        self.wake = wake
        self.wakes = WakeRooms(config.data, config.near_misses)
        self.pick = pick
        self.settle_seconds = settle_seconds
        self.wants_silence = wants_silence
        self.goes_on = goes_on
        self.foresee = foresee
        self._learn_reply = learn_reply
        self._answering_judge = answering
        self.is_about_ring = is_about_ring or wants_silence
        self.authenticate = authenticate
        self.health = health
        self.zone = zone
        self.waiting = waiting or {}
        self._languages = languages
        self.encoders = encoders or {}
        self.nearest = WakeArbitration()
        self._minds = minds
        self._choose = choose
        self._speakers = speakers
        self._confirmations = confirmations
        self._pressed = PressedCalls(tools or {})
        self.devices = devices
        self.pulls = pulls
        self.models = models
        self.push = push
        self.load = load
        self.teaching = teaching
        self.settings: HouseSettings | None = None  # set by whoever runs the processes that go by them
        self.recent_log: RecentLog | None = None  # set by whoever writes the log
        self.changes = changes or Changes([])
        self.sounds = sounds
        self.volumes = volumes or SpeakingVolumes(config.data)
        self.speaker_identification = speaker_identification
        self._own_voices = OwnVoices(sounds) if sounds else None
        self._provenance = AnswerProvenance()
        self._talks: WeakValueDictionary[Conversation, anyio.Lock] = WeakValueDictionary()
        self._answering: dict[Conversation, LiveTurn] = {}
        self._aloud: dict[str, tuple[LiveTurn, AgentAnswer]] = {}  # answered, and still being spoken

    def agents(self) -> tuple[str, ...]:
        """Return the names of the agents."""
        return tuple(self._minds)

    async def reply(self, turn: Turn, emit: Emit) -> None:
        """Answer `turn`: emits `TurnStarted` … exactly one `TurnEnded`, and remembers what was said and done.

        A whole answer is on the disk before its `TurnEnded` goes out. Trouble in the world ends the turn as failed,
        with an honest sentence. Cancelling is safe: what was said and done by then is remembered. Two turns of one
        conversation are answered one after the other, but for a command, which waits for no model. Raises
        `RequestError` for an agent that there is not, or not for this actor, before anything is emitted.
        """
        with trace.tracing(trace.current()) as stopwatch, ExitStack() as context:
            self._speakers.heard(turn.actor)  # a voice alone calls nobody's messages into a room
            self._speakers.answered(turn.actor.device_key)
            if not turn.spoken:
                self._speakers.attended(turn.actor.device_key)  # who types there has seen what rings there
            if self.speaker_identification and not self._confirmations.asker(
                turn
            ):  # what a room was asked, the room answers
                turn = await self.speaker_identification.identified(turn)
            with stopwatch.stage("route"):
                choice = self._routed(turn)
            turn = choice.turn
            context.enter_context(speaking(turn.language))
            if self._languages:
                self._languages.note(turn)
            if self._own_voices and may(turn.actor.role, "announce"):
                emit = context.enter_context(self._own_voices.of(turn, emit))
            exchange = LiveTurn(
                turn, choice, conversation_of(choice.agent, turn.actor), TurnRecorder(emit, prompt.result)
            )
            async with AsyncExitStack() as stack:
                if turn.remembered:
                    memory = self._minds[choice.agent].memory
                    exchange.under_way = stack.enter_context(memory.under_way(exchange.conversation, turn.id))
                try:
                    await exchange.recorder.emit(
                        TurnStarted(turn.id, choice.agent, choice.reason, turn.language, turn.voice)
                    )
                    if turn.remembered:
                        await stack.enter_async_context(self._alone(exchange))
                    answer = await self._answer(exchange)
                except BaseException as trouble:  # cancelled, or a mistake of ours: the turn ends all the same
                    await self._break_off(exchange, trouble)
                    raise
                with anyio.CancelScope(shield=True):
                    await self._keep(exchange, answer)
            if answer.awaits_reply:
                self._speakers.asked(turn.actor.device_key)
            if answer.path == "command" and len(exchange.recorder.results) == 1:
                self._learn_reply(*exchange.recorder.results[0])
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
            choice = self._routed(turn)
            turn = choice.turn
            mind = self._minds[choice.agent]
            if not turn.remembered:
                await mind.agent.prepare(turn)
                return
            conversation = conversation_of(choice.agent, turn.actor)
            with anyio.CancelScope() as reading, mind.memory.under_way(conversation, turn.id, reading) as under_way:
                await mind.agent.prepare(replace(turn, history=await mind.memory.history(under_way, turn.at)))
        except AtlasError as trouble:
            log.info("not prepared turn=%s: %s", turn.id, trouble)

    async def judge(self, turn: Turn) -> Judge | None:
        """Return what hears an answer to the question that `turn`, without words yet, comes after; `None` without one.

        Cancelling is safe.
        """
        if self._answering_judge is None or not turn.remembered:
            return None
        try:
            choice = self._routed(turn)
            agent, memory, turn = self._minds[choice.agent].agent, self._minds[choice.agent].memory, choice.turn
            conversation = conversation_of(choice.agent, turn.actor)
            with anyio.CancelScope() as reading, memory.under_way(conversation, turn.id, reading) as under_way:
                turn = replace(turn, history=await memory.history(under_way, turn.at))
        except AtlasError as trouble:
            log.info("no question known turn=%s: %s", turn.id, trouble)
            return None
        return self._answering_judge(lambda text: agent.answers(replace(turn, text=text)))

    async def remember(self, turn_id: str, heard: str) -> None:
        """Note what was heard of a reply that was spoken: its memory is shortened to that. Raises `StoreError`.

        To be called once its sound is over; and again when it turns out later that less was heard.
        """
        self._confirmations.was_heard(turn_id, heard)
        exchange, answer = self._aloud.pop(turn_id, (None, None))
        timings = exchange.stopwatch.milliseconds() if exchange else {}
        if exchange and answer:
            _write_line(exchange, answer, heard=len(heard))
        for mind in [self._minds[exchange.choice.agent]] if exchange else self._minds.values():
            await mind.memory.heard(turn_id, heard, timings)

    def language_of(self, text: str) -> str:
        """Return the language of words that are no turn, of those of the house."""
        return self._languages.language_of(text) if self._languages else self.config.house.language

    async def asks(self, viewer: Actor) -> Sequence[WaitingConfirmation]:
        """Return the questions that wait for a yes and that `viewer` may answer. Raises `EngineError`."""
        return await self._confirmations.waiting(viewer)

    async def missed_asks(self, viewer: Actor) -> Sequence[MissedConfirmation]:
        """Return the questions that `viewer` might have answered, and nobody did. Raises `EngineError`."""
        return await self._confirmations.missed(viewer)

    async def answer_ask(self, ask_id: str, by: Actor, channel: Channel, *, yes: bool) -> ToolResult:
        """Take an answer that was pressed, do what it was about, and return what came of it and what to say.

        What an agent of this house had asked is done and remembered in its conversation. Cancelling is safe. Raises
        `RequestError` ("not_found") when the question does not wait any more, or not for this person; `EngineError`.
        """
        turn = await self._confirmations.answer(ask_id, by, channel, yes=yes)
        if isinstance(turn, str):
            return await self._pressed.settle(ask_id, yes=yes) or ToolResult("", True, turn)
        messages: list[str] = []

        async def emit(event: Event) -> None:
            if isinstance(event, TurnEnded):
                messages.append(event.text)

        await self.reply(turn, emit)
        return ToolResult("", True, messages[-1])

    async def press(self, agent: str, tool: str, arguments: Mapping[str, Any], actor: Actor) -> ToolResult:
        """Use a tool of an agent's as `actor` wishes who pressed for it: through the gate, and in no conversation.

        What a person must say yes to comes back undone, with an `ask`, and is done by `answer_ask`. Cancelling is safe.
        Raises `RequestError` for an agent that there is not, or not for this actor.
        """
        self._check_talks(agent, actor)
        return await self._pressed.call(agent, tool, arguments, actor)

    def hears_wake_words(self, actor: Actor) -> WakeStream:
        """Return a detector of wake words for a microphone that the house hears, by the thresholds of its room.

        What wakes a person's own device is nobody's to hear, and stored nowhere.
        """
        return self.wakes.listen(
            self.wake, wake_room(actor), lambda: self.config.speech.near_misses and not actor.person
        )

    def wake_threshold(self, room: str, phrase: str, entries: Sequence[WakeEntry]) -> float:
        """Return how sure a room has to be of a wake word, whose log has these entries; 0 when nobody knows."""
        of_engine = self.wake.own_threshold(phrase) if phrase in self.wake.phrases else 0.0
        return threshold_now(phrase, entries, self.wakes.thresholds(room), self.config.wake_threshold(room), of_engine)

    async def use_owner_tool(self, tool: str, arguments: Mapping[str, Any], actor: Actor) -> ToolResult:
        """Use a tool that is the house's own, for `actor`: only an owner is told anything. Cancelling is safe."""
        return await self._pressed.call(HOUSE.device, tool, arguments, actor)

    def speaking_device(
        self,
        device: str,
        room: str,
        say: Say,
        show: Show | None = None,
        *,
        ring: Ring | None = None,
        expect: Expect | None = None,
        resides: bool = True,
        person: str = "",
        play: Play | None = None,
        device_id: str = "",
    ) -> AbstractContextManager[None]:
        """Let the house speak through `device` inside the block.

        `say` returns when the device took the words, and raises `AtlasError`, or anyio's errors of a broken stream, if
        it did not. One that rings says what is due by `ring`, after a tone; one that rings without the house too is
        told by `expect` what is coming; one that does not reside is told what is for it or its room alone.
        """
        key = device_id or device
        ring, play = (ring and self._in_between(key, ring)), (play and self._in_between(key, play))
        say = self._in_between(key, say)
        return self._speakers.connected(
            Speaker(device, room, say, show, ring, expect, resides, play, person, device_id)
        )

    def _in_between(self, device_key: str, tell: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
        """Return what tells something on a device, and then notes that what was asked there has to be asked again."""

        async def tell_in_between(*words: P.args, **options: P.kwargs) -> None:
            try:
                await tell(*words, **options)
            finally:
                self._confirmations.said_in_between(device_key)

        return tell_in_between

    def speaking_rooms(self, but: str) -> Sequence[str]:
        """Return the rooms in which a device is connected, other than that of the key `but`."""
        return self._speakers.rooms(but)

    def present(self) -> Sequence[PresentDevice]:
        """Return the devices that are connected or talked through now, by the names of their rooms and their own."""
        under_way = [*self._answering.values(), *(exchange for exchange, _ in self._aloud.values())]
        talkers = {exchange.turn.actor.device_key: exchange.turn.actor for exchange in under_way}
        present = {
            one.device_key: PresentDevice(one.device, one.room, one.device_key in talkers)
            for one in self._speakers.on("")
        }
        for key, actor in talkers.items():
            present[key] = PresentDevice(actor.device, actor.room, talking=True, person=actor.person)
        return sorted(present.values(), key=lambda one: (one.room.casefold(), one.name.casefold()))

    def speakers_changed(self) -> None:
        """Have every device told anew what it will ring."""
        self._speakers.changed()

    def attended(self, device_key: str) -> None:
        """Note that somebody called or silenced a device: a timer that rings there need not ring again."""
        self._speakers.attended(device_key)

    def stop_ringing(self, id: str) -> None:
        """Note that somebody stopped a timer that rings, from wherever they are: it rings no more, in no room."""
        self._speakers.stop(id)
        self.changes.note("timers")

    def rang(self, device_key: str, room: str, ids: Sequence[str]) -> None:
        """Note what a device rang, and somebody stopped, while the house was away: it is not announced again."""
        self._speakers.rang(device_key, room, ids)
        self._speakers.attended(device_key)

    async def announce(self, device: str, text: str) -> bool:
        """Say `text` on `device`, "" for every connected one; False when nobody took it. Cancelling is safe."""
        return await spoken_to_any(self._speakers.on(device), text)

    def memory_of(self, agent: str, actor: Actor, *others: Actor) -> tuple[Memory, Whose]:
        """Return an agent's memory and what in it is `actor`'s own. Raises `RequestError` for an agent not for them.

        See `belonging_to` for the `others`.
        """
        self._check_talks(agent, actor)
        return self._minds[agent].memory, belonging_to(agent, actor, *others)

    def _check_talks(self, agent: str, actor: Actor) -> None:
        if agent not in self._minds:
            raise RequestError(f"no agent is called {agent!r}", code="model_not_found", param="agent")
        if actor.role not in self.config.agents[agent].roles:
            text = f"the role {actor.role} may not talk to the agent {agent!r}"
            raise RequestError(text, code="forbidden", param="agent")

    def take_settings(self, config: Config) -> None:
        """Go by settings that were changed while the house runs; what was opened by the old ones stays as it is."""
        self.config = with_settings_at_once(self.config, config)

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
            error = {"error": answer.error} if answer and answer.error else {}
            trace.line("warmed", agent=name, seconds=f"{time.monotonic() - began:.1f}", **error)

    def _routed(self, turn: Turn) -> Routing:
        """Return who answers a turn, and the turn with its language where there are several. Raises `RequestError`."""
        return self._choose(self._languages.settled(turn) if self._languages else replace(turn, language=""))

    async def _answer(self, exchange: LiveTurn) -> AgentAnswer:
        turn, mind, recorder = exchange.turn, self._minds[exchange.choice.agent], exchange.recorder
        try:
            if exchange.under_way:
                turn = replace(turn, history=await mind.memory.history(exchange.under_way, turn.at))
            turn = self._provenance.judged(turn)
            exchange.tainted = turn.tainted or prompt.words_of_others(turn.history, ours=turn.remembered)
            answer = await mind.agent.respond(turn, recorder.emit)
        except AtlasError as trouble:
            await recorder.emit(TextDelta(f" {trouble.spoken}" if recorder.text else trouble.spoken))
            return AgentAnswer(
                recorder.text,
                _path(exchange),
                "failed",
                recorder.messages(),
                error=str(trouble),
                tainted=recorder.tainted,
            )
        assert answer is not None, "nobody is left to answer a turn that an agent declines"
        self._provenance.note(turn, answer)
        return answer

    async def _break_off(self, exchange: LiveTurn, trouble: BaseException) -> None:
        """End a turn that has no answer, within bounded time."""
        recorder = exchange.recorder
        cancelled = isinstance(trouble, anyio.get_cancelled_exc_class())
        answer = AgentAnswer(
            recorder.text,
            _path(exchange),
            "cancelled" if cancelled else "failed",
            recorder.messages(),
            error="" if cancelled else logs.kind(trouble),
            tainted=recorder.tainted,
        )
        with anyio.CancelScope(shield=True):
            await self._keep(exchange, answer)
        _write_line(exchange, answer)
        if not recorder.deaf:
            with anyio.move_on_after(GOODBYE_SECONDS, shield=True):
                await recorder.emit(_ended(exchange.turn, answer))

    async def _keep(self, exchange: LiveTurn, answer: AgentAnswer) -> None:
        """Put the turn into its agent's memory; a memory that fails costs no answer."""
        turn = exchange.turn
        record = TurnRecord(
            *(turn.id, exchange.choice.agent, exchange.choice.reason, answer.path, turn.actor.device, turn.spoken),
            *(turn.at, time.time(), answer.end, answer.error),
            timings=exchange.stopwatch.milliseconds(),
            usage=answer.usage,
            tainted=_repeats_others(exchange, answer),
            readings=_readings(turn),
            deeds=tuple(_deed(call, result) for call, result in exchange.recorder.results[:MOST_DEEDS]),
        )

        messages = (Message("user", turn.text), *answer.messages)
        memory = self._minds[exchange.choice.agent].memory
        try:
            await memory.keep(record, messages, exchange.under_way)
        except StoreError as trouble:
            log.error("turn not remembered turn=%s: %s; %s", turn.id, trouble, trouble.hint)  # noqa: TRY400

    @asynccontextmanager
    async def _alone(self, exchange: LiveTurn) -> AsyncIterator[None]:
        """Wait until no other turn of this conversation is being answered; but no command waits for a model."""
        conversation = exchange.conversation
        before = self._answering.get(conversation)
        if before and self._is_command(exchange.turn) and not self._is_command(before.turn):
            yield
            return
        async with self._talks.setdefault(conversation, anyio.Lock()):
            self._answering[conversation] = exchange
            try:
                yield
            finally:
                del self._answering[conversation]

    def _is_command(self, turn: Turn) -> bool:
        return self.settle_seconds(turn.text) is not None


def _readings(turn: Turn) -> SpeechReadings | None:
    """Return what a recogniser made of a turn that was spoken; `None` of a typed one."""
    if turn.channel != "voice":
        return None
    return SpeechReadings(turn.alternatives, turn.possible, turn.doubtful, turn.voice, turn.margins)


def _deed(call: ToolCall, result: ToolResult) -> TurnDeed:
    state: DeedState = (
        "asks" if result.ask else "done" if result.ok else "refused" if result.error == "denied" else "failed"
    )
    sentence = result.receipt.changed if result.receipt else result.text
    receipt = result.receipt.id if result.receipt else ""
    return TurnDeed(call.id, call.name, call.arguments, state, sentence[:SENTENCE_CHARACTERS], receipt)


def _path(exchange: LiveTurn) -> Route:
    """Which way was a turn going that has no answer?"""
    return "model" if "llm" in exchange.stopwatch.stages else "command"


def _repeats_others(exchange: LiveTurn, answer: AgentAnswer) -> bool:
    """May this answer repeat words of others? A model tells on what it was told; a command says what it has done."""
    by_tainted_model = exchange.tainted and answer.path == "model"
    return by_tainted_model or answer.tainted or prompt.words_of_others(answer.messages)


def _ended(turn: Turn, answer: AgentAnswer) -> TurnEnded:
    return TurnEnded(turn.id, answer.end, answer.text, answer.path, answer.usage, answer.error)


def _write_line(exchange: LiveTurn, answer: AgentAnswer, **more: object) -> None:
    """Leave the one line of a turn in the log."""
    error = {"error": answer.error} if answer.error else {}
    trace.line(
        "turn ended",
        turn=exchange.turn.id,
        device=exchange.turn.actor.device,
        agent=exchange.choice.agent,
        path=answer.path,
        **exchange.stopwatch.milliseconds(),
        tools=len(exchange.recorder.results),
        **more,
        end=answer.end,
        **error,
    )
