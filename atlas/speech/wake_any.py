"""Wake words by whatever hears them best: a small model where there is one, the recogniser for every other phrase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from atlas.audio import AudioChunk
from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.speech import wake_micro
from atlas.speech.wake import NearMiss, Thresholds, Wake, WakeStream, no_threshold, nobody_near


@runtime_checkable
class HearsAny(Protocol):
    """An engine that can listen for any phrase."""

    def listen_for(self, phrases: Sequence[str]) -> WakeStream:
        """Return a detector of phrases."""
        ...


async def open(settings: SpeechConfig) -> Wake:
    """Load what `settings.wake_words` need: nothing of the recogniser where each word has a small model.

    Raises `EngineError`.
    """
    words = settings.wake_words
    small = tuple(word for word in words if wake_micro.has_model(word, settings.models))
    engines: list[Wake] = []
    if small:
        engines.append(await wake_micro.open(replace(settings, wake_words=small)))
    if others := tuple(word for word in words if word not in small):
        engines.append(await _phrases(replace(settings, wake_words=others)))
    return engines[0] if len(engines) == 1 else WakeEngines(engines)


async def _phrases(settings: SpeechConfig) -> Wake:
    try:
        from atlas.speech import wake_phrase  # a satellite on a Pi has no recogniser
    except ImportError as trouble:
        raise EngineError(
            f"{', '.join(settings.wake_words)} wants the recogniser, and there is no {trouble.name}",
            hint="choose a word with a small model, such as okay_nabu, or: pip install 'atlas-satellite[phrases]'",
        ) from trouble
    return await wake_phrase.open(settings)


def listen_for(wake: Wake, phrases: Sequence[str]) -> WakeStream | None:
    """Return a detector of phrases that wake nobody, such as "stop"; none where every word has a small model."""
    engines = wake.engines if isinstance(wake, WakeEngines) else (wake,)
    return next((engine.listen_for(phrases) for engine in engines if isinstance(engine, HearsAny)), None)


class WakeEngines:
    """Several engines that listen together."""

    def __init__(self, engines: Sequence[Wake]) -> None:
        self.engines = tuple(engines)
        self.phrases = tuple(phrase for engine in engines for phrase in engine.phrases)

    def own_threshold(self, phrase: str) -> float:
        """Return that of whichever engine hears the phrase."""
        return next(engine.own_threshold(phrase) for engine in self.engines if phrase in engine.phrases)

    def listen(self, thresholds: Thresholds = no_threshold, near_miss: NearMiss = nobody_near) -> WakeStream:
        """Return a detector for a new microphone."""
        return _Together([engine.listen(thresholds, near_miss) for engine in self.engines])

    async def aclose(self) -> None:
        """Close all of them."""
        for engine in self.engines:
            await engine.aclose()


class _Together:
    """The detectors of one microphone."""

    def __init__(self, streams: Sequence[WakeStream]) -> None:
        self.said_on_seconds = self.score = self.threshold = 0.0
        self._streams = streams
        self._called = streams[0]  # which of them heard a phrase last

    def hear(self, chunk: AudioChunk) -> str | None:
        """Take the next chunk; return the phrase that was said."""
        text: str | None = None
        for stream in self._streams:
            if (phrase := stream.hear(chunk)) and text is None:
                text, self._called = phrase, stream
        called = self._called
        self.said_on_seconds, self.score, self.threshold = called.said_on_seconds, called.score, called.threshold
        return text

    def reset(self) -> None:
        """Forget what was heard."""
        for stream in self._streams:
            stream.reset()
