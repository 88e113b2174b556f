"""What comes over a wire and what goes back, before and behind the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tools_server.gate.confirmations import NO_REPLY, ConfirmationReply
from tools_server.sdk.arguments import printable
from tools_server.sdk.confirmation import Confirmation
from tools_server.sdk.state import ChangeReceipt
from tools_server.sdk.toolkit import Error, ToolFailed
from tools_server.values.codes import Code
from tools_server.values.policy import AgentAccount, CallActor
from wall.roles import ROLES

ACTOR_CHARACTERS = 100  # of each of its names


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call as it came over a wire, from an agent already identified. Nothing else in it is believed."""

    agent: AgentAccount
    tool: str
    arguments: Any
    actor: Any = None  # `_meta["atlas.house/actor"]`
    turn: Any = None  # `_meta["atlas.house/turn"]`
    route: str = ""  # "2026-07-28 http", for the record
    wire: Any = None  # the protocol's own context, for tools that speak it themselves
    reply: ConfirmationReply = NO_REPLY  # what a retried call brings from a person
    trace: Any = None  # `_meta["traceparent"]`, as W3C writes it
    tainted: Any = None  # `_meta["atlas.house/tainted"]`: the caller has read words of others; it only narrows
    language: Any = None  # `_meta["atlas.house/language"]`: how the caller wants it spoken

    @property
    def turn_id(self) -> str:
        """The turn as the record has it; "" when none is named that can be read."""
        return printable(self.turn) if isinstance(self.turn, str) else ""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What goes back. `error` is None when it worked."""

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    receipt: ChangeReceipt | None = None
    error: Error | None = None
    reply: Any = None  # the protocol's own result, when the tool gave one
    ask: Confirmation | None = None  # the question that has to be answered first
    code: Code | None = None  # why, where the kind of error does not tell
    untrusted: bool = False  # words of others are in it


def actor_of(claimed: Any) -> CallActor:
    """Read `_meta["atlas.house/actor"]`; what is not understood is refused, for a missing role would be a wider one."""
    if claimed is None:
        return CallActor()
    names = [one.name for one in fields(CallActor)]
    ok = isinstance(claimed, Mapping) and all(
        name in names and isinstance(value, str) and len(value) <= ACTOR_CHARACTERS and printable(value) == value
        for name, value in claimed.items()
    )
    if not ok:
        raise ToolFailed("invalid", "Who is asking cannot be read: give person, device, role and room as short texts.")
    actor = CallActor(**claimed)
    if actor.role not in ("", *ROLES):  # no rule speaks of it, so it would be held back by none
        raise ToolFailed("invalid", f"Nobody is a {printable(actor.role)} here. The roles are {', '.join(ROLES)}.")
    return actor
