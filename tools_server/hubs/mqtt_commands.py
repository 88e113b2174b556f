"""What is wanted of a device → what to publish to it over MQTT. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools_server.hubs.mqtt_discovery import DiscoveredDevice
from tools_server.hubs.mqtt_states import ends_of, in_fahrenheit, number_of, speeds_of, text_of


@dataclass(frozen=True, slots=True)
class Publish:
    """A message for a device."""

    topic: str
    payload: str
    retain: bool = False


_PAYLOADS = {  # what is sent where something is wanted or not: its name in a config, and what it usually is
    "on": (("payload_on", "ON"), ("payload_off", "OFF")),
    "open": (("payload_open", "OPEN"), ("payload_close", "CLOSE")),
    "locked": (("payload_lock", "LOCK"), ("payload_unlock", "UNLOCK")),
    "cleaning": (("payload_start", "start"), ("payload_return_to_base", "return_to_base")),
}


def commands(discovered_device: DiscoveredDevice, wanted: Mapping[str, Any]) -> list[Publish]:
    """Return what to publish so that a device takes the state that is wanted; every part of it is one it `can`."""
    config, component = discovered_device.config, discovered_device.component
    if component == "light" and text_of(config, "schema") == "json":
        sent = [("command_topic", json.dumps(_json_command(config, wanted)))]
    else:
        sent = [command for name, value in wanted.items() for command in _commands(component, config, name, value)]
    retain = config.get("retain") is True
    return [Publish(text_of(config, topic), str(payload), retain) for topic, payload in sent]


def _commands(component: str, config: Mapping[str, Any], name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield by which topic a part of a state is wanted, as configs call it, and what to publish there."""

    def payload(what: str, wanted: Any) -> tuple[str, str]:
        return "command_topic", text_of(config, *_PAYLOADS[what][0 if wanted else 1])

    match component, name:
        case (("light" | "switch" | "fan" | "humidifier" | "siren"), "on"):
            yield payload("on", value)
        case "light", "brightness":
            yield "brightness_command_topic", round(value * (number_of(config.get("brightness_scale")) or 255) / 100)
        case "light", "kelvin":
            kelvin = config.get("color_temp_kelvin") is True
            yield "color_temp_command_topic", value if kelvin else round(1_000_000 / value)
        case "light", "colour":
            yield "rgb_command_topic", ",".join(map(str, bytes.fromhex(value[1:])))
        case "climate", "temperature":
            yield "temperature_command_topic", f"{round(value * 9 / 5 + 32) if in_fahrenheit(config) else value:g}"
        case "climate", "mode":
            yield "mode_command_topic", value
        case "climate", "on":
            modes = config.get("modes")
            usual = [str(mode) for mode in modes if mode != "off"] if isinstance(modes, list) else []
            yield "mode_command_topic", (usual or ["heat"])[0] if value else "off"
        case "fan", "speed":
            slowest, fastest = speeds_of(config)
            level = math.ceil(value * (fastest - slowest + 1) / 100) + slowest - 1
            yield "percentage_command_topic", f"{level:g}"
        case "vacuum", "activity":
            yield payload("cleaning", value == "cleaning")
        case "lawn_mower", "activity":
            verb = "start_mowing" if value == "mowing" else "dock"
            yield f"{verb}_command_topic", verb
        case "valve", "open" if config.get("reports_position") is True:
            closed, opened = ends_of(config)
            yield "command_topic", f"{opened if value else closed:g}"
        case (("cover" | "valve"), "open"):
            yield payload("open", value)
        case (("cover" | "valve"), "position"):
            closed, opened = ends_of(config)
            topic = "set_position_topic" if component == "cover" else "command_topic"
            yield topic, round(closed + value * (opened - closed) / 100)
        case "lock", "locked":
            yield payload("locked", value)
        case "scene", "scene":
            yield payload("on", True)


def _json_command(config: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    command: dict[str, Any] = {"state": "ON" if wanted.get("on", True) else "OFF"}
    if "brightness" in wanted:
        command["brightness"] = round(wanted["brightness"] * (number_of(config.get("brightness_scale")) or 255) / 100)
    if "kelvin" in wanted:
        kelvin = config.get("color_temp_kelvin") is True
        command["color_temp"] = wanted["kelvin"] if kelvin else round(1_000_000 / wanted["kelvin"])
    if "colour" in wanted:
        red, green, blue = bytes.fromhex(wanted["colour"][1:])
        command["color"] = {"r": red, "g": green, "b": blue}
    return command
