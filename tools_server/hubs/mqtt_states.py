"""What a device's messages over MQTT say of its state, as its config describes them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools_server.hubs.devices import measured_state, spoken_name
from tools_server.values.language import noted

TEMPLATE = re.compile(
    r"\{\{-?\s*(?P<root>value_json|value)(?P<path>(?:\.\w+|\[\s*(?:'[^']+'|\"[^\"]+\"|\d+)\s*\])*)"
    r"(?:\s*\|\s*(?:int|float|string|round(?:\(\s*\d?\s*\))?)(?:\(\s*\d*\s*\))?)*\s*-?\}\}"
)
_STEP = re.compile(r"\.(\w+)|\[\s*(?:'([^']+)'|\"([^\"]+)\"|(\d+))\s*\]")
_IGNORED_TEMPLATES = ("json_attributes_template", "last_reset_value_template", "effect_value_template")


@dataclass(frozen=True, slots=True)
class Listen:
    """A topic that says something of a device: `read` turns a payload into parts of its state."""

    topic: str
    read: Callable[[str], Mapping[str, Any]]


def value_at(template: str, payload: str) -> Any:
    """Return what a plain template takes out of a payload; None when it is not there."""
    if not template:
        return payload
    match = TEMPLATE.fullmatch(template.strip())
    assert match, "templates that are not plain are refused when the config is read"
    value: Any = payload
    if match["root"] == "value_json":
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError):
            return None
    for step in _STEP.finditer(match["path"]):
        name, index = step[1] or step[2] or step[3], step[4]
        if index is not None and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        elif name is not None and isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return None
    return value


class StateReading:
    """How the state of one config is read."""

    def __init__(self, component: str, config: Mapping[str, Any]) -> None:
        self._component = component
        self._config = config
        self.lacks = self._lacking()

    def _lacking(self) -> str:
        if text_of(self._config, "schema") == "template":
            return noted("it is described by templates, which I can't read")
        for name, value in self._config.items():
            if not name.endswith("_template") or value in (None, ""):
                continue
            if name in _IGNORED_TEMPLATES:
                continue
            if not isinstance(value, str) or not TEMPLATE.fullmatch(value.strip()):
                return noted("it needs a template that I can't read")
            commands = "command" in name or name == "set_position_template"
            if commands and value.replace(" ", "") not in ("{{value}}", "{{position}}"):
                return noted("it needs a template that I can't read")
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
            case "light" | "switch" | "fan" | "humidifier" | "siren":
                template = text_of(config, "state_value_template") or template
                yield state, template, lambda value: _switched(config, value)
                if self._component == "light":
                    scale = number_of(config.get("brightness_scale")) or 255
                    yield *said_at("brightness"), lambda value: _percent("brightness", value, scale)
                    yield *said_at("color_temp"), lambda value: _kelvin(value, config)
                    yield *said_at("rgb"), _rgb
                if self._component == "fan":
                    yield *said_at("percentage"), lambda value: _speed(config, value)
            case "climate":
                yield *said_at("temperature"), lambda value: _degrees("temperature", config, value)
                yield *said_at("mode"), lambda value: {"mode": str(value), "on": value != "off"}
                current = text_of(config, "current_temperature_topic"), text_of(config, "current_temperature_template")
                yield *current, lambda value: _degrees("measured", config, value)
            case "cover":
                yield state, template, lambda value: _covered(config, value)
                position = text_of(config, "position_topic"), text_of(config, "position_template")
                yield *position, lambda value: _position(config, value)
            case "valve":
                yield state, template, lambda value: _valve(config, value)
            case "vacuum":
                yield state, template, _robot
            case "lawn_mower":
                activity = text_of(config, "activity_state_topic"), text_of(config, "activity_value_template")
                yield *activity, lambda value: {"activity": spoken_name(str(value))} if value else {}
            case "device_tracker":
                yield state, template, lambda value: _tracked(config, value)
            case "lock":
                yield state, template, lambda value: _locked(config, value)
            case "binary_sensor":
                yield state, template, lambda value: _switched(config, value)
            case "sensor":
                unit = text_of(config, "unit_of_measurement")
                yield state, template, lambda value: measured_state(str(value), number_of(value), unit)

    def _json_light(self, payload: str) -> Mapping[str, Any]:
        try:
            details = json.loads(payload)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(details, dict):
            return {}
        state: dict[str, Any] = {}
        if details.get("state") in ("ON", "OFF"):
            state["on"] = details["state"] == "ON"
        if "brightness" in details:
            state |= _percent(
                "brightness", details["brightness"], number_of(self._config.get("brightness_scale")) or 255
            )
        if "color_temp" in details:
            state |= _kelvin(details["color_temp"], self._config)
        colour = details.get("color")
        if isinstance(colour, dict) and {"r", "g", "b"} <= set(colour):
            state |= _rgb(f"{colour['r']},{colour['g']},{colour['b']}")
        return state


def _reader(template: str, read: Callable[[Any], Mapping[str, Any]]) -> Callable[[str], Mapping[str, Any]]:
    def read_payload(payload: str) -> Mapping[str, Any]:
        value = value_at(template, payload)
        return {} if value is None else read(value)

    return read_payload


def number_of(value: Any) -> float | None:
    """Return a number; None for what is none, or is not finite."""
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return None
    # Also no "nan" and no "inf"; and nothing so near to nothing that what is divided by it is endless.
    return number if number == 0 or 1e-9 < abs(number) < 1e9 else None


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


def in_fahrenheit(config: Mapping[str, Any]) -> bool:
    """Whether a device counts in °F."""
    return "F" in (text_of(config, "temperature_unit"), text_of(config, "unit_of_measurement").removeprefix("°"))


def celsius(config: Mapping[str, Any], value: float) -> float:
    """Return a temperature of a device in °C."""
    return round((value - 32) * 5 / 9, 2) if in_fahrenheit(config) else round(value, 2)


def _degrees(name: str, config: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    number = number_of(value)
    return {} if number is None else {name: celsius(config, number)}


def speeds_of(config: Mapping[str, Any]) -> tuple[float, float]:
    """Return a fan's own numbers for its slowest and fastest."""
    slowest, fastest = number_of(config.get("speed_range_min", 1)), number_of(config.get("speed_range_max", 100))
    return (slowest, fastest) if slowest is not None and fastest is not None and slowest < fastest else (1.0, 100.0)


