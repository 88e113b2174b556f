"""MQTT discovery → devices, and what their messages say. Pure: topics and payloads in, values out.

The format is Home Assistant's (docs: "MQTT integration", "MQTT discovery"), of one component or of a whole device,
with its abbreviations. Of its templates only the plain forms are understood: `{{ value_json.a.b }}`,
`{{ value_json['a'] }}`, `{{ value }}`; a device with another is listed, and says that it cannot be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools_server.devices import Device, Kind, said

LARGEST_BYTES = 64 * 1024  # of a config; real ones are a tenth of it
MOST_PARTS = 64  # components of one device
_KINDS: Mapping[str, Kind] = {
    "light": "light",
    "switch": "switch",
    "climate": "climate",
    "cover": "cover",
    "lock": "lock",
    "fan": "fan",
    "sensor": "sensor",
    "binary_sensor": "sensor",
    "scene": "scene",
}
_TOPIC = re.compile(r"(?P<component>[a-z_]+)/(?:(?P<node>[A-Za-z0-9_-]+)/)?(?P<object>[A-Za-z0-9_-]+)/config")
_TEMPLATE = re.compile(
    r"\{\{-?\s*(?P<root>value_json|value)(?P<path>(?:\.\w+|\[\s*(?:'[^']+'|\"[^\"]+\"|\d+)\s*\])*)"
    r"(?:\s*\|\s*(?:int|float|string|round(?:\(\s*\d?\s*\))?)(?:\(\s*\d*\s*\))?)*\s*-?\}\}"
)
_STEP = re.compile(r"\.(\w+)|\[\s*(?:'([^']+)'|\"([^\"]+)\"|(\d+))\s*\]")
_SHORT: Mapping[str, str] = {
    "avty": "availability",
    "avty_mode": "availability_mode",
    "avty_t": "availability_topic",
    "avty_tpl": "availability_template",
    "bri_cmd_t": "brightness_command_topic",
    "bri_cmd_tpl": "brightness_command_template",
    "bri_scl": "brightness_scale",
    "bri_stat_t": "brightness_state_topic",
    "bri_val_tpl": "brightness_value_template",
    "clr_temp_cmd_t": "color_temp_command_topic",
    "clr_temp_cmd_tpl": "color_temp_command_template",
    "clr_temp_k": "color_temp_kelvin",
    "clr_temp_stat_t": "color_temp_state_topic",
    "clr_temp_val_tpl": "color_temp_value_template",
    "cmd_t": "command_topic",
    "cmd_tpl": "command_template",
    "cmps": "components",
    "curr_temp_t": "current_temperature_topic",
    "curr_temp_tpl": "current_temperature_template",
    "def_ent_id": "default_entity_id",
    "dev": "device",
    "dev_cla": "device_class",
    "mode_cmd_t": "mode_command_topic",
    "mode_cmd_tpl": "mode_command_template",
    "mode_stat_t": "mode_state_topic",
    "mode_stat_tpl": "mode_state_template",
    "obj_id": "object_id",
    "opt": "optimistic",
    "p": "platform",
    "pct_cmd_t": "percentage_command_topic",
    "pct_cmd_tpl": "percentage_command_template",
    "pct_stat_t": "percentage_state_topic",
    "pct_val_tpl": "percentage_value_template",
    "pl_avail": "payload_available",
    "pl_cls": "payload_close",
    "pl_lock": "payload_lock",
    "pl_not_avail": "payload_not_available",
    "pl_off": "payload_off",
    "pl_on": "payload_on",
    "pl_open": "payload_open",
    "pl_unlk": "payload_unlock",
    "pos_clsd": "position_closed",
    "pos_open": "position_open",
    "pos_t": "position_topic",
    "pos_tpl": "position_template",
    "ret": "retain",
    "rgb_cmd_t": "rgb_command_topic",
    "rgb_cmd_tpl": "rgb_command_template",
    "rgb_stat_t": "rgb_state_topic",
    "rgb_val_tpl": "rgb_value_template",
    "set_pos_t": "set_position_topic",
    "set_pos_tpl": "set_position_template",
    "stat_closing": "state_closing",
    "stat_clsd": "state_closed",
    "stat_locked": "state_locked",
    "stat_off": "state_off",
    "stat_on": "state_on",
    "stat_open": "state_open",
    "stat_opening": "state_opening",
    "stat_t": "state_topic",
    "stat_unlocked": "state_unlocked",
    "stat_val_tpl": "state_value_template",
    "sup_clrm": "supported_color_modes",
    "t": "topic",
    "temp_cmd_t": "temperature_command_topic",
    "temp_cmd_tpl": "temperature_command_template",
    "temp_stat_t": "temperature_state_topic",
    "temp_stat_tpl": "temperature_state_template",
    "uniq_id": "unique_id",
    "unit_of_meas": "unit_of_measurement",
    "val_tpl": "value_template",
}
_SHORT_DEVICE: Mapping[str, str] = {"ids": "identifiers", "sa": "suggested_area"}


@dataclass(frozen=True, slots=True)
class Listen:
    """A topic that says something of a device: `read` turns a payload into parts of its state."""

    topic: str
    read: Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Found:
    """One device as its config describes it."""

    device: Device
    unique: str  # "" when it has no id of its own
    listens: Sequence[Listen]
    availability: Mapping[str, tuple[str, str, str]]  # topic → payloads that say yes and no, and the way into them
    every: bool = False  # all of the availability topics must say yes; else the latest decides
    config: Mapping[str, Any] = field(default_factory=dict)
    component: str = ""


class Unclear(Exception):
    """A config cannot be read; `str()` says why."""


def discovered(prefix: str, topic: str, payload: bytes) -> list[Found]:
    """Return the devices of one config topic: none for an empty payload or for components that nobody speaks to.

    Raises `Unclear` when it is no config.
    """
    path = _TOPIC.fullmatch(topic.removeprefix(f"{prefix}/"))
    if path is None or not payload:
        return []
    config = _config(payload)
    key = "/".join(part for part in (path["component"], path["node"], path["object"]) if part)
    if path["component"] != "device":
        return list(_found(key, path["component"], config, config))
    parts = config.get("components")
    if not isinstance(parts, dict) or len(parts) > MOST_PARTS:
        raise Unclear("a device without components")
    shared = {name: value for name, value in config.items() if name != "components"}
    found = []
    for name, part in parts.items():
        if isinstance(part, dict) and isinstance(component := part.get("platform"), str) and len(part) > 1:
            found += list(_found(f"{key}/{name}", component, {**shared, **part}, config))
    return found


def _config(payload: bytes) -> dict[str, Any]:
    try:
        config = json.loads(payload) if len(payload) <= LARGEST_BYTES else None
    except (ValueError, RecursionError) as broken:
        raise Unclear("no JSON") from broken
    if not isinstance(config, dict):
        raise Unclear("no JSON object, or too long")
    config = _long(config, _SHORT)
    if isinstance(config.get("components"), dict):
        config["components"] = {
            str(name): _long(part, _SHORT) if isinstance(part, dict) else part
            for name, part in config["components"].items()
        }
    base = config.pop("~", None)
    return config if base is None else _based(config, str(base))


def _long(config: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    return {words.get(name, name): value for name, value in config.items()}


def _based(config: dict[str, Any], base: str) -> dict[str, Any]:
    """Put the base topic where "~" stands for it."""

    def put(name: str, value: Any) -> Any:
        if isinstance(value, str) and name.endswith("topic"):
            if value.startswith("~"):
                return base + value[1:]
            if value.endswith("~"):
                return value[:-1] + base
        if isinstance(value, list):
            return [_based(each, base) if isinstance(each, dict) else each for each in value]
        return _based(value, base) if isinstance(value, dict) else value

    return {name: put("topic" if name == "t" else name, value) for name, value in config.items()}


def _found(key: str, component: str, config: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Found]:
    kind = _KINDS.get(component)
    if kind is None:
        return
    described = whole.get("device")
    described = _long(described, _SHORT_DEVICE) if isinstance(described, dict) else {}
    owner, own = text_of(described, "name"), config.get("name")
    # A part without a name of its own is the device itself; sensors are more than one to a device.
    name = own if isinstance(own, str) and own else owner or key.rpartition("/")[2]
    if kind == "sensor" and owner and name != owner:
        name = f"{owner} {name}"
    if any(name.endswith("topic") and not _topical(value) for name, value in config.items()):
        raise Unclear("a topic that is none")
    reads = _Reading(component, config)
    listens = list(reads.listens())
    yield Found(
        device=Device(
            id=f"mqtt:{key}",
            name=said(name),
            room=said(text_of(described, "suggested_area")),
            kind=kind,
            can=frozenset(_can(component, config)) if not reads.lacks else frozenset(),
            tells=bool(listens) and config.get("optimistic") is not True,
            shape=said(text_of(config, "device_class")),
            lacks=reads.lacks,
            reachable=not _availability(config),
        ),
        unique=text_of(config, "unique_id"),
        listens=listens,
        availability=_availability(config),
        every=config.get("availability_mode") == "all",
        config=config,
        component=component,
    )


def _topical(value: Any) -> bool:
    """Whether a text can be one topic; with a wildcard it would be everybody's."""
    return isinstance(value, str) and 0 < len(value) <= 1000 and not set(value) & set("+#\0")


