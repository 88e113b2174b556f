"""What recorded calls would get under other rules: decided again, for who asked then, at that moment. Pure.

A row of the record holds who called what and when, and of the arguments only their names. So what depends on what an
argument says cannot be known: such a call is counted as one that may have changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any

from tools_server.values.policy import Action, AgentAccount, CallActor, Policy, Verdict, decide
from wall.roles import ROLES

MOST_SHOWN = 50
AGAIN = ("asked",)  # outcomes of calls that came again, with a person's answer


@dataclass(slots=True)
class Replay:
    """What came of it: how many calls there were, and which get another verdict."""

    calls: int = 0
    perhaps: int = 0
    counts: Counter[tuple[Verdict, Verdict]] = field(default_factory=Counter)
    shown: list[dict[str, Any]] = field(default_factory=list)


def replay(
    rows: Iterable[Mapping[str, Any]],
    policies: tuple[Policy, Policy],
    agents: Mapping[str, AgentAccount],
    actions: Mapping[str, Action],
    zone: tzinfo | None,
) -> Replay:
    """Decide each call by both tables, the present one and the other. Rows of what is no more are passed over."""
    result = Replay()
    for row in rows:
        agent, action = agents.get(str(row.get("agent"))), actions.get(str(row.get("tool")))
        actor = row.get("actor")
        if agent is None or action is None or not isinstance(actor, Mapping) or action.agents:
            continue
        if row.get("outcome") in AGAIN or actor.get("role") not in ROLES:
            continue
        result.calls += 1
        who = CallActor(*(str(actor.get(name, "")) for name in ("person", "device", "role", "room")))
        at = datetime.fromtimestamp(row["at"], zone).astimezone(zone)
        tainted = bool(row.get("tainted"))
        before, after = (decide(one, agent, who, action, {}, at, tainted=tainted).verdict for one in policies)
        if before != after:
            result.counts[before, after] += 1
            if len(result.shown) < MOST_SHOWN:
                named = {name: str(actor.get(name, "")) for name in ("person", "device", "role")}
                result.shown.append({"at": row["at"], "tool": action.tool, **named, "before": before, "after": after})
            continue
        names = row.get("arguments")
        could = (_at_most(one, names if isinstance(names, list) else []) for one in policies)
        least, most = (decide(one, agent, who, action, {}, at, tainted=tainted).verdict for one in could)
        result.perhaps += least != most
    return result


def _at_most(policy: Policy, names: Sequence[str]) -> Policy:
    """Return the table as if every argument that was there had been what a rule names."""
    rules = (
        replace(rule, arguments={}) if rule.arguments and set(rule.arguments) <= set(names) else rule
        for rule in policy.rules
    )
    return replace(policy, rules=tuple(rules))
