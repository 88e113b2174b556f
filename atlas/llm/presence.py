"""Knows whether a model is there: by its last use, and after a miss by its own word, asked for until it is good."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager

import anyio

from atlas.errors import LlmBusy, LlmGone
from atlas.llm.backend import Backend, BackendPrompt, Delta, Embeddings, Priority, TextPiece

LOOK_SECONDS = 2.0  # between two questions to a model that is away


class SpeakingSpeed:
    """How fast a model speaks: pieces of text, which are tokens, in the time between them; reading is not counted."""

    def __init__(self) -> None:
        self._pieces = 0
        self._seconds = 0.0

    def note(self, pause_seconds: float | None) -> None:
        """Count a piece that came so long after the one before it; the first of an answer came after none."""
        if pause_seconds is not None:
            self._pieces += 1
            self._seconds += pause_seconds

    def take(self) -> float:
        """Return pieces a second since this was asked last; 0 where nothing was said."""
        speed = self._pieces / self._seconds if self._seconds > 0 else 0.0
        self._pieces, self._seconds = 0, 0.0
        return speed


class Watched:
    """A backend that knows whether its model is there. Keeps the contract of `Backend` by the one it was given.

    `away` from the first `LlmGone` on, until the model has given an answer or is found well, which `watch` sees to.
    """

    def __init__(self, backend: Backend) -> None:
        self.model = backend.model
        self.away = False
        self._backend = backend
        self._missed = anyio.Event()
        self.speed = SpeakingSpeed()

    async def watch(self) -> None:
        """Ask a model that was missed whether it is back, for ever; to be run as a task."""
        while True:
            await self._missed.wait()
            while self.away:
                try:
                    await self.health()
                except LlmGone:
                    await anyio.sleep(LOOK_SECONDS)
            self._missed = anyio.Event()

    async def stream(self, prompt: BackendPrompt) -> AsyncGenerator[Delta, None]:
        """See `Backend.stream`. A model that is away is asked for its health first: that takes no long silence."""
        if self.away:
            await self.health()
        with self._noticing():
            async with aclosing(self._backend.stream(prompt)) as deltas:
                last = None
                async for delta in deltas:
                    if isinstance(delta, TextPiece):
                        now = anyio.current_time()
                        self.speed.note(now - last if last is not None else None)
                        last = now
                    yield delta
        self.away = False

    async def prefill(self, prompt: BackendPrompt) -> None:
        """See `Backend.prefill`."""
        with self._noticing():
            await self._backend.prefill(prompt)

    async def forget(self, conversation: str) -> None:
        """See `Backend.forget`."""
        with self._noticing():
            await self._backend.forget(conversation)

    async def embed(self, texts: Sequence[str], *, priority: Priority = "chat") -> Embeddings:
        """See `Backend.embed`."""
        with self._noticing():
            return await self._backend.embed(texts, priority=priority)

    async def health(self) -> str:
        """See `Backend.health`."""
        with self._noticing():
            model = await self._backend.health()
        self.away = False
        return model

    async def aclose(self) -> None:
        """See `Backend.aclose`."""
        await self._backend.aclose()

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except LlmBusy:  # it is there, and answers others
            raise
        except LlmGone:
            self.away = True
            self._missed.set()
            raise
