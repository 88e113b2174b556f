"""The contract of a tool connection: what an agent may use, and using it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from atlas.conversation import Actor, SignedAnswer, Tool, ToolCall, ToolResult


class Tools(Protocol):
    """One connection to the tool server, under one agent's own token."""

    async def listed(self) -> Sequence[Tool]:
        """Return what this agent may use, in a fixed order; the last known list while the server is away."""
        ...

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        """Do it, and return what came of it. A failure is a result with `ok` false, never an exception.

        What a person must say yes to comes back undone, with an `ask`. The same call with their `assent` is done once;
        with one that nobody gave and that is no yes, its question is closed.
        `tainted` when whoever wishes this has read words of others since a person last spoke: it only narrows, and
        what it changes then waits for a person. The tool server keeps its own count of that as well.
        When the server vanishes in the middle, the result says that the outcome is unknown. Cancelling is safe for
        the caller; the tool server is told, and what it had committed stays committed.
        """
        ...

    async def watch(self, changed: Callable[[str], None]) -> None:
        """Tell what reads differently from now on, by whoever changed it, until cancelled.

        `changed` is given the kind, as the names of its tools begin ("timers", "home", "asks"), or "" when something
        may have been missed, for the server was away.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        ...
