"""Decides whether this agent may do this now for this actor, with the rule and the reason. Pure.

Four things speak, and the strictest wins, so that no order of rules and no generous pattern can open what another
closes: the walls of the agent (its table in the agents file), the level the tool itself asks for, every rule of the
table that fits, and the taint of a caller who was given words of others. What no pattern of the agent grants is denied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, Literal

from tools_server.values.language import text as _
from wall.patterns import fits_any
from wall.roles import NOBODY, may

OWN_ROOT = "*"  # as an action's root: the agent's own, whichever it is
Risk = Literal["read", "change", "destructive", "outward"]
RISKS: tuple[Risk, ...] = ("read", "change", "destructive", "outward")
Level = Literal["auto", "confirm", "explicit"]
Verdict = Literal["allow", "confirm", "explicit", "deny"]
STRICTNESS: Mapping[Verdict, int] = {"allow": 0, "confirm": 1, "explicit": 2, "deny": 3}
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ANY_TIME = datetime.min.replace(tzinfo=UTC)  # for rules that do not ask
OF_LEVEL: Mapping[Level, Verdict] = {"auto": "allow", "confirm": "confirm", "explicit": "explicit"}
# What is asked of a person when whoever wishes it has read words of others: each of these does something to the house.
_OF_TAINT: Mapping[Risk, Verdict] = {
    "read": "allow",
    "change": "confirm",
    "destructive": "confirm",
    "outward": "explicit",
}
OF_ROLES = "role:"  # how rules begin that rights.py makes of the table of roles; no row of policy.toml can be called so
TAINT = "taint"  # the rule of that; no row of the table can be called so


@dataclass(frozen=True, slots=True)
class AgentAccount:
    """Who holds a token: one table of the agents file."""

    name: str
    tools: tuple[str, ...]  # patterns over tool names: "timers.*"
    roots: tuple[str, ...] = ()  # whitelisted folders, by name
    roles: tuple[str, ...] = ()  # whose wishes it may carry out; () is everyone's
    acts_as: str = ""  # the role it has when it speaks for nobody; "" is `NOBODY`
    private: bool = False  # its folders are for its own roles only: proven at the start
    read_only: tuple[str, ...] = ()  # those of its roots in which it may change nothing

    @property
    def serves_managers_only(self) -> bool:
        """Whether every role that it answers may know what is done for everybody."""
        return bool(self.roles) and all(may(role, "manage") for role in self.roles)


@dataclass(frozen=True, slots=True)
class CallActor:
    """On whose behalf an agent asks. It comes from the caller, so it may narrow what is allowed, never widen it."""

    person: str = ""
    device: str = ""
    role: str = ""  # "" when the agent speaks for itself: then it is the agent's `acts_as`
    room: str = ""
    device_id: str = ""  # the house's own of that device: a name comes back; "" where it gives none

    @property
    def device_key(self) -> str:
        """What one device has in common with no other: where nobody is known by name, whose something is."""
        return self.device_id or self.device


@dataclass(frozen=True, slots=True)
class Action:
    """What a tool is, as far as permission goes."""

    tool: str
    agents: tuple[str, ...] = ()  # only these may use it, whatever their patterns say; () is any
    root: str = ""  # the folder it works in; "" is none, "*" is the agent's own
    risk: Risk = "read"
    level: Level = "auto"  # the least that it asks of a person; rules can only ask for more
    everybody: bool = False  # every agent may use it without being granted it; it only reads

    def granted_to(self, agent: AgentAccount) -> str:
        """Return by what an agent has been granted this: one of its patterns, "everybody", or "" when it has not."""
        if self.everybody:
            return "everybody"
        return next((pattern for pattern in agent.tools if fnmatchcase(self.tool, pattern)), "")


@dataclass(frozen=True, slots=True)
class Hours:
    """A stretch of the day on the house's clocks, in minutes after midnight; it may pass midnight."""

    begin: int
    end: int

    def holds(self, at: datetime) -> bool:
        """Whether a moment lies in it; the end does not belong to it."""
        minute = at.hour * 60 + at.minute
        if self.begin <= self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table. Every condition that is given must hold; patterns are those of shells, case ignored."""

    id: str
    then: Verdict
    because: str  # in plain words: a person hears it
    agents: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()  # where the actor is
    devices: tuple[str, ...] = ()  # what the actor speaks through
    tools: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name → patterns of its text
    hours: tuple[Hours, ...] = ()
    days: tuple[str, ...] = ()

    def concerns(self, action: Action) -> bool:
        """Whether the rule can speak of such a tool at all.

        What only a named agent may do is that agent's own work and nobody's wish: to bring a person's yes, to note that
        a timer was heard, to take a rule out again. A table that could deny it would leave timers ringing and owners
        shut out, so roles alone decide it.
        """
        return not action.agents or self.id.startswith(OF_ROLES)

    def fits(
        self, agent: AgentAccount, actor: CallActor, action: Action, arguments: Mapping[str, Any], at: datetime
    ) -> bool:
        """Whether the rule speaks about this call. `actor.role` is filled in."""
        return (
            self.concerns(action)
            and fits_any(self.agents, agent.name)
            and fits_any(self.roles, actor.role)
            and fits_any(self.people, actor.person)
            and fits_any(self.rooms, actor.room)
            and fits_any(self.devices, actor.device)
            and fits_any(self.tools, action.tool)
            and fits_any(self.risks, action.risk)
            and all(_argued(patterns, arguments.get(name)) for name, patterns in self.arguments.items())
            and self.holds_at(at)
        )

    def holds_at(self, at: datetime) -> bool:
        """Whether the rule speaks about calls of a moment."""
        is_day = not self.days or DAYS[at.weekday()] in self.days
        return is_day and (not self.hours or any(span.holds(at) for span in self.hours))


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many calls in so many seconds, for every agent and person that it fits together with its tools."""

    id: str
    at_most: int
    per_seconds: float
    agents: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """What an agent may spend in a day of the house. Each call costs what `Policy.costs` says of its risk."""

    id: str
    agents: tuple[str, ...]
    units_per_day: int


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole table."""

    rules: tuple[Rule, ...] = ()
    limits: tuple[RateLimit, ...] = ()
    budgets: tuple[Budget, ...] = ()
    costs: Mapping[str, int] = field(default_factory=lambda: {"read": 1, "change": 2, "destructive": 5, "outward": 10})


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer. `rule` is for the record, `reason` is for people."""

    verdict: Verdict
    rule: str
    reason: str

    @property
    def allowed(self) -> bool:
        """Whether it may be done, if need be once a person has said yes."""
        return self.verdict != "deny"


