"""What was done, and taking it back: tools over the receipts that every change leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from tools_server.language import plural
from tools_server.language import text as _
from tools_server.policy import NOBODY
from tools_server.state import Kept
from tools_server.times.spoken_time import moment_words
from tools_server.toolkit import Call, Result, ToolFailed, ToolSpec, Undo, tool
from tools_server.wording import capital

CHANGE = {"receipt": str, "at": float, "tool": str, "changed": str, "actor": dict, "undo": bool, "undone": bool}

MOST_TOLD = 50
LOOKED_AT = 1_000  # the newest receipts; what a person did lately is among them
LATELY_SECONDS = 3_600.0  # "that" is not last night's; a receipt's id reaches further


@tool("history.last", data={"changes": [CHANGE]}, risk="read", limit_seconds=10)
async def last(
    call: Call,
    count: Annotated[int, Field(ge=1, le=MOST_TOLD, description="How many changes, the newest first")] = 1,
    everyone: Annotated[bool, Field(description="Everybody's changes, not only the asker's; for owners")] = False,
) -> Result:
    """Tell what was changed last for the person who asks, and when."""
    if everyone and call.actor.role != "owner":
        raise ToolFailed("denied", _("Only an owner may hear what was done for everybody."))
    seen = (receipt for receipt in call.state.receipts(LOOKED_AT) if _seen(call, receipt, everyone))
    kept = list(islice(seen, count))
    if not kept:
        return Result(_("I haven't changed anything for you."), {"changes": []})
    told = [f"{_ago(call, receipt)}: {receipt.changed}{_fate(receipt)}" for receipt in kept]
    return Result(" ".join(told), {"changes": [_shown(call, receipt) for receipt in kept]})


@tool("history.undo", data={}, risk="change", limit_seconds=60)
async def take_back(
    call: Call,
    receipt: Annotated[str, Field(max_length=60, description="A receipt's id; empty is the last change")] = "",
    again: Annotated[bool, Field(description="true to do again what was taken back last")] = False,
) -> Result:
    """Take back the last change, and the next time the one before it; or the one with a given receipt."""
    kept = _chosen(call, receipt.strip(), again=again)
    back = _allowed(call, kept)
    with _alone(call, kept):
        return await back(replace(call, tool=kept.tool, arguments=kept.arguments, undoes=kept.id), kept)


# ── which change is meant ──────────────────────────────────────────────────────────────────────────


def _chosen(call: Call, id: str, *, again: bool) -> Kept:
    """Return the change to take back: with `again`, one that itself took something back.

    Raises `ToolFailed` when there is none, or it is taken back already.
    """
    if id:
        kept = call.state.receipt(id)
        if kept is None or not _seen(call, kept, everyone=call.actor.role == "owner"):
            raise ToolFailed("not_found", _("I know of no such change."))
        if kept.undone_by:
            raise ToolFailed("failed", _("That is taken back already: {changed}").format(changed=kept.changed))
        return kept
    mine = (kept for kept in call.state.receipts(LOOKED_AT) if not kept.undone_by and _seen(call, kept, everyone=False))
    newest = next((kept for kept in mine if call.state.deed(kept)[1] == again), None)
    if newest is None:
        raise ToolFailed(
            "not_found",
            _("I haven't taken back anything for you that I could do again.")
            if again
            else _("I haven't changed anything for you that I could take back."),
        )
    if call.now() - newest.at > LATELY_SECONDS:
        raise ToolFailed(
            "not_found",
            (
                _("I haven't taken back anything for you in the last hour that I could do again. {ago}: {changed}")
                if again
                else _("I haven't changed anything for you in the last hour that I could take back. {ago}: {changed}")
            ).format(ago=_ago(call, newest), changed=newest.changed),
            changes=[_shown(call, newest)],
        )
    return newest


def _seen(call: Call, kept: Kept, everyone: bool) -> bool:
    """Whether the asker may know of a change: by them, to what was theirs, or with `everyone` anybody's.

    An agent sees its own doings only, since what one agent does may be no other's business; but one that serves
    nobody except owners sees all.
    """
    if everyone and call.agent.roles == ("owner",):
        return True
    return kept.agent == call.agent.name and (everyone or _theirs(call, kept) or _was_theirs(call, kept))


def _theirs(call: Call, kept: Kept) -> bool:
    """Whether a change was made in the asker's conversation: the first name that both give decides."""
    for name, here in (("person", call.actor.person), ("device", call.actor.device), ("room", call.actor.room)):
        if here and (there := kept.actor.get(name)):
            return there == here
    nobody = not (call.actor.person or call.actor.device or call.actor.room)
    return nobody and not any(kept.actor.get(name) for name in ("person", "device", "room"))


