"""Who may do what: the rules as a picture, one row a tool, one column a role, and whether they are sound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date, timedelta
from typing import Any

from tools_server.values.language import noted, series, text, weekday
from tools_server.values.policy import (
    ANY_TIME,
    DAYS,
    OF_ROLES,
    TAINT,
    Action,
    AgentAccount,
    CallActor,
    Policy,
    Rule,
    decide,
)
from wall.roles import ROLES

A_MONDAY = date(2024, 1, 1)
SIGNS = {"allow": "yes", "confirm": "asks", "explicit": "asks!", "deny": "–"}
AFTER_WORDS_OF_OTHERS = noted(
    "In a turn in which an agent was given words of others (a mail, a file, another server's answer), "
    "whatever is more than looking asks first, and what leaves the house asks first, by name."
)
SHIPPED = (  # reasons of the policy.toml that comes with Atlas; whoever writes others writes them in their language
    noted("It takes something away, so somebody has to say yes first."),
    noted("It leaves the house, so somebody has to say so explicitly first."),
)
SOMETIMES = "*"  # a rule about times, places or arguments can be stricter than what the picture shows


def picture(policy: Policy, agent: AgentAccount, actions: Sequence[Action]) -> str:
    """Return what an agent may do for each role. Tools that it may use for nobody are left out."""
    shown = [(row["tool"], row["risk"], *row["verdicts"].values()) for row in table(policy, agent, actions)]
    if not shown:
        return f"The agent {agent.name} may use no tool."
    rows = [("the agent " + agent.name, "risk", *ROLES), *shown]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def table(policy: Policy, agent: AgentAccount, actions: Sequence[Action]) -> list[dict[str, Any]]:
    """Return the same picture as JSON: a row for each tool that somebody may use through the agent."""
    rows = []
    for action in actions:
        verdicts = dict(zip(ROLES, _verdicts(policy, agent, action), strict=True))
        if any(verdict != SIGNS["deny"] for verdict in verdicts.values()):
            rows.append({"tool": action.tool, "risk": action.risk, "verdicts": verdicts})
    return rows


def written(policy: Policy) -> list[dict[str, Any]]:
    """Return the rules as JSON, in their order; `when` is what each depends on besides who asks for what, in words.

    `editable` are those of the house's own file.
    """
    return [
        {
            **asdict(rule),
            "because": text(rule.because),
            "when": _condition(rule),
            "editable": not rule.id.startswith(OF_ROLES),
            "hours": [f"{_clock(span.begin)}-{_clock(span.end)}" for span in rule.hours],
        }
        for rule in policy.rules
    ]


def legend(policy: Policy) -> str:
    """Return what the signs mean, and every rule that depends on more than who asks for what."""
    lines = [
        'asks: a person must say yes; asks!: exactly that must be said or pressed; –: never; "*": depends on more:',
        *(f"  {rule.id}: {rule.then} {_condition(rule)} — {rule.because}" for rule in policy.rules if _depends(rule)),
    ]
    whole = "\n".join(lines) if len(lines) > 1 else lines[0].removesuffix('; "*": depends on more:') + "."
    return f"{whole}\n  {TAINT}: {AFTER_WORDS_OF_OTHERS}"


def _verdicts(policy: Policy, agent: AgentAccount, action: Action) -> Iterator[str]:
    plain = Policy(tuple(rule for rule in policy.rules if not _depends(rule)))
    for role in ROLES:
        actor = CallActor(role=role)
        verdict = decide(plain, agent, actor, action, {}, ANY_TIME).verdict
        sometimes = verdict != "deny" and any(
            _depends(rule) and _about(rule, agent, role, action) for rule in policy.rules
        )
        yield SIGNS[verdict] + (SOMETIMES if sometimes else "")


def _depends(rule: Rule) -> bool:
    return bool(rule.people or rule.rooms or rule.devices or rule.arguments or rule.hours or rule.days)


def _about(rule: Rule, agent: AgentAccount, role: str, action: Action) -> bool:
    who = Rule(rule.id, rule.then, rule.because, rule.agents, rule.roles, tools=rule.tools, risks=rule.risks)
    return who.fits(agent, CallActor(role=role), action, {}, ANY_TIME)


def _condition(rule: Rule) -> str:
    """Return what a rule depends on, in words."""
    hours = [f"{_clock(span.begin)}–{_clock(span.end)}" for span in rule.hours]
    named: list[tuple[str, Sequence[str]]] = [
        (text("for {values}"), rule.people),
        (text("in {values}"), rule.rooms),
        (text("through {values}"), rule.devices),
        *((text("when {name} is {values}").replace("{name}", name), list(one)) for name, one in rule.arguments.items()),
        (text("on {values}"), [weekday(A_MONDAY + timedelta(DAYS.index(day))) for day in rule.days]),
        (text("at {values}"), hours),
    ]
    parts = (form.format(values=series(values, joined="or")) for form, values in named if values)
    return " ".join(parts)


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