def decide(
    policy: Policy,
    agent: AgentAccount,
    actor: CallActor,
    action: Action,
    arguments: Mapping[str, Any],
    at: datetime,
    *,
    tainted: bool = False,
) -> Decision:
    """Return the strictest of what the walls, the tool's own level and every fitting rule say; of equals, the first.

    `at` is on the house's clocks. `tainted` when the wish may come from words of others: it asks for more, and it
    denies nothing. What only a named agent may do is asked about by neither, see `Rule.concerns`.
    """
    actor = standing(agent, actor)
    wall = walls(agent, actor, action)
    if wall.verdict == "deny":
        return wall
    own_name = OF_LEVEL[action.level]
    decisions = [
        Decision(rule.then, rule.id, _(rule.because))
        for rule in policy.rules
        if rule.fits(agent, actor, action, arguments, at)
    ]
    decisions.append(wall)
    if own_name != "allow":
        decisions.append(
            Decision(own_name, f"tool.level:{action.tool}", _("That is never done without a person's yes."))
        )
    if tainted and not action.agents:
        reason = _("That was wished after reading words of others, so somebody has to say yes first.")
        decisions.append(Decision(_OF_TAINT[action.risk], TAINT, reason))
    return max(decisions, key=lambda decision: STRICTNESS[decision.verdict])


def visible(policy: Policy, agent: AgentAccount, actor: CallActor, action: Action) -> bool:
    """Whether a tool is worth showing: there is a moment and there are arguments with which it may be used."""
    return walls(agent, standing(agent, actor), action).allowed and refusing(policy, agent, actor, action) is None


def refusing(
    policy: Policy, agent: AgentAccount, actor: CallActor, action: Action, at: datetime | None = None
) -> Rule | None:
    """Return the first rule that denies a tool to an actor with whatever arguments; None without one.

    Whenever it is, or `at` one moment on the house's clocks.
    """
    actor = standing(agent, actor)
    rules = (
        rule
        for rule in policy.rules
        if rule.then == "deny" and not rule.arguments and (at is not None or not (rule.hours or rule.days))
    )
    return next((rule for rule in rules if rule.fits(agent, actor, action, {}, at or ANY_TIME)), None)


def standing(agent: AgentAccount, actor: CallActor) -> CallActor:
    """Return the actor with its role filled in."""
    if actor.role:
        return actor
    return replace(actor, role=agent.acts_as or NOBODY)


def walls(agent: AgentAccount, actor: CallActor, action: Action) -> Decision:
    """Return what an agent's own table says of an actor, whose role is filled in, and a tool."""

    def deny(rule: str, sentence: str, **places: str) -> Decision:
        return Decision("deny", rule, sentence.format(name=agent.name, tool=action.tool, **places))

    # Every refusal is found before anything is allowed, so that a generous pattern cannot outweigh a narrow tool.
    if action.agents and agent.name not in action.agents:
        return deny("tool.agents", _("Only {only} may use {tool}."), only=_(" and ").join(action.agents))
    if agent.roles and actor.role not in agent.roles:
        return deny("agent.roles", _("The {name} agent does not act for a {role}."), role=actor.role)
    if action.root == OWN_ROOT and not agent.roots:
        return deny("agent.roots", _("The {name} agent has no folder of its own."))
    if action.root not in ("", OWN_ROOT, *agent.roots):
        return deny("agent.roots", _("The {name} agent may not touch the folder {root}."), root=action.root)
    granted = action.granted_to(agent)
    if not granted:
        return deny("agent.tools", _("The {name} agent may not use {tool}."))
    reason = _("The {name} agent may use {pattern}.").format(name=agent.name, pattern=action.tool)
    return Decision("allow", f"agent.tools:{granted}", reason)


def _argued(patterns: tuple[str, ...], value: Any) -> bool:
    """Whether an argument, or one item of a list, is a text that one of the patterns matches."""
    texts = value if isinstance(value, list) else [value]
    return any(isinstance(text, str) and fits_any(patterns, text) for text in texts)
