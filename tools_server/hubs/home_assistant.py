"""A house's devices through Home Assistant's WebSocket API: states and rooms in, calls of its services out.

(developers.home-assistant.io/docs/api/websocket.) Its registries say what is in which room; what they hide is not
there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from pydantic import BaseModel, ConfigDict, model_validator

from tools_server.hubs.devices import Device, Kind, said
from tools_server.reach import websocket
from tools_server.reach.outside import Outside
from tools_server.reach.tls import in_the_house
from tools_server.reach.websocket import Hung, JsonSocket

ANSWER_SECONDS = 10.0
LONGEST_BACKOFF_SECONDS = 60.0
MOST_DEVICES = 2000
_KINDS: Mapping[str, Kind] = {
    "light": "light",
    "switch": "switch",
    "input_boolean": "switch",
    "climate": "climate",
    "cover": "cover",
    "lock": "lock",
    "media_player": "media",
    "fan": "fan",
    "sensor": "sensor",
    "binary_sensor": "sensor",
    "scene": "scene",
}
_REGISTRIES = ("area", "device", "entity")
_COLOURED = {"hs", "rgb", "rgbw", "rgbww", "xy"}
_CAN_POSITION = 4  # cover: CoverEntityFeature.SET_POSITION
log = logging.getLogger(__name__)


class HomeAssistantSettings(BaseModel):
    """Where Home Assistant is. Without an address there is none."""

    model_config = ConfigDict(extra="forbid")
    url: str = ""  # "https://…"
    token_file: Path | None = None
    authority_file: Path | None = None  # PEM: who vouches for it, when that is the house itself

    @model_validator(mode="after")
    def _guarded(self) -> HomeAssistantSettings:
        if not self.url:
            return self
        scheme, _, rest = self.url.partition("://")
        host = rest.partition("/")[0].rpartition("@")[2]
        host = host[: host.index("]") + 1] if host.startswith("[") else host.partition(":")[0]
        if scheme not in ("http", "https") or not host:
            raise ValueError("url is an address such as https://homeassistant.local:8123")
        if scheme == "http" and not in_the_house(host):
            raise ValueError(f"{host} is not on the network of this house, so it is reached by https")
        if self.token_file is None:
            raise ValueError("token_file is needed: a long-lived access token lies in it")
        return self


@dataclass(slots=True)
class _Waiting:
    """A question without an answer yet."""

    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Mapping[str, Any] = field(default_factory=dict)


class HomeAssistant:
    """Home Assistant, as a hub of devices."""

    def __init__(self, settings: HomeAssistantSettings, outside: Outside, turned: Callable[[bool], None]) -> None:
        """Tell `turned` of every change: with True when the devices themselves, not only their states, differ."""
        self._settings = settings
        self._outside = outside
        self._turned = turned
        self._states: dict[str, Mapping[str, Any]] = {}
        self._registries: dict[str, list[Mapping[str, Any]]] = {name: [] for name in _REGISTRIES}
        self._socket: JsonSocket | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._number = 0
        self._stale = anyio.Event()  # set when a registry changed
        self.connected = False

    def devices(self, elsewhere: set[str] = frozenset()) -> list[Device]:  # type: ignore[assignment]
        """Return every device, reachable or not, but those whose own ids another hub already shows."""
        entries = {str(entry.get("entity_id")): entry for entry in self._registries["entity"]}
        rooms = {area.get("area_id"): said(str(area.get("name") or "")) for area in self._registries["area"]}
        places = {device.get("id"): device.get("area_id") for device in self._registries["device"]}
        shown = []
        for id, state in self._states.items():
            entry = entries.get(id, {})
            kind = _KINDS.get(id.partition(".")[0])
            if kind is None or any(entry.get(key) for key in ("hidden_by", "disabled_by", "entity_category")):
                continue
            if entry.get("platform") == "mqtt" and entry.get("unique_id") in elsewhere:
                continue
            room = rooms.get(entry.get("area_id") or places.get(entry.get("device_id")), "")
            shown.append(_device(id, kind, room, state, self.connected))
        return shown

    async def tell(self, id: str, wanted: Mapping[str, Any]) -> None:
        """Call the services that make a device take the state that is wanted. Raises OSError, also when refused."""
        entity = id.removeprefix("ha:")
        for service, data in _services(entity, wanted):
            domain, _, name = service.partition(".")
            await self._ask(
                "call_service", domain=domain, service=name, service_data=data, target={"entity_id": entity}
            )

    # ── the connection ─────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Stay connected, until cancelled."""
        wait = 0.5
        while True:
            try:
                await self._session()
            except (OSError, ValueError) as trouble:  # TimeoutError is one
                if self.connected:
                    wait = 0.5
                log.warning("home_assistant unreachable=%s retry_s=%g", trouble, wait)
            finally:
                self._lost()
            await anyio.sleep(wait)
            wait = min(wait * 2, LONGEST_BACKOFF_SECONDS)

    def _lost(self) -> None:
        self._socket = None
        for waiting in self._waiting.values():
            waiting.done.set()
        self._waiting = {}
        if self.connected:
            self.connected = False
            self._turned(True)

    async def _session(self) -> None:
        url = self._settings.url.rstrip("/").replace("http", "ws", 1) + "/api/websocket"
        async with websocket.opened(self._outside, url, self._settings.authority_file) as opened:
            with anyio.fail_after(ANSWER_SECONDS):
                await self._enter(opened)
            self._socket = opened
            trouble: list[OSError] = []

            async def hear() -> None:
                # A group would wrap what is raised in it; the one reason is wanted.
                try:
                    while True:
                        self._heard(await opened.receive())
                except OSError as lost:
                    trouble.append(lost)
                    tasks.cancel_scope.cancel()

            async def learn() -> None:
                try:
                    await self._learn()
                except OSError as lost:
                    trouble.append(lost)
                    tasks.cancel_scope.cancel()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(hear)
                tasks.start_soon(learn)
            raise trouble[0]

    async def _enter(self, opened: JsonSocket) -> None:
        assert self._settings.token_file
        hello = await opened.receive()
        if not isinstance(hello, dict) or hello.get("type") != "auth_required":
            raise Hung("this is no Home Assistant")
        token = self._settings.token_file.read_text("utf-8").strip()
        await opened.send({"type": "auth", "access_token": token})
        answer = await opened.receive()
        if not isinstance(answer, dict) or answer.get("type") != "auth_ok":
            raise Hung("it does not take my token")

    async def _learn(self) -> None:
        """Ask for everything, in an order that misses no change; then for the registries whenever they change."""
        await self._ask("subscribe_events", event_type="state_changed")
        for name in _REGISTRIES:
            await self._ask("subscribe_events", event_type=f"{name}_registry_updated")
        states = await self._ask("get_states")
        kept = [state for state in states if _usable(state)][:MOST_DEVICES] if isinstance(states, list) else []
        self._states = {str(state["entity_id"]): state for state in kept}
        while True:
            self._stale = anyio.Event()
            for name in _REGISTRIES:
                listed = await self._ask(f"config/{name}_registry/list")
                self._registries[name] = (
                    [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
                )
            self.connected = True
            self._turned(True)
            await self._stale.wait()

    async def _ask(self, question: str, **fields: Any) -> Any:
        """Return the answer to a question. Raises OSError."""
        if self._socket is None:
            raise Hung("Home Assistant is not there")
        self._number += 1
        number, waiting = self._number, _Waiting()
        self._waiting[number] = waiting
        try:
            await self._socket.send({"id": number, "type": question, **fields})
            with anyio.fail_after(ANSWER_SECONDS):
                await waiting.done.wait()
        finally:
            self._waiting.pop(number, None)
        if waiting.answer.get("success") is not True:
            raise Hung(f"Home Assistant refused {question}")
        return waiting.answer.get("result")

    def _heard(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        if message.get("type") == "result" and (waiting := self._waiting.get(message.get("id", -1))):
            waiting.answer = message
            waiting.done.set()
        event = message.get("event")
        if message.get("type") != "event" or not isinstance(event, dict):
            return
        if event.get("event_type") != "state_changed":
            self._stale.set()
            return
        data = event.get("data")
        if isinstance(data, dict) and isinstance(id := data.get("entity_id"), str):
            new, known = data.get("new_state"), id in self._states
            if not isinstance(new, dict) or not _usable(new):
                self._states.pop(id, None)
            elif known or len(self._states) < MOST_DEVICES:
                self._states[id] = new
            self._turned(known != (id in self._states))


def _usable(state: Any) -> bool:
    return (
        isinstance(state, dict)
        and isinstance(state.get("entity_id"), str)
        and isinstance(state.get("state"), str)
        and isinstance(state.get("attributes"), dict)
    )


# ── its words and ours ─────────────────────────────────────────────────────────────────────────────


def _device(id: str, kind: Kind, room: str, told: Mapping[str, Any], connected: bool) -> Device:
    attributes: Mapping[str, Any] = told["attributes"]
    value = told["state"]
    return Device(
        id=f"ha:{id}",
        name=said(str(attributes.get("friendly_name") or id.partition(".")[2].replace("_", " "))),
        room=room,
        kind=kind,
        can=frozenset(_can(kind, attributes)),
        state=_state(kind, value, attributes) if value not in ("unavailable", "unknown") else {},
        reachable=connected and value != "unavailable",
        tells=attributes.get("assumed_state") is not True and kind != "scene",
        shape=said(str(attributes.get("device_class") or "")),
    )


def _can(kind: Kind, attributes: Mapping[str, Any]) -> set[str]:
    match kind:
        case "light":
            listed = attributes.get("supported_color_modes")
            modes = set(map(str, listed)) if isinstance(listed, list) else set()
            able = {"on"} | ({"brightness"} if modes - {"onoff"} else set())
            return (
                able | ({"kelvin"} if "color_temp" in modes else set()) | ({"colour"} if modes & _COLOURED else set())
            )
        case "switch" | "fan":
            return {"on"}
        case "climate":
            return {"on", "temperature", "mode"}
        case "cover":
            features = attributes.get("supported_features")
            return {"open"} | ({"position"} if isinstance(features, int) and features & _CAN_POSITION else set())
        case "lock":
            return {"locked"}
        case "media":
            return {"on", "playing", "volume"}
        case "scene":
            return {"scene"}
        case "sensor":
            return set()


def _state(kind: Kind, value: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    def number(name: str) -> float | None:
        found = attributes.get(name)
        return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None

    state: dict[str, Any] = {}
    match kind:
        case "light" | "switch" | "fan":
            state = {"on": value == "on", "kelvin": number("color_temp_kelvin")}
            brightness, colour = number("brightness"), attributes.get("rgb_color")
            state["brightness"] = None if brightness is None else round(brightness * 100 / 255)
            if (
                isinstance(colour, list)
                and len(colour) == 3
                and all(isinstance(c, int) and 0 <= c < 256 for c in colour)
            ):
                state["colour"] = "#" + bytes(colour).hex()
        case "climate":
            wanted, measured = number("temperature"), number("current_temperature")
            state = {"on": value != "off", "mode": said(value), "temperature": wanted, "measured": measured}
        case "cover":
            heading = {"opening": "open", "closing": "closed"}.get(value, "")
            state = {"open": value in ("open", "opening"), "heading": heading, "position": number("current_position")}
        case "lock":
            state = {"locked": value == "locked"}
        case "media":
            volume = number("volume_level")
            state = {
                "on": value not in ("off", "standby"),
                "playing": value == "playing",
                "volume": None if volume is None else round(volume * 100),
                "title": said(str(attributes.get("media_title") or "")) or None,
            }
        case "sensor":
            state = {"value": said(value), "unit": said(str(attributes.get("unit_of_measurement") or "")) or None}
        case "scene":
            pass
    return {name: part for name, part in state.items() if part is not None}


def _services(entity: str, wanted: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the services to call, with their data."""
    domain = entity.partition(".")[0]
    if domain == "light" and wanted.get("on", True):
        data: dict[str, Any] = {}
        if "brightness" in wanted:
            data["brightness_pct"] = wanted["brightness"]
        if "kelvin" in wanted:
            data["color_temp_kelvin"] = wanted["kelvin"]
        if "colour" in wanted:
            data["rgb_color"] = list(bytes.fromhex(wanted["colour"][1:]))
        return [("light.turn_on", data)]
    calls: list[tuple[str, dict[str, Any]]] = []
    for name, value in wanted.items():
        match name:
            case "on":
                calls.append((f"{domain}.turn_{'on' if value else 'off'}", {}))
            case "temperature":
                calls.append(("climate.set_temperature", {"temperature": value}))
            case "mode":
                calls.append(("climate.set_hvac_mode", {"hvac_mode": value}))
            case "open":
                calls.append((f"cover.{'open' if value else 'close'}_cover", {}))
            case "position":
                calls.append(("cover.set_cover_position", {"position": value}))
            case "locked":
                calls.append((f"lock.{'lock' if value else 'unlock'}", {}))
            case "playing":
                calls.append((f"media_player.media_{'play' if value else 'pause'}", {}))
            case "volume":
                calls.append(("media_player.volume_set", {"volume_level": value / 100}))
            case "scene":
                calls.append(("scene.turn_on", {}))
    return calls
