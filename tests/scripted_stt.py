"""A recogniser for tests: says the texts it was given, in order, or by what it is asked to hear."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.config import SpeechConfig
from atlas.conversation import Utterance
from atlas.errors import EngineError
from atlas.speech.stt import MAX_UTTERANCE_SECONDS, Judge, Stt, UnweighedHearing

SOME_SPEECH = "what time is it"
Script = Sequence[str | Exception] | Callable[[AudioChunk], str]


async def open(settings: SpeechConfig) -> Stt:
    """Return a recogniser that hears `SOME_SPEECH` in every sound that is not silent."""
    return ScriptedStt(lambda speech: SOME_SPEECH)


class ScriptedStt:
    """Hears nothing in silence; in other sound the next of `script`, or what `script(speech)` says.

    When a script in order is used up, its last text is heard again. An exception in it is raised. `alternatives` are
    the other readings of a text. `seconds` is how long each transcription takes. `heard` are the sounds so far.
    `skimmed` are those of somebody who still spoke, and `skims` is what is read of them, in `skim_seconds` each.
    """

    def __init__(
        self,
        script: Script = (SOME_SPEECH,),
        *,
        seconds: float = 0.0,
        alternatives: Sequence[str] = (),
        skims: Callable[[AudioChunk], str] | None = None,
        skim_seconds: float = 0.0,
    ) -> None:
        self._script = script
        self._seconds = seconds
        self._alternatives = tuple(alternatives)
        self._said = 0
        self._closed = False
        self.heard: list[AudioChunk] = []
        self._skims, self._skim_seconds = skims, skim_seconds
        self.skimmed: list[AudioChunk] = []
        self._skimming = anyio.Lock()
        self._reading = 0

    @property
    def idle(self) -> bool:
        """See `Stt.idle`."""
        return not (self._reading or self._skimming.locked())

    async def transcribe(self, speech: AudioChunk, judge: Judge | None = None) -> Utterance:
        """Return the next text, or what the judge makes of it."""
        assert speech.rate == HEARING_RATE
        assert speech.seconds <= MAX_UTTERANCE_SECONDS
        if self._closed:
            raise EngineError("the recogniser is closed")
        self.heard.append(speech)
        self._reading += 1
        try:
            async with self._skimming:  # one recogniser does one thing
                pass
            await anyio.sleep(self._seconds)
        finally:
            self._reading -= 1
        if not speech.pcm.strip(b"\0"):
            return Utterance("", speech.seconds)
        text = self._script(speech) if callable(self._script) else self._next(self._script)
        heard = UnweighedHearing(Utterance(text, speech.seconds, self._alternatives))
        return judge(heard) if judge else heard.believed()

    async def skim(self, speech: AudioChunk) -> str | None:
        """Return what `skims` says of the sound so far."""
        if self._closed:
            raise EngineError("the recogniser is closed")
        if self._skims is None or self._reading:
            return None
        self.skimmed.append(speech)
        async with self._skimming:
            await anyio.sleep(self._skim_seconds)
        return self._skims(speech) if speech.pcm.strip(b"\0") else ""

    async def aclose(self) -> None:
        """Hear nothing more."""
        self._closed = True

    def _next(self, script: Sequence[str | Exception]) -> str:
        text = script[min(self._said, len(script) - 1)]
        self._said += 1
        if isinstance(text, Exception):
            raise text
        return text
