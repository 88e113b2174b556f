"""Rules: who may do what, as a table that explains itself, and the house's own rules, tried before they are saved."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

from fastapi import Depends, Path, Query
from pydantic import Field

from atlas.errors import RequestError
from atlas.gateway.api.caller import (
    OWNER,
    AdmitToTools,
    AnyCaller,
    Caller,
    OwnerCaller,
    answer_of,
    require_part,
    usual_agent,
)
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body, ToolReply
from atlas.store.settings_file import HouseSettings, with_policy_row, without_policy_row
from wall.roles import Role

router = resource("rules", asks=False)
MOST_PATTERNS = 40
Pattern = Annotated[str, Field(min_length=1, max_length=100)]
Patterns = Annotated[list[Pattern], Field(max_length=MOST_PATTERNS)]
ID_PATTERN = "^[a-z0-9][a-z0-9-]{0,60}$"
RowId = Annotated[str, Field(pattern=ID_PATTERN)]
RowPath = Annotated[str, Path(pattern=ID_PATTERN)]


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
    editable: bool = Field(description="It stands in the house's own file, and may be changed; others are the roles'")
    people: list[str]
    rooms: list[str]
    devices: list[str]
    arguments: dict[str, list[str]] = Field(description="Patterns of what an argument says, by its name")
    hours: list[str] = Field(description="HH:MM-HH:MM, on the house's clocks")
    days: list[str]


class ToolVerdicts(ApiReply):
    """What each role may do with one tool."""

    tool: str
    risk: str
    verdicts: dict[str, str] = Field(description="yes, asks, asks! (by the deed's name), –; with * it depends on more")


class BudgetItem(ApiReply):
    """One budget of policy.toml: what each of these agents may spend in a day."""

    id: str
    agents: list[str] = Field(description="Patterns of their names")
    units_per_day: int


class RateItem(ApiReply):
    """One limit of policy.toml: so many calls in so many seconds, for each who calls; an empty list is all of them."""

    id: str
    at_most: int
    per_seconds: float
    agents: list[str] = Field(description="Patterns of their names; empty is what the house does by itself, too")
    roles: list[str]
    tools: list[str]
    risks: list[str]


class RulesReply(ToolReply):
    """What each role may have an agent do, and why; and how much of it."""

    agent: str
    tools: list[ToolVerdicts]
    rules: list[RuleItem]
    rates: list[RateItem]
    budgets: list[BudgetItem]
    costs: dict[str, int] = Field(description="Units that a call is counted as, by its risk")
    others_words: str = Field(description="What holds after words of others were read")


class RuleValues(Body):
    """A rule as its form has it. An empty list is all of them."""

    then: Literal["deny", "confirm", "explicit"]
    because: Annotated[str, Field(min_length=1, max_length=300, description="What people are told")]
    agents: Patterns = Field(default=[])
    roles: list[Role] = Field(default=[])
    people: Patterns = Field(default=[])
    rooms: Patterns = Field(default=[])
    devices: Patterns = Field(default=[])
    tools: Patterns = Field(default=[])
    risks: list[Literal["read", "change", "destructive", "outward"]] = Field(default=[])
    arguments: Annotated[dict[str, Patterns], Field(max_length=MOST_PATTERNS)] = Field(default={})
    hours: Patterns = Field(default=[])
    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = Field(default=[])


class RulePreviewed(Body):
    """A rule that is to be tried: put in by its id, or, without values, taken out."""

    id: RowId
    values: RuleValues | None = None


class VerdictCount(ApiReply):
    """How many calls would have got another verdict."""

    before: str = Field(description="allow, confirm, explicit or deny")
    after: str
    count: int


class VerdictChange(ApiReply):
    """One call that would have got another verdict."""

    at: float = Field(description="Seconds since 1970")
    tool: str
    person: str
    device: str
    role: str
    before: str
    after: str


class PreviewReply(ToolReply):
    """What the calls of the last days would have got."""

    calls: int
    changed: int
    counts: list[VerdictCount]
    changes: list[VerdictChange] = Field(description="The latest of them, fifty at most")
    perhaps: int = Field(description="Calls for which it depends on words that the record does not hold")
    whole: bool = Field(description="False when there were more calls than were looked at")


class PolicySaved(ApiReply):
    """It counts now, but for what somebody has to start again."""

    by_hand: list[str] = Field(description="Parts that somebody has to start again, such as by systemd")


class RefusalsReply(ApiReply):
    """What rules deny to the caller now, whatever it is about; of one device its own reply says more."""

    refused: dict[str, str] = Field(description="The names of tools → why, as a sentence")


@router.get("/refused")
async def list_refusals(caller: AnyCaller) -> RefusalsReply:
    """Tell what rules deny to the caller now, so that no page offers it. The gate decides all the same."""
    result = await caller.house.use_owner_tool("rules.refused", {"agent": usual_agent(caller)}, caller.actor)
    answer_of(result)  # raises what was refused
    return RefusalsReply(refused={row["tool"]: row["because"] for row in result.data.get("refused", ())})


@router.get("")
async def explain_rules(caller: Annotated[Caller, Depends(AdmitToTools(OWNER))]) -> RulesReply:
    """Explain who may do what through an agent."""
    return await caller.use_owner_tool(RulesReply, "rules.explain", agent=caller.agent or usual_agent(caller))


@router.post("/preview")
async def preview_rule(
    caller: OwnerCaller, body: RulePreviewed, days: Annotated[int, Query(ge=1, le=31)] = 7
) -> PreviewReply:
    """Tell what the calls of the last days would have got with a rule, or without one. Nothing changes.

    Refused, with the reason, are rules that are not sound together.
    """
    settings = _settings(caller)
    text = _changed(body.id, body.values)(settings.read_policy())
    reply = await caller.use_owner_tool(PreviewReply, "rules.preview", policy=text, days=days)
    await settings.prove_policy(text)
    return reply


@router.put("/{rule}")
async def save_rule(caller: OwnerCaller, rule: RowPath, body: RuleValues) -> PolicySaved:
    """Save a rule: proven with all others and counted at once, or refused and nothing changed."""
    return await save_policy(caller, f"rule.{rule}", _changed(rule, body))


@router.delete("/{rule}")
async def remove_rule(caller: OwnerCaller, rule: RowPath) -> PolicySaved:
    """Take a rule out of the house's own."""
    return await save_policy(caller, f"rule.{rule}", _changed(rule, None))


