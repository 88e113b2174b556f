"""An owner says in a form what agents may spend in a day; what cannot be is refused, and nothing changes."""

from __future__ import annotations

import tomllib

import pytest

from tests.gateway.api_house import api_house
from tests.gateway.test_setting_forms import settings_of

DAY = {"agents": ["family"], "units_per_day": 500}


async def test_a_budget_is_saved_changed_and_taken_away_and_each_is_recorded(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        before = (data / "policy.toml").read_text()
        for units in (500, 700):
            saved = await owner.put("/api/budgets/a-day", json={**DAY, "units_per_day": units})
            assert (saved.status_code, saved.json()) == (200, {"by_hand": []})
        assert tomllib.loads((data / "policy.toml").read_text())["budget"] == [
            {"id": "a-day", "agents": ["family"], "units_per_day": 700}
        ]
        assert (await owner.delete("/api/budgets/a-day")).status_code == 200
        assert (data / "policy.toml").read_text() == before
        assert (await owner.delete("/api/budgets/a-day")).status_code == 404
        rows = (await owner.get("/api/record", params={"tool": "settings.change"})).json()["rows"]
        assert len(rows) == 3


async def test_budgets_are_explained_with_what_a_call_counts(config, data):
    (data / "policy.toml").touch()
    async with api_house(config, data) as world, world.http("owner") as owner:
        policy = (await owner.get("/api/rules")).json()
        assert policy["budgets"] == []
        assert set(policy["costs"]) == {"read", "change", "destructive", "outward"}
        assert all(cost > 0 for cost in policy["costs"].values())


@pytest.mark.parametrize(
    ("id", "wrong"),
    [
        ("a-day", {"agents": ["nobody"]}),
        ("a-day", {"agents": ["*"]}),
        ("a-day", {"agents": []}),
        ("a-day", {"units_per_day": 0}),
        ("a-day", {"units_per_day": 1.5}),
        ("a-day", {"order": 1}),
        ("A day", {}),
        ("destructive-needs-a-yes", {}),  # a rule is called so
    ],
    ids=str,
)
async def test_a_budget_that_cannot_be_is_refused_and_nothing_changes(config, data, id, wrong):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        before = (data / "policy.toml").read_text()
        refused = await owner.put(f"/api/budgets/{id}", json={**DAY, **wrong})
        assert 400 <= refused.status_code < 500
        assert refused.json()["error"]["sentence"]
        assert (data / "policy.toml").read_text() == before
