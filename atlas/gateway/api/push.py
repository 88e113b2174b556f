"""Push: whether a device is told, while its app is closed, that something waits; asked for by that device alone."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from atlas.gateway.api.caller import Caller, ResidentCaller, require_part
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body
from atlas.push.service import MOST_ENDPOINT_CHARACTERS, place_of
from atlas.push_notices import PushNotices

router = resource("push", asks=False)


class PushReply(ApiReply):
    """How a device stands, and what it could ask for."""

    services: list[str] = Field(description="Push services that the owner allows; empty: nobody is told anything")
    key: str = Field(description="What a browser subscribes with (applicationServerKey); empty where nothing is sent")
    service: str = Field(description="HOST:PORT of the service by which this device is told; empty: it is not")
    endpoint: str = Field(description="The address there, for the browser to know its own")
    since: float | None = Field(description="Seconds since 1970")
    rooms: list[str] = Field(description="Rooms that are connected now, in which what waits is said aloud")


class PushSubscribed(Body):
    """What a browser says of its subscription."""

    endpoint: Annotated[str, Field(min_length=1, max_length=MOST_ENDPOINT_CHARACTERS)]
    p256dh: Annotated[str, Field(min_length=1, max_length=100)]
    auth: Annotated[str, Field(min_length=1, max_length=40)]
    language: Annotated[str, Field(pattern="^[a-z]{2}$")] = "en"


class PushTried(ApiReply):
    """Whether the service took a message; the device shows it when it comes."""

    sent: bool


@router.get("")
async def show_push(caller: ResidentCaller) -> PushReply:
    """Show whether this device is told."""
    return await _reply(caller)


@router.put("")
async def subscribe_to_push(caller: ResidentCaller, body: PushSubscribed) -> PushReply:
    """Tell this device from now on, at this address alone, until it or its token is taken away."""
    await _notices(caller).subscribe(caller.actor.device, body.endpoint, body.p256dh, body.auth, body.language)
    return await _reply(caller)


@router.delete("")
async def end_push(caller: ResidentCaller) -> PushReply:
    """Tell this device nothing any more."""
    if caller.house.devices:
        await caller.house.devices.unsubscribe(caller.actor.device)
    return await _reply(caller)


@router.post("/test")
async def try_push(caller: ResidentCaller) -> PushTried:
    """Tell this device now that something waits."""
    return PushTried(sent=await _notices(caller).try_one(caller.actor.device) == "sent")


async def _reply(caller: Caller) -> PushReply:
    push = caller.house.push
    known = await push.subscription_of(caller.actor.device) if push else None
    services = list(push.services()) if push else []
    return PushReply(
        services=services,
        key=push.public if push and services else "",
        service=place_of(known.endpoint) if known else "",
        endpoint=known.endpoint if known else "",
        since=known.created if known else None,
        rooms=list(caller.house.speaking_rooms(caller.actor.device_key)),
    )


def _notices(caller: Caller) -> PushNotices:
    return require_part(caller.house.push, "this house tells nobody anything")
