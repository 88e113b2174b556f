"""Between a question and its answer: what a person says next is heard as that first, and as a new request after."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Protocol

import anyio

from atlas.agents.agent import Agent, Answer
from atlas.agents.facts import Told
from atlas.agents.tool_use import carry_out
from atlas.conversation import Asked, Assent, Message, ToolCall, Turn
from atlas.events import Emit, TextDelta
from atlas.mcp.tools import Tools
from atlas.understanding.understanding import Understanding

CLOSE_SECONDS = 2.0  # what closing a question may take: nothing is done without a yes anyway


class Assents(Protocol):
    """Who keeps the questions and knows an answer when it comes. Nothing in an agent can sign one."""

    @property
    def refused(self) -> str:
        """What is said to a no."""
        ...

    def unasked(self, turn: Turn) -> str:
        """Return what is said to an answer that no question waits for; "" when the turn is none."""
        ...

    def keep(self, agent: str, turn: Turn, asked: Asked) -> None:
        """Wait for the answer to what was asked in `turn`."""
        ...

    def hear(self, agent: str, turn: Turn) -> tuple[ToolCall, Assent] | str | None:
        """Return the call that was answered, or what to say to the answer; `None` when the turn is no answer."""
        ...

    def dropped(self, agent: str) -> Sequence[tuple[Turn, Asked]]:
        """Return, once, what `agent` need not wait for any more, and in which turn it was asked."""
        ...


class Asking:
    """An agent whose questions are answered before anything else is heard. All of it shares one look at facts."""

    def __init__(self, mind: Agent, tools: Tools, assents: Assents, told: Told | None = None) -> None:
        self.name = mind.name
        self._mind = mind
        self._tools = tools
        self._assents = assents
        self._told = told

    async def respond(self, turn: Turn, emit: Emit) -> Answer | None:
        """See `Agent.respond`. A turn that is cancelled has asked nothing: no answer to it will be heard."""
        with self._told.during(turn) if self._told else nullcontext():
            return await self._answered(turn, emit)

    async def _answered(self, turn: Turn, emit: Emit) -> Answer | None:
        heard = self._assents.hear(self.name, turn)
        await self._take_back()  # first: the same may be asked again now, and shall wait for its whole minute
        match heard:
            case None:
                answer = await self._mind.respond(turn, emit)
            case str(words):
                answer = await _say(words, emit)
            case call, assent if assent.yes:
                answer = await carry_out(call, self._tools, turn, emit, assent)
            case call, assent:
                answer = await self._leave(call, assent, turn, emit)
        if answer and answer.asked:
            self._assents.keep(self.name, turn, answer.asked)
            await self._take_back()
        return answer

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`."""
        return await self._mind.prepare(turn)

    async def _take_back(self) -> None:
        """Close at the tool server what nobody will answer, so that nobody is shown it or can still say yes to it."""
        for turn, asked in self._assents.dropped(self.name):
            with anyio.move_on_after(CLOSE_SECONDS):
                await self._tools.call(asked.call, turn.actor, turn.id, Assent(asked.ask.id, yes=False))

    async def _leave(self, call: ToolCall, assent: Assent, turn: Turn, emit: Emit) -> Answer:
        with anyio.move_on_after(CLOSE_SECONDS):
            await self._tools.call(call, turn.actor, turn.id, assent)
        return await _say(self._assents.refused, emit)


class Unasked:
    """Hears a yes, a no or an okay that answers nothing: a small model would only imitate it.

    It stands behind those who know what it may answer. What the model itself has just asked is the model's.
    """

    def __init__(self, assents: Assents) -> None:
        self._assents = assents

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> Answer | None:
        """See `Answerer.answer`."""
        words = self._words(turn)
        return await _say(words, emit) if words else None

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`."""
        return bool(self._words(turn))

    def _words(self, turn: Turn) -> str:
        last = turn.history[-1] if turn.history else None
        was_asked = last is not None and not last.ours and last.text.rstrip(" \"”'").endswith("?")
        return "" if was_asked or turn.instructions else self._assents.unasked(turn)


async def _say(words: str, emit: Emit) -> Answer:
    await emit(TextDelta(words))
    return Answer(words, "command", "done", (Message("assistant", words),))
