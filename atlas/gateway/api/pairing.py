"""Pairing: an owner opens an invitation for one device, whose role, person and room are fixed with it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import Field

from atlas.access.qr import image
from atlas.errors import RequestError
from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.devices import devices_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body, Name, OptionalName, SamePerson
from atlas.gateway.auth import held_token
from atlas.gateway.https import SecureListener
from atlas.gateway.invitations import Invitation
from atlas.store.devices import MOST_HOURS, check_device
from wall.patterns import plain
from wall.roles import Role

router = resource("pairing", asks=False)


class InvitationWish(Body):
    """The device that shall be let in."""

    name: Name
    role: Role
    person: OptionalName = ""
    room: OptionalName = ""
    hours: Annotated[float | None, Field(gt=0, le=MOST_HOURS)] = None
    same_person: SamePerson = False
    digits: bool = Field(default=False, description="Six digits to be typed, for screens and satellites")


class ScannedLink(ApiReply):
    """An address that a phone opens by its camera."""

    address: str
    qr: str = Field(description="Its QR code: the address of an image that holds itself")


class InvitationReply(ApiReply):
    """The invitation. Its secret is shown this once."""

    secret: str = Field(description="Goes behind the # of /pair, or is typed there")
    path: str = Field(description="The address below the house's own, with the secret where there is a link")
    seconds: float = Field(description="How long it is open")
    link: ScannedLink = Field(description="Where other devices open it; the same path at an address of the house")
    guide: ScannedLink | None = Field(description="Where a phone learns to trust the house; null without https")


@router.post("", status_code=201)
async def invite(caller: OwnerCaller, wish: InvitationWish, request: Request) -> InvitationReply:
    """Open an invitation: a link for five minutes, or six digits for two; the first who has it comes in."""
    check_device(wish.name, wish.role, wish.person, wish.room)
    if any(plain(one.name) == plain(wish.name) for one in await devices_of(caller).list()):
        raise RequestError(f"a device is called {wish.name!r} already", code="name_taken", param="name")
    await devices_of(caller).check_person(wish.person, same_person=wish.same_person)
    pairings = request.app.state.pairings
    wanted = Invitation(
        wish.name,
        wish.role,
        wish.person,
        wish.room,
        wish.hours,
        same_person=wish.same_person,
        inviter=held_token(request),
    )
    invitation = pairings.invite(wanted, digits=wish.digits)
    path = "/pair" if wish.digits else f"/pair#{invitation.secret}"
    secure: SecureListener | None = request.app.state.secure
    house = secure.address if secure else f"{request.url.scheme}://{request.url.netloc}"
    return InvitationReply(
        secret=invitation.secret,
        path=path,
        seconds=pairings.seconds_left(invitation),
        link=_scanned(f"{house}{path}"),
        guide=_scanned(f"{house}/ca/") if secure else None,
    )


def _scanned(address: str) -> ScannedLink:
    return ScannedLink(address=address, qr=image(address))
