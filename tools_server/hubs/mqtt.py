"""A house's devices over MQTT: finds them by discovery, hears their states, tells them what to do.

paho speaks the protocol; its socket is one that was dialled, and its reading and writing happen on the event loop,
so there are no threads but the one that connects.
"""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tools_server.hubs.devices import Device
from tools_server.hubs.hub import Hub
from tools_server.hubs.mqtt_commands import commands
from tools_server.hubs.mqtt_discovery import DiscoveredDevice, Unclear, discovered
from tools_server.hubs.mqtt_states import value_at
from tools_server.reach.outside import Outside
from tools_server.reach.tls import Tls, allowed, context
from tools_server.values.language import text as _

CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 30
SETTLE_SECONDS = 5.0  # after which every retained config has come again, so what has not come is gone
MOST_DEVICES = 2000
STATE_BYTES = 64 * 1024
log = logging.getLogger(__name__)


class MqttSettings(BaseModel):
    """Where the broker is. Without a host there is none."""

    model_config = ConfigDict(extra="forbid")
    host: str = ""
    port: int = Field(default=8883, ge=1, le=65_535)
    tls: Tls = "implicit"
    authority_file: Path | None = None  # PEM: who vouches for the broker, when that is the house itself
    user: str = ""
    password_file: Path | None = None
    prefix: str = Field(default="homeassistant", pattern=r"^[A-Za-z0-9_/-]{1,100}$")

    @model_validator(mode="after")
    def _guarded(self) -> MqttSettings:
        if self.tls == "starttls":
            raise ValueError('MQTT has no STARTTLS: tls is "implicit" or "none"')
        if self.host and (wrong := allowed(self.host, self.tls)):
            raise ValueError(wrong)
        return self


@dataclass(slots=True)
class _Known:
    """A device, and what it has said."""

    description: DiscoveredDevice
    state: dict[str, Any] = field(default_factory=dict)
    present: dict[str, bool] = field(default_factory=dict)  # by availability topic
    latest: bool = False  # of those, what came last
    fresh: bool = True  # its config came since we connected

    @property
    def device(self) -> Device:
        """Return it as it is now."""
        return replace(self.description.device, state=dict(self.state), reachable=self._reachable())

    def _reachable(self) -> bool:
        if not self.description.availability:
            return True
        if self.description.every:
            return all(self.present.get(topic, False) for topic in self.description.availability)
        return self.latest


class _Client(paho.Client):
    """paho over a dialled stream."""

    def __init__(self, outside: Outside) -> None:
        super().__init__(CallbackAPIVersion.VERSION2, client_id=f"atlas-{secrets.token_hex(6)}")
        self._outside = outside

    def _create_socket_connection(self) -> socket.socket:
        return self._outside.dial(self._host, self._port, CONNECT_SECONDS)


