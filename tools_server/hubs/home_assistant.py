"""A house's devices through Home Assistant's WebSocket API: states and rooms in, calls of its services out.

(developers.home-assistant.io/docs/api/websocket.) Its registries say what is in which room; what they hide is not
there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from pydantic import BaseModel, ConfigDict, model_validator

from tools_server.hubs.devices import Device, Floor, FloorPlan, Room, spoken_name
from tools_server.hubs.home_assistant_words import SEARCH_MEDIA, RegistryEntity, has, kind_of, services
from tools_server.hubs.hub import Hub
from tools_server.reach import websocket
from tools_server.reach.outside import Outside
from tools_server.reach.tls import refuse_in_the_clear
from tools_server.reach.websocket import Hung, JsonSocket
from tools_server.values.language import text as _

ANSWER_SECONDS = 10.0
SAY_SECONDS = 18.0  # Home Assistant answers when its satellite has said it; the house waits 20
SATELLITE = "assist_satellite."
AWAY = ("unavailable", "unknown")
MOST_DEVICES = 2000
_REGISTRIES = {"floor": "floor_id", "area": "area_id", "device": "id", "entity": "entity_id"}  # and what names a row
_KEYS = (*_REGISTRIES.values(), "device_id", "unique_id")


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
        refuse_in_the_clear(self.url)
        if self.token_file is None:
            raise ValueError("token_file is needed: a long-lived access token lies in it")
        return self


@dataclass(slots=True)
class _Waiting:
    """A question without an answer yet."""

    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Mapping[str, Any] = field(default_factory=dict)


class HomeAssistant(Hub):
    """Home Assistant, as a hub of devices."""

    name = "home_assistant"

    def __init__(self, settings: HomeAssistantSettings, outside: Outside, turned: Callable[[bool], None]) -> None:
        super().__init__(turned)
        self._settings = settings
        self._outside = outside
        self._states: dict[str, Mapping[str, Any]] = {}
        self._aliases: dict[str, Any] = {}  # by entity
        self._fahrenheit = False
        self._registries: dict[str, list[Mapping[str, Any]]] = {name: [] for name in _REGISTRIES}
        self._socket: JsonSocket | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._number = 0
        self._stale = anyio.Event()  # set when a registry changed

    def devices(self, elsewhere: set[str] = frozenset()) -> list[Device]:  # type: ignore[assignment]
        """Return every device, reachable or not, but those whose own ids another hub already shows."""
        entries = {str(entry.get("entity_id")): entry for entry in self._registries["entity"]}
        rooms = {area.get("area_id"): spoken_name(str(area.get("name") or "")) for area in self._registries["area"]}
        places = {device.get("id"): device.get("area_id") for device in self._registries["device"]}
        tracked = any(id.startswith("person.") for id in self._states)
        shown = []
        for id, state in self._states.items():
            entry = entries.get(id, {})
            kind = kind_of(id)
            if kind is None or any(entry.get(key) for key in ("hidden_by", "disabled_by", "entity_category")):
                continue
            if entry.get("platform") == "mqtt" and entry.get("unique_id") in elsewhere:
                continue
            if id.startswith("device_tracker.") and tracked:  # a phone of somebody who is a person here
                continue
            room = rooms.get(entry.get("area_id") or places.get(entry.get("device_id")), "")
            heard = RegistryEntity(id, kind, room, _names(self._aliases.get(id)), self._fahrenheit)
            shown.append(heard.device(state, self.connected))
        return shown

    def plan(self) -> FloorPlan:
        """Return the areas as rooms, and the floors, with their aliases."""
        floors = {
            floor.get("floor_id"): Floor(spoken_name(str(floor.get("name") or "")), _names(floor.get("aliases")))
            for floor in self._registries["floor"]
        }
        rooms = [
            Room(
                spoken_name(str(area.get("name") or "")),
                floor.name if (floor := floors.get(area.get("floor_id"))) else "",
                _names(area.get("aliases")),
            )
            for area in self._registries["area"]
        ]
        return FloorPlan(tuple(room for room in rooms if room.name), tuple(floors.values()))

    async def tell(self, id: str, wanted: Mapping[str, Any]) -> None:
        """Call the services that make a device take the state that is wanted. Raises OSError, also when refused."""
        entity = id.removeprefix("ha:")
        if "query" in wanted:
            wanted = await self._searched(entity, wanted)
        if "room" in wanted:
            areas = [
                area for area in self._registries["area"] if spoken_name(str(area.get("name") or "")) == wanted["room"]
            ]
            wanted = {**wanted, "room": areas[0]["area_id"]} if areas else {"activity": wanted["activity"]}
        for service, data in services(entity, wanted, self._fahrenheit):
            await self._serve(service, data, entity)

    def satellites(self) -> list[str]:
        """Return the ids of the satellites that can be spoken through now."""
        here = self._states.items() if self.connected else ()
        return sorted(id for id, one in here if id.startswith(SATELLITE) and one["state"] not in AWAY)

    async def say(self, satellite: str, words: str) -> None:
        """Say something through a satellite; returns when it was played. Raises OSError."""
        await self._serve("assist_satellite.announce", {"message": words}, satellite, SAY_SECONDS)

    async def _serve(
        self, service: str, data: Mapping[str, Any], entity: str, patience_seconds: float = ANSWER_SECONDS
    ) -> None:
        """Call a service for an entity. Raises OSError."""
        domain, _, name = service.partition(".")
        target = {"entity_id": entity}
        await self._ask("call_service", patience_seconds, domain=domain, service=name, service_data=data, target=target)

    async def _searched(self, entity: str, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a player's own search finds first as what is to be played; the words themselves otherwise."""
        features = self._states.get(entity, {}).get("attributes", {}).get("supported_features")
        if not has(features, SEARCH_MEDIA):
            return wanted
        classes: dict[str, Any] = {"media_filter_classes": [wanted["media_class"]]} if wanted.get("media_class") else {}
        answer = await self._ask("media_player/search_media", entity_id=entity, search_query=wanted["query"], **classes)
        listed = answer.get("result") if isinstance(answer, dict) else None
        first = next((row for row in listed if isinstance(row, dict)), None) if isinstance(listed, list) else None
        if first is None:
            raise Hung(_("its search found nothing of that name"))
        return {"media_id": first.get("media_content_id"), "media_type": first.get("media_content_type")}

    # ── the connection ─────────────────────────────────────────────────────────────────────────────

    def _hang_up(self) -> None:
        self._socket = None
        for waiting in self._waiting.values():
            waiting.done.set()
        self._waiting = {}

    async def _session(self) -> None:
        url = self._settings.url.rstrip("/").replace("http", "ws", 1) + "/api/websocket"
        async with websocket.opened(self._outside, url, self._settings.authority_file) as opened:
            with anyio.fail_after(ANSWER_SECONDS):
                await self._enter(opened)
            self._socket = opened
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._learn)
                while True:
                    self._heard(await opened.receive())

    async def _enter(self, opened: JsonSocket) -> None:
        assert self._settings.token_file
        hello = await opened.receive()
        if not isinstance(hello, dict) or hello.get("type") != "auth_required":
            raise Hung(_("this is no Home Assistant"))
        token = self._settings.token_file.read_text("utf-8").strip()
        await opened.send({"type": "auth", "access_token": token})
        answer = await opened.receive()
        if not isinstance(answer, dict) or answer.get("type") != "auth_ok":
            raise Hung(_("it does not take my token"))

    async def _learn(self) -> None:
        """Ask for everything, in an order that misses no change; then for the registries whenever they change."""
        await self._ask("subscribe_events", event_type="state_changed")
        for name in _REGISTRIES:
            await self._ask("subscribe_events", event_type=f"{name}_registry_updated")
        states = await self._ask("get_states")
        usable = [state for state in states if _usable(state)][:MOST_DEVICES] if isinstance(states, list) else []
        self._states = {str(state["entity_id"]): state for state in usable}
        settings = await self._ask("get_config")
        units = settings.get("unit_system") if isinstance(settings, dict) else None
        self._fahrenheit = isinstance(units, dict) and units.get("temperature") == "°F"
        while True:
            self._stale = anyio.Event()
            for name, key in _REGISTRIES.items():
                listed = await self._known(f"config/{name}_registry/list")
                self._registries[name] = _rows(listed, key)
            # The list says everything of an entity but what else it is called.
            ids = [id for id in self._states if kind_of(id)]
            entries = await self._known("config/entity_registry/get_entries", entity_ids=ids)
            known = entries.items() if isinstance(entries, dict) else ()
            self._aliases = {id: entry.get("aliases") for id, entry in known if isinstance(entry, dict)}
            self.connected = True
            self._turned(True)
            await self._stale.wait()

    async def _known(self, question: str, **fields: Any) -> Any:
        """Return the answer to a question that older versions do not know; None from one of those. Raises OSError."""
        try:
            return await self._ask(question, **fields)
        except Hung:
            if self._socket is None:
                raise
            return None

    async def _ask(self, question: str, patience_seconds: float = ANSWER_SECONDS, **fields: Any) -> Any:
        """Return the answer to a question. Raises OSError."""
        if self._socket is None:
            raise Hung(_("Home Assistant is not there"))
        self._number += 1
        number, waiting = self._number, _Waiting()
        self._waiting[number] = waiting
        try:
            await self._socket.send({"id": number, "type": question, **fields})
            with anyio.fail_after(patience_seconds):
                await waiting.done.wait()
        finally:
            self._waiting.pop(number, None)
        if waiting.answer.get("success") is not True:
            raise Hung(_("Home Assistant refused {what}").format(what=question))
        return waiting.answer.get("result")

    def _heard(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        number = message.get("id")
        if message.get("type") == "result" and isinstance(number, int) and (waiting := self._waiting.get(number)):
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


def _rows(listed: Any, key: str) -> list[Mapping[str, Any]]:
    """Return the rows of a registry that name themselves; what should name another row and is no text, names none."""
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return [
        {name: None if name in _KEYS and not isinstance(value, str) else value for name, value in row.items()}
        for row in rows
        if isinstance(row.get(key), str)
    ]


def _names(listed: Any) -> tuple[str, ...]:
    return (
        tuple(spoken_name(name) for name in listed if isinstance(name, str) and name)
        if isinstance(listed, list)
        else ()
    )


def _usable(state: Any) -> bool:
    return (
        isinstance(state, dict)
        and isinstance(state.get("entity_id"), str)
        and isinstance(state.get("state"), str)
        and isinstance(state.get("attributes"), dict)
    )
