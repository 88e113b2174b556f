"""What was done, and taking it back: tools over the receipts that every change leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from tools_server.hubs.deeds import part_of
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, ToolSpec, Undo, tool
from tools_server.sdk.wording import capital
from tools_server.times.spoken_time import moment_words
from tools_server.tools.alarms import stop_what_rings
from tools_server.values.language import counted
from tools_server.values.language import text as _
from tools_server.values.policy import CallActor
from wall.roles import NOBODY, may

CHANGE = {"receipt": str, "at": float, "tool": str, "changed": str, "actor": dict, "undo": bool, "undone": bool}

MOST_TOLD = 50
LOOKED_AT = 1_000  # the newest receipts; what a person did lately is among them
MOST_DEVICES = 24  # that are put back at once
LATELY_SECONDS = 3_600.0  # "that" is not last night's; a receipt's id reaches further


@tool("history.last", data={"changes": [CHANGE]}, risk="read", limit_seconds=10)
async def last(
    call: Call,
    count: Annotated[int, Field(ge=1, le=MOST_TOLD, description="How many changes, the newest first")] = 1,
    everyone: Annotated[bool, Field(description="Everybody's changes, not only the asker's; for owners")] = False,
) -> Result:
    """Tell what was changed last for the person who asks, and when."""
    if everyone:
        call.require_manager()
    seen = (receipt for receipt in call.state.receipts(LOOKED_AT) if _seen(call, receipt, everyone))
    stored_receipts = list(islice(seen, count))
    if not stored_receipts:
        return Result(_("I haven't changed anything for you."), {"changes": []})
    undone = _(" That is taken back since.")
    messages = [f"{_ago(call, one)}: {one.changed}{undone if one.undone_by else ''}" for one in stored_receipts]
    return Result(" ".join(messages), {"changes": [_shown(call, receipt) for receipt in stored_receipts]})


@tool("history.undo", data={}, risk="change", limit_seconds=60)
async def take_back(
    call: Call,
    receipt: Annotated[str, Field(max_length=60, description="A receipt's id; empty is the last change")] = "",
    again: Annotated[bool, Field(description="true to do again what was taken back last")] = False,
    silence: Annotated[bool, Field(description="Only stop was said: what rings goes first")] = False,
    devices: Annotated[
        tuple[Annotated[str, Field(max_length=80)], ...],
        Field(max_length=MOST_DEVICES, description="Only these of the devices that were changed together, by name"),
    ] = (),
) -> Result:
    """Take back the last change, and the next time the one before it; or the one with a given receipt."""
    if silence and (stopped := stop_what_rings(call)):
        return replace(stopped, data={})
    if devices:
        return await _take_back_parts(call, devices)
    return await _take_back(call, _chosen(call, receipt.strip(), again=again))


async def _take_back(call: Call, stored_receipt: StoredReceipt, *, in_part: bool = False) -> Result:
    """Take back a change; of one that is taken back `in_part` the rest can still be taken back."""
    back = _allowed(call, stored_receipt)
    undoes = "" if in_part else stored_receipt.id
    with _alone(call, stored_receipt):
        return await back(
            replace(call, tool=stored_receipt.tool, arguments=stored_receipt.arguments, undoes=undoes), stored_receipt
        )


async def _take_back_parts(call: Call, devices: Sequence[str]) -> Result:
    """Put some devices back as they were before the last request that changed any of them.

    Raises `ToolFailed` when none of them was changed lately.
    """
    turn: str | None = None
    results: list[Result] = []
    for stored_receipt in call.state.receipts(LOOKED_AT):
        same_request = turn is None or (turn and stored_receipt.turn == turn)
        if not same_request or call.now() - stored_receipt.at > LATELY_SECONDS:
            break
        mine = not stored_receipt.undone_by and _seen(call, stored_receipt, everyone=False)
        part = part_of(call, stored_receipt, devices) if mine else None
        if part:
            turn = stored_receipt.turn
            in_part = len(part.before) < len(stored_receipt.before)
            results.append(await _take_back(call, part, in_part=in_part))
    if not results:
        raise ToolFailed("not_found", _("I haven't changed that for you lately, so it is as it was."))
    rows = [row for result in results for row in result.data["devices"]]
    return replace(results[-1], text=" ".join(one.text for one in results), data={**results[-1].data, "devices": rows})


# ── which change is meant ──────────────────────────────────────────────────────────────────────────


def newest_change(call: Call) -> StoredReceipt:
    """Return the last change that the asker could take back. Raises `ToolFailed`."""
    return _chosen(call, "", again=False)


def _chosen(call: Call, id: str, *, again: bool) -> StoredReceipt:
    """Return the change to take back: with `again`, one that itself took something back.

    Raises `ToolFailed` when there is none, or it is taken back already.
    """
    if id:
        stored_receipt = call.state.receipt(id)
        if stored_receipt is None or not _seen(call, stored_receipt, everyone=may(call.actor.role, "manage")):
            raise ToolFailed("not_found", _("I know of no such change."))
        if stored_receipt.undone_by:
            raise ToolFailed(
                "failed", _("That is taken back already: {changed}").format(changed=stored_receipt.changed)
            )
        return stored_receipt
    mine = (
        stored_receipt
        for stored_receipt in call.state.receipts(LOOKED_AT)
        if not stored_receipt.undone_by and _seen(call, stored_receipt, everyone=False)
    )
    newest = next((stored_receipt for stored_receipt in mine if call.state.deed(stored_receipt)[1] == again), None)
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


def _seen(call: Call, stored_receipt: StoredReceipt, everyone: bool) -> bool:
    """Whether the asker may know of a change: by them, to what was theirs, or with `everyone` anybody's.

    An agent sees its own doings only, since what one agent does may be no other's business; but one that serves
    nobody except owners sees all.
    """
    if everyone and call.agent.serves_managers_only:
        return True
    return stored_receipt.agent == call.agent.name and (
        everyone or _theirs(call, stored_receipt) or _was_theirs(call, stored_receipt)
    )


def _theirs(call: Call, stored_receipt: StoredReceipt) -> bool:
    """Whether a change was made in the asker's conversation: the first name that both give decides."""
    maker = CallActor(**stored_receipt.actor)
    pairs = [(one.person, one.device_key, one.room) for one in (call.actor, maker)]
    for here, there in zip(*pairs, strict=True):
        if here and there:
            return bool(here == there)
    return not any((*pairs[0], *pairs[1]))