def _was_theirs(call: Call, kept: Kept) -> bool:
    """Whether a change was made to what the asker had set, such as their alarm. A guest's things anybody may change."""
    if call.actor.role == NOBODY:
        return False
    rows = kept.before if isinstance(kept.before, list) else [kept.before]
    name, here = ("person", call.actor.person) if call.actor.person else ("device", call.actor.device)
    return bool(here) and any(isinstance(row, dict) and row.get(name) == here for row in rows)


# ── whether it may be taken back ───────────────────────────────────────────────────────────────────


def _allowed(call: Call, kept: Kept) -> Undo:
    """Return what takes it back. Raises `ToolFailed` when nothing does, or this actor may not."""
    back = call.gate.undo(kept.tool)
    if back is None or not kept.reversible:
        raise ToolFailed("failed", _("I can't take that back: {changed}").format(changed=kept.changed))
    tools = call.gate.tools
    spec = tools[kept.tool]
    for each in (spec, *(_opposites(tools, spec))):
        decision = call.gate.decide(each.name, kept.arguments)
        if not decision.allowed:
            raise ToolFailed("denied", decision.reason, rule=decision.rule)
        if each is spec and call.state.deed(kept)[1] and decision.verdict != "allow":
            # To take back an undo is to do the deed again, and that took a person's yes.
            raise ToolFailed("confirm", _("I don't do that again just by taking it back. Ask me for it anew."))
    return back


def _opposites(tools: Mapping[str, ToolSpec], spec: ToolSpec) -> list[ToolSpec]:
    """Return the tools whose work an undo may do: to undo closing the garage is to open it.

    Only where a change reaches into the world: a timer put back is no other timer started. What only the house
    itself does, such as its bookkeeping, is nobody's to undo.
    """
    if not spec.open_world:
        return []
    others = (other for other in tools.values() if other.file == spec.file and other is not spec)
    return [other for other in others if not other.reads and not other.action.agents]


@contextmanager
def _alone(call: Call, kept: Kept) -> Iterator[None]:
    """Let one undo of a change run at a time: until the first has marked it, a second would not see that."""
    running = call.gate.undoing
    if kept.id in running:
        raise ToolFailed("failed", _("That is being taken back just now."))
    running.add(kept.id)
    try:
        yield
    finally:
        running.discard(kept.id)


# ── what is said ───────────────────────────────────────────────────────────────────────────────────


def _ago(call: Call, kept: Kept) -> str:
    seconds = call.now() - kept.at
    if seconds < 60:
        return _("Just now")
    if seconds < 3_600:
        return _("{count} ago").format(
            count=plural("{count} minute", "{count} minutes", int(seconds // 60)).format(count=int(seconds // 60))
        )
    return capital(moment_words(call.local(kept.at), call.local()))


def _fate(kept: Kept) -> str:
    return _(" That is taken back since.") if kept.undone_by else ""


def _shown(call: Call, kept: Kept) -> dict[str, Any]:
    back = call.gate.undo(kept.tool)
    return {
        "receipt": kept.id,
        "at": kept.at,
        "tool": kept.tool,
        "changed": kept.changed,
        "actor": dict(kept.actor),
        "undo": back is not None and kept.reversible and not kept.undone_by,
        "undone": bool(kept.undone_by),
    }
