"""Makes the tool calls of people who press instead of speak, and keeps what waits for a yes until it is answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from atlas.conversation import Actor, SignedAnswer, ToolCall, ToolResult, fresh_id
from atlas.mcp.tools import Tools

MOST_WAITING = 256  # questions of pages that are kept; the tool server has fewer open


@dataclass(frozen=True, slots=True)
class _WaitingCall:
    agent: str
    call: ToolCall
    actor: Actor
    expires_at: float


class PressedCalls:
    """Tool calls without a turn: they pass the gate as every call does, and stand in no conversation."""

    def __init__(self, tools: Mapping[str, Tools], now: Callable[[], float] = time.time) -> None:
        self._tools = tools
        self._now = now
        self._waiting: dict[str, _WaitingCall] = {}  # by the id of the question, the oldest first

    def __len__(self) -> int:
        """Return how many calls wait for an answer."""
        return len(self._waiting)

    async def call(self, agent: str, tool: str, arguments: Mapping[str, Any], actor: Actor) -> ToolResult:
        """Do it, as `Tools.call` does; what must be asked first is done by `settle`. Cancelling is safe."""
        return await self._made(agent, ToolCall(fresh_id("call"), tool, arguments), actor)

    async def settle(self, ask_id: str, *, yes: bool) -> ToolResult | None:
        """Do what waited for this answer, which the tool server has; `None` when nothing here did, or it was a no.

        A no is used up by a call too: else the next press of the same would be refused for it.
        """
        waiting = self._waiting.pop(ask_id, None)
        if waiting is None:
            return None
        call = replace(waiting.call, id=fresh_id("call"))
        result = await self._made(waiting.agent, call, waiting.actor, SignedAnswer(ask_id, yes=yes))
        return result if yes else None

    async def _made(self, agent: str, call: ToolCall, actor: Actor, assent: SignedAnswer | None = None) -> ToolResult:
        """Make a call, and keep it when it waits for a yes: also one that was to another sentence than it is now."""
        result = await self._tools[agent].call(call, actor, fresh_id("turn"), assent)
        if result.ask:
            self._waiting = {key: one for key, one in self._waiting.items() if one.expires_at > self._now()}
            for oldest in list(self._waiting)[: max(0, len(self._waiting) - MOST_WAITING + 1)]:
                del self._waiting[oldest]
            self._waiting[result.ask.id] = _WaitingCall(agent, call, actor, result.ask.expires_at)
        return result
