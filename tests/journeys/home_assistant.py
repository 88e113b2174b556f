"""A real Home Assistant in a process of its own: begun as by a new owner, over the API that its own page uses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from websockets.sync.client import ClientConnection, connect

from atlas.audio import AudioChunk
from tests.journeys.conftest import until
from tests.processes import free_port

CHUNK_SAMPLES = 1_600
SETTINGS = """
homeassistant:
  name: Home
  internal_url: http://127.0.0.1:{port}
  unit_system: metric
http:
  server_host: 127.0.0.1
  server_port: {port}
api:
config:
assist_pipeline:
"""


@dataclass
class HomeAssistant:
    """The running program, and what its owner can do."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    token: str = ""
    socket: ClientConnection | None = None
    number: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)

    def answers(self) -> bool:
        assert self.process.poll() is None, f"it went away:\n{self.log.read_text()[-3000:]}"
        try:
            return httpx2.get(f"{self.url}/api/onboarding", timeout=5).status_code == 200
        except httpx2.TransportError:
            return False

    def begin(self) -> None:
        """Make the first person, who is its owner, and come in."""
        person = {"name": "Anna", "username": "anna", "password": "only for a test", "language": "en"}
        client_id = f"{self.url}/"
        code = self.post("/api/onboarding/users", json=person | {"client_id": client_id})["auth_code"]
        grant = {"grant_type": "authorization_code", "code": code, "client_id": client_id}
        self.token = self.post("/auth/token", data=grant)["access_token"]
        self.socket = connect(f"{self.url.replace('http', 'ws', 1)}/api/websocket", max_size=None)
        self.socket.recv(10)
        self.socket.send(json.dumps({"type": "auth", "access_token": self.token}))
        assert json.loads(self.socket.recv(10))["type"] == "auth_ok"
        until(lambda: self.ask("get_config")["state"] == "RUNNING", 60, "all its integrations being there")

    def post(self, path: str, **content: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        answer = httpx2.post(self.url + path, headers=headers, timeout=60, **content)
        assert answer.is_success, (path, answer.status_code, answer.text)
        return answer.json()

    def fetch(self, path: str) -> bytes:
        return httpx2.get(self.url + path, timeout=60).raise_for_status().content

    def ask(self, question: str, **fields: Any) -> Any:
        """Ask over the WebSocket and return the answer; events that come meanwhile wait in `events`."""
        self.number += 1
        number = self.number
        assert self.socket
        self.socket.send(json.dumps({"id": number, "type": question, **fields}))
        while (message := self.message())["type"] != "result" or message["id"] != number:
            self.events.append(message)
        assert message["success"], (question, message)
        return message["result"]

    def message(self) -> dict[str, Any]:
        assert self.socket
        return dict(json.loads(self.socket.recv(60)))

    def add(self, integration: str, **fields: Any) -> dict[str, Any]:
        """Add an integration as its page does, by its form."""
        form = self.post("/api/config/config_entries/flow", json={"handler": integration})
        made = self.post(f"/api/config/config_entries/flow/{form['flow_id']}", json=fields)
        assert made["type"] == "create_entry", made
        return dict(made)

    def states(self, domain: str) -> dict[str, str]:
        return {row["entity_id"]: row["state"] for row in self.ask("get_states") if row["entity_id"].startswith(domain)}

    def run(self, pipeline: str, start: str, sound: AudioChunk | None = None, **given: Any) -> list[dict[str, Any]]:
        """Run a pipeline from `start` to the voice, with sound or words; return its events."""
        more = {"sample_rate": sound.rate} if sound else {}
        self.events = []
        self.ask(
            "assist_pipeline/run", start_stage=start, end_stage="tts", pipeline=pipeline, input=more | given, timeout=60
        )
        assert self.socket
        events: list[dict[str, Any]] = []
        while not events or events[-1]["type"] != "run-end":
            message = self.events.pop(0) if self.events else self.message()
            events.append(message["event"])
            if sound and events[-1]["type"] == "run-start":
                handler = bytes([events[-1]["data"]["runner_data"]["stt_binary_handler_id"]])
                for at in range(0, sound.samples, CHUNK_SAMPLES):
                    self.socket.send(handler + sound.cut(at, at + CHUNK_SAMPLES).pcm)
                    time.sleep(CHUNK_SAMPLES / sound.rate)  # as a microphone: it gives up when all sound was sent
                self.socket.send(handler)
        return events


@contextmanager
def home_assistant(command: str, folder: Path, more_settings: str = "") -> Iterator[HomeAssistant]:
    """Have it run inside the block, with an owner and nothing but what is asked of it."""
    port = free_port()
    config = folder / "home-assistant"
    config.mkdir()
    settings = SETTINGS.format(port=port)
    (config / "configuration.yaml").write_text(settings + more_settings)
    log = folder / "home-assistant.log"
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [command, "--config", str(config), "--skip-pip"], stdout=out, stderr=out, env=environment
        )
    running = HomeAssistant(process, f"http://127.0.0.1:{port}", log)
    try:
        until(running.answers, 120, "Home Assistant's start")
        running.begin()
        yield running
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
