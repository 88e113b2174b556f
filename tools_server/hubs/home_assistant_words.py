"""What Home Assistant says of an entity → a device; what is wanted of a device → its services. Pure.

The numbers are the feature flags of its entities (developers.home-assistant.io/docs/core/entity). Temperatures come
and go in the unit that its people chose; here they are °C.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools_server.hubs.devices import Device, Kind, measured_state, spoken_name

KINDS: Mapping[str, Kind] = {  # by what Home Assistant calls the domain of an entity
    **{"light": "light", "switch": "switch", "input_boolean": "switch", "siren": "switch", "humidifier": "switch"},
    **{"climate": "climate", "cover": "cover", "lock": "lock", "media_player": "media", "fan": "fan"},
    **{"sensor": "sensor", "binary_sensor": "sensor", "scene": "scene", "script": "scene"},
    **{"vacuum": "vacuum", "lawn_mower": "mower", "valve": "valve", "person": "person", "device_tracker": "person"},
}
_COLOURED = {"hs", "rgb", "rgbw", "rgbww", "xy"}
_COVER_POSITION, _VALVE_POSITION = 4, 4
_FAN_SPEED, _FAN_PRESET = 1, 8
_VACUUM_CLEAN_AREA = 16_384
_MEDIA: Mapping[str, int] = {  # what of a player's state needs which flags
    "playing": 1 | 16_384,
    "volume": 4,
    "muted": 8,
    "previous": 16,
    "next": 32,
    "on": 128 | 256,
    "query": 512,
}
SEARCH_MEDIA = 4_194_304
_PLACES = {"home": "home", "not_home": "away"}
MOST = 1e12  # of what anything measures


def kind_of(entity: str) -> Kind | None:
    """Return the kind of an entity; None when nobody speaks to its kind."""
    return KINDS.get(entity.partition(".")[0])


def has(features: Any, flag: int) -> bool:
    """Whether an entity's features hold one of some flags."""
    return isinstance(features, int) and bool(features & flag)


