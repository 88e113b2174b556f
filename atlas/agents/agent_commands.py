"""Does commands: a sentence of the grammar → its tool calls, at once and without a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from atlas.agents import facts
from atlas.agents.agent import AgentAnswer, say
from atlas.agents.tool_use import answer_of, use
from atlas.conversation import Message, PendingConfirmation, ToolCall, ToolResult, Turn, fresh_id
from atlas.events import Emit, Tainted, TextDelta
from atlas.mcp.tools import Tools
from atlas.own_words import own
from atlas.understanding.choices import Choices, MeaningChoice
from atlas.understanding.dialogue import UNDO, read_result
from atlas.understanding.follow_ups import TOLD_LAST
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Understanding

NO_TOOL = "I can't do that: I have no tool for it."
UNSURE = ("gone", "timeout")  # of these nobody knows whether it was done after all
TAKE_BACK = "Last I did this: {changed} Shall I take it back?"
LATELY_SECONDS = 3_600.0  # as long as history.undo takes something back by itself
MOST_CHANGES = 5  # among which the newest is looked for that can be taken back
ONE_AT_A_TIME = "The other one needs a yes of its own; please ask me for it again."

Do = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]


class Commands:
    """Does what is wholly understood, asks when one thing is missing, and leaves everything else to others.

    A command whose tool there is not is left to the model when that has tools of its own; any other could only make
    something up.
    """

    def __init__(self, tables: Mapping[str, Any], tools: Tools, *, model_has_tools: bool = True) -> None:
        self._own = tables
        self._tools = tools
        self._model_has_tools = model_has_tools

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Answerer.answer`. What is said is what the tools say: what they did, or what they must ask first."""
        if meant.empty:
            return None
        if meant.reply:
            return await say(meant.reply, emit)
        if meant.choices:
            return replace(await say(meant.choices.question, emit), choices=meant.choices)
        half = meant.half
        commands = half.beside if half else meant.commands
        needed = {one.tool for one in commands} | {*(half.tools if half else ())}
        offered = await self._tools.listed()
        if offered and not needed <= {tool.name for tool in offered}:
            # This agent has no such tool. A list that was never seen forbids nothing: the server will.
            return None if self._model_has_tools else await say(own(NO_TOOL), emit)
        if meant.custom and not commands:
            return await say(meant.custom.says, emit)
        undo_alone = [(one.tool, *one.arguments) for one in commands] == [(UNDO,)]
        of_earlier = undo_alone and not any(map(_changed, turn.history))
        if of_earlier and (question := await self._whether_to_take_back(turn, emit)):
            return question
        if half is None:
            says = meant.custom.says if meant.custom else ""
            return await self._carry_out(commands, turn, emit, goes_on=meant.leans, says=says)
        looks = {tool.name for tool in offered if tool.read_only}
        if not {one.tool for one in commands} <= looks:
            return None  # a deed is not done beside a question
        if not commands:
            return await say(half.question, emit)
        return await self._carry_out(commands, turn, emit, goes_on=False, then=half.question)

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`. A command needs no head start."""
        return not meant.empty

    async def _whether_to_take_back(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """Ask about the person's last change where nothing was changed in this conversation; `None` for no such."""
        call = ToolCall(fresh_id("call"), TOLD_LAST, {"count": MOST_CHANGES})
        result = await use(call, self._tools, turn, emit)
        changes = result.data.get("changes", ()) if result.ok else ()
        newest = next((one for one in changes if one["undo"] and turn.at - one["at"] < LATELY_SECONDS), None)
        if newest is None:
            return None
        text = own(TAKE_BACK).format(changed=newest["changed"])
        choice = MeaningChoice(text, (Command(UNDO, {"receipt": newest["receipt"]}),))
        return replace(await say(text, emit), choices=Choices(text, (choice,)))

    async def _carry_out(
        self, commands: Sequence[Command], turn: Turn, emit: Emit, *, goes_on: bool, then: str = "", says: str = ""
    ) -> AgentAnswer:
        """Do one command after the other. A question comes last, and there is at most one: `then`, or a tool's.

        `says` takes the place of what the tools say when all of them have done it.
        """
        # To take something back repeats nobody's words.
        tainted = goes_on and _last_was_of_others(turn) and any(command.tool != UNDO for command in commands)
        calls: list[ToolCall] = []
        results: list[ToolResult] = []
        pending: PendingConfirmation | None = None
        texts: list[str] = []
        if tainted:
            await emit(Tainted())

        async def do(tool: str, arguments: Mapping[str, Any]) -> ToolResult:
            calls.append(ToolCall(fresh_id("call"), tool, arguments))
            results.append(await use(calls[-1], self._tools, turn, emit, tainted=tainted))
            return results[-1]

        for command in commands:
            result = await do(command.tool, command.arguments)
            if result.ask is None:
                texts.append(result.text)
            elif pending is None:
                pending = PendingConfirmation(calls[-1], result.ask)
            else:
                texts.append(own(ONE_AT_A_TIME))
            if command.tool == UNDO and not result.ok:
                break  # what was meant to be replaced is still there
        if [(call.name, "about" in call.arguments) for call in calls] == [(facts.LIST, True)]:
            is_unknown = results[0].ok and not results[0].data.get("facts")
            if is_unknown and (note := await facts.in_notes(calls[0].arguments["about"], self._tools, do)):
                texts = [note.text]
            else:  # which nothing that is said next is about
                del calls[1:], results[1:]
        if pending:
            texts.append(pending.ask.sentence)
        text = ""
        if goes_on and len(results) > 1 and calls[0].name == UNDO != calls[1].name:
            text = await self._instead(results[0], results[1], do)
        if says and all(result.ok and not result.ask for result in results):
            text = says
        text = text or " ".join([*texts, *filter(None, [then])])
        await emit(TextDelta(text))
        return replace(answer_of(calls, results, text), pending=pending, tainted=tainted)

    async def _instead(self, undone: ToolResult, made: ToolResult, do: Do) -> str:
        """Return what is said of one thing that was taken back for another; "" is all that the tools said.

        When the other was refused, the one is put back: who changes an alarm does not want to be left without any.
        """
        if made.ok:
            return str(self._own["instead"]).format(made.text)  # of the one nobody wants to hear again
        if made.ask or made.error in UNSURE or undone.receipt is None:
            return ""
        put_back = await do(UNDO, {"receipt": undone.receipt.id})
        return str(self._own["put_back"]).format(made.text) if put_back.ok else ""


def _changed(message: Message) -> bool:
    return message.author == "tool" and read_result(message.text).get("changed") is True


def _last_was_of_others(turn: Turn) -> bool:
    """Whether who made the last call had read words of others: then what goes on from it may repeat them."""
    last = takewhile(lambda message: message.author != "user", reversed(turn.history))
    return any(message.calls and (message.tainted or turn.tainted) for message in last)
