"""The house: lights, heating, blinds, locks, players, robots, sensors, scenes, over MQTT and Home Assistant.

What is not there is refused with the nearest there is. Nothing is "all of them" unless that was said. A command is
done when the device itself says so; until then it was only sent. Whatever a device was called by, the rules of the
house are asked about its own name and its own room. A question is answered by looking, or not at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal

import anyio
from pydantic import Field

from tools_server.hubs import home_settings, home_state
from tools_server.hubs.deeds import DEVICE, done, home_of, put_back, refuse_guarded, shown
from tools_server.hubs.device_rules import known_as, permit_music
from tools_server.hubs.devices import Device, DeviceTarget, Kind, State, plain, spoken_name
from tools_server.hubs.home import Home, HomeSettings
from tools_server.hubs.home_targets import chosen, home_rooms, listed, players, shutters, switched
from tools_server.hubs.home_words import named, the
from tools_server.hubs.kind_words import kind_plural
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Live, Result, ToolFailed, house_look, tool
from tools_server.sdk.wording import capital
from tools_server.values.language import series
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import SpokenName
from tools_server.values.noun_phrases import place as called

DEVICES = {"devices": [DEVICE], "silent?": [str]}
PLACE = {"name": str, "aliases": [str]}

SHOWN = 300
DEEDS_OF: Mapping[str, tuple[str, ...]] = {  # what can be done to a part of a device; any other is set
    "on": ("home.turn",),
    "open": ("home.open", "home.close"),
    "locked": ("home.lock", "home.unlock"),
    "playing": ("home.play", "home.pause"),
    "scene": ("home.scene",),
}
CONNECT_SECONDS, LOOK_SECONDS = 10.0, 0.2  # until a hub answers that is just being called
SWITCHED: tuple[Kind, ...] = ("light", "switch", "fan", "climate", "media", "vacuum", "mower", "valve", "scene")
Name = Annotated[str, Field(max_length=80, description="The device, such as reading lamp; empty for all of a kind")]
One = Annotated[str, Field(min_length=1, max_length=80, description="The device's name")]
Room = Annotated[str, Field(max_length=60, description="The room, if one was said")]
FloorName = Annotated[str, Field(max_length=60, description="The floor, if one was said, such as upstairs")]
KindName = Annotated[
    Literal[
        "", "light", "switch", "climate", "cover", "lock", "media", "fan", "sensor", "scene", "vacuum", "mower",
        "valve", "person",
    ],
    Field(description="Which kind of device, when no name was said"),
]  # fmt: skip
Shape = Annotated[str, Field(max_length=40, description="A kind within the kind: curtain, window, garage, motion")]
Everything = Annotated[bool, Field(description="Only if the user said all in the whole house; with a kind")]
Unit = Annotated[Literal["", "°C", "°F"], Field(description="The unit of the temperature, if it was said")]
Measure = Annotated[str, Field(max_length=40, description="temperature, humidity, battery, brightness, volume, target")]


class Settings(HomeSettings):
    """Where devices come from, and what people call them."""


@asynccontextmanager
async def opened(live: Live) -> AsyncIterator[Home]:
    """Hold the connections, in the background: the start waits for nobody."""
    home = Home(live.settings or Settings(), live.outside, live.changed)
    async with anyio.create_task_group() as tasks:
        for hub in home.hubs:
            tasks.start_soon(hub.run)
        yield home
        tasks.cancel_scope.cancel()


# ── looking ────────────────────────────────────────────────────────────────────────────────────────


@tool(
    "home.list",
    data={"devices": [DEVICE], "rooms": [{**PLACE, "floor": str}], "floors": [PLACE]},
    risk="read",
    limit_seconds=10,
)
async def list_devices(
    call: Call, room: Room = "", kind: KindName = "", floor: FloorName = "", shape: Shape = ""
) -> Result:
    """Tell which devices there are, by room, floor or kind."""
    home = home_of(call)
    target, devices = listed(home, DeviceTarget(room=room, kind=kind, floor=floor, shape=shape))
    data = {"devices": [_listed(call, device) for device in devices[:SHOWN]], **home_rooms(home)}
    place = target.room or target.floor
    if not devices:
        what = kind_plural(kind, shape)
        if place:
            return Result(
                _("There are no {things} in {place:the}.").format(things=what, place=called(spoken_name(place))), data
            )
        return Result(_("There are no {things}.").format(things=what), data)
    names = [named(device, bool(target.room)) for device in devices[:10]]
    if more := max(0, len(devices) - 10):
        names.append(SpokenName(_("{count} more").format(count=more)))
    return Result(f"{capital(series(names))}.", data)


def _listed(call: Call, device: Device) -> dict[str, Any]:
    """Return a device as JSON, with what rules deny of it now and why.

    Of a person whom the asker may not look for only the name, and not the whereabouts.
    """
    known = known_as(device)
    looking = call.gate.decide("home.state", known)
    tools = sorted({tool for part in device.can for tool in DEEDS_OF.get(part, ("home.set",))})
    decisions = [(tool, call.gate.decide(tool, known)) for tool in tools]
    refused = {tool: decision.reason for tool, decision in decisions if not decision.allowed}
    row = shown(device if device.kind != "person" or looking.allowed else replace(device, state={}))
    return {**row, "refused": refused} if refused else row


@house_look("home.connected", data={"connected": bool}, limit_seconds=15)
async def connected(call: Call, hub: Literal["home_assistant", "mqtt"]) -> Result:
    """Tell the owner whether a hub answers; one that is just being called is waited for."""
    call.require_manager()
    home = home_of(call)
    way = home.ha if hub == "home_assistant" else home.mqtt
    if way is None:
        raise ToolFailed("not_found", _("That hub is not set up."))
    with anyio.move_on_after(CONNECT_SECONDS):
        while not way.connected:  # noqa: ASYNC110  # hubs say when devices change, not when they connect
            await anyio.sleep(LOOK_SECONDS)
    if not way.connected:
        raise ToolFailed("failed", _("That hub does not answer, or does not let me in."))
    return Result(_("That hub answers."), {"connected": True})


@house_look("home.satellites", data={"satellites": [str]})
async def satellites(call: Call) -> Result:
    """Tell the house through which of Home Assistant's satellites it can speak now."""
    hub = home_of(call).ha
    here = hub.satellites() if hub else []
    return Result(", ".join(here), {"satellites": here})


