"""A small world for minds: somebody who asks, a house in memory, and a model that says what the test wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from atlas.agents.agent import Agent, AgentAnswer
from atlas.agents.agent_chat import Chat
from atlas.agents.agent_commands import Commands
from atlas.agents.minds import InOrder
from atlas.agents.persona import Persona
from atlas.agents.speech_policy import SpeechPolicy, SpeechVerdict
from atlas.confirmations import HouseConfirmations
from atlas.conversation import Actor, ToolCall, Turn
from atlas.events import Emit, Event, TextDelta
from atlas.llm.backend import Backend, BackendPrompt, Calls, TextPiece
from atlas.mcp.tools import Tools
from atlas.understanding.grammar import Grammar
from atlas.understanding.names import Names
from atlas.understanding.understanding import Understanding
from tests.houses import assents_of, choosing, english, reader_of
from tests.scripted_backend import Line, ScriptedBackend, ScriptedSettings
from tests.scripted_tools import ScriptedHousehold, ScriptedTools

CLAIMS = Path(__file__).parent / "corpus" / "claims"  # sentences that claim a deed, and some that do not

ANNA = Actor("Anna", "phone", "adult", "kitchen")


def turn(text: str, **more: Any) -> Turn:
    return replace(Turn("turn_1", text, ANNA, at=1_795_300_000.0), **more)


def says(*rounds: Sequence[Line | str] | Exception) -> ScriptedBackend:
    """A backend that plays one round each time it is asked, and the last again; an exception is raised instead."""
    prompts: list[BackendPrompt] = []

    def answer(_: BackendPrompt) -> Sequence[Line]:
        now = rounds[min(len(prompts), len(rounds)) - 1]
        if isinstance(now, Exception):
            raise now
        return [TextPiece(part) if isinstance(part, str) else part for part in now]

    return ScriptedBackend(ScriptedSettings(answer, prompts=prompts))


@dataclass
class Room:
    """Where an agent is heard: every event, in order."""

    events: list[Event] = field(default_factory=list)

    async def emit(self, event: Event) -> None:
        self.events.append(event)

    @property
    def said(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


def wants(tool: str, **arguments: object) -> Calls:
    return Calls((ToolCall(f"call_{tool}", tool, arguments),))


async def ask(agent: Agent, text: str, **more: Any) -> tuple[AgentAnswer, Room]:
    room = Room()
    answer = await agent.respond(turn(text, **more), room.emit)
    assert answer is not None
    assert answer.text == room.said, "what is told up and what is returned are the same"
    return answer, room


class OfAnything(SpeechPolicy):
    """Takes every turn for one about the world."""

    def __init__(self) -> None:
        super().__init__(english().tables, Names, trusted=True, answers=True)

    def of(self, meant: Understanding, turn: Turn) -> SpeechVerdict:
        return SpeechVerdict()


class Alone:
    """A model that answers by itself, without anybody before it, and may speak of anything while it calls no tool."""

    def __init__(
        self, persona: Persona, backend: Backend, tools: Tools, *, trusted: bool, context_tokens: int = 4096
    ) -> None:
        self.name = persona.name
        self._chat = Chat(
            persona, backend, tools, choosing(), OfAnything(), trusted=trusted, context_tokens=context_tokens
        )

    async def respond(self, turn: Turn, emit: Emit) -> AgentAnswer:
        return await self._chat.answer(Understanding(turn.text, plain=turn.text), turn, emit)

    def answers(self, turn: Turn) -> bool:
        return False

    async def prepare(self, turn: Turn) -> bool:
        return await self._chat.prepare(Understanding(turn.text, plain=turn.text), turn)


def commands_of(grammar: Grammar, tools: Tools, *, model_has_tools: bool = True) -> InOrder:
    """An agent that does nothing but commands."""
    return InOrder("family", reader_of(grammar), [Commands(grammar.tables, tools, model_has_tools=model_has_tools)])


@pytest.fixture
def confirmations(tools: ScriptedTools) -> HouseConfirmations:
    return assents_of(tools)


@pytest.fixture(scope="session")
def grammar() -> Grammar:
    return english()


@pytest.fixture
def house() -> ScriptedHousehold:
    return ScriptedHousehold()


@pytest.fixture
def tools(house: ScriptedHousehold) -> ScriptedTools:
    return house.tools()


def labelled(name: str, label: str) -> list[tuple[str, str]]:
    """Return what was asked and what was said, of the sentences with this label."""
    lines = (CLAIMS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(question, text) for kind, question, text in rows if kind == label]
