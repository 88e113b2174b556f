"""Commands: a sentence of the grammar → its tool calls, at once and without a model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from atlas.agents import prompt
from atlas.agents.agent import Answer
from atlas.agents.amends import UNDO, Amends
from atlas.agents.grammar import Command, Grammar, Half
from atlas.agents.tool_use import BROKEN, use
from atlas.agents.which import Which
from atlas.conversation import Asked, Message, ToolCall, ToolResult, Turn, fresh_id
from atlas.events import Emit, Tainted, TextDelta
from atlas.mcp.tools import Tools

NO_TOOL = "I can't do that: I have no tool for it."
ONE_AT_A_TIME = "The other one needs a yes of its own; please ask me for it again."


class Commands:
    """An agent that does what it wholly understands, asks when one thing is missing, and declines everything else.

    A command whose tool it has not is left to the model when that has tools of its own; any other could only make
    something up.
    """

    def __init__(self, name: str, grammar: Grammar, tools: Tools, *, model_has_tools: bool = True) -> None:
        self.name = name
        self._grammar = grammar
        self._amends = Amends(grammar)
        self._which = Which(grammar)
        self._tools = tools
        self._model_has_tools = model_has_tools

    async def respond(self, turn: Turn, emit: Emit) -> Answer | None:
        """See `Agent.respond`. What is said is what the tools say: what they did, or what they must ask first."""
        understood = self.understand(turn)
        if understood is None:
            return None
        if isinstance(understood, str):
            return await _say(understood, emit)
        needed = set(understood.tools) if isinstance(understood, Half) else {one.tool for one in understood}
        offered = await self._tools.listed()
        if offered and not needed <= {tool.name for tool in offered}:
            # This agent has no such tool. A list that was never seen forbids nothing: the server will.
            return None if self._model_has_tools else await _say(NO_TOOL, emit)
        if isinstance(understood, Half):
            return await _say(understood.question, emit)
        return await self._carry_out(understood, turn, emit)

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`. A command needs no head start."""
        return self.understand(turn) is not None

    def _of_others(self, turn: Turn) -> bool:
        """Whether a command goes on from a call that who had read words of others made: "no, at five" keeps the rest.

        What the person said whole is theirs.
        """
        last = list(takewhile(lambda message: message.author != "user", reversed(turn.history)))
        made = any(message.calls and (message.tainted or turn.tainted) for message in last)
        return made and not any(map(self._grammar.commands, (turn.text, *turn.alternatives)))

    def understand(self, turn: Turn) -> tuple[Command, ...] | Half | str | None:
        """Return the commands of the first reading of the turn that is one, or what to say or ask instead.

        When any reading says "don't", none of them is acted on: to mishear that is worse than to ask again.
        """
        readings = (turn.text, *turn.alternatives)
        if any(answer := self._amends.answer(text, turn.history) for text in readings):
            assert answer
            return answer if isinstance(answer, str) else (answer,)
        if any(chosen := self._which.answer(text, turn.history) for text in readings):
            return chosen
        if any(corrected := self._amends.correction(text, turn.history) for text in readings):
            return corrected
        if left := self._amends.left_alone(turn.text):
            return left
        if any(self._grammar.is_negated(text) for text in readings):
            return None
        if any(commands := self._grammar.commands(text) for text in readings):
            return commands
        if any(more := self._amends.follow_up(text, turn.history) for text in readings):
            assert more
            return (more,)
        return self._grammar.half(turn.text)  # a question about what may have been misheard would not be calm

    async def _carry_out(self, commands: Sequence[Command], turn: Turn, emit: Emit) -> Answer:
        """Do one command after the other. A question comes last, and there is at most one."""
        calls: list[ToolCall] = []
        results: list[ToolResult] = []
        asked: Asked | None = None
        said: list[str] = []
        tainted = self._of_others(turn)
        if tainted:
            await emit(Tainted())
        for command in commands:
            call = ToolCall(fresh_id("call"), command.tool, command.arguments)
            result = await use(call, self._tools, turn, emit, tainted=tainted)
            calls.append(call)
            results.append(result)
            if result.ask is None:
                said.append(result.text)
            elif asked is None:
                asked = Asked(call, result.ask)
            else:
                said.append(ONE_AT_A_TIME)
            if command.tool == UNDO and not result.ok:
                break  # what was meant to be replaced is still there
        if asked:
            said.append(asked.ask.sentence)
        text = self._instead(said) if results[0].ok and _is_another(commands) else " ".join(said)
        await emit(TextDelta(text))
        broken = [f"{call.name}: {result.error}" for call, result in zip(calls, results, strict=True) if _broke(result)]
        return Answer(
            text=text,
            path="command",
            end="failed" if broken else "done",
            messages=(
                Message("assistant", calls=tuple(calls)),
                *(Message("tool", prompt.result(result), call_id=result.call_id) for result in results),
                Message("assistant", text),
            ),
            receipts=tuple(result.receipt for result in results if result.receipt),
            error="; ".join(broken),
            asked=asked,
            tainted=tainted,
        )

    def _instead(self, said: Sequence[str]) -> str:
        """Return what was done in place of another, of which nobody wants to hear again."""
        return str(self._grammar.own["instead"]).format(" ".join(said[1:]))


def _is_another(commands: Sequence[Command]) -> bool:
    """Tell whether this takes one thing back to do another."""
    return len(commands) > 1 and commands[0].tool == UNDO


def _broke(result: ToolResult) -> bool:
    return not result.ok and result.error in BROKEN


async def _say(words: str, emit: Emit) -> Answer:
    await emit(TextDelta(words))
    return Answer(words, "command", "done", (Message("assistant", words),))
