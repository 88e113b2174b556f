"""A rule or a budget is put into the policy, changed and taken out, and all else stays as it was written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from atlas.errors import RequestError
from atlas.store.settings_file import with_policy_row, without_policy_row
from tests.conftest import ROOT

SHIPPED = (ROOT / "policy.toml").read_text()
QUIET = {"then": "deny", "because": "It is late.", "roles": ["child"], "hours": ["21:00-07:00"], "days": None}


def with_rule(text: str, id: str, rule: Mapping[str, Any]) -> str:
    return with_policy_row(text, "rule", id, rule)


def without_rule(text: str, id: str) -> str:
    return without_policy_row(text, "rule", id)


def ids(text: str) -> list[str]:
    return [rule["id"] for rule in tomllib.loads(text).get("rule", [])]


def comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith("#")]


def test_a_new_rule_follows_the_others_and_every_comment_stays() -> None:
    text = with_rule(SHIPPED, "quiet", QUIET)
    assert ids(text) == [*ids(SHIPPED), "quiet"]
    assert comments(text) == comments(SHIPPED)
    assert tomllib.loads(text)["rule"][-1] == {"id": "quiet", **{k: v for k, v in QUIET.items() if v is not None}}
    assert {k: v for k, v in tomllib.loads(text).items() if k != "rule"} == {
        k: v for k, v in tomllib.loads(SHIPPED).items() if k != "rule"
    }


def test_a_rule_is_changed_where_it_stands_and_loses_what_is_left_empty() -> None:
    text = with_rule(with_rule(SHIPPED, "quiet", QUIET), "quiet", {**QUIET, "hours": None, "days": ["sat"]})
    assert ids(text).count("quiet") == 1
    rule = tomllib.loads(text)["rule"][-1]
    assert "hours" not in rule
    assert rule["days"] == ["sat"]


def test_a_rule_is_taken_out_and_the_rest_stays() -> None:
    assert tomllib.loads(without_rule(with_rule(SHIPPED, "quiet", QUIET), "quiet")) == tomllib.loads(SHIPPED)


def test_the_last_rule_of_a_table_can_be_taken_out_and_one_put_in_again() -> None:
    empty = without_rule(with_rule("", "quiet", QUIET), "quiet")
    assert ids(empty) == []
    assert ids(with_rule(empty, "quiet", QUIET)) == ["quiet"]


def test_a_rule_that_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(RequestError):
        without_rule(SHIPPED, "nothing-such")


def test_a_budget_is_changed_where_it_stands_and_a_new_one_follows_the_others() -> None:
    text = with_policy_row(SHIPPED, "budget", "a-day-of-work", {"agents": ["work"], "units_per_day": 7})
    text = with_policy_row(text, "budget", "both", {"agents": ["family", "work"], "units_per_day": 9})
    budgets = {one["id"]: one["units_per_day"] for one in tomllib.loads(text)["budget"]}
    assert budgets == {"a-day-of-work": 7, "a-day-of-family": 20_000, "both": 9}
    assert comments(text) == comments(SHIPPED)
    assert without_policy_row(text, "budget", "both").count("[[budget]]") == 2
    with pytest.raises(RequestError):
        without_policy_row(text, "budget", "quiet")
