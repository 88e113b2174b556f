"""Which agent takes this turn, and why. Pure, once the words for it are read.

The first row that holds decides. Whoever is asked for and may not answer is refused, never replaced: what was meant for
one agent shall not be heard by another. Only who asked for nobody is given somebody else.

| holds when                                         | reason in the turn's record             | not for this role |
|----------------------------------------------------|-----------------------------------------|-------------------|
| a person's words begin so: "ask work …", "work, …" | asked for in words                      | refused           |
| the client named an agent                          | asked for by name                       | refused           |
| it is a yes or no to what an agent has just asked  | it had asked                            | refused           |
| an agent's own wake word woke the house            | woken by "hey jarvis"                   | refused           |
| the device is listed for an agent                  | the agent of the device study           | refused           |
| the house's default is for this role, and there    | the house's default                     | the next row      |
| another is for this role, and there; first by name | … is not for a child, or family is away | refused           |

Whoever was asked for answers as it can when its model is away, and so does the last row's when all are.

An address in words is for one turn. What stayed on unseen would have the next person at the same microphone talk to an
agent that nobody thinks of any more; who wants to stay has wake words and devices. A question that such a turn leads to
still gets its answer, for a yes goes to who asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from atlas.config import AgentConfig
from atlas.conversation import Actor, Turn
from atlas.errors import ConfigError, RequestError
from atlas.own_words import noted, own
from atlas.speech.wake import phrase_of
from wall.roles import may

REASONS = (  # as records of turns have them; of two that fit, the first
    noted("asked for by name"),
    noted("asked for in words"),
    noted("it had asked"),
    noted('woken by "{wake_word}"'),
    noted("the agent of the device {device}"),
    noted("{agent} is away"),
    noted("the house's default"),
    noted("the house's default is not for a {role}"),
    noted("there were no words"),
    noted("announcement"),
)
ADDRESSES = Path(__file__).parent / "addresses"


@dataclass(frozen=True, slots=True)
class Routing:
    """The agent, the reason in words that fit a log line and a person's question, and the turn as that agent gets it.

    It lacks the words that only said whom the others are for, and what a client told of another agent's conversation.
    """

    agent: str
    reason: str
    turn: Turn


class Addressing:
    """How a house's languages say which of these agents words are for."""

    def __init__(self, tables: Sequence[Mapping[str, Any]], agents: Collection[str]) -> None:
        self._forms = [
            (agent, re.compile(form.format(name=re.escape(_plain(agent)), **table["parts"]), re.IGNORECASE | re.DOTALL))
            for table in tables
            for agent in agents
            for form in table["forms"]
        ]

    def read(self, text: str) -> tuple[str, str] | None:
        """Return the agent that `text` begins by asking for, and what it is asked; `None` when it asks for nobody."""
        words = text.strip().replace("’", "'")
        for agent, form in self._forms:
            if match := form.fullmatch(words):
                return agent, match["rest"].strip()
        return None

    def bare(self, text: str) -> str:
        """Return `text` without an address."""
        addressed = self.read(text)
        return addressed[1] if addressed else text


def open_addressing(languages: Sequence[str], agents: Collection[str]) -> Addressing:
    """Return how languages address these agents. Raises `ConfigError` when nobody has written one of them down."""
    return Addressing([_read_addresses(language) for language in languages], agents)


def _read_addresses(language: str) -> Mapping[str, Any]:
    path = ADDRESSES / f"{language}.yaml"
    if not language.isalpha() or not path.is_file():
        known = ", ".join(sorted(file.stem for file in ADDRESSES.glob("*.yaml")))
        raise ConfigError(
            f"nobody told me how agents are addressed in the language {language!r}", hint=f"house.language is {known}"
        )
    table: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return table


