"""Devices: which have a token, where each stands, and taking a token back. Letting one in is pairing's."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import Field

from atlas.errors import RequestError
from atlas.gateway.api.caller import Caller, OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import NAME_CHARACTERS, ApiReply, Body, OptionalName, SamePerson
from atlas.store.devices import DeviceStore, TokenDevice
from wall.roles import Role

router = resource("devices", asks=False)
DeviceName = Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS)]


class TokenDeviceItem(ApiReply):
    """One device that may come in."""

    name: str
    role: Role
    person: str = Field(description="Whose alone it is; empty when several use it")
    room: str = Field(description="Where it stands; empty when it is carried about")
    created: float = Field(description="Seconds since 1970")
    used: float | None = Field(description="When it was last seen, to the minute")
    mine: bool = Field(description="Whether it is the caller's own")


class TokenDevicesReply(ApiReply):
    """The devices that may come in."""

    devices: list[TokenDeviceItem]


class TokenDeviceChange(Body):
    """Where a device stands now, and whose alone it is; empty for nowhere and nobody. What is left out stays."""

    room: OptionalName | None = None
    person: OptionalName | None = None
    same_person: SamePerson = False


@router.get("")
async def list_devices(caller: OwnerCaller) -> TokenDevicesReply:
    """List the devices that may come in."""
    return TokenDevicesReply(devices=[_item(one, caller) for one in await devices_of(caller).list()])


@router.patch("/{device:path}")
async def change_device(caller: OwnerCaller, device: DeviceName, change: TokenDeviceChange) -> TokenDeviceItem:
    """Say where a device stands and whose it is, from its next connection on."""
    devices = devices_of(caller)
    if not await devices.change(device, room=change.room, person=change.person, same_person=change.same_person):
        raise _unknown(device)
    changed = next((one for one in await devices.list() if one.name.casefold() == device.casefold()), None)
    if changed is None:
        raise _unknown(device)
    return _item(changed, caller)


@router.delete("/{device:path}", status_code=204)
async def revoke_device(caller: OwnerCaller, device: DeviceName) -> None:
    """Take a device's token back, at once; what it has open is closed within a second."""
    if device.casefold() == caller.actor.device.casefold():
        raise RequestError("that is this very device", code="invalid_value", hint="take it back from another one")
    if not await devices_of(caller).revoke(device):
        raise _unknown(device)


def devices_of(caller: Caller) -> DeviceStore:
    """Return who may come in."""
    assert caller.house.devices is not None, "a house that is served lets devices in"
    return caller.house.devices


def _item(one: TokenDevice, caller: Caller) -> TokenDeviceItem:
    names = ("name", "role", "person", "room", "created", "used")
    return TokenDeviceItem(**{name: getattr(one, name) for name in names}, mine=one.name == caller.actor.device)


def _unknown(device: str) -> RequestError:
    return RequestError(f"no device is called {device!r}", code="not_found", hint="GET /api/devices names them")
