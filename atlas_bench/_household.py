"""A whole house in this process, but for speech: real tools over a scripted hub, real agents, and no model at all."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import tools_server.tools
from atlas import own_words
from atlas.agents.agent_emergency import EmergencyMind, open_helplines
from atlas.agents.house_names import HouseNames
from atlas.agents.house_traits import traits_of
from atlas.agents.minds import open_agent
from atlas.config import LlmConfig, load
from atlas.confirmations import HouseConfirmations, HouseKey, open_wording
from atlas.conversation import (
    Actor,
    ConfirmationRequest,
    Message,
    Receipt,
    SignedAnswer,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    fresh_id,
)
from atlas.errors import AtlasError
from atlas.events import Event, TextDelta
from atlas.llm import backend_openai
from atlas.mcp.recipients import ANNOUNCE, LEAVE, WHERE, RecipientTools
from atlas.mcp.tools import Tools
from atlas.mcp.tools_mcp import VIEWS
from atlas.understanding.act_model import ENCODER, ActModel, open_act_model
from atlas.understanding.grammar import open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.parser import open_parser
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader
from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.gate.call_request import CallRequest
from tools_server.gate.confirmations import NO_REPLY, ConfirmationReply
from tools_server.gate.gate import Gate
from tools_server.sdk.toolkit import find
from tools_server.values.policy import AgentAccount
from tools_server.wires.resources import Resources

PERSON = "Tom"
ZONE, COUNTRY = "Europe/London", "GB"
NO_MODEL = Path("/dev/null/llm.sock")  # nobody listens there: what a house does without a model is looked at
AGENTS = '[family]\ntoken_sha256 = "{0:064}"\ntools = ["*"]\nroots = ["family-agent-config"]\nacts_as = "owner"\n'
_ASIDE = ("facts.list",)  # what an agent looks up by itself before it answers
_NOTHING: tuple[Message, ...] = ()
_TOOLBOX = find(tools_server.tools)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one sentence."""

    text: str
    path: str  # "command", "model": for a model that there is none of
    calls: tuple[tuple[ToolCall, ToolResult], ...] = ()
    asks: bool = False  # the reply is a question, or a person's yes was asked for (and given)
    messages: tuple[Message, ...] = ()  # of the exchange, for what is said next

    @property
    def devices(self) -> frozenset[str]:
        """The devices that were changed or looked at, by name."""
        shown = (device for call, result in self.calls for device in _devices(call, result))
        return frozenset(shown)


def _devices(call: ToolCall, result: ToolResult) -> Sequence[str]:
    devices = result.data.get("devices", []) if result.ok and call.name.startswith("home.") else []
    return [str(device.get("name", "")) for device in devices if isinstance(device, Mapping)]


class GateTools:
    """Keeps the `Tools` contract over a gate in this process. Where a person's yes is asked for, a person says yes."""

    def __init__(self, gate: Gate, agent: AgentAccount, seal: HouseKey, clock: Sequence[float], language: str) -> None:
        self._gate, self._agent, self._seal, self._clock, self._language = gate, agent, seal, clock, language
        self._tools = tuple(Tool(one.name, one.description, one.schema, one.reads) for one in gate.visible(agent))
        self.calls: list[tuple[ToolCall, ToolResult]] = []
        self.confirmation_came = False  # for a person's yes, since the calls were cleared

    async def listed(self) -> Sequence[Tool]:
        """See `Tools.listed`."""
        return self._tools

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        """See `Tools.call`."""
        result = await self._called(call, actor, turn_id, NO_REPLY, tainted=tainted)
        if result.ask:
            self.confirmation_came = True
            yes = self._seal.statement(result.ask, actor, "button", self._clock[0], yes=True, explicit=True)
            result = await self._called(
                call, actor, turn_id, ConfirmationReply(result.ask.id, "accept", yes), tainted=tainted
            )
        self.calls.append((call, result))
        return result

    async def _called(
        self, call: ToolCall, actor: Actor, turn_id: str, reply: ConfirmationReply, *, tainted: bool
    ) -> ToolResult:
        wish = CallRequest(
            *(self._agent, call.name, dict(call.arguments), asdict(actor), turn_id, "bench"),
            reply=reply,
            tainted=tainted or None,
            language=self._language,
        )
        answer = await self._gate.call(wish)
        if answer.ask:
            shown = answer.ask.shown()
            ask = ConfirmationRequest(
                *(shown["id"], shown["sentence"], shown["level"], shown["expires_at"]),
                tool=shown["tool"],
                arguments_sha256=shown["arguments_sha256"],
            )
            return ToolResult(call.id, False, answer.text, error="confirm", ask=ask)
        receipt = Receipt(answer.receipt.id, answer.text) if answer.receipt else None
        return ToolResult(
            *(call.id, answer.error is None, answer.text, json.loads(json.dumps(answer.data)), receipt),
            error=answer.error or "",
            untrusted=answer.untrusted,
        )

    async def watch(self, changed: Callable[[str], None]) -> None:
        """See `Tools.watch`."""
        resources = Resources(self._gate)

        def listener(tool: str) -> None:
            for kind, uri in VIEWS.items():
                if resources.changed(uri, tool) and resources.may_read(self._agent, uri):  # the cheaper first
                    changed(kind)

        self._gate.listeners.append(listener)
        try:
            await anyio.sleep_forever()
        finally:
            self._gate.listeners.remove(listener)

    async def aclose(self) -> None:
        """See `Tools.aclose`."""


