"""GET /api/me: who the house takes the caller for, and whom they may talk to."""

from __future__ import annotations

import os
from pathlib import Path

from fastapi import Request
from pydantic import Field

from atlas import __version__
from atlas.gateway.api.caller import AnyCaller, agents_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply
from atlas.gateway.auth import is_by_cookie
from wall.roles import RIGHTS, Right, Role

router = resource("me", asks=False)


class MeReply(ApiReply):
    """The caller as the house knows them, and what a page needs to begin."""

    person: str
    device: str
    role: Role
    rights: list[Right] = Field(description="What the role may, by the one table of roles: a page offers nothing else")
    room: str
    timezone: str = Field(
        description="By which the house's clocks go, such as Europe/Berlin; empty where it is unknown"
    )
    languages: list[str] = Field(description="That the house understands, the usual one first")
    agents: list[str]
    version: str
    by_cookie: bool = Field(description="Whether a cookie of the browser lets the caller in, which no page can show")


@router.get("")
async def me(caller: AnyCaller, request: Request) -> MeReply:
    """Tell who the caller is, the agents they may talk to (the usual one first), and the house's languages."""
    actor = caller.actor
    return MeReply(
        person=actor.person,
        device=actor.device,
        role=actor.role,
        rights=sorted(RIGHTS[actor.role]),
        room=actor.room,
        timezone=caller.house.config.house.timezone or machines_zone(),
        languages=list(caller.house.config.house.spoken),
        agents=list(agents_of(caller)),
        version=__version__,
        by_cookie=is_by_cookie(request),
    )


def machines_zone() -> str:
    """Return the name of this machine's own time zone; "" where it does not say."""
    named = os.environ.get("TZ", "").removeprefix(":")
    link = Path("/etc/localtime")
    if named or not link.exists():
        return named or "UTC"
    return str(link.resolve()).partition("/zoneinfo/")[2]
