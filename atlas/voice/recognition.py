"""Recognises an utterance: guesses its words while it may still go on, and knows them once it is committed."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import anyio

from atlas import trace
from atlas.audio import AudioChunk
from atlas.conversation import Utterance
from atlas.errors import EngineError
from atlas.speech.agreement import Agreement
from atlas.speech.stt import Judge, Stt
from atlas.trace import Trace

Pick = Callable[[Utterance], Utterance]  # the same utterance, its likeliest reading first


@dataclass(slots=True, eq=False)
class Guess:
    """Words of an utterance that may not be complete."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    speaking: anyio.CancelScope = field(default_factory=anyio.CancelScope)  # of what will probably be answered
    known: anyio.Event = field(default_factory=anyio.Event)
    words: Utterance | None = None
    command: bool = False  # they are one, or may be
    seconds: float = 0.0  # what it took


@dataclass(slots=True, eq=False)
class CommittedUtterance:
    """An utterance that is committed, and its words when they are known."""

    id: str
    trace: Trace
    over_reply: bool
    ended_sample: int = 0  # where its speech ended, counted from the first sample ever heard
    known: anyio.Event = field(default_factory=anyio.Event)
    words: Utterance = field(default_factory=lambda: Utterance("", 0.0))
    trouble: EngineError | None = None
    partial_words: Agreement | None = None  # that were told of it
    sound: AudioChunk | None = None  # of the latest alone: it may be half a minute long


class Recogniser:
    """Finds the words of utterances. Cancelling is safe; what the engine cannot do is noted, never raised."""

    def __init__(self, stt: Stt, pick: Pick, device: str, judge: Callable[[], Awaitable[Judge | None]]) -> None:
        self._stt = stt
        self._pick = pick
        self._device = device
        self._judge = judge

    async def guess(self, guess: Guess, sound: AudioChunk) -> None:
        """Fill in a guess, unless its scope is cancelled before. It is `known` in any case."""
        began = time.monotonic()
        with guess.scope:
            try:
                guess.words = await self._words(sound)
            except EngineError as trouble:  # the utterance will be tried again when it is complete
                trace.line("guess failed", device=self._device, error=trouble)
        guess.seconds = time.monotonic() - began
        guess.known.set()

    async def know(self, heard: CommittedUtterance, sound: AudioChunk, guess: Guess | None) -> None:
        """Fill in the words of a committed utterance: those of a guess at the same sound, where there is one."""
        if guess is not None:
            await guess.known.wait()
            heard.trace.stages["stt"] = guess.seconds
        if guess is not None and guess.words is not None:
            heard.words = replace(guess.words, seconds=sound.seconds)
        elif sound.samples:
            try:
                with heard.trace.stage("stt"):
                    heard.words = await self._words(sound)
            except EngineError as trouble:
                heard.trouble = trouble
                trace.line("recognition failed", device=self._device, error=trouble)
        heard.trace.mark("words")

    async def _words(self, sound: AudioChunk) -> Utterance:
        return self._pick(await self._stt.transcribe(sound, await self._judge()))
