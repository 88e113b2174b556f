"""Look up what was asked about the house: narrow it to what is meant, and answer, or say that nothing tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tools_server.hubs.deeds import home_of, shown
from tools_server.hubs.device_rules import permit, permitted
from tools_server.hubs.devices import (
    KINDS,
    Device,
    DeviceTarget,
    FloorPlan,
    NotMeant,
    in_place,
    meant,
    none_there,
    placed,
    plain,
)
from tools_server.hubs.home_words import clause, the
from tools_server.hubs.questions import (
    DeviceQuestion,
    answer,
    holds,
    measure_answer,
    nothing_measures,
    unanswerable,
    whereabouts,
)
from tools_server.sdk.toolkit import Call, Result, ToolFailed
from tools_server.sdk.wording import capital
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import place as place_name

SHOWN = 100
MOST_TOLD = 10  # of all that a question is about, before only those are told of that are on
MOST_SPOKEN = 20  # of the devices of a room
_NO_PART_OF_A_ROOM = ("person", "scene")
_SHAPES = {  # who asks for doors means all that are like them
    "door": ("door", "opening", "garage_door", "garage", "gate"),
    "garage": ("garage", "garage_door"),
    "motion": ("motion", "occupancy", "presence"),
    "moisture": ("moisture",),
}
_ENTRIES = ("door", "window", "opening", "garage_door", "garage")  # that a sensor sits on
_OF_ANYTHING: Mapping[str, Sequence[str]] = {  # who asks whether anything is so → the kinds that can be
    **dict.fromkeys(("on", "off"), ("light", "switch", "fan", "media")),
    "open": ("cover", "valve", "sensor"),
    "closed": ("cover", "valve", "sensor", "lock"),  # a lock does not know, and is told of
    **dict.fromkeys(("locked", "unlocked"), ("lock", "cover")),
}
# Whose own word is a measure, when it is measured by what is no sensor of it.
_MEASURED_BY = {"temperature": ("climate",), "target": ("climate",), "battery": ("vacuum", "mower")}


@dataclass(frozen=True, slots=True)
class StateQuestion:
    """What is wanted to know of devices."""

    quantity: str = ""
    value: str = ""
    measure: str = ""


def looked_up(call: Call, target: DeviceTarget, question: StateQuestion) -> Result:
    """Return the answer to a question about the house. Raises `ToolFailed`, `not_found` where nothing can tell."""
    home = home_of(call)
    if target.kind == "person" and not any(one.kind == "person" for one in home.devices()):
        raise ToolFailed("not_found", _("I can't look that up: nothing tells me where anybody is."), code="not_found")
    if home.empty:
        raise ToolFailed("not_found", _("No devices are set up in this house."))
    every = home.devices()
    target = placed(every, target, home.plan())
    if question.measure:
        return _measured(call, every, target, question.measure)
    if question.quantity and question.value in _OF_ANYTHING and not (target.device or target.kind or target.shape):
        return _of_anything(call, every, target, question)
    if target.kind == "lock" and not target.device and question.value in ("open", "closed"):
        contacts = replace(target, kind="sensor", shape="door")  # a lock does not know; what sits on the door does
        target = contacts if any(_fits(device, contacts) for device in in_place(every, contacts)) else target
    devices = _asked_about(call, every, target)
    whole = DeviceQuestion(question.quantity, question.value, target.kind, target.shape, target.room or target.floor)
    unknown = unanswerable(devices, _allowed(call, every), whole, named=bool(target.device))
    if unknown and question.value in ("open", "closed") and all("locked" in device.state for device in devices):
        # Who asks whether a door is shut wants to know whether it is locked.
        locked = replace(whole, value="locked" if question.value == "closed" else "unlocked")
        state = "" if target.device else f" {answer(devices, locked)}"
        return _result(f"{capital(unknown)}{state}", devices)
    if unknown and question.quantity != "where":
        raise ToolFailed("not_found", unknown, code="not_found")
    if question.quantity or question.value:
        place = whereabouts(every, whole.value) if all(device.kind == "person" for device in devices) else None
        text = answer(devices, replace(whole, value=place or whole.value))
    else:
        text = _each(devices)
    return _result(text, devices)


def _each(devices: list[Device]) -> str:
    """Return how every device is; of many, only those that are on, open or unlocked, and that the rest is not."""
    return _clauses(devices) if len(devices) <= MOST_TOLD else _awake(devices, len(devices))


def _clauses(devices: Sequence[Device]) -> str:
    return " ".join(f"{capital(clause(the(one), one))}." for one in devices)


def _awake(devices: list[Device], most: int) -> str:
    """Return how those devices are that are on, open or unlocked, and that the others are not."""
    awake = [one for one in devices if not _is_at_rest(one)]
    rest = _("Everything else there is off or closed.") if awake else _("Everything there is off or closed.")
    return " ".join(filter(None, [_clauses(awake[:most]), rest if len(awake) < len(devices) else ""]))


def _of_anything(call: Call, every: list[Device], target: DeviceTarget, question: StateQuestion) -> Result:
    """Return whether anything is so, or everything, in a place: what cannot be so is not asked about."""
    there = in_place(every, target)
    devices = _allowed(call, [one for one in there if _can_be(one, question.value)])
    if not devices:
        raise _nothing_tells(target)
    place = target.room or target.floor
    is_heated = question.value in ("on", "off") and any(one.kind == "climate" and one.state.get("on") for one in there)
    whole = DeviceQuestion(question.quantity, question.value, place=place, is_heated=is_heated)
    texts = [answer(devices, whole)]
    silent = [one for one in devices if holds(one, question.value) is None]
    if len(silent) < len(devices):
        texts += [_clauses(silent[:MOST_SPOKEN])] if silent else []
    return _result(" ".join(texts), devices)


def _can_be(device: Device, value: str) -> bool:
    """Whether a device is of those that are asked about by "anything on", "everything locked"."""
    if device.kind not in _OF_ANYTHING[value] or (device.kind == "sensor" and device.shape not in _ENTRIES):
        return False
    return device.kind != "cover" or value in ("open", "closed") or device.guarded


def _nothing_tells(target: DeviceTarget) -> ToolFailed:
    """Return that nothing is in a place that would know how it is there."""
    place = target.room or target.floor
    if not place:
        return ToolFailed("not_found", _("There is nothing here that tells me how it is."), code="not_found")
    sentence = _("There is nothing in {place:the} that tells me how it is.").format(place=place_name(place))
    return ToolFailed("not_found", sentence, code="not_found")


def of_place(call: Call, target: DeviceTarget) -> Result:
    """Return how a room or a floor is: what is measured there, and what is not at rest. Raises `ToolFailed`."""
    home = home_of(call)
    every = home.devices()
    target = placed(every, target, home.plan())
    inside = [one for one in in_place(every, target) if one.kind not in _NO_PART_OF_A_ROOM]
    devices = _allowed(call, inside)
    if not devices:
        raise _nothing_tells(target)
    return _result(_awake(devices, MOST_SPOKEN), devices)


def _is_at_rest(device: Device) -> bool:
    """Whether nobody needs to hear how a device is: it is off, shut, locked or in its dock."""
    now = device.state
    if not device.reachable or device.kind in ("sensor", "climate") or not now:
        return False
    if now.get("on") is False or now.get("open") is False or now.get("locked") is True:
        return True
    return now.get("playing") is False or now.get("activity") == "docked"


def _result(text: str, devices: list[Device]) -> Result:
    return Result(text, {"devices": [shown(one) for one in devices[:SHOWN]]}, untrusted=any(map(_quotes, devices)))


def _quotes(device: Device) -> bool:
    """Whether it passes on somebody's sentences: a sensor may hold the news. Names are the household's own."""
    words = (device.state.get("value"), device.state.get("title"))
    return any(isinstance(value, str) and len(value.split()) > 1 for value in words)


def _asked_about(call: Call, every: list[Device], target: DeviceTarget) -> list[Device]:
    """Return the devices of a question: one by name, else all of a kind in the place, the house if none is said."""
    if target.device:
        devices = meant(every, target, KINDS, home_of(call).plan())
        for device in devices:
            permit(call, device)
        return devices
    if not target.kind and not target.shape:
        raise ToolFailed("invalid", _("Which device do you mean?"))
    fitting = [device for device in every if _fits(device, target)]
    if not fitting and target.shape and target.kind:  # a window is a sensor here and a motor there
        fitting = [device for device in every if _fits(device, replace(target, kind=""))]
    allowed = _allowed(call, in_place(fitting, target))
    if not allowed:
        reason = none_there(every, replace(target, here=""))
        sentence = _("I can't look that up: {reason}").format(reason=reason[:1].lower() + reason[1:])
        raise ToolFailed("not_found", sentence, code="not_found")
    return allowed


def _fits(device: Device, target: DeviceTarget) -> bool:
    shapes = _SHAPES.get(target.shape, (target.shape,))
    return target.kind in ("", device.kind) and (not target.shape or device.shape in shapes)


def _allowed(call: Call, devices: list[Device]) -> list[Device]:
    return [device for device in devices if permitted(call, device)]


# ── how much ───────────────────────────────────────────────────────────────────────────────────────


def _measured(call: Call, every: list[Device], target: DeviceTarget, measure: str) -> Result:
    measure = plain(measure).replace(" ", "_")
    if target.device:
        devices = _measuring(every, target, measure, home_of(call).plan())
        for device in devices:
            permit(call, device)
    else:
        kinds = ("sensor", *_MEASURED_BY.get(measure, (target.kind,)))
        measuring = [one for one in every if one.kind in kinds and target.shape in ("", measure, one.shape)]
        telling = [one for one in measuring if measure_answer([one], measure)]
        here = [one for one in telling if target.here and plain(one.room) == plain(target.here)]
        unsaid = not (target.room or target.floor or target.everything)
        if unsaid and here:
            telling, target = here, replace(target, room=here[0].room)
        devices = _allowed(call, in_place(telling, target))
    place = target.room or target.floor
    text = measure_answer(devices, measure, "" if target.device else place)
    if text is None:
        raise ToolFailed("not_found", nothing_measures(measure, place), code="not_found")
    return _result(text, [one for one in devices if measure_answer([one], measure)])


def _measuring(every: list[Device], target: DeviceTarget, measure: str, plan: FloorPlan) -> list[Device]:
    """Return a named device, or the sensor that is called so and after what it measures: "phone" → "phone battery"."""
    devices: list[Device] = []
    try:
        devices = meant(every, target, KINDS, plan)
        refusal = None
    except NotMeant as unclear:
        refusal = unclear
    if measure_answer(devices, measure) is None:
        try:
            return meant(every, replace(target, device=f"{target.device} {measure}"), ("sensor",), plan)
        except NotMeant:
            if refusal:
                raise ToolFailed(refusal.error, str(refusal)) from refusal
    return devices
