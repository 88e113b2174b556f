"""May this agent, on behalf of this actor, use this tool? Pure: values in, a decision with its reason out."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Agent:
    """Who holds a token: one table of the agents file."""

    name: str
    tools: tuple[str, ...]  # patterns over tool names: "timers.*"
    roots: tuple[str, ...] = ()  # whitelisted folders, by name
    roles: tuple[str, ...] = ()  # whose wishes it may carry out; () is everyone's


@dataclass(frozen=True, slots=True)
class Actor:
    """On whose behalf an agent asks. It comes from the caller, so it may narrow what is allowed, never widen it."""

    person: str = ""
    device: str = ""
    role: str = ""  # "" when the agent speaks for itself
    room: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What a tool needs, as far as permission goes."""

    tool: str
    agents: tuple[str, ...] = ()  # only these may use it, whatever their patterns say; () is any
    root: str = ""  # the folder it works in; "" is none


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer. `rule` is for the record, `reason` is for people."""

    allowed: bool
    rule: str
    reason: str


def decide(agent: Agent, actor: Actor, action: Action) -> Decision:
    """Return the first rule that speaks. What no rule allows is denied.

    Every refusal is found before anything is allowed, so that a generous pattern cannot outweigh a narrow tool.
    """
    if action.agents and agent.name not in action.agents:
        only = " and ".join(action.agents)
        return Decision(False, "tool.agents", f"Only {only} may use {action.tool}.")
    if agent.roles and actor.role and actor.role not in agent.roles:
        return Decision(False, "agent.roles", f"The {agent.name} agent does not act for a {actor.role}.")
    if action.root and action.root not in agent.roots:
        return Decision(False, "agent.roots", f"The {agent.name} agent may not touch the folder {action.root}.")
    for pattern in agent.tools:
        if fnmatchcase(action.tool, pattern):
            return Decision(True, f"agent.tools:{pattern}", f"The {agent.name} agent may use {pattern}.")
    return Decision(False, "agent.tools", f"The {agent.name} agent may not use {action.tool}.")
