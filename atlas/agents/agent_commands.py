"""Commands: a sentence of the grammar → one tool call, at once and without a model."""

from __future__ import annotations

from atlas.agents.agent import Answer
from atlas.agents.grammar import Command, Grammar
from atlas.agents.tool_use import carry_out
from atlas.conversation import ToolCall, Turn, fresh_id
from atlas.events import Emit
from atlas.mcp.tools import Tools


class Commands:
    """An agent that does what it wholly understands and declines everything else."""

    def __init__(self, name: str, grammar: Grammar, tools: Tools) -> None:
        self.name = name
        self._grammar = grammar
        self._tools = tools

    async def respond(self, turn: Turn, emit: Emit) -> Answer | None:
        """See `Agent.respond`. What is said is the tool's own sentence: what it did, or what it must ask first."""
        command = self.understand(turn)
        if command is None:
            return None
        offered = await self._tools.listed()
        if offered and command.tool not in {tool.name for tool in offered}:
            return None  # this agent has no such tool; a list that was never seen forbids nothing, the server will
        call = ToolCall(fresh_id("call"), command.tool, command.arguments)
        return await carry_out(call, self._tools, turn, emit)

    def understand(self, turn: Turn) -> Command | None:
        """Return the first reading of the turn that is a command.

        When any reading says "don't", none of them is acted on: to mishear that is worse than to ask again.
        """
        readings = (turn.text, *turn.alternatives)
        if any(self._grammar.is_negated(text) for text in readings):
            return None
        return next((command for text in readings if (command := self._grammar.read(text))), None)
