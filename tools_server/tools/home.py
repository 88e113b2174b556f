"""The house: lights, switches, heating, blinds, locks, players, sensors and scenes, over MQTT and Home Assistant.

What is not found is refused with the nearest there is. Nothing is "all of them" unless that was said. A command is
done when the device itself says so; until then it was only sent. Whatever a device was called by, the rules of the
house are asked about its own name and its own room.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import anyio
from pydantic import Field

from tools_server.hubs.agreeing import agrees
from tools_server.hubs.device_rules import permit, permit_back, permit_music
from tools_server.hubs.devices import (
    KINDS,
    PLURALS,
    Device,
    Kind,
    NotMeant,
    State,
    Wish,
    in_room,
    meant,
    plain,
    said,
)
from tools_server.hubs.home import Home, HomeSettings
from tools_server.hubs.home_words import COLOURS, condition, group, named, the, wish_words
from tools_server.state import Kept
from tools_server.toolkit import Call, Live, Result, ToolFailed, tool
from tools_server.wording import capital

ANSWER_SECONDS = 4.0  # a sleepy radio lamp takes two
SHOWN = 100
SWITCHED: tuple[Kind, ...] = ("light", "switch", "fan", "climate", "media")
Name = Annotated[str, Field(max_length=80, description="The device, such as reading lamp; empty for all of a kind")]
One = Annotated[str, Field(min_length=1, max_length=80, description="The device's name")]
Room = Annotated[str, Field(max_length=60, description="The room, if one was said")]
KindName = Annotated[
    Literal["", "light", "switch", "climate", "cover", "lock", "media", "fan", "sensor", "scene"],
    Field(description="Which kind of device, when no name was said"),
]
Everything = Annotated[bool, Field(description="Only if the user said all in the whole house; with a kind")]


class Settings(HomeSettings):
    """Where devices come from, and what people call them."""


@asynccontextmanager
async def opened(live: Live) -> AsyncIterator[Home]:
    """Keep the connections, in the background: the start waits for nobody."""
    home = Home(live.settings or Settings(), live.outside, live.changed)
    async with anyio.create_task_group() as tasks:
        for hub in (home.mqtt, home.ha):
            if hub:
                tasks.start_soon(hub.run)
        yield home
        tasks.cancel_scope.cancel()


# ── looking ────────────────────────────────────────────────────────────────────────────────────────


@tool("home.list", risk="read", limit_seconds=10)
async def list_devices(call: Call, room: Room = "", kind: KindName = "") -> Result:
    """Tell which devices there are, by room or kind."""
    found = _home(call).devices()
    if room and found:
        found = _understood(lambda: in_room(found, room))
    found = [device for device in found if kind in ("", device.kind)]
    data = {"devices": [_shown(device) for device in found[:SHOWN]], "rooms": sorted({d.room for d in found if d.room})}
    what = PLURALS[kind] if kind else "devices"
    where = f" in the {said(room)}" if room else ""
    if not found:
        return Result(f"There are no {what}{where}.", data)
    told = ", ".join(named(device, bool(room)) for device in found[:10])
    more = f", and {len(found) - 10} more" if len(found) > 10 else ""
    return Result(f"{capital(told)}{more}.", data)


@tool("home.state", risk="read", limit_seconds=10)
async def state(call: Call, device: Name = "", room: Room = "", kind: KindName = "") -> Result:
    """Tell how a device is, or all of one kind in a room: on or off, how bright, how warm, open or closed."""
    if not device and not kind:
        return await list_devices(call, room=room)
    found = _meant(call, Wish(device, room, kind, call.actor.room), KINDS)
    text = " ".join(f"{capital(the(each))} {condition(each)}." for each in found[:10])
    return Result(text, {"devices": [_shown(each) for each in found[:SHOWN]]}, untrusted=any(map(_quotes, found)))


def _quotes(device: Device) -> bool:
    """Whether it passes on somebody's sentences: a sensor may hold the news. Names are the household's own."""
    value = device.state.get("value")
    return isinstance(value, str) and len(value.split()) > 1


# ── changing ───────────────────────────────────────────────────────────────────────────────────────


@tool("home.turn", risk="change", idempotent=True, limit_seconds=15)
async def turn(
    call: Call,
    on: Annotated[bool, Field(description="true turns on, false turns off")],
    device: Name = "",
    room: Room = "",
    kind: KindName = "",
    everything: Everything = False,
) -> Result:
    """Turn a device on or off, or all of one kind in a room, such as the lights in the kitchen."""
    found = _meant(call, Wish(device, room, kind, call.actor.room, everything), SWITCHED)
    for each in found:
        permit_music(call, each, {"on": on})
    return await _made(call, found, {"on": on})


@tool("home.set", risk="change", idempotent=True, limit_seconds=15)
async def set_device(
    call: Call,
    device: Name = "",
    room: Room = "",
    kind: KindName = "",
    brightness: Annotated[int, Field(ge=-1, le=100, description="Percent of a light; -1 if not said")] = -1,
    colour: Annotated[str, Field(max_length=20, description="A light's colour, such as blue; empty if not said")] = "",
    kelvin: Annotated[int, Field(ge=0, le=10_000, description="A light's warmth; 2700 is warm; 0 if not said")] = 0,
    temperature: Annotated[float, Field(ge=0, le=35, description="Degrees Celsius of heating; 0 if not said")] = 0,
    position: Annotated[int, Field(ge=-1, le=100, description="Percent a blind is open; -1 if not said")] = -1,
    volume: Annotated[int, Field(ge=-1, le=100, description="Percent of a player; -1 if not said")] = -1,
    everything: Everything = False,
) -> Result:
    """Set a device: a light's brightness or colour, the heating's temperature, a blind's position, a volume."""
    wanted: dict[str, Any] = {}
    kinds: set[Kind] = set()
    for kind_of, name, value, given in (
        ("light", "brightness", brightness, brightness >= 0),
        ("light", "colour", _colour(colour) if colour else "", bool(colour)),
        ("light", "kelvin", kelvin, kelvin >= 1000),
        ("climate", "temperature", temperature, temperature > 0),
        ("cover", "position", position, position >= 0),
        ("media", "volume", volume, volume >= 0),
    ):
        if given:
            wanted[name] = value
            kinds |= {each for each in KINDS if each == kind_of}
    if not wanted:
        raise ToolFailed("invalid", "Set it to what: a brightness, a colour, a temperature, a position or a volume?")
    if len(kinds) > 1:
        raise ToolFailed("invalid", "Those are settings of different devices. Say one of them at a time.")
    [only] = kinds
    if only == "light":
        wanted = {"on": False} if brightness == 0 else {"on": True, **wanted}
    found = _meant(call, Wish(device, room, kind or ("" if device else only), call.actor.room, everything), (only,))
    _refuse_guarded(found, wanted)
    return await _made(call, found, wanted)