@tool("home.say", data={"satellite": str}, risk="change", agents=("house",), limit_seconds=20)
async def say(
    call: Call,
    satellite: Annotated[str, Field(max_length=120, description="The id of its entity in Home Assistant")],
    words: Annotated[str, Field(min_length=1, max_length=1000)],
) -> Result:
    """Say something through a satellite of Home Assistant; it is done when it was played."""
    hub = home_of(call).ha
    if hub is None or satellite not in hub.satellites():
        raise ToolFailed("not_found", _("That satellite is not there."))
    try:
        await hub.say(satellite, words)
    except OSError as trouble:
        raise ToolFailed("failed", _("That satellite did not say it: {trouble}").format(trouble=trouble)) from trouble
    return Result(_("It was said there."), {"satellite": satellite})


@tool("home.state", data={"devices": [DEVICE]}, risk="read", limit_seconds=10)
async def state(
    call: Call,
    device: Name = "",
    room: Room = "",
    kind: KindName = "",
    floor: FloorName = "",
    shape: Shape = "",
    quantity: Annotated[
        Literal["", "any", "all", "which", "how_many", "where"],
        Field(description="is any, are all, which are, how many are, where is; empty for how it is"),
    ] = "",
    value: Annotated[str, Field(max_length=40, description="on, off, open, closed, locked, playing, home, low")] = "",
    measure: Measure = "",
    everything: Everything = False,
) -> Result:
    """Look how a device is, or those of a kind: on or off, how warm, open or closed, any, all, which, how many."""
    target = DeviceTarget(device, room, kind, call.actor.room, everything, floor, shape)
    question = home_state.StateQuestion(quantity, value, measure)
    only_place = (room or floor) and target == DeviceTarget(room=room, floor=floor, here=call.actor.room)
    if only_place and question == home_state.StateQuestion():
        return home_state.of_place(call, target)
    return home_state.looked_up(call, target, question)


# ── changing ───────────────────────────────────────────────────────────────────────────────────────


