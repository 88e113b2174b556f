"""Says a reply while it is made: words in, sound out at the pace of its playing; knows what was heard."""

from __future__ import annotations

import math
from contextlib import aclosing, suppress
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from atlas import trace
from atlas.audio import AudioChunk
from atlas.errors import EngineError
from atlas.events import Emit, SpeechOut
from atlas.own_words import speaking
from atlas.speech.normalize import spoken
from atlas.speech.resample import Resampler
from atlas.speech.sentences import Sentences
from atlas.speech.tts import Tts

AHEAD_SECONDS = 0.3  # given out before it is played: bridges a network's hiccup, and is all that a barge-in wastes
SLICE_SECONDS = 0.1
PIECES_AHEAD = 1  # whole chunks of sound made while an earlier one plays; more would be work thrown away at a barge-in
ROUNDING_SECONDS = 0.001  # what was counted in samples comes back in whole milliseconds
CHARACTERS_PER_SECOND = 15.0  # how fast a voice speaks, for a piece whose whole sound is not made yet


@dataclass(slots=True)
class ReplyPiece:
    """A stretch of the reply, as it was written, and where its sound lies."""

    text: str
    aside: str = ""  # what is said instead of it, and is no part of the reply
    recorded: AudioChunk | None = None  # its sound, where a person said it
    language: str = ""
    start: float = math.inf  # seconds of the reply's sound before it; inf: not given out yet
    seconds: float = 0.0  # of its sound made so far
    whole: bool = False  # all of its sound has been made

    def heard(self, played: float) -> str:
        """Return the words of this piece that are over when `played` seconds of the reply have been heard."""
        if played <= self.start:
            return ""
        lasts = self.seconds if self.whole else max(self.seconds, len(self.text) / CHARACTERS_PER_SECOND)
        if played + ROUNDING_SECONDS >= self.start + lasts:
            return self.text
        words = self.text[: int(len(self.text) * (played - self.start) / lasts)]
        return words[: max(words.rfind(" "), words.rfind("\n"), 0)]


class Mouth:
    """One reply's voice. `add` words, `finish`, and `run` returns when the last of them has been heard.

    A voice that fails does not end the reply: what it cannot say goes out as text without sound, and `trouble` says
    why. Cancelling `run` is safe and leaves `played_seconds` at what had been heard.
    """

    def __init__(self, tts: Tts, emit: Emit, speed: float = 1.0, ahead_seconds: float = AHEAD_SECONDS) -> None:
        self.trouble: EngineError | None = None
        self.language = ""  # of the words to come; "" is the house's own
        self._tts = tts
        self._emit = emit
        self._speed = speed
        self._ahead = ahead_seconds
        self._sentences = Sentences()
        self._pieces: list[ReplyPiece] = []
        # As many pieces as a reply has sentences: they are only text, and the model must not wait for the voice.
        self._intake, self._pending = anyio.create_memory_object_stream[ReplyPiece](math.inf)
        self._given = 0.0  # seconds of sound given out
        self._muted = False
        self._silent_at = -math.inf  # when the last of it will have been played

    def add(self, text: str) -> None:
        """Take more words of the reply."""
        self._take(self._sentences.feed(text))

    def aside(self, text: str) -> None:
        """Say a sentence that is no part of the reply, such as that it takes a moment."""
        self._put(ReplyPiece("", aside=text))

    def play(self, text: str, recorded: AudioChunk) -> None:
        """Take words whose sound is there already, after those before them."""
        self._take(self._sentences.finish())
        self._put(ReplyPiece(text, recorded=recorded))

    def mute(self) -> None:
        """Say no more aloud: what was not given out yet goes out as text, at once."""
        self._muted = True

    def finish(self) -> None:
        """Say that there are no more words."""
        self._take(self._sentences.finish())
        self._intake.close()

    async def run(self) -> None:
        """Speak until everything has been heard."""
        sounds, made = anyio.create_memory_object_stream[tuple[ReplyPiece, AudioChunk | None]](PIECES_AHEAD)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._synthesise, sounds)
            await self._play(made)
        await anyio.sleep_until(self._silent_at)

    @property
    def given_seconds(self) -> float:
        """How much sound has been given out."""
        return self._given

    @property
    def played_seconds(self) -> float:
        """How much of it has been played by now, if it is played without delay."""
        return self._given - max(0.0, self._silent_at - anyio.current_time())

    def heard(self, played_ms: int) -> str:
        """Return the reply's words up to `played_ms` of its sound, whole words only."""
        text = ""
        for piece in self._pieces:
            words = piece.heard(played_ms / 1000)
            text += words
            if words != piece.text:
                break
        return text.rstrip()

    def _take(self, texts: list[str]) -> None:
        for text in texts:
            self._put(ReplyPiece(text))

    def _put(self, piece: ReplyPiece) -> None:
        piece.language = self.language
        self._pieces.append(piece)
        with suppress(anyio.BrokenResourceError):  # cancelled, and the model's last words come too late to be said
            self._intake.send_nowait(piece)

    async def _synthesise(self, sounds: MemoryObjectSendStream[tuple[ReplyPiece, AudioChunk | None]]) -> None:
        """Make sound, piece after piece; `None` ends a piece."""
        async with sounds, self._pending:
            async for piece in self._pending:
                if self.trouble is None and not self._muted:
                    try:
                        await self._say(piece, sounds)
                    except EngineError as trouble:
                        self.trouble = trouble
                piece.whole = True
                await sounds.send((piece, None))

    async def _say(
        self, piece: ReplyPiece, sounds: MemoryObjectSendStream[tuple[ReplyPiece, AudioChunk | None]]
    ) -> None:
        if piece.recorded:
            resampler = Resampler(piece.recorded.rate, self._tts.rate)
            sound = resampler.feed(piece.recorded) + resampler.flush()
            piece.seconds = sound.seconds
            await sounds.send((piece, sound))
            return
        with speaking(piece.language):
            speakable = spoken((piece.aside or piece.text).strip())
            async with aclosing(self._tts.speak(speakable, speed=self._speed)) as chunks:
                while True:
                    with trace.current().stage("tts"):
                        chunk = await anext(chunks, None)
                    if chunk is None or self._muted:
                        return
                    piece.seconds += chunk.seconds
                    await sounds.send((piece, chunk))

    async def _play(self, made: MemoryObjectReceiveStream[tuple[ReplyPiece, AudioChunk | None]]) -> None:
        async with made:
            async for piece, chunk in made:
                if chunk is None:
                    if math.isinf(piece.start):  # nothing in it can be spoken; it still is a part of the reply
                        piece.start = self._given
                        await self._emit(SpeechOut(AudioChunk(b"", self._tts.rate), piece.text))
                    continue
                step = round(SLICE_SECONDS * chunk.rate)
                for start in range(0, chunk.samples, step):
                    if self._muted:
                        break
                    await self._give(piece, chunk.cut(start, start + step))

    async def _give(self, piece: ReplyPiece, sound: AudioChunk) -> None:
        """Give out a slice, not before the listener is within so many seconds of needing it."""
        # One deadline for the whole reply, moved only when the voice was too slow: single sleeps' errors do not add up.
        await anyio.sleep_until(self._silent_at + sound.seconds - self._ahead)
        first = math.isinf(piece.start)
        if first:
            piece.start = self._given
        self._given += sound.seconds
        self._silent_at = max(self._silent_at, anyio.current_time()) + sound.seconds
        await self._emit(SpeechOut(sound, piece.text if first else ""))
