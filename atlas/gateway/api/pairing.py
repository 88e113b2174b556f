"""Pairing: an owner opens an invitation for one device, whose role, person and room are fixed with it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import Field

from atlas.access.pairing import Invitation
from atlas.errors import RequestError
from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.devices import devices_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body, Name, OptionalName
from atlas.store.devices import MOST_HOURS, check_device
from wall.roles import Role

router = resource("pairing", asks=False)


class InvitationWish(Body):
    """The device that shall be let in."""

    name: Name
    role: Role
    person: OptionalName = ""
    room: OptionalName = ""
    hours: Annotated[float | None, Field(gt=0, le=MOST_HOURS)] = None
    digits: bool = Field(default=False, description="Six digits to be typed, for screens and satellites")


class InvitationReply(ApiReply):
    """The invitation. Its secret is shown this once."""

    secret: str = Field(description="Goes behind the # of /pair, or is typed there")
    path: str = Field(description="The address below the house's own, with the secret where there is a link")
    seconds: float = Field(description="How long it is open")


@router.post("", status_code=201)
async def invite(caller: OwnerCaller, wish: InvitationWish, request: Request) -> InvitationReply:
    """Open an invitation: a link for five minutes, or six digits for two; the first who has it comes in."""
    check_device(wish.name, wish.role, wish.person, wish.room)
    if any(one.name.casefold() == wish.name.casefold() for one in await devices_of(caller).list()):
        raise RequestError(f"a device is called {wish.name!r} already", code="name_taken", param="name")
    pairings = request.app.state.pairings
    wanted = Invitation(wish.name, wish.role, wish.person, wish.room, wish.hours)
    invitation = pairings.invite(wanted, digits=wish.digits)
    path = "/pair" if wish.digits else f"/pair#{invitation.secret}"
    return InvitationReply(secret=invitation.secret, path=path, seconds=pairings.seconds_left(invitation))
