"""Runs one reply: it is spoken while it is made, and ended honestly when it is cut short."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import anyio

from atlas import trace
from atlas.conversation import Turn
from atlas.errors import AtlasError
from atlas.events import (
    Emit,
    End,
    Event,
    Hush,
    RecordedSpeech,
    SpeechOut,
    TextDelta,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from atlas.own_words import language
from atlas.speech.tts import Tts
from atlas.trace import Trace
from atlas.understanding.spoken_tools import open_spoken_tools
from atlas.voice.mouth import AHEAD_SECONDS, Mouth
from atlas.voice.options import ReplyOptions

WAITING_SECONDS = 2.0  # without a word; then a voice says that it takes a moment: longer, people ask again
REMEMBERING_SECONDS = 5.0  # what a reply may take to be remembered, also when it was cancelled

Answer = Callable[[Turn, Emit], Awaitable[None]]
Remember = Callable[[str, str], Awaitable[None]]


@dataclass(slots=True, eq=False)
class SpokenReply:
    """A reply that is alive. Cancelling `scope` ends it: model, tools and voice are inside."""

    wish: ReplyOptions
    by_request: bool  # a client waits for it, and must not wait in vain
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    gone: anyio.Event = field(default_factory=anyio.Event)
    mouth: Mouth | None = None
    text: str = ""
    started: bool = False  # `TurnStarted` was told
    person: str = ""  # whom it answers, known by voice
    ended: TurnEnded | None = None  # as the house told it; told on when the sound is over too
    complete: bool = False  # made and heard to its end
    hushed: End | None = None
    looked: bool = True  # no tool was used that may change something
    played_ms: int = 0  # when it was hushed

    def hush(self, why: End) -> None:
        """Cancel it, noting how much of it was heard. `gone` comes when nothing of it is left."""
        self.hushed = why
        self.played_ms = round(self.mouth.played_seconds * 1000) if self.mouth else 0
        self.scope.cancel()

    async def give(
        self,
        turn: Turn,
        work: Answer,
        *,
        emit: Emit,
        remember: Remember,
        timed: Trace,
        tts: Tts | None = None,
        speed: float = 1.0,
        ahead_seconds: float = AHEAD_SECONDS,
        waiting: Mapping[str, str] | None = None,
    ) -> None:
        """Let `work` answer `turn`, say it by `tts` meanwhile, and tell the end when both are over.

        When `work` has no word yet after `WAITING_SECONDS`, the voice says what `waiting` has for its language,
        which is no part of the reply.

        Cancelling is safe: a turn that was told to have started is told to have ended, and `remember` is given the
        words that were heard.
        """

        async def sound(event: Event) -> None:
            if isinstance(event, SpeechOut) and event.audio.samples:
                timed.mark("first_sound")
            await emit(event)

        async def report(event: Event) -> None:
            match event:
                case TurnEnded():
                    self.ended = event
                    return
                case TurnStarted():
                    self.started, self.person = True, event.person
                    if self.mouth is not None:
                        self.mouth.language = event.language
                case ToolStarted(call):
                    self.looked = self.looked and open_spoken_tools().only_looks(call.name)
                case TextDelta(text):
                    timed.mark("first_text")
                    self.text += text
                    if self.mouth is not None:
                        self.mouth.add(text)
                case RecordedSpeech(text, audio):
                    self.text += text
                    if self.mouth is not None:
                        self.mouth.play(text, audio)
                    event = TextDelta(text)
            await emit(event)

        with trace.tracing(timed):
            self.mouth = Mouth(tts, sound, speed, ahead_seconds) if tts is not None else None
            try:
                async with anyio.create_task_group() as tasks:
                    if self.mouth is not None:
                        tasks.start_soon(self.mouth.run)
                    async with anyio.create_task_group() as patience:
                        if self.mouth is not None and waiting:
                            patience.start_soon(self._wait_aloud, self.mouth, waiting)
                        await self._worked(turn, work, report)
                        patience.cancel_scope.cancel()
                    if self.mouth is not None:
                        self.mouth.finish()
                self.complete = True
            finally:
                await self._close(turn, emit, remember)

    async def _wait_aloud(self, mouth: Mouth, waiting: Mapping[str, str]) -> None:
        await anyio.sleep(WAITING_SECONDS)
        words = waiting.get(mouth.language or language(), "")
        if words and not self.text:
            mouth.aside(words)

    async def _worked(self, turn: Turn, work: Answer, event: Emit) -> None:
        try:
            await work(turn, event)
        except AtlasError as trouble:
            if not self.started:
                await event(TurnStarted(turn.id, "house", "the turn failed"))
            await event(TextDelta(f" {trouble.spoken}" if self.text else trouble.spoken))
            await event(TurnEnded(turn.id, "failed", self.text, "model", error=str(trouble)))

    async def _close(self, turn: Turn, emit: Emit, remember: Remember) -> None:
        """Tell how the turn ended, and have remembered what was heard of it. Not to be cancelled, but bounded."""
        if not self.started:
            return
        mouth, heard = self.mouth, self.text
        end = self.ended or TurnEnded(turn.id, "failed", self.text, "model", error="the reply broke off")
        if not self.complete:
            if mouth is not None:
                self.played_ms = self.played_ms if self.hushed else round(mouth.played_seconds * 1000)
                heard = mouth.heard(self.played_ms)
            end = replace(end, end=self.hushed or "cancelled", error="")
            await emit(Hush(turn.id, self.played_ms, heard))
        elif mouth is not None and mouth.trouble is not None:
            end = replace(end, end="failed", error=str(mouth.trouble))
        if turn.remembered and mouth is not None:
            await _remember(turn.id, heard, remember)
        await emit(end)


async def _remember(turn_id: str, heard: str, remember: Remember) -> None:
    with anyio.move_on_after(REMEMBERING_SECONDS, shield=True):
        try:
            await remember(turn_id, heard)
        except AtlasError as trouble:
            trace.line("what was heard was not remembered", turn=turn_id, error=trouble)
