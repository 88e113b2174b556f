"""Prefills the model's prompt while somebody speaks: with the words so far, one set of them at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from atlas.conversation import Turn

Prepare = Callable[[Turn], Awaitable[None]]


class Prefill:
    """What is being got ready for. Lives as long as its session, whose tasks `get_ready` runs in."""

    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare
        self._one_at_a_time = anyio.Lock()
        self._text = ""  # the words so far; "" while there are none
        self._scope: anyio.CancelScope | None = None  # None while nothing is got ready for

    @property
    def is_for_words(self) -> bool:
        """Whether it is for words that somebody said, and not only for what is known before them."""
        return self._scope is not None and bool(self._text)

    def begin(self, turn: Turn) -> anyio.CancelScope | None:
        """Give up what was got ready for, and return the scope for `get_ready`; `None` when it is for this already."""
        if self._scope is not None and self._text == turn.text:
            return None
        self.stop()
        self._text, self._scope = turn.text, anyio.CancelScope()
        return self._scope

    def stop(self) -> None:
        """Give up what is being got ready for. What was read of it stays read."""
        if self._scope is not None:
            self._scope.cancel()
            self._scope = None

    async def get_ready(self, turn: Turn, scope: anyio.CancelScope) -> None:
        """Have the agent get ready; over at once when it was stopped meanwhile. Cancelling is safe."""
        with scope:
            async with self._one_at_a_time:  # the one before was cancelled, and may still be ending
                await self._prepare(turn)
        if self._scope is scope:
            self._scope = None
