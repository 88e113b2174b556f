"""Put an agent together: a turn is understood once, and the first who can answers; last the model, which always can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo

from atlas.agents.agent import Agent, AgentAnswer, Answerer
from atlas.agents.agent_asking import Asking, ConfirmationSource, UnsolicitedAnswer
from atlas.agents.agent_chat import Chat
from atlas.agents.agent_commands import Commands
from atlas.agents.agent_ending import Ending
from atlas.agents.agent_facts import Facts
from atlas.agents.agent_help import Help
from atlas.agents.agent_memory import Recall, WithMemory
from atlas.agents.choosing import Choosing
from atlas.agents.facts import FactLookup
from atlas.agents.persona import open_persona
from atlas.agents.spoken import Speech
from atlas.config import LlmConfig
from atlas.conversation import Actor, Turn
from atlas.events import Emit
from atlas.llm.backend import Backend
from atlas.mcp.tools import Tools
from atlas.store.memory import Memory
from atlas.understanding.choices import WAITS_SECONDS, Choices
from atlas.understanding.concern import Claims
from atlas.understanding.names import Names
from atlas.understanding.understanding import Reader, Understanding


class InOrder:
    """An agent that understands a turn once; the first of its answerers that does not decline answers it."""

    def __init__(
        self,
        name: str,
        reader: Reader,
        answerers: Sequence[Answerer],
        *,
        names: Callable[[], Names] = Names,
    ) -> None:
        self.name = name
        self._reader = reader
        self._answerers = answerers
        self._waiting: dict[Actor, tuple[float, Choices]] = {}  # since when, in seconds since 1970
        self._names = names  # as they are now: what the house has may change at any time

    async def respond(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Agent.respond`."""
        meant = self._understood(turn)
        self._waiting.pop(turn.actor, None)  # it waits for the next words alone
        for answerer in self._answerers:
            if answer := await answerer.answer(meant, turn, emit):
                if answer.choices:
                    self._waiting[turn.actor] = turn.at, answer.choices
                return answer
        return None

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`: only the one who would answer gets ready."""
        meant = self._understood(turn)
        for answerer in self._answerers:
            if await answerer.prepare(meant, turn):
                return True
        return False

    def _understood(self, turn: Turn) -> Understanding:
        asked_at, waiting = self._waiting.get(turn.actor, (0.0, None))
        last = turn.history[-1].text if turn.history else ""
        if waiting and (turn.at - asked_at > WAITS_SECONDS or not last.endswith(waiting.question)):
            waiting = None
        return self._reader.understand(turn, self._names(), waiting)


def open_agent(
    name: str,
    llm: LlmConfig,
    backend: Backend,
    tools: Tools,
    reader: Reader,
    assents: ConfirmationSource,
    zone: tzinfo | None = None,
    memory: Memory | None = None,
    *,
    names: Callable[[], Names] = Names,
    first: Sequence[Answerer] = (),
    claims: Claims | None = None,
) -> Agent:
    """Return the agent `name`, over engines that its owner opened and will close. Raises `ConfigError`.

    Those in `first` may answer before all others. A model's sentence that `claims` takes for a claim is not spoken.

    The reader is shared by all agents: it holds nothing of anybody.
    """
    grammar = reader.grammar
    tables = grammar.tables
    persona, choosing = open_persona(name, trusted=llm.tools), Choosing(tables, grammar.plain_words)
    facts = FactLookup(tools)
    speech = Speech(tables, names, trusted=llm.tools, answers=llm.answers, claims=claims)
    chat = Chat(
        *(persona, backend, tools, choosing, speech),
        trusted=llm.tools,
        most_tools=llm.most_tools,
        context_tokens=llm.context,
        zone=zone,
        fact_lookup=facts,
    )
    words = "remembering" in tables  # for what was said; in a language without them, that is left to the model
    commands = Commands(tables, tools, model_has_tools=llm.tools)
    answerers: list[Answerer] = [
        *first,
        *([Facts(tables, tools, facts, model_has_tools=False)] if "answering" in tables else ()),
        *([Recall(name, grammar, memory, zone)] if memory and words else ()),
        Ending(tables),
        commands,
        Help(tables, tools, reader.custom_examples),
        *(() if llm.tools else [UnsolicitedAnswer(assents)]),
        chat,
    ]
    answered = WithMemory(name, tools, memory, grammar) if memory and words else tools
    return Asking(InOrder(name, reader, answerers, names=names), answered, assents, facts)
