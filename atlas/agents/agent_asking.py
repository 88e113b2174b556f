"""Hears what a person says next as the answer to an open question first, and only then as a new request."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Protocol

import anyio

from atlas.agents.agent import Agent, AgentAnswer, Prepared, model_asked, say
from atlas.agents.facts import FactLookup
from atlas.agents.tool_use import carry_out
from atlas.conversation import PendingConfirmation, SettledConfirmation, ToolResult, Turn
from atlas.events import Emit
from atlas.mcp.tools import Tools
from atlas.understanding.understanding import Understanding
from wall.meta import CONFIRM

CLOSE_SECONDS = 2.0  # what closing a question may take: nothing is done without a yes anyway


class ConfirmationSource(Protocol):
    """Who knows what was put to whom, and an answer when it comes. Nothing in an agent can sign one."""

    def unasked(self, turn: Turn) -> str:
        """Return what is said to an answer that no question waits for; "" when the turn is none."""
        ...

    def asks_again(self, text: str) -> bool:
        """Tell whether somebody wishes to hear once more what was said last."""
        ...

    def once_more(self, turn: Turn) -> str:
        """Return what was said last, to who wishes to hear it again; "" to all other words."""
        ...

    def put(self, agent: str, turn: Turn, pending: PendingConfirmation) -> SettledConfirmation | None:
        """Note what was asked in `turn`; return what takes back an older question that waits."""
        ...

    def hear(self, agent: str, turn: Turn) -> SettledConfirmation | str | None:
        """Return what an answer leads to, or what to say to it; `None` when the turn answers nothing."""
        ...


class Asking:
    """An agent whose questions are answered before anything else is heard. All of it shares one look at facts."""

    def __init__(
        self, mind: Agent, tools: Tools, confirmations: ConfirmationSource, facts: FactLookup | None = None
    ) -> None:
        self.name = mind.name
        self._mind = mind
        self._tools = tools
        self._confirmations = confirmations
        self._told = facts

    async def respond(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Agent.respond`. A turn that is cancelled has asked nothing: no answer to it will be heard."""
        with self._told.during(turn) if self._told else nullcontext():
            return await self._answered(turn, emit)

    async def _answered(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        match self._confirmations.hear(self.name, turn):
            case None:
                answer = await self._mind.respond(turn, emit)
            case str(words):
                answer = await say(words, emit)
            case SettledConfirmation() as given if given.assent.yes:
                answer = await carry_out(given.call, self._tools, turn, emit, given.assent)
            case given:  # closed first: the same may be asked again now, and shall wait for its whole minute
                result = await self._close(given, turn)
                answer = await say(_left(given, result), emit) if given.reply else await self._mind.respond(turn, emit)
        if answer and answer.pending and (older := self._confirmations.put(self.name, turn, answer.pending)):
            await self._close(older, turn)
        return answer

    def answers(self, turn: Turn) -> bool:
        """See `Agent.answers`; a yes or a no is an answer as well."""
        return self._mind.answers(turn) or bool(self._confirmations.unasked(turn))

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`."""
        return await self._mind.prepare(turn)

    async def _close(self, given: SettledConfirmation, turn: Turn) -> ToolResult | None:
        """Close a question at the tool server, so that nobody is shown it or can still say yes to it."""
        with anyio.move_on_after(CLOSE_SECONDS):
            return await self._tools.call(given.call, turn.actor, turn.id, given.assent)
        return None


def unsolicited_answer(confirmations: ConfirmationSource) -> Prepared:
    """Return who hears a yes, a no or an okay that answers nothing: a small model would only imitate it.

    It stands behind those who know what it may answer. What the model itself has just asked is the model's.
    """

    def words(_meant: Understanding, turn: Turn) -> str:
        return "" if model_asked(turn) or turn.instructions else confirmations.unasked(turn)

    return Prepared(words)


def _left(given: SettledConfirmation, result: ToolResult | None) -> str:
    """Return what is said to a no. One that came after somebody's yes is told so: that deed is done, or about to be."""
    came_second = result is not None and bool(given.assent.statement) and result.error == CONFIRM
    return result.text if result and came_second else given.reply
