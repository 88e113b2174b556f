"""MQTT discovery → devices. Pure: topics and payloads in, values out.

The format is Home Assistant's (docs: "MQTT integration", "MQTT discovery"), of one component or of a whole device,
with its abbreviations. Of its templates only the plain forms are understood: `{{ value_json.a.b }}`,
`{{ value_json['a'] }}`, `{{ value }}`; a device with another is listed, and says that it cannot be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools_server.hubs.devices import Device, spoken_name
from tools_server.hubs.home_assistant_words import KINDS
from tools_server.hubs.mqtt_states import (
    TEMPLATE,
    Listen,
    StateReading,
    celsius,
    in_fahrenheit,
    number_of,
    speeds_of,
    text_of,
)

LARGEST_BYTES = 64 * 1024  # of a config; real ones are a tenth of it
MOST_PARTS = 64  # components of one device
_UNHEARD_OF = {"input_boolean", "media_player", "script", "person"}  # what nobody discovers over MQTT
_KINDS = {component: kind for component, kind in KINDS.items() if component not in _UNHEARD_OF}
_TOPIC = re.compile(r"(?P<component>[a-z_]+)/(?:(?P<node>[A-Za-z0-9_-]+)/)?(?P<object>[A-Za-z0-9_-]+)/config")
_WORDS: Mapping[str, str] = {  # of which the names in a config are put together, as they may be written shorter
    **{"avail": "available", "avty": "availability", "bri": "brightness", "cla": "class", "clr": "color"},
    **{"cls": "close", "clsd": "closed", "cmd": "command", "cmps": "components", "curr": "current", "def": "default"},
    **{"dev": "device", "ent": "entity", "feat": "features", "k": "kelvin", "meas": "measurement", "mw": "mowing"},
    **{"obj": "object", "opt": "optimistic", "p": "platform", "pct": "percentage", "pl": "payload", "pos": "position"},
    **{"ret": "retain", "rng": "range", "scl": "scale", "spd": "speed", "stat": "state", "strt": "start"},
    **{"sup": "supported", "t": "topic", "tpl": "template", "uniq": "unique", "unlk": "unlock", "val": "value"},
    **{word: word for word in ("closing", "dock", "home", "id", "lock", "locked", "max", "min", "mode", "not", "of")},
    **{word: word for word in ("off", "on", "open", "opening", "rgb", "set", "temp", "unit", "unlocked")},
}
_SHORT: Mapping[str, str] = {  # whose words are others than elsewhere
    **{"act_stat_t": "activity_state_topic", "act_val_tpl": "activity_value_template"},
    **{"pl_ret": "payload_return_to_base", "pos": "reports_position", "sup_clrm": "supported_color_modes"},
}
_SHORT_DEVICE: Mapping[str, str] = {"ids": "identifiers", "sa": "suggested_area"}


@dataclass(frozen=True, slots=True)
class DiscoveredDevice:
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


def discovered(prefix: str, topic: str, payload: bytes) -> list[DiscoveredDevice]:
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
    discovered_devices = []
    for name, part in parts.items():
        if isinstance(part, dict) and isinstance(component := part.get("platform"), str) and len(part) > 1:
            discovered_devices += list(_found(f"{key}/{name}", component, {**shared, **part}, config))
    return discovered_devices


def _config(payload: bytes) -> dict[str, Any]:
    try:
        config = json.loads(payload) if len(payload) <= LARGEST_BYTES else None
    except (ValueError, RecursionError) as broken:
        raise Unclear("no JSON") from broken
    if not isinstance(config, dict):
        raise Unclear("no JSON object, or too long")
    config = _long(config)
    if isinstance(config.get("components"), dict):
        config["components"] = {
            str(name): _long(part) if isinstance(part, dict) else part for name, part in config["components"].items()
        }
    base = config.pop("~", None)
    return config if base is None else _based(config, str(base))


def _long(config: Mapping[str, Any], words: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a config with its names written out, by a table where there is one."""
    return {_whole_name(name) if words is None else words.get(name, name): value for name, value in config.items()}


def _whole_name(name: str) -> str:
    words = [_WORDS.get(word) for word in name.split("_")]
    if name in _SHORT or None in words:
        return _SHORT.get(name, name)
    whole = "_".join(filter(None, words))
    return re.sub(r"^(current_)?temp_", r"\1temperature_", whole)


