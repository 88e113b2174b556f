"""People: whom the house knows by name, and by which devices."""

from __future__ import annotations

from pydantic import Field

from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.devices import devices_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply
from wall.roles import Role

router = resource("people", asks=False)


class PersonItem(ApiReply):
    """One person."""

    name: str
    roles: list[Role] = Field(description="Of their devices")
    devices: list[str]
    seen: float | None = Field(description="When one of their devices was last used, in seconds since 1970")


class PeopleReply(ApiReply):
    """The people of the house."""

    people: list[PersonItem]


@router.get("")
async def list_people(caller: OwnerCaller) -> PeopleReply:
    """List the people whom the house knows by a device of their own."""
    devices = [one for one in await devices_of(caller).list() if one.person]
    people = []
    for name in sorted({one.person for one in devices}):
        theirs = [one for one in devices if one.person == name]
        seen = max((one.used for one in theirs if one.used is not None), default=None)
        roles = sorted({one.role for one in theirs})
        people.append(PersonItem(name=name, roles=roles, devices=[one.name for one in theirs], seen=seen))
    return PeopleReply(people=people)
