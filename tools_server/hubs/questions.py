"""Questions about how things are, answered by looking: is, any, all, which, how many, where, how warm. Pure.

The first argument is what was asked about, already narrowed to its room, floor or the whole house; an answer names
what it is about, so that a person can see that the right thing was looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tools_server.hubs.devices import Device, plain, spoken_name
from tools_server.hubs.home_words import (
    ACTIVITIES,
    binary_words,
    clause,
    degrees,
    measured,
    percent,
    place_clause,
    state_words,
    the,
)
from tools_server.hubs.kind_words import kind_plural
from tools_server.sdk.wording import capital
from tools_server.values.language import noted, series
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import SpokenName, listed
from tools_server.values.noun_phrases import place as placed

NAMED = 6  # more names than this are tiring to listen to, where nobody asked which
MOST_NAMED = 20  # where somebody did, or left it to the house what there is
# What is asked of a device → how a sensor's yes or no says it, and what state of other devices does.
_YES = {
    *(
        "on",
        "open",
        "unlocked",
        "home",
        "wet",
        "low",
        "charging",
        "plugged",
        "connected",
        "running",
        "moving",
        "unsafe",
    ),
    *("motion", "occupied", "detected", "smoke", "gas", "cold", "hot", "active", "problem", "outdated", "yes"),
}
_NO = {
    *("off", "closed", "locked", "away", "dry", "fine", "unplugged", "disconnected", "still", "safe", "clear", "empty"),
    *("none", "normal", "idle", "not_charging", "not_running", "updated", "no"),
}
_STATES: dict[str, tuple[str, Any]] = {
    "on": ("on", True),
    "off": ("on", False),
    "open": ("open", True),
    "closed": ("open", False),
    "locked": ("locked", True),
    "unlocked": ("locked", False),
    "playing": ("playing", True),
    "paused": ("playing", False),
    "muted": ("muted", True),
    "unmuted": ("muted", False),
}
_WORKING = ("cleaning", "mowing", "returning")
_USUAL = {"light": "on", "switch": "on", "fan": "on", "climate": "on", "cover": "open", "valve": "open"}
_USUAL |= {"lock": "unlocked", "media": "playing", "person": "home", "vacuum": "cleaning", "mower": "mowing"}
_OPPOSITES = {"on": "off", "open": "closed", "locked": "unlocked", "home": "away", "playing": "paused"}
_OPPOSITES |= {other: value for value, other in _OPPOSITES.items()}
_NUMBERS = (
    *(noted("no"), noted("one"), noted("two"), noted("three"), noted("four"), noted("five"), noted("six")),
    *(noted("seven"), noted("eight"), noted("nine"), noted("ten"), noted("eleven"), noted("twelve")),
)
_OPENINGS = ("open", "closed", "opening", "closing")
# What people call being at home and being out, in words that a caller may pass on as they were spoken.
_CALLED_HOME = ("at home", "house", "in", "here", "inside", "zu hause", "zuhause", "daheim", "da")
_CALLED_AWAY = ("not home", "out", "gone", "unterwegs", "weg", "fort")
MEASURES = {  # what it is called: the measure of … is …
    "temperature": noted("temperature"),
    "humidity": noted("humidity"),
    "battery": noted("battery level"),
    "illuminance": noted("brightness"),
    "brightness": noted("brightness"),
    "carbon_dioxide": noted("carbon dioxide"),
    "power": noted("power"),
    "energy": noted("energy"),
    "pressure": noted("pressure"),
    "pm25": noted("fine dust"),
    "moisture": noted("moisture"),
    "volume": noted("volume"),
    "speed": noted("speed"),
    "position": noted("position"),
    "target": noted("target temperature"),
    "mode": noted("mode"),
}


_REASSURING = ("locked", "closed", "off")


@dataclass(frozen=True, slots=True)
class DeviceQuestion:
    """What is wanted to know."""

    quantity: str = ""  # "", "any", "all", "which", "how_many", "where"
    value: str = ""  # "on", "open", "home", "cleaning", …
    kind: str = ""
    shape: str = ""
    place: str = ""  # the room or floor, as it is called
    is_heated: bool = False  # heating is on there, which nobody counts who asks what is still on

    @property
    def is_of_anything(self) -> bool:
        """Whether it is of all that can be so, and of no kind."""
        return not (self.kind or self.shape)


def answer(devices: Sequence[Device], question: DeviceQuestion) -> str:
    """Return the answer as a sentence. `devices` is not empty."""
    value = plain(question.value).replace(" ", "_") or _USUAL.get(devices[0].kind, "on")
    question = replace(question, value=value)
    if question.quantity == "where":
        return " ".join(f"{capital(_where(device))}." for device in devices[:MOST_NAMED])
    holding = [device for device in devices if holds(device, value)]
    known = [device for device in devices if holds(device, value) is not None]
    if not known:
        return " ".join(f"{capital(clause(the(device), device))}." for device in devices[:MOST_NAMED])
    # "Are the doors locked?" is asked to be sure of every one; "are the lights on?" of any.
    reassures = len(devices) > 1 and value in _REASSURING
    match question.quantity or ("all" if reassures else ""):
        case "any":
            return _yes(_some(holding, question)) if holding else _no(_none(devices, known, question))
        case "all":
            others = [device for device in known if device not in holding]
            if others:
                return _no(_some(others, replace(question, value=_OPPOSITES.get(value, ""))))
            return _yes(clause(the(known[0]), known[0])) if len(known) == 1 else _yes(_every(known, question))
        case "which" | "how_many":
            return f"{capital(_some(holding, question) if holding else _none(devices, known, question))}."
    if len(devices) == 1:
        said_so = clause(the(devices[0]), devices[0])
        return _yes(said_so) if holding else _no(said_so)
    return _yes(_some(holding, question)) if holding else _no(_none(devices, known, question))


def whereabouts(devices: Sequence[Device], place: str) -> str | None:
    """Return a place as it stands in people's states, "home" and "away" included; None for what is no place of any."""
    word = plain(place.replace("_", " "))
    if word in {plain(one) for one in _places(devices)}:
        return word
    called = {**dict.fromkeys(_CALLED_HOME, "home"), **dict.fromkeys(_CALLED_AWAY, "away")}
    return word if word in ("home", "away") else called.get(word)


