"""The contract of a wake-word engine, which says whether somebody has called the house."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from atlas.audio import AudioChunk

Thresholds = Callable[[str], float]  # how sure one has to be of a phrase, asked at each sound; 0 is the engine's own
NearMiss = Callable[[str, float, float], None]  # told what was nearly heard, how sure the engine was, and had to be


def no_threshold(phrase: str) -> float:
    """Leave it to the engine how sure it has to be."""
    return 0.0


def nobody_near(phrase: str, score: float, threshold: float) -> None:
    """Pass over a near miss."""


class WakeStream(Protocol):
    """One microphone's wake detector; keeps the state of that stream only."""

    said_on_seconds: float  # what was heard since the end of the phrase that `hear` returned last, about
    score: float  # how sure it was of that phrase: 0 to 1; may still rise in the half second after
    threshold: float  # how sure it had to be

    def hear(self, chunk: AudioChunk) -> str | None:
        """Take the next chunk, of any length at `HEARING_RATE`; return the phrase when it has just been said."""
        ...

    def reset(self) -> None:
        """Forget what was heard, so that the same phrase is not found twice."""
        ...


class Wake(Protocol):
    """Models loaded once, listened with by many streams."""

    phrases: tuple[str, ...]  # as spoken: "okay nabu"

    def own_threshold(self, phrase: str) -> float:
        """Return how sure it has to be of one of its phrases where nobody set another threshold."""
        ...

    def listen(self, thresholds: Thresholds = no_threshold, near_miss: NearMiss = nobody_near) -> WakeStream:
        """Return a detector for a new microphone."""
        ...

    async def aclose(self) -> None:
        """Give back what was loaded. Idempotent."""
        ...


def phrase_of(word: str) -> str:
    """Return how a wake word is spoken: its name in the settings is its phrase, "okay_nabu" is "okay nabu"."""
    return word.replace("_", " ").lower()
