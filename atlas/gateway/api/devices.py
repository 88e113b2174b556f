"""Devices: which have a token, their names and rooms, and taking a token back. Letting one in is pairing's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Annotated

from fastapi import Path
from pydantic import Field

from atlas.config import Config
from atlas.errors import AtlasError, RequestError
from atlas.gateway.api.caller import Caller, OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import NAME_CHARACTERS, ApiReply, Body, OptionalName, SamePerson, ToolReply
from atlas.store.devices import TERMINAL, DeviceStore, TokenDevice
from atlas.store.settings_file import Changes, with_device_renamed, with_new_name
from wall.roles import Role

router = resource("devices", asks=False)
DeviceName = Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS)]
NewName = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]


class TokenDeviceItem(ApiReply):
    """One device that may come in."""

    name: str
    role: Role
    person: str = Field(description="Whose alone it is; empty when several use it")
    room: str = Field(description="Where it stands; empty when it is carried about")
    created: float = Field(description="Seconds since 1970")
    used: float | None = Field(description="When it was last seen, to the minute")
    mine: bool = Field(description="Whether it is the caller's own")
    terminal: bool = Field(description="Whether it is the house's own terminal, which keeps its name")


class TokenDeviceChanged(TokenDeviceItem):
    """The device as it is now."""

    by_hand: list[str] = Field(description="Parts that somebody has to start again to go by its new name")


class TokenDevicesReply(ApiReply):
    """The devices that may come in."""

    devices: list[TokenDeviceItem]


class TokenDeviceChange(Body):
    """Its name, where it stands and whose it is; empty for nowhere and nobody. What is left out stays."""

    name: NewName | None = None
    room: OptionalName | None = None
    person: OptionalName | None = None
    same_person: SamePerson = False


@router.get("")
async def list_devices(caller: OwnerCaller) -> TokenDevicesReply:
    """List the devices that may come in."""
    return TokenDevicesReply(devices=[_item(one, caller) for one in await devices_of(caller).list()])


@router.patch("/{device:path}")
async def change_device(caller: OwnerCaller, device: DeviceName, change: TokenDeviceChange) -> TokenDeviceChanged:
    """Say what a device is called, where it stands and whose it is, from its next connection on.

    Under another name it is the same device: rules and agents that know it by its name know it by the new one, what is
    open on it is closed within a second, and what was written before keeps the old name.
    """
    devices, settings = devices_of(caller), caller.house.settings
    async with settings.deciding if settings else nullcontext():  # the rules of who came second are not widened
        before = await _named(caller, device)
        name = change.name or before.name
        await devices.check_rename(before.name, name)
        room, person = change.room, change.person
        if not await devices.change(before.name, room=room, person=person, same_person=change.same_person):
            raise _unknown(device)
        by_hand = await _rename(caller, before, name) if name != before.name else ()
        now = _item(await _named(caller, name), caller)
    return TokenDeviceChanged(**now.model_dump(), by_hand=list(by_hand))


@router.delete("/{device:path}", status_code=204)
async def revoke_device(caller: OwnerCaller, device: DeviceName) -> None:
    """Take a device's token back, at once; what it has open is closed within a second."""
    if device.casefold() == caller.actor.device.casefold():
        raise RequestError("that is this very device", code="invalid_value", hint="take it back from another one")
    if not await devices_of(caller).revoke(device):
        raise _unknown(device)


async def _named(caller: Caller, device: str) -> TokenDevice:
    """Return the device of a name. Raises `RequestError`."""
    every = await devices_of(caller).list()
    named = next((one for one in every if one.name.casefold() == device.casefold()), None)
    if named is None:
        raise _unknown(device)
    return named


async def _rename(caller: Caller, before: TokenDevice, new: str) -> Sequence[str]:
    """Call a device otherwise, and have what knows it by its name know it by the new one: rules, agents, wake words.

    While that is written, rules are about it under both names: at no moment, and after no kill, is one without it.
    Returns the parts that somebody has to start again. Raises `AtlasError`; then the device is as it was `before`.
    """
    devices, settings, old = devices_of(caller), caller.house.settings, before.name
    name, in_rules = old, partial(with_device_renamed, old=old, new=new)
    rules = settings.read_policy() if settings else ""
    try:
        by_hand = await _change_rules(caller, partial(in_rules, both=True))
        if not await devices.change(old, new_name=new):
            raise _unknown(old)
        name = new
        await caller.house.wakes.copy_thresholds(old, new)
        if settings and any(
            with_new_name(one.devices, old, new) != [*one.devices] for one in settings.config.agents.values()
        ):
            await caller.use_owner_tool(ToolReply, "settings.change", names=["agents.devices"])
            await settings.change(lambda: _agents_renamed(settings.config, old, new), {})
            caller.house.take_settings(settings.config)
        return [*by_hand] or await _change_rules(caller, in_rules)
    except AtlasError:
        await devices.change(name, new_name=old, room=before.room, person=before.person, same_person=True)
        await _change_rules(caller, lambda text: rules if text == in_rules(rules, both=True) else text)
        raise


async def _change_rules(caller: Caller, change: Callable[[str], str]) -> Sequence[str]:
    settings = caller.house.settings
    if settings is None or change(text := settings.read_policy()) == text:
        return ()
    await caller.use_owner_tool(ToolReply, "settings.change", names=["rule.devices"])
    by_hand = await settings.change_policy(change)
    caller.house.take_settings(settings.config)
    return by_hand


def _agents_renamed(config: Config, old: str, new: str) -> Changes:
    agents = {name: with_new_name(one.devices, old, new) for name, one in config.agents.items() if one.devices}
    return {("agents", name): {"devices": devices} for name, devices in agents.items()}


def devices_of(caller: Caller) -> DeviceStore:
    """Return who may come in."""
    assert caller.house.devices is not None, "a house that is served lets devices in"
    return caller.house.devices


def _item(one: TokenDevice, caller: Caller) -> TokenDeviceItem:
    names = ("name", "role", "person", "room", "created", "used")
    return TokenDeviceItem(
        **{name: getattr(one, name) for name in names},
        mine=one.id == caller.actor.device_id,
        terminal=one.name == TERMINAL,
    )


def _unknown(device: str) -> RequestError:
    return RequestError(f"no device is called {device!r}", code="not_found", hint="GET /api/devices names them")