def unanswerable(devices: Sequence[Device], every: Sequence[Device], question: DeviceQuestion, *, named: bool) -> str:
    """Return the sentence that nothing can tell what is asked of these; "" where something can.

    `every` is all that the asker may look at: the places of its people are what there is to ask for. `named` when the
    device was said by its name, and is spoken of by it.
    """
    kinds = {device.kind for device in devices}
    if question.value and kinds == {"person"} and whereabouts(every, question.value) is None:
        return only_whereabouts(every)
    if kinds == {"lock"} and question.value in _OPENINGS and not any("open" in device.state for device in devices):
        if named and isinstance(locked := devices[0].state.get("locked"), bool):
            form = _("I can't tell whether {device} is open; I only know that it is {state}.")
            return form.format(device=the(devices[0]), state=state_words({"locked": locked}))
        return _("I can't look that up: I only know whether the doors are locked.")
    return ""


def only_whereabouts(people: Sequence[Device]) -> str:
    """Return the honest answer to who asks of people what their phones do not tell."""
    known = _places(people)
    if not known:
        return _("I can't look that up: I only know whether somebody is at home or away.")
    form = _("I can't look that up: I only know whether somebody is at home or away, or at {places}.")
    return form.format(places=series([spoken_name(one) for one in known[:NAMED]], "or"))


def _places(devices: Sequence[Device]) -> list[str]:
    """Return where people are, by name, other than at home and away."""
    now = {str(device.state.get("place") or "") for device in devices if device.kind == "person"}
    return sorted(now - {"", "home", "away"})


def _yes(sentence: str) -> str:
    return _("Yes, {answer}.").format(answer=sentence)


def _no(sentence: str) -> str:
    return _("No, {answer}.").format(answer=sentence)


