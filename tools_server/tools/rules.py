"""Who may do what: the rules of the house, explained as a table, for its owner."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, tool
from tools_server.values.explain import AFTER_WORDS_OF_OTHERS, table, written
from tools_server.values.language import plural
from tools_server.values.language import text as _

RULE = {"id": str, "then": str, "because": str, "agents": [str], "roles": [str], "tools": [str], "risks": [str]}
RULE |= {"when": str}


@tool(
    "rules.explain",
    data={
        "agent": str,
        "tools": [{"tool": str, "risk": str, "verdicts": dict}],
        "rules": [RULE],
        "others_words": str,
    },
    risk="read",
    agents=("house",),
    routine=True,
    limit_seconds=20,
)
async def explain(
    call: Call, agent: Annotated[str, Field(max_length=60, description="Whose tools; empty is the one who asks")] = ""
) -> Result:
    """Tell the owner what each role may have an agent do, and by which rules."""
    if call.actor.role != "owner":
        raise ToolFailed("denied", _("Only an owner may hear what was done for everybody."))
    agents = {call.agent.name: call.agent, **call.gate.agents}
    name = agent or call.agent.name
    if name not in agents:
        raise ToolFailed("not_found", _("There is no agent called {name}.").format(name=name))
    actions = [spec.action for _name, spec in sorted(call.gate.tools.items())]
    data = {
        "agent": name,
        "tools": table(call.gate.policy, agents[name], actions),
        "rules": written(call.gate.policy),
        "others_words": AFTER_WORDS_OF_OTHERS,
    }
    count = len(call.gate.policy.rules)
    return Result(plural("There is {count} rule.", "There are {count} rules.", count).format(count=count), data)
