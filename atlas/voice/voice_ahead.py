"""Begins to make the sound of words that will probably be said, while their speaker's silence is still waited for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from atlas.audio import AudioChunk
from atlas.errors import EngineError
from atlas.own_words import language
from atlas.speech.tts import Tts


@dataclass(slots=True, eq=False)
class _BegunSentence:
    """A sentence whose first stretch is made, or nearly; the next is made when the one before is taken."""

    text: str
    language: str
    speed: float
    sound: MemoryObjectReceiveStream[AudioChunk]
    trouble: EngineError | None = None


class VoiceAhead:
    """A voice, of one session, that may have begun the sentence that is wanted of it; else it is `tts` itself."""

    def __init__(self, tts: Tts) -> None:
        self.voice = tts.voice
        self.rate = tts.rate
        self._tts = tts
        self._begun: _BegunSentence | None = None

    async def begin(self, text: str, speed: float) -> None:
        """Make the first stretch of `text`, and the others while `speak` is asked for the same in the same language.

        Returns when all of it was taken, or something else was wanted. Cancelling is safe: then nothing was begun.
        """
        self.drop()
        made, sound = anyio.create_memory_object_stream[AudioChunk]()
        begun = self._begun = _BegunSentence(text, language(), speed, sound)
        try:
            async with made, aclosing(self._tts.speak(text, speed=speed)) as chunks:
                async for chunk in chunks:
                    await made.send(chunk)
        except anyio.BrokenResourceError:
            pass  # dropped, or hushed
        except EngineError as trouble:
            begun.trouble = trouble
        finally:
            if begun is self._begun:
                self.drop()

    def drop(self) -> None:
        """Give up what was begun and is not being said."""
        if self._begun is not None:
            self._begun.sound.close()
            self._begun = None

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        """See `Tts.speak`."""
        begun, self._begun = self._begun, None
        if begun is None or (begun.text, begun.language, begun.speed) != (text, language(), speed):
            if begun is not None:
                begun.sound.close()
            async with aclosing(self._tts.speak(text, speed=speed)) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        async with begun.sound:
            async for chunk in begun.sound:
                yield chunk
        if begun.trouble is not None:
            raise begun.trouble

    async def aclose(self) -> None:
        """Give up what was begun; the voice is its owner's to close."""
        self.drop()