@tool("home.open", risk="change", idempotent=True, limit_seconds=15)
async def open_cover(
    call: Call, device: Name = "", room: Room = "", kind: KindName = "", everything: Everything = False
) -> Result:
    """Open blinds, shutters or curtains. Garage doors, gates and locks are opened with home.unlock."""
    found = _meant(call, _of_kind(call, kind or "cover", device, room, everything), ("cover", "lock"))
    _refuse_guarded(found, {"open": True})
    return await _made(call, found, {"open": True})


@tool("home.close", risk="change", idempotent=True, limit_seconds=15)
async def close(
    call: Call, device: Name = "", room: Room = "", kind: KindName = "", everything: Everything = False
) -> Result:
    """Close blinds, shutters, a garage door or a gate."""
    found = _meant(call, _of_kind(call, kind or "cover", device, room, everything), ("cover",))
    return await _made(call, found, {"open": False})


@tool("home.lock", risk="change", idempotent=True, limit_seconds=15)
async def lock(call: Call, device: Name = "", room: Room = "", everything: Everything = False) -> Result:
    """Lock a door, or all doors."""
    found = _meant(call, _of_kind(call, "lock", device, room, everything), ("lock",))
    return await _made(call, found, {"locked": True})


async def _ask_unlock(call: Call, device: str, room: str = "") -> str:
    [found] = _meant(call, Wish(device, room, "", call.actor.room), ("lock", "cover"))
    return f"{'Unlock' if found.kind == 'lock' else 'Open'} {the(found)}?"


