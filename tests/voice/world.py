"""A small world for voice tests: a person who speaks, a house that answers, and everything that was told."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.conversation import Actor, ToolCall, ToolResult, Turn, Utterance
from atlas.errors import EngineError
from atlas.events import (
    Emit,
    Event,
    SpeechOut,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from atlas.own_words import language
from atlas.speech.stt import Judge
from atlas.voice.options import ReplyOptions, SessionOptions
from atlas.voice.session import Session
from tests.scripted_stt import ScriptedStt
from tests.scripted_vad import ScriptedVad, voice

FRAME = 512
WORD_SECONDS = 0.4
COMMANDS = {"set a timer": 0.19, "what time is it": 0.19, "set a timer for ten minutes": 0.35}


def pick(heard: Utterance) -> Utterance:
    """Put a reading first that is a command."""
    first = next((text for text in (heard.text, *heard.alternatives) if text in COMMANDS), heard.text)
    others = tuple(text for text in (heard.text, *heard.alternatives) if text != first)
    return replace(heard, text=first, alternatives=others)


class SteadyTts:
    """A voice that takes `WORD_SECONDS` for every word, and is made faster than it plays."""

    voice = "steady"
    rate = 8_000

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.languages: list[str] = []  # in which each of them was said
        self.broken = False

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        if self.broken:
            raise EngineError("the voice is gone")
        self.texts.append(text)
        self.languages.append(language())
        for _ in text.split():
            await anyio.sleep(0.01)
            yield AudioChunk(b"\1\0" * round(WORD_SECONDS * self.rate / speed), self.rate)

    async def aclose(self) -> None:
        pass


@dataclass
class House:
    """Answers every turn with `answer`, word by word; remembers what was heard."""

    answer: str = "It is noon now."
    turns: list[Turn] = field(default_factory=list)
    remembered: list[tuple[str, str]] = field(default_factory=list)
    tool: str = "timers.start"
    tool_seconds: float = 0.0
    trouble: Exception | None = None
    stopped: int = 0  # replies that were cancelled in the house
    prepare_seconds: float = 0.0
    prepared: list[Turn] = field(default_factory=list)  # what it got ready for
    unprepared: int = 0  # of those, how many were cancelled on the way
    preparing: int = 0
    waiting: str = ""  # said while nothing else is
    person: str = ""  # whose voice it knows

    async def reply(self, turn: Turn, emit: Emit) -> None:
        self.turns.append(turn)
        await emit(TurnStarted(turn.id, "family", "nobody else was asked", turn.language, self.person))
        try:
            if self.tool_seconds:
                await self._use_tool(emit)
            if self.trouble:
                raise self.trouble
            for place, word in enumerate(self.answer.split(" ")):
                await anyio.sleep(0.02)
                await emit(TextDelta(f" {word}" if place else word))
        except anyio.get_cancelled_exc_class():
            self.stopped += 1
            raise
        await emit(TurnEnded(turn.id, "done", self.answer, "command"))

    async def _use_tool(self, emit: Emit) -> None:
        call = ToolCall("call_1", self.tool, {})
        await emit(ToolStarted(call))
        result = ToolResult(call.id, False, "That was stopped.", error="cancelled")
        try:
            await anyio.sleep(self.tool_seconds)
            result = ToolResult(call.id, True, "Timer set for one minute.")
        finally:
            with anyio.CancelScope(shield=True):
                await emit(ToolFinished(call, result))

    async def prepare(self, turn: Turn) -> None:
        self.prepared.append(turn)
        self.preparing += 1
        assert self.preparing == 1, "two preparations at once"
        try:
            await anyio.sleep(self.prepare_seconds)
        except anyio.get_cancelled_exc_class():
            self.unprepared += 1
            raise
        finally:
            self.preparing -= 1

    async def remember(self, turn_id: str, heard: str) -> None:
        self.remembered.append((turn_id, heard))


class World:
    """A session with its person, its house, and what it told."""

    def __init__(
        self,
        house: House,
        stt: ScriptedStt,
        tts: SteadyTts,
        options: SessionOptions,
        wake: Any,
        foreseen: Mapping[str, str],
    ) -> None:
        self.house, self.stt, self.tts = house, stt, tts
        self.event: list[Event] = []
        self.judged: list[Turn] = []  # what answers were heard for
        self.times: list[float] = []
        self._news = anyio.Event()
        self.session = Session(
            stt=stt,
            tts=tts,
            vad=ScriptedVad(),
            wake=wake.listen() if wake else None,
            actor=Actor("", "kitchen", "adult", "kitchen"),
            reply=house.reply,
            prepare=house.prepare,
            remember=house.remember,
            pick=pick,
            settle_seconds=COMMANDS.get,
            judge=self.judge,
            foresee=lambda text: foreseen.get(text, ""),
            goes_on=lambda text: text.endswith(" and"),
            wants_silence=lambda text: text in ("stop", "Stop.", "never mind"),
            emit=self._tell,
            waiting={"en": house.waiting},
            options=options,
            wish=ReplyOptions(),
        )

    async def judge(self, turn: Turn) -> Judge:
        """Hear everything as an answer."""
        self.judged.append(turn)
        return lambda hearing: Utterance(f"answer: {hearing.believed().text}", hearing.seconds)

    async def _tell(self, event: Event) -> None:
        self.event.append(event)
        self.times.append(anyio.current_time())
        self._news.set()
        self._news = anyio.Event()

    async def speak(self, seconds: float, level: float = 0.2) -> None:
        """Speak into the microphone, as long as it takes."""
        await self.hear(voice(seconds, level))

    async def keep_quiet(self, seconds: float) -> None:
        await self.hear(silence(seconds))

    async def hear(self, sound: AudioChunk) -> None:
        for start in range(0, sound.samples, FRAME):
            chunk = sound.cut(start, start + FRAME)
            await self.session.hear(chunk)
            await anyio.sleep(chunk.samples / HEARING_RATE)

    async def until(self, wanted: Callable[[Event], bool], *, quiet: bool = True) -> Event:
        """Wait, in silence, for something that has not been waited for yet."""
        done = anyio.Event()

        async def silent() -> None:
            while not done.is_set():
                await self.keep_quiet(0.1)

        seen = 0
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                if quiet:
                    tasks.start_soon(silent)
                while True:
                    news = self._news
                    for event in self.event[seen:]:
                        seen += 1
                        if wanted(event):
                            done.set()
                            return event
                    await news.wait()
        raise AssertionError

    async def ended(self, count: int = 1) -> TurnEnded:
        """Wait for the end of the turn number `count`."""
        happening: list[TurnEnded] = []

        def last(event: Event) -> bool:
            if isinstance(event, TurnEnded):
                happening.append(event)
            return len(happening) == count

        event = await self.until(last)
        assert isinstance(event, TurnEnded)
        return event

    def kinds(self) -> list[str]:
        """The story so far, without repeats of sound and words."""
        names = [type(event).__name__ for event in self.event]
        return [
            name
            for place, name in enumerate(names)
            if not (name in ("SpeechOut", "TextDelta") and name in names[:place])
        ]

    def all(self, kind: type) -> list[Any]:
        return [event for event in self.event if isinstance(event, kind)]

    @property
    def sound_seconds(self) -> float:
        return sum(event.audio.seconds for event in self.all(SpeechOut))


@asynccontextmanager
async def world(
    *script: str | Exception,
    house: House | None = None,
    options: SessionOptions | None = None,
    wake: Any = None,
    stt_seconds: float = 0.05,
    stt: ScriptedStt | None = None,
    foreseen: Mapping[str, str] | None = None,
) -> AsyncIterator[World]:
    """A running session; at its end nothing of it is left."""
    recogniser = stt or ScriptedStt(script or ("what is new",), seconds=stt_seconds)
    small = World(house or House(), recogniser, SteadyTts(), options or SessionOptions(), wake, foreseen or {})
    async with anyio.create_task_group() as tasks:
        await tasks.start(small.session.run)
        yield small
        tasks.cancel_scope.cancel()


Story = Callable[[World], Awaitable[None]]
