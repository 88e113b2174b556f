"""Reads an utterance while it goes on, now and then, so that its first words can be shown: nothing is done by them."""

from __future__ import annotations

import anyio

from atlas import trace
from atlas.audio import HEARING_RATE, AudioChunk
from atlas.errors import EngineError
from atlas.events import Emit, PartialWords
from atlas.speech.agreement import Agreement
from atlas.speech.stt import Stt

FIRST_SECONDS = 0.4  # of sound behind the beginning, and then …
PERIOD_SECONDS = 0.7  # … between the beginnings of two readings, in which two or three words are said
MOST_SECONDS = 12.0  # of sound that is read from its beginning, and then …
PART_SECONDS = 8.0  # … of its last part: a longer one would be read for longer than a pause at its end lasts
REST_FACTOR = 5  # times as long as the last reading took there is at least between two: a busy machine reads less


class PartialReader:
    """Reads one utterance at a time along. Lives as long as its session, whose tasks `read` runs in."""

    def __init__(self, stt: Stt, emit: Emit) -> None:
        self._stt = stt
        self._emit = emit
        self.utterance_id = ""  # of the utterance under way; "" between two
        self._agreement = Agreement()
        self._scope: anyio.CancelScope | None = None  # of the reading under way
        self._due_sample = 0

    def begin(self, utterance_id: str, at_sample: int) -> None:
        """Read another utterance along, which begins here."""
        self.end()
        self.utterance_id = utterance_id
        self._due_sample = at_sample + round(FIRST_SECONDS * HEARING_RATE)

    def pause(self) -> None:
        """Give up the reading under way: what follows is read by who needs its words."""
        if self._scope is not None:
            self._scope.cancel()
            self._scope = None

    def end(self) -> Agreement | None:
        """Read nothing more of the utterance; return its words, where any were told."""
        self.pause()
        self.utterance_id, agreement, self._agreement = "", self._agreement, Agreement()
        return agreement if agreement.text else None

    def due(self, at_sample: int) -> anyio.CancelScope | None:
        """Return the scope for `read` when it is time for it; `None` when it is too early, or one is under way."""
        if not self.utterance_id or self._scope is not None or at_sample < self._due_sample:
            return None
        self._due_sample = at_sample + round(PERIOD_SECONDS * HEARING_RATE)
        self._scope = anyio.CancelScope()
        return self._scope

    async def read(self, sound: AudioChunk, scope: anyio.CancelScope) -> None:
        """Read the words so far, and tell those that will stand. Cancelling is safe."""
        began = anyio.current_time()
        is_whole = sound.seconds <= MOST_SECONDS
        part = sound if is_whole else sound.cut(sound.samples - round(PART_SECONDS * HEARING_RATE), sound.samples)
        take = self._agreement.read if is_whole else self._agreement.read_on
        with scope:
            try:
                text = await self._stt.skim(part)
            except EngineError as trouble:  # whoever needs the words will hear of it
                trace.line("partial words failed", error=trouble)
                text = None
            if text is not None and not scope.cancel_called and (new := take(text)):
                await self._emit(PartialWords(self.utterance_id, new))
        if self._scope is scope:
            self._scope = None
            late = REST_FACTOR * (anyio.current_time() - began) - PERIOD_SECONDS
            self._due_sample += max(0, round(late * HEARING_RATE))