class Mqtt(Hub):
    """The broker, as a hub of devices."""

    name = "mqtt"

    def __init__(self, settings: MqttSettings, outside: Outside, turned: Callable[[bool], None]) -> None:
        super().__init__(turned)
        self._settings = settings
        self._outside = outside
        self._known: dict[str, _Known] = {}
        self._by_config: dict[str, list[str]] = {}  # config topic → the ids it describes
        self._client: _Client | None = None

    def devices(self) -> list[Device]:
        """Return every device, reachable or not."""
        return [
            known.device if self.connected else replace(known.device, reachable=False) for known in self._known.values()
        ]

    def uniques(self) -> set[str]:
        """Return the ids that devices have of their own: another hub may show the same ones."""
        return {known.description.unique for known in self._known.values()} - {""}

    async def tell(self, id: str, wanted: Mapping[str, Any]) -> None:
        """Hand a command to the broker; whether the device took it is seen in its state. Raises OSError."""
        known, client = self._known.get(id), self._client
        if known is None or client is None or not self.connected:
            raise OSError(_("the broker is not there"))
        for message in commands(known.description, wanted):
            client.publish(message.topic, message.payload, qos=1, retain=message.retain)
        await self._flush(client)

    # ── the connection ─────────────────────────────────────────────────────────────────────────────

    def _hang_up(self) -> None:
        client, self._client = self._client, None
        if client:
            client.disconnect()

    async def _session(self) -> None:
        client = self._made()
        await anyio.to_thread.run_sync(
            client.connect, self._settings.host, self._settings.port, KEEPALIVE_SECONDS, abandon_on_cancel=True
        )
        self._client = client
        with anyio.move_on_after(CONNECT_SECONDS):
            while not self.connected and await self._read(client):
                pass
        if not self.connected:
            raise OSError(_("the broker does not let me in"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_alive, client)
            tasks.start_soon(self._forget_the_gone)
            while await self._read(client):
                pass
            tasks.cancel_scope.cancel()

    def _made(self) -> _Client:
        client = _Client(self._outside)
        if self._settings.tls == "implicit":
            client.tls_set_context(context(self._settings.authority_file))
        if self._settings.user:
            file = self._settings.password_file
            client.username_pw_set(self._settings.user, file.read_text("utf-8").strip("\r\n") if file else None)
        client.on_connect = self._on_connect
        client.on_message = self._on_message
        return client

    async def _read(self, client: _Client) -> bool:
        """Take in what came; tell whether the connection is still there."""
        stream = client.socket()
        if not isinstance(stream, socket.socket):
            return False
        if not getattr(stream, "pending", lambda: 0)():  # TLS may hold what the kernel no longer has
            await anyio.wait_readable(stream)
        else:
            await anyio.lowlevel.checkpoint()
        if client.loop_read() != paho.MQTT_ERR_SUCCESS:
            return False
        return await self._flush(client)

    async def _flush(self, client: _Client) -> bool:
        while client.want_write() and isinstance(stream := client.socket(), socket.socket):
            await anyio.wait_writable(stream)
            if client.loop_write() != paho.MQTT_ERR_SUCCESS:
                return False
        return True

    async def _keep_alive(self, client: _Client) -> None:
        """Ping, and hang up on a broker that no longer answers: the reader then sees the end."""
        while True:
            await anyio.sleep(KEEPALIVE_SECONDS / 4)
            stream = client.socket()
            number = stream.fileno() if stream else -1
            if client.loop_misc() != paho.MQTT_ERR_SUCCESS:
                anyio.notify_closing(number)
                return

    async def _forget_the_gone(self) -> None:
        await anyio.sleep(SETTLE_SECONDS)
        gone = {id for id, known in self._known.items() if not known.fresh}
        for id in gone:
            del self._known[id]
        if gone:
            self._by_config = {
                topic: left for topic, ids in self._by_config.items() if (left := [id for id in ids if id not in gone])
            }
            self._turned(True)

    # ── what came ──────────────────────────────────────────────────────────────────────────────────

    def _on_connect(self, client: paho.Client, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            log.warning("mqtt broker=%s refused=%s", self._settings.host, reason)
            return
        self.connected = True
        for known in self._known.values():
            known.fresh = False
        prefix = self._settings.prefix
        client.subscribe([(f"{prefix}/+/+/config", 0), (f"{prefix}/+/+/+/config", 0)])
        if topics := self._topics(self._known):
            client.subscribe([(topic, 0) for topic in sorted(topics)])
        self._turned(True)

    def _on_message(self, client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        topic = message.topic
        if topic.startswith(f"{self._settings.prefix}/") and topic.endswith("/config"):
            self._configured(client, topic, bytes(message.payload))
        elif len(message.payload) <= STATE_BYTES:
            self._heard(topic, message.payload.decode("utf-8", "replace"))

    def _configured(self, client: paho.Client, topic: str, payload: bytes) -> None:
        """Take in a config: new devices, changed ones, and, when it is empty, the end of some."""
        try:
            described = discovered(self._settings.prefix, topic, payload)
        except Unclear as unclear:
            log.warning("mqtt config=%s unclear=%s", topic, unclear)
            described = []
        before = {id: self._known[id] for id in self._by_config.get(topic, ()) if id in self._known}
        for id in before:
            del self._known[id]
        after: dict[str, _Known] = {}
        for discovered_device in described[: max(0, MOST_DEVICES - len(self._known))]:
            was = before.get(discovered_device.device.id)
            same = was is not None and was.description.config == discovered_device.config
            after[discovered_device.device.id] = replace(was, fresh=True) if was and same else _Known(discovered_device)
        old, self._by_config[topic] = self._topics(before), list(after)
        if not after:
            del self._by_config[topic]
        self._known |= after
        if new := self._topics(after) - (old - self._topics_changed(before, after)):
            client.subscribe([(item, 0) for item in sorted(new)])
        if gone := old - self._topics(self._known):
            client.unsubscribe(sorted(gone))
        self._turned(True)

    def _topics_changed(self, before: Mapping[str, _Known], after: Mapping[str, _Known]) -> set[str]:
        """Return the topics of devices that are described anew: subscribed again, they tell their retained state."""
        return self._topics({id: known for id, known in after.items() if id in before and not known.state})

    def _topics(self, known: Mapping[str, _Known]) -> set[str]:
        return {
            topic
            for device in known.values()
            for topic in (*(listen.topic for listen in device.description.listens), *device.description.availability)
        }

    def _heard(self, topic: str, payload: str) -> None:
        for known in self._known.values():
            for listen in known.description.listens:
                if listen.topic == topic:
                    known.state |= listen.read(payload)
            if topic in known.description.availability:
                yes, no, template = known.description.availability[topic]
                message = str(value_at(template, payload))
                if message in (yes, no):
                    known.present[topic] = known.latest = message == yes
        self._turned(False)
