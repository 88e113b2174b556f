"""A voice for tests: every character lasts as long as every other, and hums."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

from anyio.lowlevel import checkpoint

from atlas.audio import AudioChunk
from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.speech.tts import MAX_TEXT_CHARACTERS, Tts
from tests.scripted_vad import voice

CHARACTER_SECONDS = 0.05


async def open(settings: SpeechConfig) -> Tts:
    """Return the voice, called as the configured one."""
    return ScriptedTts(settings.voice)


class ScriptedTts:
    """Hums 0.05 s for each character, a piece for each sentence."""

    rate = 16_000

    def __init__(self, name: str) -> None:
        self.voice = name
        self._open = True

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        """Yield the hum of `text`."""
        assert len(text) <= MAX_TEXT_CHARACTERS
        assert 0.25 <= speed <= 4
        if not self._open:
            raise EngineError("the voice is closed")
        for sentence in re.findall(r"[^.!?]+[.!?]*\s*", text):
            if any(c.isalnum() for c in sentence):
                await checkpoint()
                yield voice(len(sentence) * CHARACTER_SECONDS / speed)

    async def aclose(self) -> None:
        """Say nothing more."""
        self._open = False