@tool("home.unlock", risk="change", level="confirm", preview=_ask_unlock, idempotent=True, limit_seconds=15)
async def unlock(call: Call, device: One, room: Room = "") -> Result:
    """Unlock a door, or open a garage door or a gate. A person is asked first."""
    found = _meant(call, Wish(device, room, "", call.actor.room), ("lock", "cover"))
    return await _made(call, found, {"locked": False} if found[0].kind == "lock" else {"open": True})


@tool("home.play", risk="change", idempotent=True, limit_seconds=15)
async def play(call: Call, device: Name = "", room: Room = "", everything: Everything = False) -> Result:
    """Let a player go on."""
    found = _meant(call, _of_kind(call, "media", device, room, everything), ("media",))
    return await _made(call, found, {"playing": True})


@tool("home.pause", risk="change", idempotent=True, limit_seconds=15)
async def pause(call: Call, device: Name = "", room: Room = "", everything: Everything = False) -> Result:
    """Pause a player."""
    found = _meant(call, _of_kind(call, "media", device, room, everything), ("media",))
    return await _made(call, found, {"playing": False})


@tool("home.scene", risk="change", idempotent=True, limit_seconds=15)
async def scene(call: Call, name: Annotated[str, Field(min_length=1, max_length=80)], room: Room = "") -> Result:
    """Set a scene that the household has made, such as movie night."""
    found = _meant(call, Wish(name.removesuffix(" scene"), room, "", call.actor.room), ("scene",))
    return await _made(call, found, {"scene": True})


async def undo(call: Call, kept: Kept) -> Result:
    """Put devices back as they were, those that are still as they were left."""
    home = _home(call)
    if not isinstance(kept.before, dict) or not isinstance(kept.after, dict):
        raise ToolFailed("failed", "I don't know how it was before.")
    groups: list[tuple[Device, State]] = []
    for id, before in kept.before.items():
        device = home.now(id)
        if device is None:
            raise ToolFailed("not_found", "That device is not there any more.")
        if not agrees(device, kept.after[id], {}):
            raise ToolFailed("failed", f"{capital(the(device))} was changed since then.")
        wanted = {name: value for name, value in before.items() if value is not None}
        wanted = {"on": False} if wanted.get("on") is False else wanted
        if not wanted:
            raise ToolFailed("failed", f"I don't know how {the(device)} was before.")
        _refuse_guarded([device], wanted)
        permit_back(call, device, wanted)
        groups.append((device, wanted))
    return await _sent(call, groups)


# ── which, and whether ─────────────────────────────────────────────────────────────────────────────


def _home(call: Call) -> Home:
    if isinstance(call.engine, Home):
        return call.engine
    raise ToolFailed("failed", "I'm not connected to any lights or devices here.")


def _meant(call: Call, wish: Wish, kinds: Sequence[Kind]) -> list[Device]:
    """Return the devices that are meant and that the rules of the house allow."""
    home = _home(call)
    if home.empty:
        raise ToolFailed("not_found", "No devices are set up in this house.")
    if wish.device and wish.everything:
        raise ToolFailed("invalid", "Say one device, or all of a kind, not both.")
    found = _understood(lambda: meant(home.devices(), wish, kinds))
    for device in found:
        permit(call, device)
    return found


def _of_kind(call: Call, kind: str, device: str, room: str, everything: bool) -> Wish:
    """Return a wish for a named device, or for those of the one kind that a tool is about."""
    return Wish(device, room, "" if device else kind, call.actor.room, everything)


def _understood(find: Callable[[], list[Device]]) -> list[Device]:
    try:
        return find()
    except NotMeant as unclear:
        raise ToolFailed("not_found" if unclear.unknown else "invalid", str(unclear)) from unclear


def _refuse_guarded(found: Sequence[Device], wanted: State) -> None:
    opens = wanted.get("open") is True or wanted.get("locked") is False or wanted.get("position", 0) > 0
    for device in found:
        if device.guarded and opens:
            verb = "unlocks" if device.kind == "lock" else "opens"
            raise ToolFailed(
                "denied", f"{capital(the(device))} only {verb} with a yes: ask me to unlock it.", use="home.unlock"
            )


