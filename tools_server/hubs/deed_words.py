"""What a call of a home tool would do, in words that are no promise yet: "turn off the hall lamp". Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools_server.hubs.devices import Device, State, spoken_name
from tools_server.hubs.home_words import group, state_words
from tools_server.hubs.kind_words import kind_plural
from tools_server.values.language import noted
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import SpokenName, place, several

_PLAIN: Mapping[str, str] = {
    "home.open": noted("open {devices}"),
    "home.close": noted("close {devices}"),
    "home.lock": noted("lock {devices}"),
    "home.scene": noted("set the scene {devices}"),
    "home.pause": noted("pause {devices}"),
    "home.next": noted("skip to the next one on {devices}"),
    "home.previous": noted("go back to the one before on {devices}"),
    "home.mow": noted("let {devices} mow"),
    "home.dock": noted("send {devices} back"),
}
_STEPS: Mapping[str, tuple[str, str]] = {  # less, more
    "brightness": (noted("make {devices} darker"), noted("make {devices} brighter")),
    "warmth": (noted("give {devices} a colder light"), noted("give {devices} a warmer light")),
    "temperature": (noted("make it cooler with {devices}"), noted("make it warmer with {devices}")),
    "volume": (noted("make {devices} quieter"), noted("make {devices} louder")),
    "position": (noted("close {devices} a bit"), noted("open {devices} a bit")),
    "speed": (noted("make {devices} slower"), noted("make {devices} faster")),
}


def deed_words(tool: str, arguments: Mapping[str, Any], deeds: Sequence[tuple[Device, State]]) -> str:
    """Return what a home tool would do to devices, as it is said after "in five minutes:".

    Of no deeds, to the kind that was said; "" when none was.
    """
    if deeds:
        devices, wanted = [device for device, _wanted in deeds], deeds[0][1]
        what, state = group(devices), state_words(wanted, devices[0].fahrenheit)
    else:
        what, state = _kind(arguments), _("set")
    query, room = spoken_name(str(arguments.get("query", ""))), place(spoken_name(str(arguments.get("room", ""))))
    return _form(tool, arguments).format(devices=what, state=state, query=query, room=room) if what else ""


def back_words(deeds: Sequence[tuple[Device, State]]) -> str:
    """Return what putting devices back comes to: "have the bedroom heating set to 18 degrees again"."""
    what = group([device for device, _wanted in deeds])
    states = {state_words(wanted, device.fahrenheit) for device, wanted in deeds}
    if len(states) != 1:
        return _("put {devices} back as they were").format(devices=what)
    return _("have {devices} {state} again").format(devices=what, state=states.pop())


def _kind(arguments: Mapping[str, Any]) -> SpokenName:
    kind, shape = str(arguments.get("kind", "")), str(arguments.get("shape", ""))
    return several(_("the {things}").format(things=kind_plural(kind, shape)) if kind or shape else "")


def _form(tool: str, arguments: Mapping[str, Any]) -> str:
    match tool:
        case "home.turn":
            return _("turn on {devices}") if arguments["on"] else _("turn off {devices}")
        case "home.adjust":
            less, more = _STEPS[arguments["what"]]
            return _(more) if arguments["by"] > 0 or arguments["times"] > 1 else _(less)
        case "home.play" if arguments["query"].strip():
            return _("play {query} on {devices}")
        case "home.play":
            return _("let {devices} play")
        case "home.mute":
            return _("mute {devices}") if arguments["muted"] else _("give {devices} its sound back")
        case "home.clean" if arguments["room"]:
            return _("let {devices} clean: {room}")
        case "home.clean":
            return _("let {devices} clean")
    return _(_PLAIN[tool]) if tool in _PLAIN else _("have {devices} {state}")