def _speed(config: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    number = number_of(value)
    if number is None:
        return {}
    slowest, fastest = speeds_of(config)
    percent = (number - slowest + 1) * 100 / (fastest - slowest + 1)
    return {"speed": max(0, min(100, round(percent)))}


def _robot(payload: Any) -> Mapping[str, Any]:
    """Read a vacuum's state, which is JSON; its battery may be in it."""
    try:
        details = json.loads(payload) if isinstance(payload, str) else payload
    except (ValueError, RecursionError):
        return {}
    if not isinstance(details, dict):
        return {}
    state: dict[str, Any] = {"activity": spoken_name(str(details["state"]))} if details.get("state") else {}
    battery = number_of(details.get("battery_level"))
    return state | ({} if battery is None else {"battery": round(battery)})


def _valve(config: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """Read a valve's state: a word, a position, or JSON of both."""
    try:
        details = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        details = None
    parts = [details.get("state"), details.get("position")] if isinstance(details, dict) else [value]
    state: dict[str, Any] = {}
    for part in parts:
        if config.get("reports_position") is True and number_of(part) is not None:
            state |= {"heading": "", **_position(config, part)}
        elif part is not None:
            state |= _covered(config, part)
    return state


def _tracked(config: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    if str(value) == text_of(config, "payload_home", "home"):
        return {"place": "home"}
    return {
        "place": "away" if str(value) == text_of(config, "payload_not_home", "not_home") else spoken_name(str(value))
    }


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


def text_of(config: Mapping[str, Any], name: str, otherwise: str = "") -> str:
    """Return a value as text; `otherwise` when it is not there, or is no plain value."""
    value = config.get(name, otherwise)
    return str(value) if isinstance(value, (str, int, float)) else otherwise
