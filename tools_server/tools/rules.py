"""Who may do what: the rules of the house, explained as a table for its owner, and to all what they are denied."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, house_look
from tools_server.values.explain import AFTER_WORDS_OF_OTHERS, table, written
from tools_server.values.language import plural
from tools_server.values.language import text as _
from tools_server.values.policy import Action, AgentAccount, Policy, refusing
from tools_server.values.replay import Replay, replay
from tools_server.values.rules import RulesWrong, policy_of
from wall.chain import newest_first, opened

RULE = {"id": str, "then": str, "because": str, "agents": [str], "roles": [str], "tools": [str], "risks": [str]}
RULE |= {"when": str, "editable": bool} | {key: [str] for key in ("people", "rooms", "devices", "hours", "days")}
RULE |= {"arguments": dict}
RATE = {"id": str, "at_most": int, "per_seconds": float} | {key: [str] for key in ("agents", "roles", "tools", "risks")}
BUDGET = {"id": str, "agents": [str], "units_per_day": int}
CHANGE = {"at": float, "tool": str, "person": str, "device": str, "role": str, "before": str, "after": str}
LOOKED_ROWS = 100_000
DAY_SECONDS = 86_400
MOST_CHARACTERS = 200_000  # of a table; that of a house has some thousand


@house_look(
    "rules.explain",
    data={
        "agent": str,
        "tools": [{"tool": str, "risk": str, "verdicts": dict}],
        "rules": [RULE],
        "rates": [RATE],
        "budgets": [BUDGET],
        "costs": {"read": int, "change": int, "destructive": int, "outward": int},
        "others_words": str,
    },
    limit_seconds=20,
)
async def explain(
    call: Call, agent: Annotated[str, Field(max_length=60, description="Whose tools; empty is the one who asks")] = ""
) -> Result:
    """Tell the owner what each role may have an agent do, and by which rules."""
    call.require_manager()
    agents = {call.agent.name: call.agent, **call.gate.agents}
    name = agent or call.agent.name
    if name not in agents:
        raise ToolFailed("not_found", _("There is no agent called {name}.").format(name=name))
    actions = [spec.action for _name, spec in sorted(call.gate.tools.items())]
    data = {
        "agent": name,
        "tools": table(call.gate.policy, agents[name], actions),
        "rules": written(call.gate.policy),
        "rates": [asdict(limit) for limit in call.gate.policy.limits],
        "budgets": [asdict(budget) for budget in call.gate.policy.budgets],
        "costs": dict(call.gate.policy.costs),
        "others_words": _(AFTER_WORDS_OF_OTHERS),
    }
    count = len(call.gate.policy.rules)
    return Result(plural("There is {count} rule.", "There are {count} rules.", count), data)


@house_look("rules.refused", data={"refused": [{"tool": str, "because": str}]})
async def refused(
    call: Call, agent: Annotated[str, Field(max_length=60, description="Through which agent it would be asked for")]
) -> Result:
    """Tell what a rule denies to whoever asks now, whatever it is about, and why."""
    account = call.gate.agents.get(agent)
    if account is None:
        raise ToolFailed("not_found", _("There is no agent called {name}.").format(name=agent))
    actions = [spec.action for spec in call.gate.tools.values()]
    now = call.local()
    rules = [(action.tool, refusing(call.gate.policy, account, call.actor, action, now)) for action in actions]
    rows = [{"tool": tool, "because": _(rule.because)} for tool, rule in rules if rule]
    return Result(plural("{count} tool is denied.", "{count} tools are denied.", len(rows)), {"refused": rows})


@house_look(
    "rules.preview",
    data={
        "calls": int,
        "changed": int,
        "counts": [{"before": str, "after": str, "count": int}],
        "changes": [CHANGE],
        "perhaps": int,
        "whole": bool,
    },
    limit_seconds=60,
)
async def preview(
    call: Call,
    policy: Annotated[str, Field(max_length=MOST_CHARACTERS, description="Another policy.toml, as text")],
    days: Annotated[int, Field(ge=1, le=31)] = 7,
) -> Result:
    """Tell the owner which calls of the last days would have got another verdict under other rules."""
    call.require_manager()
    try:
        other = policy_of(tomllib.loads(policy), Path("policy.toml"))
    except tomllib.TOMLDecodeError as wrong:
        raise ToolFailed("invalid", f"The policy is not TOML: {wrong}.") from wrong
    except RulesWrong as wrong:
        raise ToolFailed("invalid", str(wrong)) from wrong
    call.gate.record.flush()
    since = call.now() - days * DAY_SECONDS
    actions = {name: spec.action for name, spec in call.gate.tools.items()}
    look = partial(_replayed, call.gate.record.file, since, (call.gate.policy, other), call.gate.agents, actions)
    replayed, whole = await anyio.to_thread.run_sync(look, call.zone, abandon_on_cancel=True)
    counts = [
        {"before": before, "after": after, "count": count} for (before, after), count in replayed.counts.most_common()
    ]
    changed = replayed.counts.total()
    data = {"calls": replayed.calls, "changed": changed, "counts": counts, "changes": replayed.shown}
    text = _("{changed} of {calls} calls would have got another answer.")
    return Result(
        text.format(changed=changed, calls=replayed.calls), {**data, "perhaps": replayed.perhaps, "whole": whole}
    )


def _replayed(
    file: Path,
    since: float,
    policies: tuple[Policy, Policy],
    agents: Mapping[str, AgentAccount],
    actions: Mapping[str, Action],
    zone: tzinfo | None,
) -> tuple[Replay, bool]:
    """Return what the rows since a moment come to, and whether those are all."""
    looked = 0

    def rows() -> Iterator[Mapping[str, Any]]:
        nonlocal looked
        with opened(file) as files:
            for row in newest_first(files):
                if row["at"] < since or looked == LOOKED_ROWS:
                    return
                looked += 1
                yield row

    return replay(rows(), policies, agents, actions, zone), looked < LOOKED_ROWS
