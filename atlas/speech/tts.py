"""The contract of a voice: a sentence in, its sound out as it is made."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from atlas.audio import AudioChunk

MAX_TEXT_CHARACTERS = 4096  # one request to the voice; longer text is cut into sentences first


class Tts(Protocol):
    """A voice that is loaded and warm."""

    voice: str
    rate: int  # samples a second of what it says

    def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        """Yield the sound of `text`, in order, the first of it as early as the voice can.

        `text` is speakable already (see `spoken.py`); text without a letter or digit yields nothing.
        `speed` is 0.25 to 4, 1.0 being the voice's own. Consume it under `aclosing`; leaving early is safe and stops
        the work before its next piece. Raises `EngineError` when the voice is gone; the next call may work.
        """
        ...

    async def aclose(self) -> None:
        """Give back what was loaded. Idempotent."""
        ...