def holds(device: Device, value: str) -> bool | None:
    """Whether a device is as it was asked; None when it does not say, or is nothing of the sort."""
    now = device.state
    if device.kind == "sensor":
        if isinstance(now.get("on"), bool) and value in _YES | _NO:
            return bool(now["on"]) == (value in _YES)
        return plain(str(now["value"])) == plain(value) if isinstance(now.get("value"), str) else None
    if device.kind == "person":
        if not (place := now.get("place")):
            return None
        return place != "home" if value == "away" else plain(str(place)) == plain(value.replace("_", " "))
    if device.kind in ("vacuum", "mower") and (activity := now.get("activity")):
        if value in ("on", "running", "off"):
            return (activity in _WORKING) == (value != "off")
        return bool(activity == value)
    if value in ("opening", "closing"):
        return bool(now.get("heading") == ("open" if value == "opening" else "closed"))
    if value in ("locked", "unlocked") and device.kind == "cover" and device.guarded:
        value = "closed" if value == "locked" else "open"  # a garage door that is shut lets nobody in
    if value in ("on", "off") and device.kind == "media" and "on" not in now and "playing" in now:
        return bool(now["playing"]) == (value == "on")
    if value in _STATES:
        name, wanted = _STATES[value]
        return None if name not in now else now[name] == wanted
    for name in ("mode", "preset", "activity", "colour"):
        if name in now:
            return plain(str(now[name])) == plain(value)
    return None


# ── how many ───────────────────────────────────────────────────────────────────────────────────────


def _some(devices: Sequence[Device], question: DeviceQuestion) -> str:
    """Return "two lights are on: the hall lamp and the reading lamp", or how the only one is."""
    if len(devices) == 1:
        return clause(the(devices[0]), devices[0])
    reports, how = _how(devices[0], question.value)
    most = MOST_NAMED if question.quantity == "which" or question.is_of_anything else NAMED
    named = most if len(devices) > most + 1 else most + 1  # one name is no longer than "1 more"
    names = [the(device) for device in devices[:named]]
    if (more := len(devices) - named) > 0:
        names.append(SpokenName(_("{count} more").format(count=more)))
    form = _("{count} {things} report {state}: {names}") if reports else _("{count} {things} are {state}: {names}")
    return form.format(
        count=count_words(len(devices)), things=_things(devices, question), state=how, names=listed(names)
    )


def _every(devices: Sequence[Device], question: DeviceQuestion) -> str:
    reports, how = _how(devices[0], question.value)
    if question.is_of_anything and len({device.kind for device in devices}) > 1:
        form = _("apart from the heating, everything is {state}") if question.is_heated else _("everything is {state}")
        return form.format(state=state_words_of(question.value))
    form = _("all {things} report {state}") if reports else _("all {things} are {state}")
    return form.format(things=_things(devices, question), state=how)


def _none(devices: Sequence[Device], known: Sequence[Device], question: DeviceQuestion) -> str:
    """Return "all windows are closed", or "no lights are on"."""
    if len(devices) == 1:
        return clause(the(devices[0]), devices[0])
    if question.is_of_anything and len({device.kind for device in devices}) > 1:
        form = _("apart from the heating, nothing is {state}") if question.is_heated else _("nothing is {state}")
        return form.format(state=state_words_of(question.value))
    opposite = _OPPOSITES.get(question.value, "")
    sensed = known[0].kind == "sensor" and known[0].shape in ("window", "door", "garage_door", "opening", "lock")
    if opposite and (sensed or question.kind in ("cover", "lock", "valve")) and len(known) == len(devices):
        return _every(devices, replace(question, value=opposite))
    reports, how = _how(known[0], question.value)
    if known[0].kind == "person":
        return _("nobody is {state}").format(state=how)
    form = _("no {things} report {state}") if reports else _("no {things} are {state}")
    return form.format(things=_things(devices, question), state=how)


def _how(device: Device, value: str) -> tuple[bool, str]:
    """Return how a state is said of several: whether they report it, and what."""
    if device.kind == "sensor" and isinstance(device.state.get("on"), bool):
        yes = value in _YES or (value not in _NO and bool(device.state["on"]))
        return binary_words(device.shape, yes)
    if device.kind == "person":
        words = {"home": _("at home"), "away": _("away")}
        return False, words.get(value) or _("at {place}").format(place=spoken_name(value.replace("_", " ")))
    if value in _STATES:
        name, wanted = _STATES[value]
        return False, state_words({name: wanted})
    if value in ACTIVITIES:
        return False, _(ACTIVITIES[value])
    return False, spoken_name(value.replace("_", " ")) if value else _("not")