def _based(config: dict[str, Any], base: str) -> dict[str, Any]:
    """Put the base topic where "~" stands for it."""

    def put(name: str, value: Any) -> Any:
        if isinstance(value, str) and name.endswith("topic"):
            if value.startswith("~"):
                return base + value[1:]
            if value.endswith("~"):
                return value[:-1] + base
        if isinstance(value, list):
            return [_based(item, base) if isinstance(item, dict) else item for item in value]
        return _based(value, base) if isinstance(value, dict) else value

    return {name: put("topic" if name == "t" else name, value) for name, value in config.items()}


def _found(key: str, component: str, config: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[DiscoveredDevice]:
    kind = _KINDS.get(component)
    if kind is None:
        return
    described = whole.get("device")
    described = _long(described, _SHORT_DEVICE) if isinstance(described, dict) else {}
    owner, own_value = text_of(described, "name"), config.get("name")
    # A part without a name of its own is the device itself; sensors are more than one to a device.
    name = own_value if isinstance(own_value, str) and own_value else owner or key.rpartition("/")[2]
    if kind == "sensor" and owner and name != owner:
        name = f"{owner} {name}"
    if any(name.endswith("topic") and not _topical(value) for name, value in config.items()):
        raise Unclear("a topic that is none")
    reads = StateReading(component, config)
    listens = list(reads.listens())
    yield DiscoveredDevice(
        device=Device(
            id=f"mqtt:{key}",
            name=spoken_name(name),
            room=spoken_name(text_of(described, "suggested_area")),
            kind=kind,
            can=frozenset(_can(component, config)) if not reads.lacks else frozenset(),
            tells=bool(listens) and config.get("optimistic") is not True,
            shape=spoken_name(text_of(config, "device_class")),
            lacks=reads.lacks,
            reachable=not _availability(config),
            limits=_limits(component, config),
            options={"mode": tuple(map(str, modes))} if isinstance(modes := config.get("modes"), list) else {},
            fahrenheit=in_fahrenheit(config),
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


def _availability(config: Mapping[str, Any]) -> dict[str, tuple[str, str, str]]:
    listed = config.get("availability")
    rows = [_long(row) for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    if topic := text_of(config, "availability_topic"):
        rows.append({**config, "topic": topic, "value_template": config.get("availability_template", "")})
    known = {}
    for row in rows[:10]:
        template = text_of(row, "value_template")
        if not _topical(row.get("topic")) or (template and not TEMPLATE.fullmatch(template.strip())):
            raise Unclear("its availability cannot be read")
        yes, no = text_of(row, "payload_available", "online"), text_of(row, "payload_not_available", "offline")
        known[str(row["topic"])] = yes, no, template
    return known


# ── what it can be told ────────────────────────────────────────────────────────────────────────────


def _can(component: str, config: Mapping[str, Any]) -> Iterator[str]:
    commanded = bool(text_of(config, "command_topic"))
    if component in ("light", "switch", "fan", "humidifier", "siren") and commanded:
        yield "on"
    if component == "fan" and text_of(config, "percentage_command_topic"):
        yield "speed"
    if component == "vacuum" and commanded:
        listed = config.get("supported_features")
        able = listed if isinstance(listed, list) else ["start", "return_home"]
        yield from (verb for feature, verb in (("start", "clean"), ("return_home", "dock")) if feature in able)
    if component == "lawn_mower":
        for verb, topic in (("mow", "start_mowing_command_topic"), ("dock", "dock_command_topic")):
            if text_of(config, topic):
                yield verb
    if component == "valve" and commanded:
        yield "open"
        if config.get("reports_position") is True:
            yield "position"
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


def _limits(component: str, config: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return between what its values lie, as far as it says: °C, kelvin, and percent from one step on."""
    limits: dict[str, tuple[float, float]] = {}
    lowest, highest = number_of(config.get("min_temp")), number_of(config.get("max_temp"))
    if component == "climate" and lowest is not None and highest is not None:
        limits["temperature"] = celsius(config, lowest), celsius(config, highest)
    coolest, warmest = number_of(config.get("min_mireds")), number_of(config.get("max_mireds"))
    if component == "light" and coolest and warmest:
        limits["kelvin"] = 1_000_000 / warmest, 1_000_000 / coolest
    if component == "fan":
        slowest, fastest = speeds_of(config)
        limits["speed"] = 100 / (fastest - slowest + 1), 100.0
    return limits
