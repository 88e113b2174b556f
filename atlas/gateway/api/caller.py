"""Tells who calls a route of the API and whether their role may, and makes their calls of tools: through the gate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request
from pydantic import ValidationError

from atlas.conversation import Actor, ConfirmationRequest, ToolResult
from atlas.errors import EngineError, RequestError
from atlas.gateway.api.shapes import NAME_CHARACTERS, ToolReply
from atlas.gateway.auth import require
from atlas.gateway.chat import ANY_AGENT, open_to
from atlas.gateway.failures import ToolRefusal
from atlas.gateway.wire import ask_json
from atlas.house import House
from wall.roles import ROLES, Role, may

ReplyShape = TypeVar("ReplyShape", bound=ToolReply)
Part = TypeVar("Part")
EVERYBODY = ROLES
RESIDENTS = tuple(role for role in ROLES if may(role, "reside"))
OWNER = tuple(role for role in ROLES if may(role, "manage"))

AgentName = Annotated[
    str, Query(max_length=NAME_CHARACTERS, description="Whose tools and papers; empty is the one this role talks to")
]


class NeedsYes(Exception):
    """A person has to say yes before this is done."""

    def __init__(self, ask: ConfirmationRequest) -> None:
        super().__init__(ask.id)
        self.ask = ask


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, of which house, by the tools of which agent."""

    house: House
    actor: Actor
    agent: str

    async def use(self, reply: type[ReplyShape], tool: str, **arguments: Any) -> ReplyShape:
        """Use a tool, and return its data, sentence and receipt.

        Raises `NeedsYes`, `ToolRefusal`, `EngineError`, and `RequestError` for an agent that is not for this role.
        """
        agent = self.agent or usual_agent(self)
        return _read(reply, tool, await self.house.press(agent, tool, arguments, self.actor))

    async def use_owner_tool(self, reply: type[ReplyShape], tool: str, **arguments: Any) -> ReplyShape:
        """Use a tool of the house's own, which answers an owner; otherwise as `use`."""
        return _read(reply, tool, await self.house.use_owner_tool(tool, arguments, self.actor))


def answer_of(result: ToolResult) -> dict[str, Any]:
    """Return what every tool's answer has beside its data. Raises `NeedsYes` and `ToolRefusal`."""
    if result.ask:
        raise NeedsYes(result.ask)
    if not result.ok:
        raise ToolRefusal(result)
    return {"sentence": result.text, "receipt": result.receipt}


def _read(reply: type[ReplyShape], tool: str, result: ToolResult) -> ReplyShape:
    try:
        return reply.model_validate({**result.data, **answer_of(result)})
    except ValidationError as trouble:
        raise EngineError(f"{tool} answered in another shape: {trouble.error_count()} differences") from trouble


class Admission:
    """A dependency: the caller, when their role is one of `roles`. The document and the tests read the roles here."""

    def __init__(self, roles: Sequence[Role]) -> None:
        self.roles = tuple(roles)

    def admit(self, request: Request) -> Actor:
        """Return who calls. Raises `RequestError` without a token that counts, and for another role."""
        actor = require(request)
        if actor.role not in self.roles:
            raise RequestError(
                f"that is not for the role {actor.role}",
                code="forbidden",
                hint=f"it is for {', '.join(self.roles)}",
            )
        return actor


class Admit(Admission):
    """Admission to a route that uses no agent's tools."""

    async def __call__(self, request: Request) -> Caller:
        """Return the caller."""
        return Caller(request.app.state.house, self.admit(request), "")


class AdmitToTools(Admission):
    """Admission to a route that uses an agent's tools: the gate decides the rest."""

    async def __call__(self, request: Request, agent: AgentName = "") -> Caller:
        """Return the caller."""
        return Caller(request.app.state.house, self.admit(request), agent)


AnyCaller = Annotated[Caller, Depends(Admit(EVERYBODY))]
ToolCaller = Annotated[Caller, Depends(AdmitToTools(EVERYBODY))]
ResidentCaller = Annotated[Caller, Depends(Admit(RESIDENTS))]
OwnerCaller = Annotated[Caller, Depends(Admit(OWNER))]


def agents_of(caller: Caller) -> tuple[str, ...]:
    """Return the agents that talk to this caller, the usual one first."""
    names = [name for name in open_to(caller.actor, caller.house) if name != ANY_AGENT]
    usual = caller.house.config.house.agent
    return tuple(sorted(names, key=lambda name: (name != usual, name)))


def usual_agent(caller: Caller) -> str:
    """Return whose tools are used when nobody is named. Raises `RequestError` when no agent talks to this role."""
    names = agents_of(caller)
    if not names:
        raise RequestError(f"no agent talks to a {caller.actor.role}", code="forbidden")
    return names[0]


def require_part(part: Part | None, lack: str) -> Part:
    """Return a part that not every house has. Raises `RequestError` (`not_found`, 404), which says what lacks."""
    if part is None:
        raise RequestError(lack, code="not_found")
    return part


def ask_values(ask: ConfirmationRequest) -> dict[str, Any]:
    """Return what a page needs of a question."""
    return {**ask_json(ask), "seconds_left": round(max(0.0, ask.expires_at - time.time()), 1)}
