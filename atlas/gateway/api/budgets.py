"""Budgets: what agents may spend in a day, changed by an owner; `/api/rules` shows them with all else of the policy."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field

from atlas.errors import RequestError
from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.rules import PolicySaved, RowPath, save_policy
from atlas.gateway.api.shapes import Body, Name
from atlas.store.settings_file import with_policy_row, without_policy_row

router = resource("budgets", asks=False)


class BudgetValues(Body):
    """A budget as its form has it."""

    agents: Annotated[list[Name], Field(min_length=1, max_length=20)]
    units_per_day: Annotated[int, Field(ge=1, le=10**9)]


@router.put("/{budget}")
async def save_budget(caller: OwnerCaller, budget: RowPath, body: BudgetValues) -> PolicySaved:
    """Save a budget: it counts at once, for what was spent today too."""
    if unknown := sorted(set(body.agents) - set(caller.house.config.agents)):
        # A pattern could fit the house's own tools as well, and with those spent nothing would ring.
        raise RequestError(f"no agent is called {unknown[0]!r}", code="invalid_value", param="agents")
    values = body.model_dump()
    return await save_policy(
        caller, f"budget.{budget}", partial(with_policy_row, kind="budget", id=budget, values=values)
    )


@router.delete("/{budget}")
async def remove_budget(caller: OwnerCaller, budget: RowPath) -> PolicySaved:
    """Take a budget away: nothing limits what its agents spend, unless another does."""
    return await save_policy(caller, f"budget.{budget}", partial(without_policy_row, kind="budget", id=budget))
