"""Puts an agent together: a turn is understood once, and answered by the first who can; last by the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo

from atlas.agents.agent import Agent, AgentAnswer, Answerer, Prepared
from atlas.agents.agent_asking import Asking, ConfirmationSource, unsolicited_answer
from atlas.agents.agent_chat import Chat
from atlas.agents.agent_commands import Commands
from atlas.agents.agent_ending import Ending
from atlas.agents.agent_facts import Facts
from atlas.agents.agent_help import Help
from atlas.agents.agent_memory import Recall, WithMemory
from atlas.agents.facts import FactLookup
from atlas.agents.house_traits import HouseTraits
from atlas.agents.persona import open_persona
from atlas.agents.speech_policy import SpeechPolicy
from atlas.agents.tool_selection import ToolSelection
from atlas.config import LlmConfig
from atlas.conversation import Actor, Message, Turn
from atlas.events import Emit
from atlas.llm.backend import Backend
from atlas.mcp.tools import Tools
from atlas.speech.speaking_volumes import SpeakingVolumes
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
        waiting: dict[Actor, tuple[float, Choices]] | None = None,
        asks_again: Callable[[str], bool] = lambda text: False,
    ) -> None:
        self.name = name
        self._reader = reader
        self._answerers = answerers
        # Since when, in seconds since 1970. Those who answer in other languages share it.
        self._waiting: dict[Actor, tuple[float, Choices]] = {} if waiting is None else waiting
        self._asks_again = asks_again
        self._names = names  # as they are now: what the house has may change at any time

    async def respond(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Agent.respond`."""
        meant = self._understood(turn)
        _, still_waiting = self._waiting.pop(turn.actor, (0.0, None))  # it waits for the next words alone
        for answerer in self._answerers:
            if answer := await answerer.answer(meant, turn, emit):
                once_more = still_waiting if still_waiting and answer.text.endswith(still_waiting.question) else None
                if choices := answer.choices or once_more:
                    self._waiting[turn.actor] = turn.at, choices
                return answer
        return None

    def answers(self, turn: Turn) -> bool:
        """See `Agent.answers`."""
        meant, alone = self._understood(turn), self._understood(replace(turn, history=()))
        asked_for = meant.commands, meant.reply
        return any(asked_for) and asked_for != (alone.commands, alone.reply)

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
        heard_once = replace(turn, history=self._without_repetitions(turn.history))
        return self._reader.understand(heard_once, self._names(), waiting)

    def _without_repetitions(self, history: Sequence[Message]) -> tuple[Message, ...]:
        """Return a history as if an answer that was only said once more ("pardon?") had been heard at first."""
        spoken = list[Message]()
        for message in history:
            match spoken[-2:]:
                case [Message("assistant", message.text), Message("user", words)] if message.author == "assistant":
                    if self._asks_again(words):
                        spoken.pop()
                        continue
            spoken.append(message)
        return tuple(spoken)


class InLanguages:
    """An agent of a house of several languages: each turn is answered by the one that is at home in its language."""

    def __init__(self, by_language: Mapping[str, Agent]) -> None:
        self._by_language = by_language
        self._usual = next(iter(by_language.values()))
        self.name = self._usual.name

    async def respond(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Agent.respond`."""
        return await self._of(turn).respond(turn, emit)

    def answers(self, turn: Turn) -> bool:
        """See `Agent.answers`."""
        return self._of(turn).answers(turn)

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`."""
        return await self._of(turn).prepare(turn)

    def _of(self, turn: Turn) -> Agent:
        return self._by_language.get(turn.language, self._usual)


def open_agent(
    name: str,
    llm: LlmConfig,
    backend: Backend,
    tools: Tools,
    reader: Reader,
    confirmations: ConfirmationSource,
    zone: tzinfo | None = None,
    memory: Memory | None = None,
    *,
    names: Callable[[], Names] = Names,
    first: Sequence[Answerer] = (),
    claims: Claims | None = None,
    waiting: dict[Actor, tuple[float, Choices]] | None = None,
    traits: Callable[[], HouseTraits] = HouseTraits,
    volumes: SpeakingVolumes | None = None,
) -> Agent:
    """Return the agent `name`, over engines that its owner opened and will close. Raises `ConfigError`.

    Those in `first` may answer before all others; `waiting` are questions between two. A model's sentence that `claims`
    takes for a claim is not spoken.

    The reader is shared by all agents: it holds nothing of anybody.
    """
    grammar = reader.grammar
    tables = grammar.tables
    persona, choosing = open_persona(name, trusted=llm.tools), ToolSelection(tables, grammar.plain_words)
    facts = FactLookup(tools)
    speech = SpeechPolicy(tables, names, trusted=llm.tools, answers=llm.answers, claims=claims)
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
        Prepared(lambda _meant, turn: confirmations.once_more(turn)),  # to who did not hear it: "pardon?"
        *([Facts(tables, tools, facts, model_has_tools=False)] if "answering" in tables else ()),
        *([Recall(name, grammar, memory, zone, facts)] if memory and words else ()),
        Ending(tables),
        commands,
        Help(tables, tools, reader.custom_examples, traits, volumes),
        *(() if llm.tools else [unsolicited_answer(confirmations)]),
        chat,
    ]
    answered = WithMemory(name, tools, memory, grammar) if memory and words else tools
    return Asking(
        InOrder(name, reader, answerers, names=names, waiting=waiting, asks_again=confirmations.asks_again),
        answered,
        confirmations,
        facts,
    )
