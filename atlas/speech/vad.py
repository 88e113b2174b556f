"""The contract of voice activity detection, which says whether sound is speech."""

from __future__ import annotations

from typing import Protocol

from atlas.audio import AudioChunk

FRAME_SAMPLES = 512  # 32 ms: what the Silero models were trained on


class VadStream(Protocol):
    """One microphone's detector; keeps the state of that stream only."""

    def probability(self, frame: AudioChunk) -> float:
        """Return how likely the frame, of exactly `FRAME_SAMPLES` at `HEARING_RATE`, is speech: 0 to 1."""
        ...

    def reset(self) -> None:
        """Start anew, as for a new microphone."""
        ...


class Vad(Protocol):
    """A detector that is loaded once."""

    def listen(self) -> VadStream:
        """Return a detector for a new microphone."""
        ...

    async def aclose(self) -> None:
        """Give back what was loaded. Idempotent."""
        ...
