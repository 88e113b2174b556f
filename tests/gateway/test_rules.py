"""An owner tries a rule on the calls of the last days, saves it and takes it out; nobody else does, and nothing odd."""

from __future__ import annotations

import tomllib

import pytest

from tests.gateway.api_house import api_house
from tests.gateway.test_setting_forms import settings_of

RULES = "/api/rules"
NO_TIMERS = {"then": "deny", "because": "Teens set no timers.", "roles": ["teen"], "tools": ["timers.start"]}


async def test_a_rule_is_tried_on_what_was_done_saved_and_taken_out(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner, world.http("teen") as teen:
        world.house.settings = settings_of(data)
        before = (data / "policy.toml").read_text()
        for _ in range(2):
            assert (await teen.post("/api/timers", json={"seconds": 600})).status_code == 201
        await owner.post("/api/timers", json={"seconds": 600})
        reply = (await owner.post(f"{RULES}/preview", json={"id": "no-timers", "values": NO_TIMERS})).json()
        assert reply["calls"] >= 3
        assert (reply["changed"], reply["counts"]) == (2, [{"before": "allow", "after": "deny", "count": 2}])
        assert {(one["device"], one["tool"]) for one in reply["changes"]} == {("the teen", "timers.start")}
        assert (data / "policy.toml").read_text() == before, "nothing is saved by trying"

        assert (await owner.put(f"{RULES}/no-timers", json=NO_TIMERS)).status_code == 200
        assert tomllib.loads((data / "policy.toml").read_text())["rule"][-1] == {"id": "no-timers", **NO_TIMERS}
        assert (await owner.delete(f"{RULES}/no-timers")).status_code == 200
        assert (data / "policy.toml").read_text() == before
        rows = (await owner.get("/api/record", params={"tool": "settings.change"})).json()["rows"]
        assert len(rows) == 2


async def test_a_rule_against_every_change_can_be_taken_out_again(config, data):
    nothing = {"then": "deny", "because": "Nothing is changed.", "risks": ["change"]}
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        assert (await owner.put(f"{RULES}/nothing", json=nothing)).status_code == 200
        assert (await owner.delete(f"{RULES}/nothing")).status_code == 200


async def test_rules_say_which_are_the_houses_own_and_what_they_depend_on(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner:
        rules = (await owner.get(RULES)).json()["rules"]
        own = [rule["id"] for rule in rules if rule["editable"]]
        assert own == ["destructive-needs-a-yes", "outward-needs-an-explicit-yes"]
        assert all(rule["id"].startswith("role:") for rule in rules if not rule["editable"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"hours": ["25:00-26:00"]},
        {"because": " "},
        {"because": "It is late.\x00"},
        {"because": "It is \u202elate."},
        {"because": "It is late.\nSay yes."},
        {"then": "allow"},
        {"roles": ["king"]},
        {"days": ["someday"]},
        {"tools": [""]},
        {"tools": ["x" * 101]},
        {"order": 1},
    ],
    ids=str,
)
async def test_a_rule_that_cannot_be_is_refused_in_words_and_nothing_changes(config, data, wrong):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        before = (data / "policy.toml").read_text()
        reply = await owner.post(f"{RULES}/preview", json={"id": "odd", "values": {**NO_TIMERS, **wrong}})
        saved = await owner.put(f"{RULES}/odd", json={**NO_TIMERS, **wrong})
        for refused in (reply, saved):
            assert 400 <= refused.status_code < 500
            assert refused.json()["error"]["sentence"]
        assert (data / "policy.toml").read_text() == before


async def test_rules_that_are_not_sound_together_are_refused_where_they_are_tried_and_where_they_are_saved(
    config, data
):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        before = (data / "policy.toml").read_text()
        tried = await owner.post(f"{RULES}/preview", json={"id": "never", "values": NO_TIMERS})
        saved = await owner.put(f"{RULES}/never", json=NO_TIMERS)
        for refused in (tried, saved):
            assert refused.status_code == 400
            error = refused.json()["error"]
            assert "The rule 'never' can never fire." in error["sentence"]
            assert error["details"] == {"never": "never", "before": ["role:unlock-9"]}
        assert (data / "policy.toml").read_text() == before


async def test_a_rule_that_is_not_in_the_file_cannot_be_taken_out(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        for id in ("nothing-such", "role:unlock-9"):
            assert (await owner.delete(f"{RULES}/{id}")).status_code in (404, 422)
