"""Use one tool and say so: every ToolStarted gets its ToolFinished, also when the turn is cancelled."""

from __future__ import annotations

import anyio

from atlas.conversation import ToolCall, ToolResult, Turn
from atlas.events import Emit, ToolFinished, ToolStarted
from atlas.mcp.tools import Tools
from atlas.trace import current

GOODBYE_SECONDS = 1.0  # how long a cancelled turn may still take to report its tool


async def use(call: ToolCall, tools: Tools, turn: Turn, emit: Emit) -> ToolResult:
    """Return what came of the call. Cancelling is safe: the finish is reported under a shield; nothing is undone."""
    try:
        await emit(ToolStarted(call))
        with current().stage("tool"):
            result = await tools.call(call, turn.actor, turn.id)
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
