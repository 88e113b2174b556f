"""A table of rules that protects nobody, or leaves a door open, does not start the server; a sound one does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tools_server.tools
from tests.conftest import for_every
from tools_server.sdk.toolkit import find
from tools_server.values.policy import Action, AgentAccount, CallActor, Hours, Policy, Rule, decide
from tools_server.values.prove import SoundnessQuestion, problems, prove, unsound
from tools_server.values.rules import RulesWrong, read_policy
from wall.roles import ROLES
from wall.unsound_rules import UnsoundRules

POLICY = Path(__file__).parents[2] / "policy.toml"
TOOLS = find(tools_server.tools).tools
FAMILY = AgentAccount("family", ("*",), ("family-agent-config",))
WORK = AgentAccount("work", ("*",), ("work-agent-config",), ("owner",), private=True)
PLAY = Action("home.play", risk="change")
SEND = Action("mail.send", risk="outward", level="explicit")
READ = Action("notes.read", root="*")
TAKES = {"home.play": ("room", "what"), "mail.send": ("to",), "notes.read": ("title",), "clock.time": ()}
NO_GUESTS = Rule("no-guests", "deny", "No.", roles=("guest",), risks=("outward",))


def found(
    *rules: Rule, agents: tuple[AgentAccount, ...] = (FAMILY, WORK), actions: Any = (PLAY, SEND, READ)
) -> list[str]:
    takes: Mapping[str, tuple[str, ...]] = {action.tool: TAKES[action.tool] for action in actions}
    return [problem.sentence for problem in problems(SoundnessQuestion(Policy(rules), agents, actions, takes))]


def rule(id: str, then: Any = "deny", **conditions: Any) -> Rule:
    return Rule(id, then, "Because.", **conditions)


def test_the_rules_that_atlas_comes_with_are_sound() -> None:
    takes = {spec.name: tuple(spec.schema["properties"]) for spec in TOOLS.values()}
    actions = tuple(spec.action for spec in TOOLS.values())
    house = AgentAccount("house", ("*.due", "*.announced", "asks.*"), acts_as="owner")
    question = SoundnessQuestion(read_policy(POLICY), (FAMILY, WORK, house), actions, takes)
    prove(question)


def test_a_table_that_is_not_sound_is_refused_with_the_reason() -> None:
    prove(SoundnessQuestion(Policy((NO_GUESTS,)), (FAMILY,), (SEND,), {"mail.send": ("to",)}))
    with pytest.raises(RulesWrong, match="A guest could use mail"):
        prove(SoundnessQuestion(Policy(), (FAMILY,), (SEND,), {"mail.send": ("to",)}))


def test_a_rule_about_a_tool_that_there_is_not_is_named() -> None:
    assert found(NO_GUESTS, rule("no-music", tools=("hom.play",))) == [
        "The rule 'no-music' can never fire: no call fits everything it names. Change or remove it."
    ]


@for_every(
    "never",
    [
        rule("never", agents=("famly",)),
        rule("never", tools=("home.play",), risks=("read",)),
        rule("never", arguments={"rooom": ("kids*",)}),
        rule("never", tools=("notes.*",), arguments={"room": ("kids*",)}),
    ],
)
def test_a_rule_that_no_call_can_fit_is_named(never: Rule) -> None:
    assert ["'never' can never fire" in problem for problem in found(NO_GUESTS, never)] == [True]


def test_a_rule_that_others_always_outrank_is_named_together_with_them() -> None:
    evening = rule("evening", tools=("home.play",), hours=(Hours(21 * 60, 24 * 60),))
    night = rule("night", tools=("home.play",), hours=(Hours(0, 21 * 60),))
    requested_rule = rule("asked", "confirm", tools=("home.play",))
    (problem,) = found(NO_GUESTS, evening, night, requested_rule)
    assert problem.startswith("The rule 'asked' can never fire: ")
    assert "'evening'" in problem
    assert "'night'" in problem
    assert found(NO_GUESTS, evening, requested_rule) == []


def test_which_rules_a_refusal_is_about_is_data_too() -> None:
    kids = rule("kids", tools=("home.play",), arguments={"room": ("kids*",)})
    asks = rule("asks", "confirm", tools=("mail.send",))
    for never, before in (
        (rule("kids-again", tools=("home.play",), arguments={"room": ("kids room",)}), ("kids",)),
        (rule("music", tools=("hom.play",)), None),
        (asks, ()),
    ):
        takes = {action.tool: TAKES[action.tool] for action in (PLAY, SEND)}
        question = SoundnessQuestion(Policy((NO_GUESTS, kids, never)), (FAMILY,), (PLAY, SEND), takes)
        problem = unsound(question)
        assert problem
        assert (problem.never, problem.before) == (never.id, before)
        assert UnsoundRules.read(problem.json()) == problem


def test_the_same_rule_twice_is_named_once() -> None:
    kids = rule("kids", tools=("home.play",), arguments={"room": ("kids*",)})
    narrower = rule("kids-again", tools=("home.*",), arguments={"room": ("kids room",)})
    assert [problem.split("'")[1] for problem in found(NO_GUESTS, kids, narrower)] == ["kids-again"]
    assert found(NO_GUESTS, narrower, kids) == []  # the wider one still says something of its own


def test_patterns_of_texts_are_compared_as_patterns() -> None:
    wide = rule("wide", tools=("home.play",), people=("[a-m]*",))
    inside = rule("inside", tools=("home.play",), people=("an?a",))
    outside = rule("outside", tools=("home.play",), people=("[!a-m]*",))
    assert [problem.split("'")[1] for problem in found(NO_GUESTS, wide, inside, outside)] == ["inside"]


def test_an_outward_tool_that_guests_could_use_is_named_with_the_agent() -> None:
    (problem,) = found()
    assert "A guest could use mail.send" in problem
    assert "'family'" in problem
    not_for_guests = replace(FAMILY, roles=("adult", "owner"))
    assert found(agents=(not_for_guests, WORK)) == []


def test_denying_guests_only_at_night_leaves_the_door_open_by_day() -> None:
    (problem,) = found(replace(NO_GUESTS, hours=(Hours(21 * 60, 7 * 60),)))
    assert "A guest could use mail.send" in problem


def test_a_private_folder_that_the_family_could_reach_is_named() -> None:
    nosy = replace(FAMILY, roots=("family-agent-config", "work-agent-config"))
    (problem,) = found(NO_GUESTS, agents=(nosy, WORK))
    assert "The agent 'family' could reach a folder of the private agent 'work' (work-agent-config)" in problem
    assert "with notes.read" in problem
    for_its_owner = replace(nosy, roles=("owner",))
    assert found(NO_GUESTS, agents=(for_its_owner, WORK)) == []


def test_a_rule_that_fires_is_found_to_fire_by_the_gate_too() -> None:
    """The proof and the decision are two readings of one table; here they are held beside each other."""
    from datetime import datetime, timedelta, timezone

    rules = (
        rule("late", tools=("home.play",), arguments={"room": ("kids*",)}, hours=(Hours(21 * 60, 7 * 60),)),
        rule("weekend", "confirm", tools=("home.*",), days=("sat", "sun")),
        NO_GUESTS,
    )
    assert found(*rules) == []
    monday = datetime(2026, 11, 23, tzinfo=timezone(timedelta(0)))
    fired = {
        decide(Policy(rules), FAMILY, CallActor(role=role), action, arguments, monday + timedelta(hours=hours)).rule
        for role in ROLES
        for action in (PLAY, SEND)
        for arguments in ({}, {"room": "Kids room", "what": "x"})
        for hours in range(0, 168, 5)
    }
    assert {"late", "weekend", "no-guests"} <= fired


def test_a_bracket_that_excludes_a_bracket_is_a_pattern_like_any_other() -> None:
    any_but = rule("any-but", tools=("home.play",), people=("[!]b]*",))
    inside = rule("inside", tools=("home.play",), people=("anna",))
    assert [problem.split("'")[1] for problem in found(NO_GUESTS, any_but, inside)] == ["inside"]
    assert found(NO_GUESTS, any_but, replace(inside, people=("[]b]*",))) == []


@for_every("letters", ["[]", "[!]", "[", "a[b", "]"])
def test_a_bracket_that_nothing_closes_is_a_letter(letters: str) -> None:
    named = rule("named", tools=("home.play",), people=(letters,))
    again = rule("again", tools=("home.play",), people=(letters,))
    assert found(NO_GUESTS, named) == []
    assert [problem.split("'")[1] for problem in found(NO_GUESTS, named, again)] == ["again"]


def test_a_rule_that_only_several_others_together_outrank_is_named_with_those_alone() -> None:
    alike = {"tools": ("home.play",), "people": ("anna",)}
    by_room = rule("by-room", arguments={"room": ("*a*",)}, **alike)
    by_place = rule("by-place", rooms=("hall",), **alike)
    elsewhere = rule("elsewhere", rooms=("[!h]*", "h", "h[!a]*"), **alike)
    covered = rule("covered", "confirm", rooms=("hall", "kitchen"), tools=("home.play",), people=("anna",))
    (problem,) = found(NO_GUESTS, by_room, by_place, elsewhere, covered)
    assert problem.startswith("The rule 'covered' can never fire: 'by-place' and 'elsewhere' always")
    assert found(NO_GUESTS, by_room, by_place, covered) == []


def test_a_table_that_would_take_too_long_is_refused_and_not_thought_about_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tools_server.values.prove.MOST_STEPS", 20_000)
    wide = [f"*{letter}?????????????*" for letter in "abcdefghijklmn"]
    others = rule("others", tools=("home.play",), people=tuple(wide))
    last = rule("last", "confirm", tools=("home.play",), people=("*" + "[abc]*" * 20,))
    with pytest.raises(RulesWrong, match="could not be proven"):
        found(others, last)