def _colour(name: str) -> str:
    wanted = plain(name)
    if wanted in COLOURS:
        return COLOURS[wanted]
    if len(wanted) == 7 and wanted[0] == "#" and all(c in "0123456789abcdef" for c in wanted[1:]):
        return wanted
    raise ToolFailed("invalid", f"I don't know the colour {said(name)}. I know {', '.join(COLOURS)}.")


# ── doing ──────────────────────────────────────────────────────────────────────────────────────────


async def _made(call: Call, found: Sequence[Device], wanted: State) -> Result:
    """Give devices a state, those that do not have it yet."""
    able = [
        device for device in found if set(wanted) - {"on"} <= device.can and ("on" not in wanted or "on" in device.can)
    ]
    if not able:
        why = f", for {found[0].lacks}" if found[0].lacks else ""
        raise ToolFailed("failed", f"{capital(the(found[0]))} cannot do that{why}.")
    there = [device for device in able if device.reachable]
    if not there:
        raise ToolFailed("failed", f"{capital(group(able))} cannot be reached just now.")
    due = [device for device in there if not (device.tells and agrees(device, wanted, {}))]
    if not due:
        verb = "are" if len(there) > 1 else "is"
        return Result(f"{capital(group(there))} {verb} already {wish_words(wanted)}.", _data(call, there))
    return await _sent(call, [(device, wanted) for device in due])


async def _sent(call: Call, groups: Sequence[tuple[Device, State]]) -> Result:
    """Send commands and wait until the devices say that they took them. All that was sent has a receipt."""
    home = _home(call)
    sent: list[tuple[Device, State]] = []
    for device, wanted in groups:
        try:
            await home.tell(device, wanted)
        except OSError:
            break  # the hub is gone: what follows would not arrive either
        sent.append((device, wanted))
    if not sent:
        raise ToolFailed("failed", f"{capital(group([device for device, _ in groups]))} cannot be reached just now.")

    def silent() -> list[tuple[Device, State]]:
        return [
            (device, wanted)
            for device, wanted in sent
            if device.tells and not ((now := home.now(device.id)) and agrees(now, wanted, device.state))
        ]

    await home.until(lambda: not silent(), ANSWER_SECONDS)
    mute = [device for device, _ in silent()]
    mute += [device for device, _ in groups[len(sent) :]]
    done = [(device, wanted) for device, wanted in sent if device not in mute]
    text = " ".join(part for part in (_done(home, done), _unanswered(mute)) if part)
    before = {device.id: {name: device.state.get(name) for name in wanted} for device, wanted in sent}
    after = {device.id: dict(wanted) for device, wanted in sent}
    scenes = all(device.kind == "scene" for device, _ in sent)  # what a scene changed is not known
    receipt = call.receipt(text, before=None if scenes else before, after=None if scenes else after)
    if not done:
        raise ToolFailed("failed", text, receipt=receipt.id)
    return Result(text, {**_data(call, [device for device, _ in sent]), "silent": [d.name for d in mute]}, receipt)


# ── what is said ───────────────────────────────────────────────────────────────────────────────────


def _done(home: Home, done: Sequence[tuple[Device, State]]) -> str:
    if not done:
        return ""
    devices, wanted = [device for device, _ in done], done[0][1]
    if devices[0].kind == "scene":
        return f"I set {the(devices[0])}."
    be = "are" if len(devices) > 1 else "is"
    moving = devices[0].kind == "cover" and (home.now(devices[0].id) or devices[0]).state.get("heading")
    if moving:
        return f"{capital(group(devices))} {be} {'opening' if moving == 'open' else 'closing'}."
    if not all(device.tells for device in devices):
        return f"I told {group(devices)} to be {wish_words(wanted)}; it does not report back."
    return f"{capital(group(devices))} {be} now {wish_words(wanted)}."


def _unanswered(mute: Sequence[Device]) -> str:
    return f"I sent it, but {group(mute)} did not answer." if mute else ""


def _data(call: Call, devices: Sequence[Device]) -> dict[str, Any]:
    home = _home(call)
    return {"devices": [_shown(home.now(device.id) or device) for device in devices]}


def _shown(device: Device) -> dict[str, Any]:
    return {
        "id": device.id,
        "name": device.name,
        "room": device.room,
        "kind": device.kind,
        "can": sorted(device.can),
        "state": dict(device.state),
        "reachable": device.reachable,
        **({"lacks": device.lacks} if device.lacks else {}),
    }
