"""What a clause says of devices → the tool calls that do it, or none when that cannot be done to such things. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from atlas.understanding.devices import Arguments
from atlas.understanding.frame_words import Token
from atlas.understanding.home_tools import accepted
from atlas.understanding.names import GUARDED, Names
from atlas.understanding.slots import Command

WARMTH_STEP = 25  # percent of what a lamp can do
_SCALES = {"light": "brightness", "cover": "position", "media": "volume", "fan": "speed"}
_STEPS = {"brightness": 20, "volume": 10, "temperature": 1, "speed": 25, "position": 25}
STEPS = {  # words for more and less, and which of both
    **{"up": 1, "down": -1, "brighter": 1, "darker": -1, "louder": 1, "quieter": -1},
    **{"warmer": 1, "cooler": -1, "faster": 1, "slower": -1},
}
_ALONE = {  # what a word changes that names nothing: "louder!"
    **{"brighter": ("light", "brightness"), "darker": ("light", "brightness")},
    **{"louder": ("media", "volume"), "quieter": ("media", "volume")},
    **{"warmer": ("climate", "temperature"), "cooler": ("climate", "temperature")},
}
OPPOSITES = ({"on", "off"}, {"up", "down"}, {"open", "close"}, {"lock", "unlock"})
# The first of these that was said is what is wanted; the others only help to say it: "lock up", "start cleaning".
_PRECEDENCE = (  # noqa: SIM905
    "lock unlock mute unmute dock clean mow next previous play pause louder quieter brighter darker warmer cooler "
    "open close off out stop up down on"
).split()


@dataclass(frozen=True, slots=True)
class FrameTarget:
    """Devices that a phrase names, all of one kind, and the arguments that name them to the tool server."""

    kind: str
    arguments: Mapping[str, Any]
    shape: str = ""


@dataclass(slots=True)
class Frame:
    """What one clause says, on its way."""

    actions: list[str] = field(default_factory=list)
    targets: list[FrameTarget] = field(default_factory=list)
    values: Arguments = field(default_factory=dict)  # percent, degrees, colour, kelvin, by
    room: str = ""  # named without a device in it
    refers: bool = False  # "it", "them"
    wants: bool = False  # "please", "do": then a light that is only named shall be on

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.actions or self.targets or self.values or self.room or self.refers)


def deeds(frame: Frame, names: Names) -> list[Command]:
    """Return what a frame wants done; nothing at all when one of its targets cannot be brought to it."""
    if any(pair <= {*frame.actions} for pair in OPPOSITES):
        return []
    action = next((one for one in _PRECEDENCE if one in frame.actions), "")
    if not frame.targets:
        alone = None if frame.refers and action not in _ALONE else _alone(action, frame, names)
        return [alone] if alone else []
    if not action and not frame.values and frame.wants and all(one.kind in ("light", "scene") for one in frame.targets):
        action = "on"
    commands = [_command(action, target, frame) for target in frame.targets]
    if not all(commands):
        return []
    return [*_players_put_on(frame), *(one for one in commands if one)]


def refused(frame: Frame) -> list[Command]:
    """Return what is wanted of the one thing that a frame names, where that cannot be done to it: its tool says so."""
    if len(frame.targets) != 1:
        return []
    [target] = frame.targets
    action = next((one for one in _PRECEDENCE if one in frame.actions), "")
    setting = next((name for name in ("degrees", "colour", "kelvin", "percent") if name in frame.values), "")
    if setting:
        name = {"degrees": "temperature", "percent": _SCALES.get(target.kind, "brightness")}.get(setting, setting)
        return [Command("home.set", {name: frame.values[setting], **target.arguments})]
    if action in _CHANGES and action != "out":
        by = STEPS.get(action, 1) * frame.values.get("by", _STEPS[_CHANGES[action]])
        return [Command("home.adjust", {"what": _CHANGES[action], "by": by, **target.arguments})]
    if action in ("lock", "unlock"):
        return [Command(f"home.{action}", dict(target.arguments))]
    if action in _MOVES:
        return [Command(f"home.{_MOVES[action]}", dict(target.arguments))]
    return [Command("home.turn", {"on": action == "on", **target.arguments})] if action in ("on", "off", "out") else []


_MOVES = {"open": "open", "up": "open", "close": "close", "down": "close"}

# What a learnt act sets, and with which of the values that a sentence may hold.
_SETS = {
    "brightness": "percent",
    "volume": "percent",
    "position": "percent",
    "speed": "percent",
    "temperature": "degrees",
    "colour": "colour",
    "kelvin": "kelvin",
}
_CHANGES = {
    **dict.fromkeys(("brighter", "darker"), "brightness"),
    **dict.fromkeys(("louder", "quieter"), "volume"),
    **dict.fromkeys(("warmer", "cooler"), "temperature"),
    **dict.fromkeys(("faster", "slower"), "speed"),
}
_WORDS = ("colour", "kelvin")  # that are set by a word, and no number
_END = Token("", None, "")
_MOST_BY = {"temperature": 5.0}  # degrees at once
KIND_OF_ACT = {  # what is meant when nothing was named
    **dict.fromkeys(("brighter", "darker", "brightness", "colour", "kelvin"), "light"),
    **dict.fromkeys(("warmer", "cooler", "temperature"), "climate"),
    **dict.fromkeys(("louder", "quieter", "volume", "mute", "unmute", "play", "pause", "next", "previous"), "media"),
    **dict.fromkeys(("faster", "slower", "speed"), "fan"),
    **{"clean": "vacuum", "mow": "mower", "position": "cover"},
}


def amounts(act: str, tokens: Sequence[Token], same: Mapping[str, Any]) -> Arguments | None:
    """Return the value that an act sets or changes by, as it stands in a sentence or was set just before.

    `None` when an act sets a value and none is known.
    """
    name = _SETS.get(act)
    values = [one.value for one in tokens if one.category == name] if name in _WORDS else _numbers(tokens)
    if name:
        value = values[-1] if values else same.get(act)
        return None if value is None else {name: value}
    what = _CHANGES.get(act)
    if not what:
        return {}
    if values and values[-1] > most_by(what):
        return {"degrees" if what == "temperature" else "percent": values[-1]}
    earlier = same.get("by")  # from a history that others may have written
    by = values[-1] if values else abs(earlier) if isinstance(earlier, (int, float)) else 0
    return {"by": by} if by else {}


def _numbers(tokens: Sequence[Token]) -> list[float]:
    """Return the numbers that count no things, as "the two lights" does; without any, what "low" and "half" are."""
    pairs = pairwise([*tokens, _END])
    counted = [one.value for one, then in pairs if one.category == "number" and then.category != "kind"]
    return counted or [one.value for one in tokens if one.category == "fraction"]


def changed(act: str, tokens: Sequence[Token]) -> str:
    """Return the act that changes a value, where one seems to be set: "two degrees warmer"."""
    steps = [STEPS[token.value] for token in tokens if token.category == "action" and token.value in STEPS]
    values = _numbers(tokens)
    if act not in _CHANGES.values() or not steps or not values or values[-1] > most_by(act):
        return act
    return next(name for name, what in _CHANGES.items() if what == act and STEPS[name] == steps[-1])


def most_by(what: str) -> float:
    """Return by how much a value is changed at most at once; a greater number is the value itself."""
    return _MOST_BY.get(what, 100.0)


def action_of(act: str) -> str:
    """Return the action that an act on a device is."""
    return {"faster": "up", "slower": "down"}.get(act, act)


def joined(frames: Sequence[Frame]) -> list[Frame]:
    """Return frames in which nothing is left out: "turn off the lamp" "the radio" → both are turned off."""
    whole: list[Frame] = []
    for frame in frames:
        last = whole[-1] if whole else None
        if last and last.refers and not last.targets and frame.targets and not frame.actions and not frame.values:
            last.targets, last.refers = list(frame.targets), False  # "turn it up, the radio"
            continue
        if last and frame.targets and not frame.actions and not frame.values and (last.actions or last.values):
            frame.actions, frame.values = list(last.actions), dict(last.values)
        elif last and frame.room and not frame.targets and not frame.actions and _plain_kind(last):
            kind = _plain_kind(last)
            targets = [FrameTarget(kind, {"kind": kind, "room": frame.room})]
            frame = replace(frame, targets=targets, room="", actions=list(last.actions), values=dict(last.values))
        elif (
            last
            and not frame.targets
            and not frame.room
            and not frame.refers
            and last.targets
            and not _is_player_put_on(last)
            and ((frame.values and not frame.actions) or not last.actions or _says_the_same(last, frame))
        ):
            last.values |= frame.values
            last.actions += frame.actions
            continue
        elif last and not last.actions and not last.values and last.targets and frame.actions and frame.targets:
            last.actions, last.values = list(frame.actions), dict(frame.values)  # "the lamp and the radio off"
        whole.append(frame)
    return whole


def _is_player_put_on(frame: Frame) -> bool:
    """Whether a player is turned on: to set its volume alone would not do that."""
    return frame.actions == ["on"] and not frame.values and all(one.kind == "media" for one in frame.targets)


def _players_put_on(frame: Frame) -> list[Command]:
    """Return the turning on of players that are put on so loud, which setting the volume is not: "the radio on low"."""
    named = [one.arguments for one in frame.targets if one.kind == "media" and "device" in one.arguments]
    so_loud = ({*frame.values} <= {"percent", "number"} and frame.values) or {"louder", "quieter"} & {*frame.actions}
    return [Command("home.turn", {"on": True, **one}) for one in named] if so_loud and "on" in frame.actions else []


def _says_the_same(last: Frame, frame: Frame) -> bool:
    return bool(frame.values) and {*frame.actions} <= {*last.actions, "darker", "brighter", "up", "down", "on"}


def _plain_kind(frame: Frame) -> str:
    kinds = {target.kind for target in frame.targets}
    return kinds.pop() if len(kinds) == 1 else ""


def _alone(action: str, frame: Frame, names: Names) -> Command | None:
    """Return what is wanted when no device was named: "louder", "next song", "vacuum the kitchen"."""
    where = {"room": frame.room} if frame.room else {}
    if action in _ALONE and not frame.values:
        kind, what = _ALONE[action]
        return Command("home.adjust", {"what": what, "by": STEPS[action] * _STEPS[what], "kind": kind, **where})
    if action in ("next", "previous", "pause", "play"):
        return Command(f"home.{action}", where)
    lit = any(one.kind == "light" and one.room == frame.room for one in names.devices)
    if frame.actions in (["on"], ["off"]) and where and lit and not frame.values:  # "kitchen off"
        return Command("home.turn", {"on": action == "on", "kind": "light", **where})
    if action in ("mute", "unmute"):
        return Command("home.mute", {"muted": action == "mute", **where})
    if action == "clean" and any(device.kind == "vacuum" for device in names.devices):
        return Command("home.clean", where)
    if action == "mow":
        return Command("home.mow", {})
    degrees = frame.values.get("degrees")
    if degrees is not None and any(device.kind == "climate" for device in names.devices):
        return Command("home.set", {"temperature": degrees, "kind": "climate", **where})
    return None


def _command(action: str, target: FrameTarget, frame: Frame) -> Command | None:
    """Return what is wanted of one target; `None` when that cannot be done to such a thing."""
    kind, named, values = target.kind, dict(target.arguments), frame.values
    if action == "out":  # the mower comes out, a light goes out
        action = "mow" if kind == "mower" else "off"
    if values and {*values} != {"by"}:
        return _setting(action, target, values)
    if frame.room and kind == "vacuum":
        named = {"kind": kind, "room": frame.room}
    guarded = kind == "lock" or target.shape in GUARDED
    match action, kind:
        case ("on" | "open" | "play" | "up", "scene") | ("", "scene"):
            return Command("home.scene", {"name": named["device"]}) if "device" in named else None
        case ("lock" | "close", "lock"):
            return _call("home.lock", named)
        case ("unlock" | "open", "lock"):
            return Command("home.unlock", named) if "device" in named else None
        case ("open" | "up" | "unlock", "cover") if guarded:
            return Command("home.unlock", named) if "device" in named else None
        case ("open" | "up" | "on", "cover") | ("open" | "on" | "up", "valve"):
            return Command("home.open", named)
        case ("close" | "down" | "off" | "lock", "cover") | ("close" | "off" | "stop" | "down" | "lock", "valve"):
            return Command("home.close", named)
        case ("clean" | "on" | "play", "vacuum"):
            return _call("home.clean", named)
        case ("dock" | "off" | "stop" | "close" | "pause", "vacuum"):
            return _call("home.dock", named)
        case ("mow" | "on" | "play" | "open", "mower"):
            return _call("home.mow", named)
        case ("dock" | "off" | "stop" | "pause" | "close", "mower"):
            return _call("home.dock", named)
        case ("play" | "pause" | "next" | "previous", "media"):
            return _call(f"home.{action}", named)
        case ("stop", "media"):
            return _call("home.pause", named)
        case ("mute" | "unmute", "media"):
            return _call("home.mute", {"muted": action == "mute", **named})
        case ("on" | "open" | "play", "light" | "switch" | "climate" | "fan" | "media"):
            return Command("home.turn", {"on": True, **named})
        case ("off" | "close" | "stop", "light" | "switch" | "climate" | "fan" | "media"):
            return Command("home.turn", {"on": False, **named})
    what = {**_SCALES, "climate": "temperature"}.get(kind)
    if action in ("warmer", "cooler") and kind == "light":
        return Command("home.adjust", {"what": "warmth", "by": STEPS[action] * WARMTH_STEP, **named})
    if action in STEPS and what and _ALONE.get(action, (kind,))[0] == kind:
        by = values.get("by", _STEPS[what])
        return Command("home.adjust", {"what": what, "by": STEPS[action] * by, **named})
    return None


def _call(tool: str, arguments: Mapping[str, Any]) -> Command:
    return Command(tool, accepted(tool, arguments))


def _setting(action: str, target: FrameTarget, values: Mapping[str, Any]) -> Command | None:
    """Return the setting of a target: "to 20 percent", "red"."""
    kind = target.kind
    wanted: Arguments = {}
    number = values.get("percent", values.get("number"))
    if kind == "climate":
        degrees = values.get("degrees", values.get("number"))
        if degrees is None or not 5 <= degrees <= 35:
            return None
        return Command("home.set", {"temperature": degrees, **target.arguments})
    if number is not None:
        if kind not in _SCALES or not 0 <= number <= 100:
            return None
        wanted[_SCALES[kind]] = int(number)
    if kind == "light":
        wanted |= {name: values[name] for name in ("colour", "kelvin") if name in values}
    if not wanted or "degrees" in values or (action in ("off", "lock", "unlock", "close") and kind != "cover"):
        return None
    if kind == "cover" and action in ("close", "down") and wanted["position"] == 100:
        wanted["position"] = 0  # "all the way down"
    return Command("home.set", {**wanted, **target.arguments})
