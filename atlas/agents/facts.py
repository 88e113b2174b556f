"""What somebody asked to be remembered, looked up for one turn; whose facts those are, the tool server decides."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from atlas.conversation import ToolCall, ToolResult, Turn, fresh_id
from atlas.mcp.tools import Tools
from atlas.trace import current

LIST = "facts.list"
SECONDS = 1.0  # nobody waits longer for them: an answer without them is better than none


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of it."""

    text: str
    own: bool = False  # theirs alone; else everybody's, and perhaps told by another


async def looked_up(tools: Tools, turn: Turn) -> ToolResult | None:
    """Return what `LIST` says to this turn's actor; `None` when it cannot, or not in time. Cancelling is safe."""
    if not any(tool.name == LIST for tool in await tools.listed()):
        return None
    with anyio.move_on_after(SECONDS), current().stage("tool"):
        found = await tools.call(ToolCall(fresh_id("call"), LIST, {}), turn.actor, turn.id)
        return found if found.ok else None
    return None


def read(found: ToolResult | None) -> tuple[Fact, ...]:
    """Return the facts of a result of `LIST`, in the order in which they were told."""
    rows = found.data.get("facts") if found else ()
    facts = map(_fact, rows if isinstance(rows, list | tuple) else ())
    return tuple(fact for fact in facts if fact.text)


def _fact(row: object) -> Fact:
    text, own = (row.get("text"), row.get("own")) if isinstance(row, dict) else (row, False)
    return Fact(text if isinstance(text, str) else "", own is True)
