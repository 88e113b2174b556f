"""Commands: a sentence of the grammar → its tool calls, at once and without a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

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
UNSURE = ("gone", "timeout")  # of these nobody knows whether it was done after all
ONE_AT_A_TIME = "The other one needs a yes of its own; please ask me for it again."

Understood = tuple[Command, ...] | Half | str | None
Do = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]


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
        understood, goes_on = self._understand(turn)
        if understood is None:
            return None
        if isinstance(understood, str):
            return await _say(understood, emit)
        half = understood if isinstance(understood, Half) else None
        commands = half.beside if half else understood
        assert not isinstance(commands, Half)
        needed = {one.tool for one in commands} | {*(half.tools if half else ())}
        offered = await self._tools.listed()
        if offered and not needed <= {tool.name for tool in offered}:
            # This agent has no such tool. A list that was never seen forbids nothing: the server will.
            return None if self._model_has_tools else await _say(NO_TOOL, emit)
        if half is None:
            return await self._carry_out(commands, turn, emit, goes_on=goes_on)
        looks = {tool.name for tool in offered if tool.read_only}
        if not {one.tool for one in commands} <= looks:
            return None  # a deed is not done beside a question
        if not commands:
            return await _say(half.question, emit)
        return await self._carry_out(commands, turn, emit, goes_on=False, then=half.question)

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`. A command needs no head start."""
        return self.understand(turn) is not None

    def understand(self, turn: Turn) -> Understood:
        """Return the commands of the first reading of the turn that is one, or what to say or ask instead."""
        return self._understand(turn)[0]

    def _understand(self, turn: Turn) -> tuple[Understood, bool]:
        """Return what is understood, and whether it goes on from the last call: "no, at five" keeps the rest of that.

        When any reading says "don't", none of them is acted on: to mishear that is worse than to ask again.
        """
        readings = (turn.text, *turn.alternatives)
        if any(answer := self._amends.answer(text, turn.history) for text in readings):
            assert answer
            return answer if isinstance(answer, str) else (answer,), True
        for text in readings:
            if chosen := self._which.answer(text, turn.history):
                return chosen, True
            if self._grammar.commands(text):
                break  # and a worse reading of it is no answer
        if any(corrected := self._amends.correction(text, turn.history) for text in readings):
            return corrected, True
        if left := self._amends.left_alone(turn.text):
            return left, False
        if any(self._grammar.is_negated(text) for text in readings):
            return None, False
        if any(commands := self._grammar.commands(text) for text in readings):
            return commands, False
        if any(more := self._amends.follow_up(text, turn.history) for text in readings):
            assert more
            return (more,), True
        # A question about what may have been misheard would not be calm.
        return self._grammar.half(turn.text), False

    async def _carry_out(
        self, commands: Sequence[Command], turn: Turn, emit: Emit, *, goes_on: bool, then: str = ""
    ) -> Answer:
        """Do one command after the other. A question comes last, and there is at most one: `then`, or a tool's."""
        # To take something back repeats nobody's words.
        tainted = goes_on and _last_was_of_others(turn) and any(command.tool != UNDO for command in commands)
        calls: list[ToolCall] = []
        results: list[ToolResult] = []
        asked: Asked | None = None
        said: list[str] = []
        if tainted:
            await emit(Tainted())

        async def do(tool: str, arguments: Mapping[str, Any]) -> ToolResult:
            calls.append(ToolCall(fresh_id("call"), tool, arguments))
            results.append(await use(calls[-1], self._tools, turn, emit, tainted=tainted))
            return results[-1]

        for command in commands:
            result = await do(command.tool, command.arguments)
            if result.ask is None:
                said.append(result.text)
            elif asked is None:
                asked = Asked(calls[-1], result.ask)
            else:
                said.append(ONE_AT_A_TIME)
            if command.tool == UNDO and not result.ok:
                break  # what was meant to be replaced is still there
        if asked:
            said.append(asked.ask.sentence)
        text = ""
        if goes_on and len(results) > 1 and commands[0].tool == UNDO:
            text = await self._instead(results[0], results[1], do)
        text = text or " ".join([*said, *filter(None, [then])])
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

    async def _instead(self, undone: ToolResult, made: ToolResult, do: Do) -> str:
        """Return what is said of one thing that was taken back for another; "" is all that the tools said.

        When the other was refused, the one is put back: who changes an alarm does not want to be left without any.
        """
        if made.ok:
            return str(self._grammar.own["instead"]).format(made.text)  # of the one nobody wants to hear again
        if made.ask or made.error in UNSURE or undone.receipt is None:
            return ""
        put_back = await do(UNDO, {"receipt": undone.receipt.id})
        return str(self._grammar.own["put_back"]).format(made.text) if put_back.ok else ""


def _last_was_of_others(turn: Turn) -> bool:
    """Whether who made the last call had read words of others: then what goes on from it may repeat them."""
    last = takewhile(lambda message: message.author != "user", reversed(turn.history))
    return any(message.calls and (message.tainted or turn.tainted) for message in last)


def _broke(result: ToolResult) -> bool:
    return not result.ok and result.error in BROKEN


async def _say(words: str, emit: Emit) -> Answer:
    await emit(TextDelta(words))
    return Answer(words, "command", "done", (Message("assistant", words),))
