"""Ends a talk ("start over"): no model is shown again what was said before. Without a model.

What was said stays remembered, for whoever searches it, until it is forgotten. See `conversations.of_now`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.agents import prompt
from atlas.agents.agent import AgentAnswer, say
from atlas.conversation import ToolCall, ToolResult, Turn, fresh_id
from atlas.events import Emit
from atlas.store.conversations import END
from atlas.understanding.understanding import Understanding


class Ending:
    """Ends a conversation that the house itself remembers, and answers nothing else."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._says: str = tables.get("concern", {}).get("says", {}).get("start_over", "")

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Answerer.answer`."""
        if not await self.prepare(meant, turn):
            return None
        call = ToolCall(fresh_id("call"), END, {})
        result = ToolResult(call.id, True, self._says)
        return await say(self._says, emit, prompt.exchange([call], [result], self._says))

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`."""
        return turn.remembered and meant.restart and bool(self._says)