async def save_policy(caller: Caller, name: str, change: Callable[[str], str]) -> PolicySaved:
    """Change the text of policy.toml as an owner wants it; the record has it under `name`."""
    settings = _settings(caller)
    text = change(settings.read_policy())  # what is not there is refused before anybody notes that it was changed
    # What cannot be read as rules is refused before the tool server is ended for it.
    await caller.use_owner_tool(PreviewReply, "rules.preview", policy=text, days=1)
    await caller.use_owner_tool(ToolReply, "settings.change", names=[name])
    by_hand = await settings.change_policy(change)
    caller.house.take_settings(settings.config)
    return PolicySaved(by_hand=list(by_hand))


def _changed(rule: str, values: RuleValues | None) -> Callable[[str], str]:
    """Return what changes the text of the rules; conditions that are empty are taken out of it."""
    if values is None:
        return partial(without_policy_row, kind="rule", id=rule)
    if not values.because.isprintable():
        raise RequestError(
            "what people are told has to be one line of letters and marks",
            code="invalid_value",
            param="because",
            hint="write it on one line",
        )
    written = {name: value or None for name, value in values.model_dump().items()}
    return partial(with_policy_row, kind="rule", id=rule, values=written)


def _settings(caller: Caller) -> HouseSettings:
    return require_part(caller.house.settings, "the rules of this house cannot be changed from here")
