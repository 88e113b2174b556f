"""What recorded calls would get under other rules is what the gate would decide, as far as the record can tell."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tools_server.values.policy import Action, AgentAccount, Hours, Policy, Rule
from tools_server.values.replay import replay

AGENTS = {"family": AgentAccount("family", ("*",))}
ACTIONS = {
    "home.play": Action("home.play", risk="change"),
    "home.list": Action("home.list"),
    "asks.answer": Action("asks.answer", agents=("house",), risk="change"),
}
NOON, LATE = (datetime(2026, 11, 20, hour, tzinfo=UTC).timestamp() for hour in (12, 22))
QUIET = Rule("quiet", "deny", "It is late.", roles=("child",), tools=("home.play",), hours=(Hours(21 * 60, 7 * 60),))


def row(tool: str = "home.play", role: str = "child", at: float = LATE, **more: Any) -> dict[str, Any]:
    actor = {"person": "Cleo", "device": "tablet", "role": role, "room": "den"}
    return {"at": at, "agent": "family", "actor": actor, "tool": tool, "outcome": "ok", "arguments": [], **more}


def replayed(*rows: dict[str, Any], rule: Rule = QUIET) -> Any:
    return replay(rows, (Policy(), Policy((rule,))), AGENTS, ACTIONS, UTC)


def test_only_calls_of_those_at_those_hours_would_be_answered_otherwise() -> None:
    result = replayed(row(), row(at=NOON), row(role="adult"), row("home.list"))
    assert result.calls == 4
    assert result.counts == {("allow", "deny"): 1}
    [shown] = result.shown
    assert (shown["person"], shown["tool"], shown["before"], shown["after"]) == ("Cleo", "home.play", "allow", "deny")


def test_what_a_rule_no_longer_forbids_is_seen_too() -> None:
    result = replay([row()], (Policy((QUIET,)), Policy()), AGENTS, ACTIONS, UTC)
    assert result.counts == {("deny", "allow"): 1}


def test_what_depends_on_an_argument_may_have_changed_where_it_was_given() -> None:
    kids = replace(QUIET, arguments={"room": ("kids*",)})
    result = replayed(row(arguments=["room"]), row(arguments=["device"]), row(arguments=["room"], at=NOON), rule=kids)
    assert (result.calls, result.perhaps, result.counts) == (3, 1, {})


def test_a_question_is_not_counted_beside_its_answer_and_the_houses_own_work_not_at_all() -> None:
    assert replayed(row(outcome="asked"), row("asks.answer"), row("gone.tool"), row(agent="nobody")).calls == 0


def test_what_came_of_words_of_others_is_asked_as_before() -> None:
    asks = Rule("asks", "confirm", "Ask.", tools=("home.play",))
    assert replayed(row(tainted=True), row(), rule=asks).counts == {("allow", "confirm"): 1}