@tool("home.turn", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def turn(
    call: Call,
    on: Annotated[bool, Field(description="true turns on, false turns off")],
    device: Name = "",
    room: Room = "",
    kind: KindName = "",
    everything: Everything = False,
    floor: FloorName = "",
    shape: Shape = "",
) -> Result:
    """Turn a device on or off, or all of one kind in a room or on a floor, such as the lights in the kitchen."""
    target = DeviceTarget(device, room, kind, call.actor.room, everything, floor, shape)
    devices = chosen(call, target, SWITCHED)
    for one in devices:
        permit_music(call, one, {"on": on})
    return await done(call, [(one, switched(one, on)) for one in devices])


@tool("home.set", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def set_device(
    call: Call,
    device: Name = "",
    room: Room = "",
    kind: KindName = "",
    brightness: Annotated[int, Field(ge=-1, le=100, description="Percent of a light; -1 if not said")] = -1,
    colour: Annotated[str, Field(max_length=20, description="A light's colour, such as blue; empty if not said")] = "",
    kelvin: Annotated[int, Field(ge=0, le=10_000, description="A light's warmth; 2700 is warm; 0 if not said")] = 0,
    temperature: Annotated[float, Field(ge=0, le=120, description="Degrees of heating; 0 if not said")] = 0,
    position: Annotated[int, Field(ge=-1, le=100, description="Percent a blind is open; -1 if not said")] = -1,
    volume: Annotated[int, Field(ge=-1, le=100, description="Percent of a player; -1 if not said")] = -1,
    everything: Everything = False,
    floor: FloorName = "",
    shape: Shape = "",
    speed: Annotated[int, Field(ge=-1, le=100, description="Percent of a fan; -1 if not said")] = -1,
    mode: Annotated[str, Field(max_length=40, description="heat, cool, auto, eco, sleep; empty if not said")] = "",
    unit: Unit = "",
) -> Result:
    """Set a device: brightness, colour, the heating's temperature or mode, a blind's position, a volume, a speed."""
    values = {"brightness": brightness, "colour": colour, "kelvin": kelvin, "temperature": temperature}
    values |= {"position": position, "volume": volume, "speed": speed, "mode": mode}
    target = DeviceTarget(device, room, kind, call.actor.room, everything, floor, shape)
    return await done(call, home_settings.settings(call, target, values, unit))


@tool("home.adjust", data=DEVICES, risk="change", limit_seconds=15)
async def adjust(
    call: Call,
    what: Annotated[
        Literal["brightness", "warmth", "temperature", "volume", "position", "speed"],
        Field(description="What is to be more or less of; warmth is of a light's colour"),
    ],
    by: Annotated[
        float, Field(ge=-100, le=100, description="How much: percent points or degrees; negative is less")
    ] = 0,
    device: Name = "",
    room: Room = "",
    kind: KindName = "",
    everything: Everything = False,
    floor: FloorName = "",
    shape: Shape = "",
    unit: Unit = "",
    times: Annotated[
        float, Field(gt=0, le=4, description="Instead of by: 0.5 is half of what it is now, 2 is twice that")
    ] = 1,
) -> Result:
    """Make something brighter, warmer, louder, faster or further open than it is, or less so."""
    target = DeviceTarget(device, room, kind, call.actor.room, everything, floor, shape)
    return await done(call, home_settings.steps(call, target, what, by, unit, times), stepping=True)


@tool("home.open", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def open_cover(
    call: Call,
    device: Name = "",
    room: Room = "",
    kind: KindName = "",
    everything: Everything = False,
    floor: FloorName = "",
    shape: Shape = "",
) -> Result:
    """Open blinds, shutters, curtains or a valve. Garage doors, gates and locks are opened with home.unlock."""
    target = DeviceTarget(device, room, kind, call.actor.room, everything, floor, shape)
    devices = shutters(call, target, ("cover", "valve", "lock"))
    refuse_guarded(devices, {"open": True})
    return await done(call, [(one, {"open": True}) for one in devices])


@tool("home.close", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def close(
    call: Call,
    device: Name = "",
    room: Room = "",
    kind: KindName = "",
    everything: Everything = False,
    floor: FloorName = "",
    shape: Shape = "",
) -> Result:
    """Close blinds, shutters, curtains, a valve, a garage door or a gate."""
    target = DeviceTarget(device, room, kind, call.actor.room, everything, floor, shape)
    return await done(call, [(one, {"open": False}) for one in shutters(call, target, ("cover", "valve"))])


@tool("home.lock", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def lock(
    call: Call, device: Name = "", room: Room = "", everything: Everything = False, floor: FloorName = ""
) -> Result:
    """Lock a door, or all doors."""
    target = DeviceTarget(device, room, "" if device else "lock", call.actor.room, everything, floor)
    return await done(call, [(one, {"locked": True}) for one in chosen(call, target, ("lock",))])


async def _ask_unlock(call: Call, device: str, room: str = "") -> str:
    [door] = chosen(call, DeviceTarget(device, room, "", call.actor.room), ("lock", "cover"))
    return capital((_("Unlock {device}?") if door.kind == "lock" else _("Open {device}?")).format(device=the(door)))


@tool(
    "home.unlock", data=DEVICES, risk="change", level="confirm", preview=_ask_unlock, idempotent=True, limit_seconds=15
)
async def unlock(call: Call, device: One, room: Room = "") -> Result:
    """Unlock a door, or open a garage door or a gate. A person is asked first."""
    [door] = chosen(call, DeviceTarget(device, room, "", call.actor.room), ("lock", "cover"))
    return await done(call, [(door, {"locked": False} if door.kind == "lock" else {"open": True})])


@tool("home.scene", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def scene(call: Call, name: Annotated[str, Field(min_length=1, max_length=80)], room: Room = "") -> Result:
    """Set a scene that a household has made, such as movie night, or run a script."""
    devices = chosen(call, DeviceTarget(name.removesuffix(" scene"), room, "", call.actor.room), ("scene",))
    return await done(call, [(one, {"scene": True}) for one in devices])


# ── players ────────────────────────────────────────────────────────────────────────────────────────


async def _played(call: Call, target: DeviceTarget, wanted: State) -> Result:
    return await done(call, [(one, wanted) for one in players(call, target, wanted)])


@tool("home.play", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def play(
    call: Call,
    device: Name = "",
    room: Room = "",
    everything: Everything = False,
    floor: FloorName = "",
    query: Annotated[str, Field(max_length=200, description="What to play, if it was said: the Beatles")] = "",
    media_class: Annotated[
        str, Field(max_length=30, description="What that is, if said: artist, album, track, playlist, movie, radio")
    ] = "",
) -> Result:
    """Let a player go on, or play something by its name."""
    wanted: State = {"playing": True}
    if query.strip():
        wanted = {"query": spoken_name(query), **({"media_class": media_class} if media_class else {})}
    return await _played(call, DeviceTarget(device, room, "media", call.actor.room, everything, floor), wanted)


@tool("home.pause", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def pause(
    call: Call, device: Name = "", room: Room = "", everything: Everything = False, floor: FloorName = ""
) -> Result:
    """Pause a player."""
    return await _played(
        call, DeviceTarget(device, room, "media", call.actor.room, everything, floor), {"playing": False}
    )


@tool("home.next", data=DEVICES, risk="change", limit_seconds=15)
async def next_one(call: Call, device: Name = "", room: Room = "", floor: FloorName = "") -> Result:
    """Skip a song: a player goes on with its next one."""
    return await _played(call, DeviceTarget(device, room, "media", call.actor.room, floor=floor), {"next": True})


@tool("home.previous", data=DEVICES, risk="change", limit_seconds=15)
async def previous(call: Call, device: Name = "", room: Room = "", floor: FloorName = "") -> Result:
    """Go back to a previous song or channel."""
    return await _played(call, DeviceTarget(device, room, "media", call.actor.room, floor=floor), {"previous": True})


@tool("home.mute", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def mute(
    call: Call,
    muted: Annotated[bool, Field(description="true makes it silent, false gives its sound back")] = True,
    device: Name = "",
    room: Room = "",
    everything: Everything = False,
    floor: FloorName = "",
) -> Result:
    """Make a player silent, or give it its sound back."""
    return await _played(
        call, DeviceTarget(device, room, "media", call.actor.room, everything, floor), {"muted": muted}
    )


# ── robots ─────────────────────────────────────────────────────────────────────────────────────────


@tool("home.clean", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def clean(call: Call, device: Name = "", room: Room = "") -> Result:
    """Let a robot vacuum clean: everything, or one room where it can."""
    deeds = home_settings.cleaning(call, device, room)
    result = await done(call, deeds)
    if not room or any("room" in wanted or plain(one.room) == plain(room) for one, wanted in deeds):
        return result
    everywhere = _("It can't be sent to a single room, so it cleans everywhere.")
    return replace(result, text=f"{result.text} {everywhere}")


@tool("home.mow", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def mow(call: Call, device: Name = "") -> Result:
    """Let a lawn mower mow."""
    mowers = chosen(call, DeviceTarget(device, kind="mower", here=call.actor.room), ("mower",))
    return await done(call, [(one, {"activity": "mowing"}) for one in mowers])


@tool("home.dock", data=DEVICES, risk="change", idempotent=True, limit_seconds=15)
async def dock(call: Call, device: Name = "", kind: KindName = "vacuum") -> Result:
    """Send a robot vacuum or a lawn mower back to its dock."""
    robots = chosen(call, DeviceTarget(device, kind="" if device else kind, here=call.actor.room), ("vacuum", "mower"))
    return await done(call, [(one, {"activity": "docked"}) for one in robots])


async def undo(call: Call, stored_receipt: StoredReceipt) -> Result:
    """Put devices back as they were, those that are still as they were left."""
    return await put_back(call, stored_receipt)
