"""Every device of the house in one list, whichever hub it is connected to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio
from pydantic import BaseModel, ConfigDict, Field

from tools_server.hubs.devices import Device, State, plain
from tools_server.hubs.home_assistant import HomeAssistant, HomeAssistantSettings
from tools_server.hubs.mqtt import Mqtt, MqttSettings
from tools_server.reach.outside import Outside


class HomeSettings(BaseModel):
    """Where devices come from, and what people call them."""

    model_config = ConfigDict(extra="forbid")
    mqtt: MqttSettings = MqttSettings()
    home_assistant: HomeAssistantSettings = HomeAssistantSettings()
    rooms: dict[str, str] = Field(default_factory=dict)  # a device's name or id → its room
    aliases: dict[str, str] = Field(default_factory=dict)  # another name → a device's name or id


class Home:
    """Everything that can be switched, wherever it is connected."""

    def __init__(self, settings: HomeSettings, outside: Outside, changed: Callable[[str], None]) -> None:
        self._settings = settings
        self._changed = changed
        self._turned = anyio.Event()
        self.mqtt = Mqtt(settings.mqtt, outside, self._on_turn) if settings.mqtt.host else None
        url = settings.home_assistant.url
        self.ha = HomeAssistant(settings.home_assistant, outside, self._on_turn) if url else None

    @property
    def empty(self) -> bool:
        """Whether nothing is set up."""
        return self.mqtt is None and self.ha is None

    def devices(self) -> list[Device]:
        """Return every device, in the order of their rooms and names."""
        found = self.mqtt.devices() if self.mqtt else []
        if self.ha:
            found += self.ha.devices(self.mqtt.uniques() if self.mqtt else set())
        return sorted(map(self._called, found), key=lambda device: (device.room, device.name, device.id))

    def _called(self, device: Device) -> Device:
        names = {device.id, plain(device.name)}
        rooms = [room for name, room in self._settings.rooms.items() if name in names or plain(name) in names]
        aliases = [alias for alias, name in self._settings.aliases.items() if name in names or plain(name) in names]
        return replace(device, room=rooms[0] if rooms else device.room, aliases=tuple(aliases))

    def now(self, id: str) -> Device | None:
        """Return a device as it is now."""
        return next((device for device in self.devices() if device.id == id), None)

    async def tell(self, device: Device, wanted: State) -> None:
        """Send a command. Raises OSError."""
        hub = self.mqtt if device.id.startswith("mqtt:") else self.ha
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
