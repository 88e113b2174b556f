"""Which agent takes this turn, and why. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.config import AgentConfig
from atlas.conversation import Actor, Turn
from atlas.errors import RequestError


@dataclass(frozen=True, slots=True)
class Choice:
    """The agent, and the reason in words that fit a log line and a person's question."""

    agent: str
    reason: str


def choose(turn: Turn, agents: Mapping[str, AgentConfig], default: str) -> Choice:
    """Return who answers: the agent that was asked for by name, else the house's `default`.

    An agent that does not talk to this role is never put in for another: somebody who asks for it is refused, and who
    asked for nobody gets the first agent, in order of their names, that does. Raises `RequestError`: code
    "model_not_found" for a name that is no agent, "forbidden" for one that this role may not talk to.
    """
    role = turn.actor.role
    if turn.agent:
        if turn.agent not in agents:
            raise RequestError(
                f"no agent is called {turn.agent!r}",
                code="model_not_found",
                param="model",
                spoken="I don't know anybody by that name.",
                hint=f"ask for one of {', '.join(sorted(agents))}",
            )
        if role not in agents[turn.agent].roles:
            raise RequestError(
                f"a {role} may not talk to the agent {turn.agent!r}",
                code="forbidden",
                param="model",
                spoken=f"I'm sorry, the {turn.agent} agent isn't for you.",
                hint=f"it talks to {', '.join(agents[turn.agent].roles)}",
            )
        return Choice(turn.agent, "asked for by name")
    if role in agents[default].roles:
        return Choice(default, "the house's default")
    for name in sorted(agents):
        if role in agents[name].roles:
            return Choice(name, f"the house's default is not for a {role}")
    raise RequestError(
        f"no agent talks to a {role}",
        code="forbidden",
        spoken="I'm sorry, I may not talk with you.",
        hint=f"add {role!r} to the roles of an agent",
    )


def may_talk(agents: Mapping[str, AgentConfig], actor: Actor, agent: str) -> bool:
    """Tell whether an agent is for this actor; one that is not the house's own, such as an IDE's, is for the owner."""
    return actor.role == "owner" or (agent in agents and actor.role in agents[agent].roles)
