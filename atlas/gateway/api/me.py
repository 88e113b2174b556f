"""GET /api/me: who the house takes the caller for, and whom they may talk to."""

from __future__ import annotations

from fastapi import Request
from pydantic import Field

from atlas import __version__
from atlas.gateway.api.caller import AnyCaller, agents_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply
from atlas.gateway.auth import is_by_cookie
from wall.roles import Role

router = resource("me", asks=False)


class MeReply(ApiReply):
    """The caller as the house knows them, and what a page needs to begin."""

    person: str
    device: str
    role: Role
    room: str
    language: str
    agents: list[str]
    version: str
    since: float = Field(description="When this device was let in, in seconds since 1970; 0 for one without a token")
    by_cookie: bool = Field(description="Whether a cookie of the browser lets the caller in, which no page can show")


@router.get("")
async def me(caller: AnyCaller, request: Request) -> MeReply:
    """Tell who the caller is, the agents they may talk to (the usual one first), and the house's language."""
    actor = caller.actor
    devices = await caller.house.devices.list() if caller.house.devices else ()
    return MeReply(
        person=actor.person,
        device=actor.device,
        role=actor.role,
        room=actor.room,
        language=caller.house.config.house.language,
        agents=list(agents_of(caller)),
        version=__version__,
        since=next((one.created for one in devices if one.name == actor.device), 0.0),
        by_cookie=is_by_cookie(request),
    )
