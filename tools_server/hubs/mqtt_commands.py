"""What is wanted of a device → what to publish to it over MQTT. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
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


def commands(discovered_device: DiscoveredDevice, wanted: Mapping[str, Any]) -> list[Publish]:
    """Return what to publish so that a device takes the state that is wanted; every part of it is one it `can`."""
    config = discovered_device.config
    retain = config.get("retain") is True

    def to(topic: str, payload: Any) -> Publish:
        return Publish(text_of(config, topic), str(payload), retain)

    if discovered_device.component == "light" and text_of(config, "schema") == "json":
        return [to("command_topic", json.dumps(_json_command(config, wanted)))]
    sent: list[Publish] = []
    for name, value in wanted.items():
        match discovered_device.component, name:
            case (("light" | "switch" | "fan" | "humidifier" | "siren"), "on"):
                sent.append(
                    to("command_topic", text_of(config, *(("payload_on", "ON") if value else ("payload_off", "OFF"))))
                )
            case "light", "brightness":
                scale = number_of(config.get("brightness_scale")) or 255
                sent.append(to("brightness_command_topic", round(value * scale / 100)))
            case "light", "kelvin":
                kelvin = config.get("color_temp_kelvin") is True
                sent.append(to("color_temp_command_topic", value if kelvin else round(1_000_000 / value)))
            case "light", "colour":
                sent.append(to("rgb_command_topic", ",".join(map(str, bytes.fromhex(value[1:])))))
            case "climate", "temperature":
                degrees = round(value * 9 / 5 + 32) if in_fahrenheit(config) else value
                sent.append(to("temperature_command_topic", f"{degrees:g}"))
            case "climate", "mode":
                sent.append(to("mode_command_topic", value))
            case "climate", "on":
                modes = config.get("modes")
                usual = [str(mode) for mode in modes if mode != "off"] if isinstance(modes, list) else []
                sent.append(to("mode_command_topic", (usual or ["heat"])[0] if value else "off"))
            case "cover", "open":
                sent.append(
                    to(
                        "command_topic",
                        text_of(config, *(("payload_open", "OPEN") if value else ("payload_close", "CLOSE"))),
                    )
                )
            case "fan", "speed":
                slowest, fastest = speeds_of(config)
                level = math.ceil(value * (fastest - slowest + 1) / 100) + slowest - 1
                sent.append(to("percentage_command_topic", f"{level:g}"))
            case "vacuum", "activity":
                start, back = ("payload_start", "start"), ("payload_return_to_base", "return_to_base")
                sent.append(to("command_topic", text_of(config, *(start if value == "cleaning" else back))))
            case "lawn_mower", "activity":
                verb = "start_mowing" if value == "mowing" else "dock"
                sent.append(to(f"{verb}_command_topic", verb))
            case "valve", "open" if config.get("reports_position") is True:
                closed, opened = ends_of(config)
                sent.append(to("command_topic", f"{opened if value else closed:g}"))
            case "valve", "open":
                word = ("payload_open", "OPEN") if value else ("payload_close", "CLOSE")
                sent.append(to("command_topic", text_of(config, *word)))
            case "valve", "position":
                closed, opened = ends_of(config)
                sent.append(to("command_topic", round(closed + value * (opened - closed) / 100)))
            case "cover", "position":
                closed, opened = ends_of(config)
                sent.append(to("set_position_topic", round(closed + value * (opened - closed) / 100)))
            case "lock", "locked":
                sent.append(
                    to(
                        "command_topic",
                        text_of(config, *(("payload_lock", "LOCK") if value else ("payload_unlock", "UNLOCK"))),
                    )
                )
            case "scene", "scene":
                sent.append(to("command_topic", text_of(config, "payload_on", "ON")))
    return sent


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
