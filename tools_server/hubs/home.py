"""Every device of the house in one list, whichever hub it is connected to, and the plan of its rooms and floors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio
from pydantic import BaseModel, ConfigDict, Field

from tools_server.hubs.devices import Device, Floor, FloorPlan, Room, State, plain
from tools_server.hubs.home_assistant import HomeAssistant, HomeAssistantSettings
from tools_server.hubs.hub import Hub
from tools_server.hubs.mqtt import Mqtt, MqttSettings
from tools_server.hubs.scripted import Scripted, ScriptedHubSettings
from tools_server.reach.outside import Outside
from tools_server.sdk.toolkit import Call


class HomeSettings(BaseModel):
    """Where devices come from, and what people call them."""

    model_config = ConfigDict(extra="forbid")
    mqtt: MqttSettings = MqttSettings()
    home_assistant: HomeAssistantSettings = HomeAssistantSettings()
    scripted: ScriptedHubSettings = ScriptedHubSettings()
    rooms: dict[str, str] = Field(default_factory=dict)  # a device's name or id → its room
    aliases: dict[str, str] = Field(default_factory=dict)  # another name → a device's name or id
    floors: dict[str, list[str]] = Field(default_factory=dict)  # a floor → its rooms
    room_aliases: dict[str, str] = Field(default_factory=dict)  # another name → a room
    floor_aliases: dict[str, str] = Field(default_factory=dict)  # another name → a floor


class Home:
    """Everything that can be switched or looked at, wherever it is connected."""

    def __init__(self, settings: HomeSettings, outside: Outside, changed: Callable[[str], None]) -> None:
        self._settings = settings
        self._changed = changed
        self._turned = anyio.Event()
        self.mqtt = Mqtt(settings.mqtt, outside, self._on_turn) if settings.mqtt.host else None
        url = settings.home_assistant.url
        self.ha = HomeAssistant(settings.home_assistant, outside, self._on_turn) if url else None
        file = settings.scripted.file
        self.scripted = Scripted(file, self._on_turn) if file else None

    @property
    def hubs(self) -> list[Hub]:
        """Return the hubs that are set up."""
        return [hub for hub in (self.mqtt, self.ha, self.scripted) if hub]

    @property
    def empty(self) -> bool:
        """Whether nothing is set up."""
        return not self.hubs

    def devices(self) -> list[Device]:
        """Return every device, in the order of their rooms and names."""
        every = self.mqtt.devices() if self.mqtt else []
        if self.ha:
            every += self.ha.devices(self.mqtt.uniques() if self.mqtt else set())
        if self.scripted:
            every += self.scripted.devices()
        plan = self.plan()
        return sorted(
            (self._called(device, plan) for device in every), key=lambda device: (device.room, device.name, device.id)
        )

    def plan(self) -> FloorPlan:
        """Return the rooms and floors that hubs and settings name; the settings decide."""
        plans = [hub.plan() for hub in (self.ha, self.scripted) if hub]
        rooms = {room.name: room for plan in plans for room in plan.rooms}
        floors = {floor.name: floor for plan in plans for floor in plan.floors}
        for name, inside in self._settings.floors.items():
            floors.setdefault(name, Floor(name))
            for room in inside:
                rooms[room] = replace(rooms.get(room, Room(room)), floor=name)
        for alias, name in self._settings.room_aliases.items():
            named = rooms.get(name, Room(name))
            rooms[name] = replace(named, aliases=(*named.aliases, alias))
        for alias, name in self._settings.floor_aliases.items():
            floor = floors.get(name, Floor(name))
            floors[name] = replace(floor, aliases=(*floor.aliases, alias))
        return FloorPlan(tuple(rooms.values()), tuple(floors.values()))

    def _called(self, device: Device, plan: FloorPlan) -> Device:
        names = {device.id, plain(device.name)}
        rooms = [room for name, room in self._settings.rooms.items() if name in names or plain(name) in names]
        aliases = [alias for alias, name in self._settings.aliases.items() if name in names or plain(name) in names]
        place = plan.room(rooms[0] if rooms else device.room) if rooms or device.room else None
        return replace(
            device,
            room=rooms[0] if rooms else device.room,
            aliases=(*device.aliases, *aliases),
            floor=place.floor if place else device.floor,
            room_aliases=place.aliases if place else (),
        )

    def now(self, id: str) -> Device | None:
        """Return a device as it is now."""
        return next((device for device in self.devices() if device.id == id), None)

    async def tell(self, device: Device, wanted: State) -> None:
        """Send a command. Raises OSError."""
        hub: Hub | None = {"mqtt": self.mqtt, "ha": self.ha}.get(device.id.partition(":")[0], self.scripted)
        assert hub, "a device came from a hub"
        await hub.tell(device.id, wanted)

    async def until(self, true: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is true of the devices; tell whether it became so in time."""
        with anyio.move_on_after(seconds):
            while not true():
                await self._turned.wait()
        return true()

    def _on_turn(self, devices: bool) -> None:
        self._turned.set()
        self._turned = anyio.Event()
        if devices:
            self._changed("home.list")


def room_named(call: Call, room: str) -> str:
    """Return a room by its own name, where the house knows its rooms."""
    home = call.gate.engines.get("home")
    known = home.plan().room(room) if isinstance(home, Home) and room else None
    return known.name if known else room
