"""Put an agent together: answers first, then facts, memory and commands, which need no model; then conversation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from atlas.agents.agent import Agent, Answer
from atlas.agents.agent_asking import Asking, Assents, Unasked
from atlas.agents.agent_chat import Chat
from atlas.agents.agent_commands import Commands
from atlas.agents.agent_facts import Facts
from atlas.agents.agent_help import Help
from atlas.agents.agent_memory import Recall, WithMemory
from atlas.agents.choosing import Choosing
from atlas.agents.facts import Told
from atlas.agents.grammar import Grammar
from atlas.agents.persona import open_persona
from atlas.agents.tongues import open_tongues
from atlas.config import LlmConfig
from atlas.conversation import Turn
from atlas.events import Emit
from atlas.llm.backend import Backend
from atlas.mcp.tools import Tools
from atlas.store.memory import Memory


class InOrder:
    """Several minds under one name: the first that does not decline answers. The last one never declines."""

    def __init__(self, name: str, minds: Sequence[Agent]) -> None:
        assert minds, "an agent needs a mind"
        self.name = name
        self._minds = minds

    async def respond(self, turn: Turn, emit: Emit) -> Answer | None:
        """See `Agent.respond`."""
        for mind in self._minds:
            if answer := await mind.respond(turn, emit):
                return answer
        return None

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`: only the one who would answer gets ready."""
        for mind in self._minds:
            if await mind.prepare(turn):
                return True
        return False


class Remembering:
    """An agent whose minds share one look at what they were told."""

    def __init__(self, mind: Agent, told: Told) -> None:
        self.name = mind.name
        self._mind = mind
        self._told = told

    async def respond(self, turn: Turn, emit: Emit) -> Answer | None:
        """See `Agent.respond`."""
        with self._told.during(turn):
            return await self._mind.respond(turn, emit)

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`."""
        return await self._mind.prepare(turn)


def open_agent(
    name: str,
    llm: LlmConfig,
    backend: Backend,
    tools: Tools,
    grammar: Grammar,
    assents: Assents,
    zone: tzinfo | None = None,
    memory: Memory | None = None,
) -> Agent:
    """Return the agent `name`, over engines that its owner opened and will close. Raises `ConfigError`.

    The grammar is shared by all agents: it holds nothing of anybody.
    """
    persona, choosing = open_persona(name, trusted=llm.tools), Choosing(grammar.own, grammar.plain_words)
    tongues, told = open_tongues(grammar.own["language"]), Told(tools)
    chat = Chat(
        *(persona, backend, tools, choosing),
        trusted=llm.tools,
        context_tokens=llm.context,
        zone=zone,
        tongues=tongues,
        told=told,
    )
    words = "remembering" in grammar.own  # for what was said; in a language without them, that is left to the model
    minds: list[Agent] = [
        *([Facts(name, grammar, tools, told, model_has_tools=llm.tools)] if "answering" in grammar.own else ()),
        *([Recall(name, grammar, memory, zone)] if memory and words else ()),
        Commands(name, grammar, tools, model_has_tools=llm.tools),
        Help(name, grammar, tools),
        *(() if llm.tools else [Unasked(name, assents)]),
        chat,
    ]
    answered = WithMemory(name, tools, memory, grammar) if memory and words else tools
    return Remembering(Asking(InOrder(name, minds), answered, assents), told)