@dataclass(frozen=True, slots=True)
class RegistryEntity:
    """One entity, as its registries have it."""

    id: str
    kind: Kind
    room: str
    aliases: tuple[str, ...]
    fahrenheit: bool

    def device(self, state: Mapping[str, Any], connected: bool) -> Device:
        """Return it as a device, from the state that it is in."""
        attributes: Mapping[str, Any] = state["attributes"]
        value = state["state"]
        return Device(
            id=f"ha:{self.id}",
            name=spoken_name(str(attributes.get("friendly_name") or self.id.partition(".")[2].replace("_", " "))),
            room=self.room,
            kind=self.kind,
            can=frozenset(_can(self.kind, attributes)),
            state=self._state(value, attributes) if value not in ("unavailable", "unknown") else {},
            reachable=connected and value != "unavailable",
            tells=attributes.get("assumed_state") is not True and self.kind != "scene",
            shape=spoken_name(str(attributes.get("device_class") or "")),
            aliases=self.aliases,
            limits=self._limits(attributes),
            options={
                name: tuple(str(one) for one in listed)
                for name, listed in (("mode", attributes.get("hvac_modes")), ("preset", attributes.get("preset_modes")))
                if isinstance(listed, list)
            },
            fahrenheit=self.fahrenheit,
        )

    def _celsius(self, value: float | None) -> float | None:
        return round((value - 32) * 5 / 9, 2) if value is not None and self.fahrenheit else value

    def _limits(self, attributes: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
        limits = {}
        lowest, highest = (self._celsius(_number(attributes, name)) for name in ("min_temp", "max_temp"))
        if lowest is not None and highest is not None:
            limits["temperature"] = lowest, highest
        coolest, warmest = (_number(attributes, f"{end}_color_temp_kelvin") for end in ("max", "min"))
        if coolest is not None and warmest is not None:
            limits["kelvin"] = warmest, coolest
        if (step := _number(attributes, "percentage_step")) is not None:
            limits["speed"] = step, 100.0
        return limits

    def _state(self, value: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
        def number(name: str) -> float | None:
            return _number(attributes, name)

        state: dict[str, Any] = {}
        match self.kind:
            case "light" | "switch" | "fan":
                state = {"on": value == "on", "kelvin": number("color_temp_kelvin"), "speed": number("percentage")}
                state |= {"preset": attributes.get("preset_mode"), "colour": _colour(attributes.get("rgb_color"))}
                brightness = number("brightness")
                state["brightness"] = None if brightness is None else round(brightness * 100 / 255)
            case "climate":
                wanted, measured = self._celsius(number("temperature")), self._celsius(number("current_temperature"))
                state = {"on": value != "off", "mode": spoken_name(value), "temperature": wanted, "measured": measured}
                state["preset"] = attributes.get("preset_mode")
            case "cover" | "valve":
                heading = {"opening": "open", "closing": "closed"}.get(value, "")
                state = {"open": value in ("open", "opening"), "heading": heading}
                state["position"] = number("current_position")
            case "lock":
                state = {"locked": value == "locked"}
            case "media":
                volume = number("volume_level")
                state = {
                    "on": value not in ("off", "standby"),
                    "playing": value in ("playing", "buffering"),
                    "volume": None if volume is None else round(volume * 100),
                    "muted": attributes.get("is_volume_muted"),
                    "title": spoken_name(str(attributes.get("media_title") or "")) or None,
                }
            case "sensor":
                state = self._sensed(value, attributes)
            case "vacuum" | "mower":
                state = {"activity": spoken_name(value), "battery": number("battery_level")}
            case "person":
                state = {"place": _PLACES.get(value, spoken_name(value))}
            case "scene":
                pass
        return {name: part for name, part in state.items() if part is not None}

    def _sensed(self, value: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
        if self.id.startswith("binary_sensor."):
            return {"on": value == "on"}
        try:
            number: float | None = float(value)
        except ValueError:
            number = None
        number = number if number is not None and abs(number) < MOST else None
        return measured_state(value, number, str(attributes.get("unit_of_measurement") or ""))


def _number(attributes: Mapping[str, Any], name: str) -> float | None:
    value = attributes.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if abs(value) < MOST else None  # also no "nan" and no "inf"


def _colour(listed: Any) -> str | None:
    if isinstance(listed, list) and len(listed) == 3 and all(isinstance(c, int) and 0 <= c < 256 for c in listed):
        return "#" + bytes(listed).hex()
    return None


def _can(kind: Kind, attributes: Mapping[str, Any]) -> set[str]:
    features = attributes.get("supported_features")
    match kind:
        case "light":
            listed = attributes.get("supported_color_modes")
            modes = set(map(str, listed)) if isinstance(listed, list) else set()
            able = {"on"} | ({"brightness"} if modes - {"onoff"} else set())
            return (
                able | ({"kelvin"} if "color_temp" in modes else set()) | ({"colour"} if modes & _COLOURED else set())
            )
        case "switch":
            return {"on"}
        case "fan":
            speed = {"speed"} if has(features, _FAN_SPEED) else set()
            return {"on"} | speed | ({"mode"} if has(features, _FAN_PRESET) else set())
        case "climate":
            return {"on", "temperature", "mode"}
        case "cover" | "valve":
            return {"open"} | ({"position"} if has(features, _COVER_POSITION | _VALVE_POSITION) else set())
        case "lock":
            return {"locked"}
        case "media":
            if not isinstance(features, int):
                return {"on", "playing", "volume"}
            return {name for name, flags in _MEDIA.items() if has(features, flags)}
        case "scene":
            return {"scene"}
        case "vacuum":
            return {"clean", "dock"} | ({"clean_room"} if has(features, _VACUUM_CLEAN_AREA) else set())
        case "mower":
            return {"mow", "dock"}
        case "sensor" | "person":
            return set()


def services(entity: str, wanted: Mapping[str, Any], fahrenheit: bool) -> list[tuple[str, dict[str, Any]]]:
    """Return the services to call, with their data."""
    domain = entity.partition(".")[0]
    if domain == "light" and wanted.get("on", True):
        return [("light.turn_on", _lit(wanted))]
    if domain == "fan" and "speed" in wanted:
        return [("fan.set_percentage", {"percentage": wanted["speed"]})]
    if "media_id" in wanted:
        data = {"media_content_id": wanted["media_id"], "media_content_type": wanted["media_type"]}
        return [("media_player.play_media", data)]
    if "query" in wanted:
        data = {"media_content_id": wanted["query"], "media_content_type": wanted.get("media_class") or "music"}
        return [("media_player.play_media", data)]
    calls = (_service(domain, name, value, wanted, fahrenheit) for name, value in wanted.items())
    return [call for call in calls if call]


def _lit(wanted: Mapping[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if "brightness" in wanted:
        data["brightness_pct"] = wanted["brightness"]
    if "kelvin" in wanted:
        data["color_temp_kelvin"] = wanted["kelvin"]
    if "colour" in wanted:
        data["rgb_color"] = list(bytes.fromhex(wanted["colour"][1:]))
    return data


def _service(
    domain: str, name: str, value: Any, wanted: Mapping[str, Any], fahrenheit: bool
) -> tuple[str, dict[str, Any]] | None:
    match name:
        case "on":
            return f"{domain}.turn_{'on' if value else 'off'}", {}
        case "temperature":
            return "climate.set_temperature", {"temperature": round(value * 9 / 5 + 32) if fahrenheit else value}
        case "mode":
            return "climate.set_hvac_mode", {"hvac_mode": value}
        case "preset":
            return f"{domain}.set_preset_mode", {"preset_mode": value}
        case "open":
            return f"{domain}.{'open' if value else 'close'}_{domain}", {}
        case "position":
            return f"{domain}.set_{domain}_position", {"position": value}
        case "locked":
            return f"lock.{'lock' if value else 'unlock'}", {}
        case "playing":
            return f"media_player.media_{'play' if value else 'pause'}", {}
        case "volume":
            return "media_player.volume_set", {"volume_level": value / 100}
        case "muted":
            return "media_player.volume_mute", {"is_volume_muted": value}
        case "next" | "previous":
            return f"media_player.media_{name}_track", {}
        case "scene":
            return f"{domain}.turn_on", {}
        case "activity":
            return _robot(domain, value, wanted.get("room"))
    return None


def _robot(domain: str, activity: str, area: Any) -> tuple[str, dict[str, Any]] | None:
    if domain == "lawn_mower":
        return {"mowing": "lawn_mower.start_mowing", "docked": "lawn_mower.dock"}.get(activity, "lawn_mower.pause"), {}
    if activity == "cleaning" and area:
        return "vacuum.clean_area", {"cleaning_area_id": [area]}
    return {"cleaning": "vacuum.start", "docked": "vacuum.return_to_base"}.get(activity, "vacuum.pause"), {}
