"""Does work on files a step at a time, and begins no step while somebody waits for the house's voice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from atlas.events import Event, SpeechOut, SpeechStarted, Transcribed, TurnEnded

LONGEST_SECONDS = 10.0  # that one voice holds files back: who talks on does not stop them


class FileWork:
    """Who holds `limiter` may do one step of work on a file with the house's engines."""

    def __init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(1)
        self._holders = 0

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Let no step begin inside the block."""
        self._holders += 1
        self.limiter.total_tokens = 0
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self.limiter.total_tokens = 1


class GoesFirst:
    """One voice: `note` its events, and while `run` runs, files are held back from its speech to its answer's sound."""

    def __init__(self, files: FileWork) -> None:
        self._files = files
        self._speaks, self._answered = anyio.Event(), anyio.Event()

    def note(self, event: Event) -> None:
        """Take what a session tells."""
        match event:
            case SpeechStarted():
                self._answered = anyio.Event() if self._answered.is_set() else self._answered
                self._speaks.set()
            case SpeechOut() | TurnEnded() | Transcribed(text=""):
                self._answered.set()

    async def run(self) -> None:
        """Hold back files whenever somebody speaks, until cancelled."""
        while True:
            await self._speaks.wait()
            self._speaks = anyio.Event()
            with self._files.held_back(), anyio.move_on_after(LONGEST_SECONDS):
                await self._answered.wait()
