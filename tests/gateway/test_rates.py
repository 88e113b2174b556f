"""An owner says in a form how often something may be done; what cannot be is refused, and nothing changes."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.gateway.api_house import api_house
from tests.gateway.test_setting_forms import settings_of

RATE: dict[str, Any] = {"at_most": 2, "per_seconds": 3600, "tools": ["timers.start"], "roles": ["child"]}
SAVED = {**RATE, "id": "few-timers", "agents": ["family", "work"]}


async def test_a_rate_is_saved_changed_explained_and_taken_away_and_each_is_recorded(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        before = (data / "policy.toml").read_text()
        for times in (5, 2):
            saved = await owner.put("/api/rates/few-timers", json={**RATE, "at_most": times})
            assert (saved.status_code, saved.json()) == (200, {"by_hand": []}), saved.text
        assert tomllib.loads((data / "policy.toml").read_text())["limit"] == [SAVED]
        assert (await owner.delete("/api/rates/few-timers")).status_code == 200
        assert (data / "policy.toml").read_text() == before
        assert (await owner.delete("/api/rates/few-timers")).status_code == 404
        rows = (await owner.get("/api/record", params={"tool": "settings.change"})).json()["rows"]
        assert len(rows) == 3


async def test_a_rate_is_for_the_agents_of_people_and_never_for_what_the_house_does_by_itself(config, data):
    """With its own looks and rings counted, no bell would ring, and no owner could take the rate back."""
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        saved = await owner.put("/api/rates/nothing-at-all", json={"at_most": 0, "per_seconds": 86_400})
        assert saved.status_code == 200, saved.text
    policy = (data / "policy.toml").read_text()
    assert tomllib.loads(policy)["limit"][0]["agents"] == ["family", "work"]


async def test_rates_of_the_file_are_explained_and_hold(config, data, monkeypatch):
    rows = '[[limit]]\nid = "one-list"\ntools = ["lists.add"]\nat_most = 1\nper_seconds = 3600\n\n# ── how much'
    policy = ROOT / "policy.toml"
    (data / "rules").mkdir()
    (data / "rules" / "policy.toml").write_text(policy.read_text().replace("# ── how much", rows, 1))
    monkeypatch.setattr("tests.gateway.api_house.ROOT", data / "rules")
    async with api_house(config, data) as world, world.http("owner") as owner:
        [rate] = (await owner.get("/api/rules")).json()["rates"]
        assert (rate["id"], rate["at_most"], rate["per_seconds"]) == ("one-list", 1, 3600)
        assert (rate["tools"], rate["agents"], rate["roles"], rate["risks"]) == (["lists.add"], [], [], [])
        replies = [await owner.post("/api/lists/shopping/items", json={"items": [word]}) for word in ("milk", "jam")]
        assert [reply.status_code for reply in replies] == [201, 403], replies[1].text


@pytest.mark.parametrize(
    ("id", "wrong"),
    [
        ("few-timers", {"agents": ["nobody"]}),
        ("few-timers", {"agents": ["*"]}),
        ("few-timers", {"at_most": -1}),
        ("few-timers", {"at_most": 1.5}),
        ("few-timers", {"per_seconds": 0}),
        ("few-timers", {"per_seconds": 86_401}),
        ("few-timers", {"roles": ["king"]}),
        ("few-timers", {"risks": ["great"]}),
        ("few-timers", {"tools": [""]}),
        ("few-timers", {"hours": ["21:00-07:00"]}),
        ("Few timers", {}),
        ("destructive-needs-a-yes", {}),  # a rule is called so
    ],
    ids=str,
)
async def test_a_rate_that_cannot_be_is_refused_and_nothing_changes(config, data, id, wrong):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        before = (data / "policy.toml").read_text()
        refused = await owner.put(f"/api/rates/{id}", json={**RATE, **wrong})
        assert 400 <= refused.status_code < 500
        assert refused.json()["error"]["sentence"]
        assert (data / "policy.toml").read_text() == before
