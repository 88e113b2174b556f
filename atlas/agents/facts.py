"""Looks up what people asked to be remembered, once a turn; whose facts those are, the tool server decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from atlas.conversation import Actor, ToolCall, ToolResult, Turn, fresh_id
from atlas.mcp.tools import Tools
from atlas.trace import current

LIST, FORGET = "facts.list", "facts.forget"
NOTES = "notes.search"
SECONDS = 1.0  # nobody waits longer for them: an answer without them is better than none
AHEAD_SECONDS = 30.0  # what was read while somebody spoke is good for no longer than they go on


@dataclass(frozen=True, slots=True)
class RememberedFact:
    """One line of it."""

    text: str
    personal: bool = False  # theirs alone; else everybody's, and perhaps told by another


LookUp = Callable[[Turn], Awaitable[ToolResult | None]]
Use = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
_Look = list[ToolResult | None]  # empty until somebody has looked


class FactLookup:
    """What one agent's people told it. All its minds look once a turn, and once for what they read ahead of one.

    Every look is a row of the audit. No turn goes by what was seen before it, and nothing is kept after it: whoever has
    a fact forgotten has it forgotten here too.
    """

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self._answering: dict[tuple[str, Actor], _Look] = {}
        self._ahead: dict[Actor, tuple[float, _Look]] = {}  # with when the first words of it came

    @contextmanager
    def during(self, turn: Turn) -> Iterator[None]:
        """Answer `turn` inside; it may change what everybody is told."""
        self._answering[turn.id, turn.actor] = []
        try:
            yield
        finally:
            self._answering.pop((turn.id, turn.actor), None)
            self._ahead.clear()

    async def to(self, turn: Turn) -> ToolResult | None:
        """Return what the tool server tells this turn's actor, or why not; `None` where it remembers no facts.

        Cancelling is safe.
        """
        return await self._seen(self._answering.get((turn.id, turn.actor), []), turn)

    async def ahead_of(self, turn: Turn) -> ToolResult | None:
        """Return the same for a turn that nobody answers yet: perhaps as it was when they began to speak."""
        since, look = self._ahead.get(turn.actor, (turn.at, []))
        if turn.at - since > AHEAD_SECONDS:
            since, look = turn.at, []
        self._ahead[turn.actor] = since, look
        return await self._seen(look, turn)

    async def _seen(self, look: _Look, turn: Turn) -> ToolResult | None:
        if not look:
            look.append(await _looked_up(self.tools, turn))
        return look[-1]


async def in_notes(words: str, tools: Tools, use: Use) -> ToolResult | None:
    """Return what the notes hold of what nobody told; `None` where that is nothing, or nobody may look."""
    if not any(tool.name == NOTES for tool in await tools.listed()):
        return None
    result = await use(NOTES, {"words": words})
    return result if result.ok and result.data.get("matches") else None


async def _looked_up(tools: Tools, turn: Turn) -> ToolResult | None:
    call = ToolCall(fresh_id("call"), LIST, {})
    listed = await tools.listed()
    if not listed:
        return ToolResult(call.id, False, "", error="gone")  # a tool server that was never reached
    if not any(tool.name == LIST for tool in listed):
        return None
    with anyio.move_on_after(SECONDS), current().stage("tool"):
        return await tools.call(call, turn.actor, turn.id)
    return ToolResult(call.id, False, "", error="timeout")


def read(result: ToolResult | None) -> tuple[RememberedFact, ...]:
    """Return the facts of a result of `LIST`, in the order in which they were told."""
    rows = result.data.get("facts") if result else ()
    facts = map(_fact, rows if isinstance(rows, list | tuple) else ())
    return tuple(fact for fact in facts if fact.text)


def _fact(row: object) -> RememberedFact:
    text, is_askers = (row.get("text"), row.get("own")) if isinstance(row, dict) else (row, False)
    return RememberedFact(text if isinstance(text, str) else "", is_askers is True)
