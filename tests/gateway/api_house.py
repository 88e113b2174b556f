"""A house whose tools are real, over a gate in this process and devices of a file: what tests of the API stand on."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import tools_server.tools
from atlas.agents.taught_sentences import TAUGHT_FILE, Teaching
from atlas.changes import Changes
from atlas.cli.keys import HOUSE_TOOLS
from atlas.config import Config
from atlas.confirmations import HouseConfirmations, HouseKey
from atlas.conversation import Actor, SignedAnswer, ToolCall, ToolResult
from atlas.gateway import app
from atlas.house import Mind
from atlas.speech.message_sounds import MessageSounds
from atlas.store.devices import DeviceStore, open_devices
from atlas.store.memory import open_memory
from atlas.understanding.names import Names
from atlas.understanding.understanding import Understanding
from atlas_bench._household import GateTools
from tests.conftest import ROOT
from tests.gateway.small_house import Chat
from tests.houses import english, house_of, reader_of, wording
from tests.scripted_stt import ScriptedStt
from tests.scripted_vad import ScriptedVad
from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.gate.confirmations import NO_REPLY, ConfirmationReply
from tools_server.sdk.toolkit import find
from wall.roles import ROLES

TOOLBOX = find(tools_server.tools)
DEVICES = {
    "devices": [
        {
            "name": "Ceiling",
            "kind": "light",
            "room": "Kitchen",
            "state": {"on": False, "brightness": 40},
            "can": ["on", "brightness"],
        },
        {"name": "Heater", "kind": "climate", "room": "Bedroom", "can": ["temperature"], "state": {"temperature": 20}},
        {"name": "Blinds", "kind": "cover", "room": "Bedroom", "state": {"position": 0}, "can": ["open", "position"]},
        {"name": "Front Door", "kind": "lock", "room": "Hall", "state": {"locked": True}, "can": ["locked"]},
        {"name": "Movie night", "kind": "scene", "can": ["scene"]},
    ]
}


class PlainTools(GateTools):
    """The `Tools` contract over a gate in this process; nobody says yes by himself."""

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        """See `Tools.call`."""
        reply = NO_REPLY
        if assent:
            action = "accept" if assent.yes or assent.statement else "cancel"
            reply = ConfirmationReply(assent.ask_id, action, assent.statement)
        return await self._called(call, actor, turn_id, reply, tainted=tainted)


@dataclass
class ApiHouse:
    """The house, who may come in, and its papers."""

    data: Path
    devices: DeviceStore
    app: Any
    house: Any
    chat: Chat  # the family agent
    tokens: dict[str, str] = field(default_factory=dict)

    def http(self, role: str | None = "owner", token: str = "") -> httpx2.AsyncClient:
        """Return a client with the token of a role, with another, or with none."""
        token = token or (self.tokens[role] if role else "")
        headers = {"authorization": f"Bearer {token}"} if token else {}
        transport = httpx2.ASGITransport(self.app)
        return httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers, timeout=20)


async def well() -> dict[str, Any]:
    """Return what /health says of a house in which one part is away."""
    parts = {"tools": {"ok": True, "what": "the tool server answers", "hint": ""}}
    parts["llm embedded"] = {"ok": False, "what": "nobody answers", "hint": "see the log"}
    return {"status": "degraded", "version": "0.1.0", "uptime_seconds": 5, "parts": parts, "models": {"stt": "tiny"}}


def _understood(text: str) -> Understanding:
    return reader_of(english()).read(text, Names())


async def _nothing() -> None:
    pass


def _agents() -> str:
    powers = {
        "house": {"tools": list(HOUSE_TOOLS), "acts_as": "owner"},
        "family": {"tools": ["*"], "roots": ["family-agent-config"], "roles": list(ROLES)},
        "work": {"tools": ["*"], "roots": ["work-agent-config"], "roles": ["owner"], "private": True},
    }
    lines = []
    for number, (name, power) in enumerate(powers.items()):
        lines += [f"[{name}]", f'token_sha256 = "{number:064}"', *(f"{k} = {json.dumps(v)}" for k, v in power.items())]
    return "\n".join(lines)


@asynccontextmanager
async def api_house(config: Config, data: Path) -> AsyncIterator[ApiHouse]:
    """Open the house."""
    key = Ed25519PrivateKey.generate()
    (data / "house.pem").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (data / "house.json").write_text(json.dumps(DEVICES))
    (data / "agents.toml").write_text(_agents())
    (data / "tools.toml").write_text(f"[home.scripted]\nfile = {json.dumps(str(data / 'house.json'))}\n")
    (data / "policy.toml").write_text((ROOT / "policy.toml").read_text().split("# ── how much")[0])
    files = (data / "agents.toml", data / "policy.toml", data / "tools.toml")
    settings = ServerSettings(data, *files, house_key=data / "house.pem", timezone="Europe/Berlin")
    async with AsyncExitStack() as stack:
        gate, agents = stack.enter_context(opened_gate(settings, time.time, TOOLBOX))
        await stack.enter_async_context(gate.engines())
        devices = await stack.enter_async_context(open_devices(data))
        seal, clock = HouseKey(key), [0.0]
        tools = {name: PlainTools(gate, agents[name], seal, clock, "en") for name in agents}
        chat = Chat()
        minds = {
            name: Mind(chat, await stack.enter_async_context(open_memory(data / f"{name}.db")))
            for name in ("family", "work")
        }
        confirmations = HouseConfirmations(
            *(seal, wording(), tools["house"]),
            may_talk=lambda actor, agent: actor.role in config.agents[agent].roles,
            gone=devices.gone,
        )
        changes = Changes([tools["family"], tools["house"]])
        house = house_of(
            config,
            minds,
            confirmations,
            tools=tools,
            changes=changes,
            devices=devices,
            teaching=Teaching(data / TAUGHT_FILE, _understood, _nothing, "en"),
            sounds=MessageSounds(data / "messages"),
            stt=ScriptedStt(),
            vad=ScriptedVad(),
            health=well,
            authenticate=devices.find,
        )
        world = ApiHouse(data, devices, app.build(house), house, chat)
        for role in ROLES:
            world.tokens[role] = await devices.create(f"the {role}", role, room="Kitchen" if role == "adult" else "")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(changes.watch)
            yield world
            tasks.cancel_scope.cancel()
