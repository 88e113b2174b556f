"""A small world for minds: somebody who asks, a house in memory, and a model that says what the test wrote."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest

from atlas.agents.agent import Agent, Answer
from atlas.agents.grammar import Grammar, open_grammar
from atlas.conversation import Actor, Message, Tool, ToolCall, Turn, Usage
from atlas.events import Event, TextDelta
from atlas.llm.backend import Calls, Delta, Finished, Limits, ToolChoice, Words
from atlas.mcp.tools_scripted import Household, ScriptedTools

ANNA = Actor("Anna", "phone", "adult", "kitchen")


def turn(text: str, **more: Any) -> Turn:
    return replace(Turn("turn_1", text, ANNA, at=1_795_300_000.0), **more)


@dataclass
class Model:
    """A backend that plays one list of deltas for each time it is asked; an exception in it is raised there.

    It adds the `Finished` itself. `asked` holds the messages and `limits` the limits of each time.
    """

    rounds: list[list[Delta | Exception | str]]
    model: str = "scripted"
    asked: list[list[Message]] = field(default_factory=list)
    offered: list[list[Tool]] = field(default_factory=list)
    choices: list[ToolChoice] = field(default_factory=list)
    limits: list[Limits] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)
    closed: int = 0

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        tool_choice: ToolChoice = "auto",
        limits: Limits = Limits(),
        conversation: str = "",
    ) -> AsyncGenerator[Delta, None]:
        self.asked.append(list(messages))
        self.offered.append(list(tools))
        self.choices.append(tool_choice)
        self.limits.append(limits)
        self.conversations.append(conversation)
        calls = False
        try:
            for delta in self.rounds[min(len(self.asked), len(self.rounds)) - 1]:
                await anyio.lowlevel.checkpoint()
                if isinstance(delta, Exception):
                    raise delta
                if isinstance(delta, Finished):
                    yield delta
                    return
                calls = calls or isinstance(delta, Calls)
                yield Words(delta) if isinstance(delta, str) else delta
            yield Finished("tool_calls" if calls else "stop", Usage(10, 5, 2))
        finally:
            self.closed += 1

    async def health(self) -> str:
        return self.model

    async def aclose(self) -> None:
        pass


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


async def ask(agent: Agent, text: str, **more: Any) -> tuple[Answer, Room]:
    room = Room()
    answer = await agent.respond(turn(text, **more), room.emit)
    assert answer is not None
    assert answer.text == room.said, "what is told up and what is returned are the same"
    return answer, room


@pytest.fixture(scope="session")
def grammar() -> Grammar:
    return open_grammar("en")


@pytest.fixture
def house() -> Household:
    return Household()


@pytest.fixture
def tools(house: Household) -> ScriptedTools:
    return house.tools()