@dataclass
class BenchHousehold:
    """A house that can be talked to. `actor.room` is where the speaker stands."""

    tools: GateTools
    agent: Any
    names: HouseNames
    clock: list[float]
    history: tuple[Message, ...] = field(default=())

    async def say(self, text: str, room: str = "", history: Sequence[Message] = ()) -> Outcome:
        """Say something, and return what came of it."""
        turn = Turn(fresh_id("turn"), text, _actor(room), self.clock[0], history=tuple(history))
        texts: list[str] = []

        async def emit(event: Event) -> None:
            if isinstance(event, TextDelta):
                texts.append(event.text)

        self.tools.calls.clear()
        self.tools.confirmation_came = False
        path, messages = "model", _NOTHING
        try:
            answer = await self.agent.respond(turn, emit)
            if answer:
                path, messages = answer.path, answer.messages
        except AtlasError:
            pass  # there is no model: what would have been left to one
        ours = path == "command"
        messages = tuple(replace(one, ours=ours) if one.author == "assistant" and one.text else one for one in messages)
        words = "".join(texts)
        tells = any(call.name in (ANNOUNCE, LEAVE) for call, _ in self.tools.calls)
        aside = (*_ASIDE, WHERE) if tells else _ASIDE  # to know whether somebody can hear it
        calls = tuple(one for one in self.tools.calls if one[0].name not in aside)
        if any(call.name.startswith("lists.") for call, _ in calls):
            await self.names.fetch()  # there may be another list
        asks = self.tools.confirmation_came or ("?" in words and path == "command")
        return Outcome(words, path, calls, asks, (Message("user", text), *messages))

    async def do(self, tool: str, room: str = "", **arguments: Any) -> ToolResult:
        """Use a tool directly, to make the house as a sentence needs it."""
        call = ToolCall(fresh_id("call"), tool, arguments)
        result = await self.tools.call(call, _actor(room), fresh_id("turn"))
        self.tools.calls.clear()
        return result


def _actor(room: str) -> Actor:
    return Actor(PERSON, "bench", "owner", room)


def _recipients(tools: Tools, names: HouseNames) -> RecipientTools:
    """Return the tools of a house in which everybody has a device, and something stands in every room."""

    async def residents() -> Sequence[str]:
        return names().people

    async def rooms() -> Sequence[str]:
        return [one.name for one in names().rooms]

    also_called = dict(names().called)
    return RecipientTools(tools, residents, rooms, lambda room, device: "there", also_called)


@cache
def learned() -> ActModel | None:
    """Return what this house has learnt of all languages, opened once."""
    return open_act_model(load(os.environ).models.folder / ENCODER)


@cache
def reader_of(language: str) -> tuple[Reader, PublicReader]:
    """Return the readers of a language, opened once: they take over a second."""
    grammar = open_grammar(language)
    public = PublicReader(open_public(language), grammar.commands)
    return Reader(grammar, public, open_parser(grammar, learned())), public


@asynccontextmanager
async def household(
    data: Path, house: Mapping[str, Any], language: str, rules: str, at: float
) -> AsyncIterator[BenchHousehold]:
    """Open a house with these devices (as `[tools.home.scripted]` has them) over an empty folder. Its clock stands."""
    seal_key = Ed25519PrivateKey.generate()
    (data / "house.pem").write_bytes(
        seal_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    (data / "house.json").write_text(json.dumps(house), encoding="utf-8")
    (data / "agents.toml").write_text(AGENTS.format(0), encoding="utf-8")
    (data / "tools.toml").write_text(f"[home.scripted]\nfile = {json.dumps(str(data / 'house.json'))}\n")
    (data / "policy.toml").write_text(rules.split("# ── how much")[0], encoding="utf-8")
    settings = ServerSettings(
        *(data, data / "agents.toml", data / "policy.toml", data / "tools.toml"),
        house_key=data / "house.pem",
        timezone=ZONE,
        languages=(language,),
    )
    own_words.speaks(language)
    clock = [at]
    with opened_gate(settings, lambda: clock[0], _TOOLBOX) as (gate, agents):
        async with gate.engines():
            seal = HouseKey(seal_key)
            tools = GateTools(gate, agents["family"], seal, clock, language)
            reader, public = reader_of(language)
            names = HouseNames(tools, public.prepare)
            await names.fetch()
            backend = await backend_openai.open(backend_openai.BackendSettings("none", socket=NO_MODEL))
            confirmations = HouseConfirmations(seal, open_wording(language), tools, may_talk=lambda actor, agent: True)
            first = [EmergencyMind([language], lambda: open_helplines(COUNTRY, ""))]
            recipients = _recipients(tools, names)
            engines = ("family", LlmConfig(), backend, recipients, reader, confirmations, ZoneInfo(ZONE))
            traits = traits_of(load(os.environ), "family", "")
            agent = open_agent(*engines, names=names, first=first, traits=lambda: traits)
            yield BenchHousehold(tools, agent, names, clock)
