"""Uses one tool and says so: every ToolStarted gets its ToolFinished, also when the turn is cancelled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import anyio

from atlas.agents import prompt
from atlas.agents.agent import AgentAnswer
from atlas.conversation import ClientTools, PendingConfirmation, SignedAnswer, ToolCall, ToolResult, Turn
from atlas.events import Emit, TextDelta, ToolFinished, ToolStarted
from atlas.mcp.tools import Tools
from atlas.trace import current

GOODBYE_SECONDS = 1.0  # how long a cancelled turn may still take to report its tool
BROKEN = ("gone", "timeout", "failed")  # the tool did not work; any other refusal is an answer


async def carry_out(
    call: ToolCall, tools: Tools, turn: Turn, emit: Emit, assent: SignedAnswer | None = None
) -> AgentAnswer:
    """Answer a turn with one call: what is said is the tool's own sentence, or its question when it asks one."""
    return await tell(call, await use(call, tools, turn, emit, assent), emit)


async def tell(call: ToolCall, result: ToolResult, emit: Emit) -> AgentAnswer:
    """Answer a turn with what came of its one call."""
    await emit(TextDelta(result.text))
    pending = PendingConfirmation(call, result.ask) if result.ask else None
    return replace(answer_of([call], [result], result.text), pending=pending)


def answer_of(calls: Sequence[ToolCall], results: Sequence[ToolResult], text: str) -> AgentAnswer:
    """Return what was said of calls as an answer: one that failed where a tool did not work."""
    pairs = zip(calls, results, strict=True)
    broken = [f"{call.name}: {one.error}" for call, one in pairs if not one.ok and one.error in BROKEN]
    return AgentAnswer(
        text=text,
        path="command",
        end="failed" if broken else "done",
        messages=prompt.exchange(calls, results, text),
        receipts=tuple(result.receipt for result in results if result.receipt),
        error="; ".join(broken),
    )


async def use(
    call: ToolCall, tools: Tools, turn: Turn, emit: Emit, assent: SignedAnswer | None = None, *, tainted: bool = False
) -> ToolResult:
    """Return what came of the call. Cancelling is safe: the finish is reported under a shield; nothing is undone.

    `tainted` when a model that has read words of others wishes it.
    """
    return await _reported(call, partial(tools.call, call, turn.actor, turn.id, assent, tainted=tainted), emit)


async def use_clients(call: ToolCall, client: ClientTools, emit: Emit) -> ToolResult:
    """Return what came of a call that the client makes. Cancelling is safe: the finish is reported under a shield."""
    return await _reported(call, partial(client.call, call), emit)


async def _reported(call: ToolCall, work: Callable[[], Awaitable[ToolResult]], emit: Emit) -> ToolResult:
    try:
        await emit(ToolStarted(call))
        with current().stage("tool"):
            result = await work()
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(GOODBYE_SECONDS, shield=True):
            await emit(ToolFinished(call, interrupted(call)))
        raise
    await emit(ToolFinished(call, result))
    return result


async def report(call: ToolCall, result: ToolResult, emit: Emit) -> None:
    """Say that a call was refused before it was made. Both events go out, whatever happens."""
    with anyio.move_on_after(GOODBYE_SECONDS, shield=True):
        await emit(ToolStarted(call))
        await emit(ToolFinished(call, result))


def interrupted(call: ToolCall) -> ToolResult:
    """Return the result of a call whose turn was cancelled before its answer came."""
    return ToolResult(call.id, False, "I was interrupted, so I can't tell whether that was done.", error="cancelled")