def choose(
    turn: Turn,
    agents: Mapping[str, AgentConfig],
    default: str,
    addressing: Addressing | None = None,
    *,
    away: Collection[str] = (),
    asker: str = "",
) -> Routing:
    """Return who answers, by the table above.

    `away` are agents whose model is known to be away; `asker` is the agent whose question this turn answers, if any.
    Raises `RequestError`: code "model_not_found" for a name that is no agent, "forbidden" for an agent that does not
    talk to this role.
    """
    addressed = _addressed(turn, addressing)
    if addressed is not None:
        return _asked_for(addressed.agent, addressed.reason, addressed.turn, agents)
    woken = turn.wake_word and _owner(agents, lambda a: turn.wake_word in map(phrase_of, a.wake_words))
    for agent, reason in (
        (turn.agent, "asked for by name"),
        (asker, "it had asked"),
        (woken, f'woken by "{turn.wake_word}"'),
        (_owner(agents, lambda a: turn.actor.device in a.devices), f"the agent of the device {turn.actor.device}"),
    ):
        if agent:
            return _asked_for(agent, reason, turn, agents)
    return _nobody_asked_for(turn, agents, default, away)


def spoken_reason(reason: str) -> str:
    """Return why a turn was routed as it was, from its record, in the language that is spoken here."""
    for form in REASONS:
        shape = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(form))
        if match := re.fullmatch(shape, reason):
            return own(form).format(**match.groupdict())
    return reason


def may_talk(agents: Mapping[str, AgentConfig], actor: Actor, agent: str) -> bool:
    """Tell whether an agent is for this actor; one that is not the house's own, such as an IDE's, is for the owner."""
    return may(actor.role, "manage") or (agent in agents and actor.role in agents[agent].roles)


def _addressed(turn: Turn, addressing: Addressing | None) -> Routing | None:
    """Return whom the first reading that asks for somebody asks for; what no person said asks for nobody."""
    if addressing is None or turn.channel is None:
        return None
    readings = [read for text in (turn.text, *turn.alternatives) if (read := addressing.read(text))]
    if not readings:
        return None
    agent = readings[0][0]
    text, *alternatives = dict.fromkeys(rest for name, rest in readings if name == agent)
    whole = replace(turn, text=text, alternatives=tuple(alternatives))
    return Routing(agent, "asked for in words", whole if agent == turn.agent else _without_history(whole))


def _asked_for(name: str, reason: str, turn: Turn, agents: Mapping[str, AgentConfig]) -> Routing:
    if name not in agents:
        raise RequestError(
            f"no agent is called {name!r}",
            code="model_not_found",
            param="model",
            spoken="I don't know anybody by that name.",
            hint=f"ask for one of {', '.join(sorted(agents))}",
        )
    if turn.actor.role not in agents[name].roles:
        raise RequestError(
            f"the role {turn.actor.role} may not talk to the agent {name!r}",
            code="forbidden",
            param="model",
            spoken=own("I'm sorry, the {name} agent isn't for you.").format(name=_plain(name)),
            hint=f"it talks to {', '.join(agents[name].roles)}",
        )
    return Routing(name, reason, turn)


def _nobody_asked_for(turn: Turn, agents: Mapping[str, AgentConfig], default: str, away: Collection[str]) -> Routing:
    role = turn.actor.role
    for_role = [name for name in (default, *sorted(set(agents) - {default})) if role in agents[name].roles]
    if not for_role:
        raise RequestError(
            f"no agent talks to a {role}",
            code="forbidden",
            spoken="I'm sorry, I may not talk with you.",
            hint=f"add {role!r} to the roles of an agent",
        )
    first = for_role[0]
    here = next((name for name in for_role if name not in away), first)
    if here != first:
        return Routing(here, f"{first} is away", _without_history(turn))
    return Routing(
        first, "the house's default" if first == default else f"the house's default is not for a {role}", turn
    )


def _owner(agents: Mapping[str, AgentConfig], has: Callable[[AgentConfig], bool]) -> str:
    """Return the agent that has something, which no two may share; "" when none has."""
    return next((name for name, agent in agents.items() if has(agent)), "")


def _without_history(turn: Turn) -> Turn:
    """Return the turn for an agent that was no part of the conversation which its client keeps."""
    return replace(turn, history=())


def _plain(name: str) -> str:
    return name.replace("_", " ")
