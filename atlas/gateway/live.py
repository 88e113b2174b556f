"""Knows what is open on each token, and ends it within a second of the token's end, or of its device's new name.

When the house stops, everything that is open is told at once: what waits for news says goodbye, the rest is cut off
when its time is over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from atlas import trace
from atlas.conversation import Actor
from atlas.errors import AtlasError

LOOK_SECONDS = 0.3  # a token is looked up so often while something is open on it; a second look cuts what went on


@dataclass(eq=False, slots=True)
class OpenConnection:
    """One request or socket under way: what tells it that it is over, and what cuts it off."""

    token: str = field(repr=False)
    device: str  # as it was called when this was opened
    over: anyio.Event = field(default_factory=anyio.Event)
    may_return: bool = False  # its token counts: its device comes in again, by the name that it has by then
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def end(self) -> None:
        """Tell it, so that it can say goodbye; cut it off when it was told at the look before."""
        if self.over.is_set():
            self.scope.cancel()
        self.over.set()

    def leave(self) -> None:
        """Tell it that it is over for now: its token counts."""
        self.may_return = True
        self.over.set()


class OpenConnections:
    """All that is open, by token."""

    def __init__(self, authenticate: Callable[[str], Awaitable[Actor | None]]) -> None:
        self._authenticate = authenticate
        self._all: set[OpenConnection] = set()
        self.stopping = False

    @contextmanager
    def opened(self, token: str, device: str) -> Iterator[OpenConnection]:
        """Count a connection for as long as the block lasts; its block is cancelled when its token has ended."""
        one = OpenConnection(token, device)
        self._all.add(one)
        if self.stopping:
            one.leave()
        try:
            with one.scope:
                yield one
        finally:
            self._all.discard(one)

    async def close(self, seconds: float) -> None:
        """Tell all that the house stops, and cut off what is still under way after so many `seconds`."""
        self.stopping = True
        for one in self._all:
            one.leave()
        await anyio.sleep(seconds)
        for one in self._all:
            one.scope.cancel()

    async def watch(self) -> None:
        """Look again and again, until cancelled.

        While the tokens cannot be read nobody's is taken back: whoever is in the middle of a sentence may finish it.
        """
        while True:
            await anyio.sleep(LOOK_SECONDS)
            for token in {one.token for one in self._all}:
                try:
                    actor = await self._authenticate(token)
                except AtlasError as trouble:
                    trace.line("token not checked", error=trouble)
                    continue
                for one in [one for one in self._all if one.token == token]:
                    if actor is None:
                        one.end()
                    elif actor.device != one.device:  # rules know devices by name, and hold for what is open too
                        one.leave()