def _was_theirs(call: Call, stored_receipt: StoredReceipt) -> bool:
    """Whether a change was made to what the asker had set, such as their alarm. A guest's things anybody may change."""
    if call.actor.role == NOBODY:
        return False
    rows = stored_receipt.before if isinstance(stored_receipt.before, list) else [stored_receipt.before]
    name, here = ("person", call.actor.person) if call.actor.person else ("device", call.actor.device_key)
    return bool(here) and any(isinstance(row, dict) and row.get(name) == here for row in rows)


# ── whether it may be taken back ───────────────────────────────────────────────────────────────────


def _allowed(call: Call, stored_receipt: StoredReceipt) -> Undo:
    """Return what takes it back. Raises `ToolFailed` when nothing does, or this actor may not."""
    back = call.gate.undo(stored_receipt.tool)
    if back is None or not stored_receipt.reversible:
        raise ToolFailed("failed", _("I can't take that back: {changed}").format(changed=stored_receipt.changed))
    tools = call.gate.tools
    spec = tools[stored_receipt.tool]
    for tool_spec in (spec, *(_opposites(tools, spec))):
        decision = call.gate.decide(tool_spec.name, stored_receipt.arguments)
        if not decision.allowed:
            raise ToolFailed("denied", decision.reason, rule=decision.rule)
        if tool_spec is spec and call.state.deed(stored_receipt)[1] and decision.verdict != "allow":
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
def _alone(call: Call, stored_receipt: StoredReceipt) -> Iterator[None]:
    """Let one undo of a change run at a time: until the first has marked it, a second would not see that."""
    running = call.gate.undoing
    if stored_receipt.id in running:
        raise ToolFailed("failed", _("That is being taken back just now."))
    running.add(stored_receipt.id)
    try:
        yield
    finally:
        running.discard(stored_receipt.id)


# ── what is said ───────────────────────────────────────────────────────────────────────────────────


def _ago(call: Call, stored_receipt: StoredReceipt) -> str:
    seconds = call.now() - stored_receipt.at
    if seconds < 60:
        return _("Just now")
    if seconds < 3_600:
        return _("{count} ago").format(count=counted(int(seconds // 60), "minute"))
    return capital(moment_words(call.local(stored_receipt.at), call.local()))


def _shown(call: Call, stored_receipt: StoredReceipt) -> dict[str, Any]:
    back = call.gate.undo(stored_receipt.tool)
    return {
        "receipt": stored_receipt.id,
        **{name: getattr(stored_receipt, name) for name in ("at", "tool", "changed")},
        "actor": {name: value for name, value in stored_receipt.actor.items() if name != "device_id"},
        "undo": back is not None and stored_receipt.reversible and not stored_receipt.undone_by,
        "undone": bool(stored_receipt.undone_by),
    }