def text_of(config: Mapping[str, Any], name: str, otherwise: str = "") -> str:
    """Return a value as text; `otherwise` when it is not there, or is no plain value."""
    value = config.get(name, otherwise)
    return str(value) if isinstance(value, (str, int, float)) else otherwise


def _availability(config: Mapping[str, Any]) -> dict[str, tuple[str, str, str]]:
    listed = config.get("availability")
    rows = [_long(row, _SHORT) for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    if topic := text_of(config, "availability_topic"):
        rows.append({**config, "topic": topic, "value_template": config.get("availability_template", "")})
    known = {}
    for row in rows[:10]:
        template = text_of(row, "value_template")
        if not _topical(row.get("topic")) or (template and not _TEMPLATE.fullmatch(template.strip())):
            raise Unclear("its availability cannot be read")
        yes, no = text_of(row, "payload_available", "online"), text_of(row, "payload_not_available", "offline")
        known[str(row["topic"])] = yes, no, template
    return known


# ── what it says ───────────────────────────────────────────────────────────────────────────────────


def value_at(template: str, payload: str) -> Any:
    """Return what a plain template takes out of a payload; None when it is not there."""
    if not template:
        return payload
    found = _TEMPLATE.fullmatch(template.strip())
    assert found, "templates that are not plain are refused when the config is read"
    value: Any = payload
    if found["root"] == "value_json":
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError):
            return None
    for step in _STEP.finditer(found["path"]):
        name, index = step[1] or step[2] or step[3], step[4]
        if index is not None and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        elif name is not None and isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return None
    return value


