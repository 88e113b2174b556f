"""Have devices do something, wait until they say so, and put it in words with a receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tools_server.hubs.device_rules import permit_back
from tools_server.hubs.devices import Device, State
from tools_server.hubs.home import Home
from tools_server.hubs.home_words import group, state_words, status, the
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed
from tools_server.sdk.wording import capital
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import SpokenName, place

ANSWER_SECONDS = 4.0  # a sleepy radio lamp takes two
Deed = tuple[Device, State]
_MOMENTARY = ("next", "previous", "query", "media_class", "scene", "room")  # done, and then nothing of it is to be seen
_TOLERANCE: Mapping[str, float] = {
    "brightness": 2,
    "volume": 2,
    "position": 3,
    "speed": 5,
    "temperature": 0.3,
    "kelvin": 150,
}  # of what devices round
_ON_THE_WAY: Mapping[str, tuple[str, ...]] = {"docked": ("docked", "returning")}
_ABLE = {"cleaning": "clean", "mowing": "mow", "docked": "dock"}  # what a robot must be able to do for it


def home_of(call: Call) -> Home:
    """Return the devices of the house. Raises `ToolFailed` when there are none."""
    home = call.engine if isinstance(call.engine, Home) else call.gate.engines.get("home")
    if isinstance(home, Home):
        return home
    raise ToolFailed("failed", _("I'm not connected to any lights or devices here."))


async def done(call: Call, deeds: Sequence[Deed], *, stepping: bool = False) -> Result:
    """Give devices a state, those that do not have it yet; a step is taken even if it is a small one.

    In a rehearsal that is only noted, of all who can: how they are will be another thing when it is done.
    """
    able = [(device, wanted) for device, wanted in deeds if _can(device, wanted)]
    if not able:
        first = deeds[0][0]
        if first.lacks:
            sentence = _("{device} cannot do that, for {reason}.").format(device=the(first), reason=_(first.lacks))
            raise ToolFailed("failed", capital(sentence))
        raise ToolFailed("failed", capital(_("{device} cannot do that.").format(device=the(first))))
    if call.rehearsal is not None:
        call.rehearsal.extend(able)
        return Result("")
    there = [(device, wanted) for device, wanted in able if device.reachable]
    if not there:
        raise ToolFailed("failed", _unreachable([device for device, _wanted in able]))
    due = [(device, wanted) for device, wanted in there if stepping or not (device.tells and _is_so(device, wanted))]
    if not due:
        devices, wanted = [device for device, _wanted in there], there[0][1]
        how = state_words(wanted, devices[0].fahrenheit)
        form = _("{devices} {devices:is|are} already {state}.")
        return Result(capital(form.format(devices=group(devices), state=how)), data(call, devices))
    return await sent(call, due, [device for device, _wanted in there])


def _is_so(device: Device, wanted: State) -> bool:
    """Whether a device is as wanted: a blind that stands half way is open, and can be opened."""
    position = device.state.get("position")
    half_way = isinstance(position, (int, float)) and position < 100 - _TOLERANCE["position"]
    return _agrees(device, wanted, {}) and not (half_way and wanted.get("open") is True)


def _agrees(device: Device, wanted: State, before: State) -> bool:
    """Whether a device is as wanted; a blind that has set out is. Before it was told, nothing momentary is done."""
    now = device.state
    if device.kind in ("cover", "valve"):
        moved = "position" in before and now.get("position") != before["position"]
        going = now.get("heading") == ("open" if wanted.get("open", wanted.get("position", 0) > 0) else "closed")
        if moved or (going and before):
            return True
    if any(name in _MOMENTARY for name in wanted):
        return bool(before)
    return all(_near(name, now.get(name), value) for name, value in wanted.items())


def _near(name: str, now: Any, wanted: Any) -> bool:
    if name == "colour" and isinstance(now, str) and isinstance(wanted, str):
        return all(abs(a - b) < 12 for a, b in zip(bytes.fromhex(now[1:]), bytes.fromhex(wanted[1:]), strict=True))
    if name in _TOLERANCE and isinstance(now, (int, float)) and isinstance(wanted, (int, float)):
        return abs(now - wanted) <= _TOLERANCE[name]
    if name == "activity":
        return now in _ON_THE_WAY.get(wanted, (wanted,))
    return bool(now == wanted)


def _can(device: Device, wanted: State) -> bool:
    if "activity" in wanted:
        return _ABLE.get(wanted["activity"], "") in device.can
    needed = set(wanted) - {"media_class", "room", "on" if len(wanted) > 1 else ""}
    return {"mode" if name == "preset" else name for name in needed} <= device.can and (
        "on" not in wanted or "on" in device.can
    )


async def sent(call: Call, deeds: Sequence[Deed], meant: Sequence[Device] = ()) -> Result:
    """Send commands and wait until the devices say that they took them. All that was sent has a receipt.

    `meant`: all devices that a person meant, also those that were so already.
    """
    home = home_of(call)
    gone: list[Deed] = []
    for device, wanted in deeds:
        try:
            await home.tell(device, wanted)
        except OSError:
            break  # the hub is gone: what follows would not arrive either
        gone.append((device, wanted))
    if not gone:
        raise ToolFailed("failed", _unreachable([device for device, _wanted in deeds]))

    def silent() -> list[Deed]:
        return [
            (device, wanted)
            for device, wanted in gone
            if device.tells and not ((now := home.now(device.id)) and _agrees(now, wanted, device.state or {"": None}))
        ]

    await home.until(lambda: not silent(), ANSWER_SECONDS)
    mute = [device for device, _wanted in silent()]
    mute += [device for device, _wanted in deeds[len(gone) :]]
    heard = [(device, wanted) for device, wanted in gone if device not in mute]
    unanswered = [_("I sent it, but {devices} did not answer.").format(devices=group(mute))] if mute else []
    text = " ".join([*filter(None, [_done_words(home, heard)]), *unanswered])
    before, after = _before(gone), {device.id: dict(wanted) for device, wanted in gone}
    receipt = call.receipt(text, before=before, after=None if before is None else after)
    if not heard:
        raise ToolFailed("failed", text, receipt=receipt.id)
    about = [*meant] or [device for device, _wanted in gone]
    return Result(text, {**data(call, about), "silent": [d.name for d in mute]}, receipt)


def _before(deeds: Sequence[Deed]) -> dict[str, Any] | None:
    """Return how devices were, of what was changed; None when what was changed cannot be seen, as by a scene."""
    if all(any(name in _MOMENTARY for name in wanted) for _device, wanted in deeds):
        return None
    along = {device.id: {"position"} & device.can if "open" in wanted else set() for device, wanted in deeds}
    return {
        device.id: {name: device.state.get(name) for name in (*wanted, *along[device.id])} for device, wanted in deeds
    }


async def put_back(call: Call, stored_receipt: StoredReceipt) -> Result:
    """Put devices back as they were, those that are still as they were left."""
    home = home_of(call)
    if not isinstance(stored_receipt.before, dict) or not isinstance(stored_receipt.after, dict):
        raise ToolFailed("failed", _("I don't know how it was before."))
    deeds: list[Deed] = []
    for id, before in stored_receipt.before.items():
        device = home.now(id)
        if device is None:
            raise ToolFailed("not_found", _("That device is not there any more."))
        if not _agrees(device, stored_receipt.after[id], {}):
            raise ToolFailed(
                "failed", capital(_("{device} {device:was|were} changed since then.").format(device=the(device)))
            )
        wanted = {name: value for name, value in before.items() if value is not None}
        wanted = {"on": False} if wanted.get("on") is False else wanted
        if "open" in wanted and "position" in wanted:
            del wanted["open"]  # it goes back to where it stood
        if wanted.get("activity") == "returning":
            wanted["activity"] = "docked"
        if not wanted:
            raise ToolFailed(
                "failed", _("I don't know how {device} {device:was|were} before.").format(device=the(device))
            )
        refuse_guarded([device], wanted)
        permit_back(call, device, wanted)
        deeds.append((device, wanted))
    if call.rehearsal is not None:
        call.rehearsal.extend(deeds)
        return Result("")
    return await sent(call, deeds)


def part_of(call: Call, stored_receipt: StoredReceipt, names: Sequence[str]) -> StoredReceipt | None:
    """Return a change as if it had been made to devices of these names alone; `None` where it changed none of them."""
    home, before, after = home_of(call), stored_receipt.before, stored_receipt.after
    if not stored_receipt.tool.startswith("home.") or not isinstance(before, dict) or not isinstance(after, dict):
        return None
    wanted = {name.casefold() for name in names}
    ids = [id for id in before if (device := home.now(id)) and device.name.casefold() in wanted]
    if not ids:
        return None
    return replace(stored_receipt, before={id: before[id] for id in ids}, after={id: after[id] for id in ids})


def refuse_guarded(devices: Sequence[Device], wanted: State) -> None:
    """Raise `ToolFailed` where a door would open that lets people in: that is another tool, which asks first."""
    for device in devices:
        if device.guarded and _opens(device, wanted):
            form = (
                _("{device} only {device:unlocks|unlock} with a yes: ask me to unlock it.")
                if device.kind == "lock"
                else _("{device} only {device:opens|open} with a yes: ask me to unlock it.")
            )
            raise ToolFailed("denied", capital(form.format(device=the(device))), use="home.unlock")


def _opens(device: Device, wanted: State) -> bool:
    """Whether a device would be opened, or further than it is."""
    if wanted.get("open") is True or wanted.get("locked") is False:
        return True
    now = device.state.get("position", 100 if device.state.get("open") is True else 0)
    return bool(wanted.get("position", 0) > (now if isinstance(now, (int, float)) else 0))


# ── what is said ───────────────────────────────────────────────────────────────────────────────────


def _unreachable(devices: Sequence[Device]) -> str:
    return capital(_("{devices} cannot be reached just now.").format(devices=group(devices)))


def _done_words(home: Home, deeds: Sequence[Deed]) -> str:
    """Return what is said of what was done: one sentence for all that were told the same."""
    alike: dict[_Sentence, list[Device]] = {}
    for device, wanted in deeds:
        alike.setdefault(_sentence(home, device, wanted), []).append(device)
    return " ".join(sentence.of(group(devices)) for sentence, devices in alike.items())


class _Sentence(NamedTuple):
    """What is said of devices, before it is said of which."""

    form: str
    state: str = ""
    query: str = ""
    room: str = ""

    def of(self, devices: SpokenName) -> str:
        places = {"state": self.state, "query": self.query, "room": place(self.room)}
        return capital(self.form.format(devices=devices, **places))


def _sentence(home: Home, device: Device, wanted: State) -> _Sentence:
    now = (home.now(device.id) or device).state
    if device.kind == "scene":
        return _Sentence(_("I set the scene {devices}."))
    if "query" in wanted:
        return _Sentence(_("{devices} {devices:is|are} now playing {query}."), query=str(wanted["query"]))
    if "next" in wanted:
        return _Sentence(_("{devices} {devices:skips|skip} to the next one."))
    if "previous" in wanted:
        return _Sentence(_("{devices} {devices:goes|go} back to the one before."))
    if device.kind in ("cover", "valve") and now.get("heading") == "open":
        return _Sentence(_("{devices} {devices:is|are} opening."))
    if device.kind in ("cover", "valve") and now.get("heading") == "closed":
        return _Sentence(_("{devices} {devices:is|are} closing."))
    if wanted.get("activity") == "cleaning" and "room" in wanted:
        return _Sentence(_("{devices} is now cleaning {room:the}."), room=str(wanted["room"]))
    if wanted.get("activity") == "docked" and now.get("activity") == "returning":
        return _Sentence(_("{devices} {devices:is|are} on the way back."))
    if wanted == {"muted": False} and device.tells:
        return _Sentence(_("{devices} {devices:has its|have their} sound back."))
    how = state_words(wanted, device.fahrenheit)
    if not device.tells:
        return _Sentence(_("I told {devices} to be {state}; {devices:it does|they do} not report back."), how)
    return _Sentence(_("{devices} {devices:is|are} now {state}."), how)


def data(call: Call, devices: Sequence[Device]) -> dict[str, Any]:
    """Return devices as they are now, as JSON."""
    home = home_of(call)
    return {"devices": [shown(home.now(device.id) or device) for device in devices]}


DEVICE = dict.fromkeys(("id", "name", "room", "floor", "kind", "shape"), str) | {
    "aliases": [str],
    "can": [str],
    "state": dict,
    "reachable": bool,
    "status?": str,
    "lacks?": str,
    "refused?": dict,
}


def shown(device: Device) -> dict[str, Any]:
    """Return a device as JSON."""
    return {
        **{name: getattr(device, name) for name in ("id", "name", "room", "floor", "kind", "shape", "reachable")},
        "aliases": list(device.aliases),
        "can": sorted(device.can),
        "state": dict(device.state),
        **({"status": words} if (words := status(device)) else {}),
        **({"lacks": device.lacks} if device.lacks else {}),
    }
