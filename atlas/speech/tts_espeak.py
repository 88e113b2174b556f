"""The voice of espeak-ng: plain and clear, in a hundred languages, for which no better voice is on this machine."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator

import anyio

from atlas.audio import AudioChunk
from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.speech.sentences import pieces
from atlas.speech.tts import MAX_TEXT_CHARACTERS, Tts

PROGRAM = "espeak-ng"
WORDS_A_MINUTE = 155  # its own 175 is too fast to follow across a room
SLOWEST, FASTEST = 80, 450  # what it takes, in words a minute
HEAD_BYTES = 36  # of a WAV before its sound
_LOST = "I've lost my voice for a moment."
SECONDS = 20.0  # to say one sentence; it takes hundredths


async def open(settings: SpeechConfig) -> Tts:
    """Find the program, and have it say something in the house's language. Raises `EngineError` when it does not."""
    voice = Espeak(settings.languages[0])
    async for _ in voice.speak("1"):
        pass
    return voice


class Espeak:
    """One of its voices; each sentence is a process of its own, which keeps nothing."""

    rate = 22_050

    def __init__(self, language: str) -> None:
        self.voice = f"espeak-{language}"
        self._language = language
        self._open = True

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        """Yield the sound of `text`, one sentence at a time."""
        assert len(text) <= MAX_TEXT_CHARACTERS, "longer text is cut into sentences first"
        if not self._open:
            raise EngineError("the voice is closed", spoken="I've lost my voice.", hint="start Atlas")
        pace = round(min(FASTEST, max(SLOWEST, WORDS_A_MINUTE * speed)))
        for piece in pieces(text):
            if any(letter.isalnum() for letter in piece):
                sound = await self._said("".join(c if c.isprintable() else " " for c in piece), pace)
                if sound.samples:
                    yield sound

    async def aclose(self) -> None:
        """See `Tts.aclose`."""
        self._open = False

    async def _said(self, piece: str, pace: int) -> AudioChunk:
        if not (program := shutil.which(PROGRAM)):
            raise EngineError(f"{PROGRAM} is not installed", spoken="I've lost my voice.", hint=f"install {PROGRAM}")
        command = [program, "-v", self._language, "-s", str(pace), "--stdin", "--stdout"]
        try:
            with anyio.fail_after(SECONDS):
                made = await anyio.run_process(command, input=piece.encode(), check=False)
        except ExceptionGroup as group:
            if group.split(anyio.BrokenResourceError)[1]:
                raise
            raise EngineError(f"{PROGRAM} ended before it had read its words", spoken=_LOST) from group
        except (OSError, TimeoutError) as trouble:
            raise EngineError(f"{PROGRAM} failed: {trouble}", spoken=_LOST) from trouble
        head, _, sound = made.stdout.partition(b"data")  # written to a pipe, it says it goes on for ever
        if made.returncode or len(head) < HEAD_BYTES:
            raise EngineError(f"{PROGRAM} failed: exit {made.returncode}, {made.stderr[:200]!r}", spoken=_LOST)
        return AudioChunk(sound[4 : len(sound) - len(sound) % 2], self.rate)