class _Reading:
    """How the state of one config is read."""

    def __init__(self, component: str, config: Mapping[str, Any]) -> None:
        self._component = component
        self._config = config
        self.lacks = self._lacking()

    def _lacking(self) -> str:
        if text_of(self._config, "schema") == "template":
            return "it is described by templates, which I can't read"
        for name, value in self._config.items():
            if not name.endswith("_template") or not value:
                continue
            if name in _IGNORED_TEMPLATES:
                continue
            if not isinstance(value, str) or not _TEMPLATE.fullmatch(value.strip()):
                return "it needs a template that I can't read"
            commands = "command" in name or name == "set_position_template"
            if commands and value.replace(" ", "") not in ("{{value}}", "{{position}}"):
                return "it needs a template that I can't read"
        return ""

    def listens(self) -> Iterator[Listen]:
        """Yield what to listen to."""
        if self.lacks:
            return
        if self._component == "light" and text_of(self._config, "schema") == "json":
            if topic := text_of(self._config, "state_topic"):
                yield Listen(topic, self._json_light)
            return
        for topic, template, read in self._plain():
            if topic:
                yield Listen(topic, _reader(template, read))

    def _plain(self) -> Iterator[tuple[str, str, Callable[[Any], Mapping[str, Any]]]]:
        config = self._config

        def said_at(part: str) -> tuple[str, str]:
            template = text_of(config, f"{part}_value_template") or text_of(config, f"{part}_state_template")
            return text_of(config, f"{part}_state_topic"), template

        state, template = text_of(config, "state_topic"), text_of(config, "value_template")
        match self._component:
            case "light" | "switch" | "fan":
                template = text_of(config, "state_value_template") or template
                yield state, template, lambda value: _switched(config, value)
                if self._component == "light":
                    scale = number_of(config.get("brightness_scale")) or 255
                    yield *said_at("brightness"), lambda value: _percent("brightness", value, scale)
                    yield *said_at("color_temp"), lambda value: _kelvin(value, config)
                    yield *said_at("rgb"), _rgb
            case "climate":
                yield *said_at("temperature"), lambda value: _measure("temperature", value)
                yield *said_at("mode"), lambda value: {"mode": str(value), "on": value != "off"}
                current = text_of(config, "current_temperature_topic"), text_of(config, "current_temperature_template")
                yield *current, lambda value: _measure("measured", value)
            case "cover":
                yield state, template, lambda value: _covered(config, value)
                position = text_of(config, "position_topic"), text_of(config, "position_template")
                yield *position, lambda value: _position(config, value)
            case "lock":
                yield state, template, lambda value: _locked(config, value)
            case "binary_sensor":
                yield state, template, lambda value: _switched(config, value)
            case "sensor":
                unit = text_of(config, "unit_of_measurement")
                yield state, template, lambda value: _sensed(value, unit)

    def _json_light(self, payload: str) -> Mapping[str, Any]:
        try:
            told = json.loads(payload)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(told, dict):
            return {}
        state: dict[str, Any] = {}
        if told.get("state") in ("ON", "OFF"):
            state["on"] = told["state"] == "ON"
        if "brightness" in told:
            state |= _percent("brightness", told["brightness"], number_of(self._config.get("brightness_scale")) or 255)
        if "color_temp" in told:
            state |= _kelvin(told["color_temp"], self._config)
        colour = told.get("color")
        if isinstance(colour, dict) and {"r", "g", "b"} <= set(colour):
            state |= _rgb(f"{colour['r']},{colour['g']},{colour['b']}")
        return state