def state_words_of(value: str) -> str:
    """Return one of the states that many things can have, in words: "on"."""
    name, wanted = _STATES[value]
    return state_words({name: wanted})


def _things(devices: Sequence[Device], question: DeviceQuestion) -> str:
    kinds = {device.kind for device in devices}
    shapes = {device.shape for device in devices}
    return kind_plural(
        question.kind or (devices[0].kind if len(kinds) == 1 else ""),
        question.shape or (shapes.pop() if len(shapes) == 1 else ""),
    )


def count_words(count: int) -> str:
    """Return "two"; figures from thirteen on."""
    return _(_NUMBERS[count]) if count < len(_NUMBERS) else str(count)


def _where(device: Device) -> str:
    if device.kind == "person":
        return place_clause(the(device), device)
    if device.room:
        return _("{device} is in {room:the}").format(device=the(replace(device, room="")), room=placed(device.room))
    return _("I don't know where {device} is").format(device=the(device))


# ── how much ───────────────────────────────────────────────────────────────────────────────────────


def reading(device: Device, measure: str) -> str | None:
    """Return what a device measures or is set to, in words; None when it does not tell."""
    now = device.state
    if device.kind == "sensor":
        fits = device.shape == measure and "value" in now
        return measured(now["value"], str(now.get("unit", "")), device.fahrenheit) if fits else None
    match measure:
        case "temperature" if "measured" in now:
            return degrees(now["measured"], device.fahrenheit)
        case "target" if now.get("temperature") is not None:
            return degrees(now["temperature"], device.fahrenheit)
        case "brightness" | "volume" | "position" | "speed" | "battery":
            value = now.get(measure)
            return percent(value) if isinstance(value, (int, float)) else None
        case "mode" if now.get("mode"):
            return spoken_name(str(now["mode"]).replace("_", " "))
    return None


def measure_answer(devices: Sequence[Device], measure: str, place: str = "") -> str | None:
    """Return what is measured: in a place when it is one, else by each device; None when nothing tells.

    A sensor is believed before another device of its room: a thermostat hangs on a warm wall.
    """
    telling = [device for device in devices if reading(device, measure) is not None]
    sensed = {device.room for device in telling if device.kind == "sensor"}
    telling = [device for device in telling if device.kind == "sensor" or device.room not in sensed]
    if not telling:
        return None
    rooms = {device.room for device in telling}
    if place and len(rooms) == 1:  # of a floor only that room is measured
        return f"{capital(_measured_in(telling[0].room or place, measure, reading(telling[0], measure) or ''))}."
    several = len(rooms) > 1
    sentences = [_measured_by(one, measure, reading(one, measure) or "", several) for one in telling[:MOST_NAMED]]
    return f"{capital(series(sentences))}."


def _measured_in(place: str, measure: str, value: str) -> str:
    if measure == "temperature":
        return _("{place:the} is {value}").format(place=placed(place), value=value)
    what = placed(_(MEASURES.get(measure, measure.replace("_", " "))))
    return _("the {measure} in {place:the} is {value}").format(measure=what, place=placed(place), value=value)


def _measured_by(device: Device, measure: str, value: str, several: bool) -> str:
    """Return what a device measures; of `several` rooms how warm each is, whatever measures it."""
    if measure == "temperature" and device.room and (several or device.kind == "sensor"):
        return _("{place:the} is {value}").format(place=placed(device.room), value=value)
    if device.kind == "sensor":
        return _("{device} {device:says|say} {value}").format(device=the(device), value=value)
    if measure in ("mode", "target"):
        return _("{device} {device:is|are} set to {value}").format(device=the(device), value=value)
    what = placed(_(MEASURES.get(measure, measure.replace("_", " "))))
    return _("the {measure} of {device} is {value}").format(measure=what, device=the(device), value=value)


def nothing_measures(measure: str, place: str) -> str:
    """Return the honest answer where nothing can tell."""
    what = placed(_(MEASURES.get(measure, measure.replace("_", " "))))
    if place:
        form = _("I can't look that up: no {measure} sensor is in {place:the}.")
        return form.format(measure=what, place=placed(place))
    return _("I can't look that up: nothing here measures the {measure}.").format(measure=what)
