"""The contract of a recogniser: speech in, words out."""

from __future__ import annotations

from typing import Protocol

from atlas.audio import AudioChunk
from atlas.conversation import Utterance

MAX_UTTERANCE_SECONDS = 28.0  # a Whisper window is 30 s; longer sound is cut by whoever collects it


class Stt(Protocol):
    """A recogniser that is loaded and warm."""

    async def transcribe(self, speech: AudioChunk) -> Utterance:
        """Return the words of one utterance at `HEARING_RATE`; text "" when nobody spoke.

        Silence, noise and music give "", not invented words. At most `MAX_UTTERANCE_SECONDS` long, which the caller
        sees to. Cancelling is safe, though the work under way may finish unseen. Raises `EngineError` when the
        recogniser is gone; the next call may work.
        """
        ...

    async def aclose(self) -> None:
        """Give back what was loaded. Idempotent."""
        ...