_IGNORED_TEMPLATES = ("json_attributes_template", "last_reset_value_template", "effect_value_template")


def _reader(template: str, read: Callable[[Any], Mapping[str, Any]]) -> Callable[[str], Mapping[str, Any]]:
    def told(payload: str) -> Mapping[str, Any]:
        value = value_at(template, payload)
        return {} if value is None else read(value)

    return told


def number_of(value: Any) -> float | None:
    """Return a number; None for what is none, or is not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < 1e9 else None  # also no "nan" and no "inf"


def _switched(config: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    yes = text_of(config, "state_on") or text_of(config, "payload_on", "ON")
    no = text_of(config, "state_off") or text_of(config, "payload_off", "OFF")
    return {"on": str(value) == yes} if str(value) in (yes, no) else {}


def _percent(name: str, value: Any, scale: float) -> Mapping[str, Any]:
    number = number_of(value)
    return {} if number is None else {name: max(0, min(100, round(number * 100 / scale)))}


def _kelvin(value: Any, config: Mapping[str, Any]) -> Mapping[str, Any]:
    number = number_of(value)
    if not number or number <= 0:
        return {}
    return {"kelvin": round(number if config.get("color_temp_kelvin") is True else 1_000_000 / number)}


def _rgb(value: Any) -> Mapping[str, Any]:
    parts = [number_of(part) for part in str(value).split(",")]
    if len(parts) != 3 or any(part is None or not 0 <= part <= 255 for part in parts):
        return {}
    return {"colour": "#" + "".join(f"{round(part or 0):02x}" for part in parts)}


def _measure(name: str, value: Any) -> Mapping[str, Any]:
    number = number_of(value)
    return {} if number is None else {name: round(number, 2)}


def _sensed(value: Any, unit: str) -> Mapping[str, Any]:
    number = number_of(value)
    plain = said(str(value)) if number is None else round(number, 3)
    return {"value": plain, **({"unit": said(unit)} if unit else {})}


def _covered(config: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    if str(value) == text_of(config, "state_open", "open"):
        return {"open": True, "heading": ""}
    if str(value) == text_of(config, "state_closed", "closed"):
        return {"open": False, "heading": ""}
    if str(value) == text_of(config, "state_opening", "opening"):
        return {"heading": "open"}
    if str(value) == text_of(config, "state_closing", "closing"):
        return {"heading": "closed"}
    return {"heading": ""}  # stopped


def _position(config: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    number = number_of(value)
    closed, opened = ends_of(config)
    if number is None or closed == opened:
        return {}
    percent = max(0, min(100, round((number - closed) * 100 / (opened - closed))))
    return {"position": percent, "open": percent > 0}


def ends_of(config: Mapping[str, Any]) -> tuple[float, float]:
    """Return a cover's own numbers for closed and open."""
    closed, opened = number_of(config.get("position_closed", 0)), number_of(config.get("position_open", 100))
    return closed or 0.0, 100.0 if opened is None else opened


def _locked(config: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    if str(value) == text_of(config, "state_locked", "LOCKED"):
        return {"locked": True}
    if str(value) == text_of(config, "state_unlocked", "UNLOCKED"):
        return {"locked": False}
    return {}


# ── what it can be told ────────────────────────────────────────────────────────────────────────────


def _can(component: str, config: Mapping[str, Any]) -> Iterator[str]:
    commanded = bool(text_of(config, "command_topic"))
    if component in ("light", "switch", "fan") and commanded:
        yield "on"
    if component == "light" and text_of(config, "schema") == "json":
        modes = config.get("supported_color_modes")
        modes = modes if isinstance(modes, list) else []
        if config.get("brightness") is True or set(map(str, modes)) - {"onoff"}:
            yield "brightness"
        if "color_temp" in modes:
            yield "kelvin"
        if "rgb" in modes:
            yield "colour"
    elif component == "light":
        for name, part in (("brightness", "brightness"), ("kelvin", "color_temp"), ("colour", "rgb")):
            if text_of(config, f"{part}_command_topic"):
                yield name
    if component == "climate":
        if text_of(config, "temperature_command_topic"):
            yield "temperature"
        if text_of(config, "mode_command_topic"):
            yield "mode"
            yield "on"
    if component == "cover":
        if commanded:
            yield "open"
        if text_of(config, "set_position_topic"):
            yield "position"
    if component == "lock" and commanded:
        yield "locked"
    if component == "scene" and commanded:
        yield "scene"
