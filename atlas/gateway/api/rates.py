"""Rates: how often something may be done, changed by an owner; `/api/rules` shows them with all else of the policy."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from atlas.errors import RequestError
from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.rules import Patterns, PolicySaved, RowPath, save_policy
from atlas.gateway.api.shapes import Body, Name
from atlas.store.settings_file import with_policy_row, without_policy_row
from wall.roles import Role

router = resource("rates", asks=False)


class RateValues(Body):
    """A rate as its form has it. An empty list is all of them."""

    at_most: Annotated[int, Field(ge=0, le=10**6, description="How often; 0 is not at all")]
    per_seconds: Annotated[int, Field(ge=1, le=86_400)]
    agents: Annotated[list[Name], Field(max_length=20)] = Field(default=[])
    roles: list[Role] = Field(default=[])
    tools: Patterns = Field(default=[])
    risks: list[Literal["read", "change", "destructive", "outward"]] = Field(default=[])


@router.put("/{rate}")
async def save_rate(caller: OwnerCaller, rate: RowPath, body: RateValues) -> PolicySaved:
    """Save a rate: it counts at once, for what was done lately too. What the house does by itself it never holds."""
    agents = sorted(caller.house.config.agents)
    if unknown := sorted(set(body.agents) - set(agents)):
        # As with budgets: a pattern could fit the house's own tools, and then nothing would ring.
        raise RequestError(f"no agent is called {unknown[0]!r}", code="invalid_value", param="agents")
    named = body.model_copy(update={"agents": body.agents or agents})
    values = {name: None if value == [] else value for name, value in named.model_dump().items()}
    return await save_policy(caller, f"limit.{rate}", partial(with_policy_row, kind="limit", id=rate, values=values))


@router.delete("/{rate}")
async def remove_rate(caller: OwnerCaller, rate: RowPath) -> PolicySaved:
    """Take a rate away: nothing limits how often that is done, unless another does."""
    return await save_policy(caller, f"limit.{rate}", partial(without_policy_row, kind="limit", id=rate))
