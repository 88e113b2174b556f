"""Rules: who may do what, as a table that explains itself."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends
from pydantic import Field

from atlas.gateway.api.caller import OWNER, AdmitToTools, Caller, usual_agent
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, ToolReply

router = resource("rules", asks=False)


class RuleItem(ApiReply):
    """One rule of policy.toml; an empty list is all of them."""

    id: str
    then: Literal["deny", "confirm", "explicit"]
    because: str
    agents: list[str]
    roles: list[str]
    tools: list[str]
    risks: list[str]
    when: str = Field(description="What it depends on besides, in words")


class ToolVerdicts(ApiReply):
    """What each role may do with one tool."""

    tool: str
    risk: str
    verdicts: dict[str, str] = Field(description="yes, asks, asks! (by the deed's name), –; with * it depends on more")


class RulesReply(ToolReply):
    """What each role may have an agent do, and why."""

    agent: str
    tools: list[ToolVerdicts]
    rules: list[RuleItem]
    others_words: str = Field(description="What holds after words of others were read")


@router.get("")
async def explain_rules(caller: Annotated[Caller, Depends(AdmitToTools(OWNER))]) -> RulesReply:
    """Explain who may do what through an agent."""
    return await caller.look(RulesReply, "rules.explain", agent=caller.agent or usual_agent(caller))
