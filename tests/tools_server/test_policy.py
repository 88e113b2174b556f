"""The table of rules: what a household writes is what holds, and what cannot be meant stops the start."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import for_every
from tools_server.values.boot_files import BootFailed
from tools_server.values.policy import Action, AgentAccount, CallActor, Decision, Hours, Policy, Rule, decide
from tools_server.values.rules import read_policy

POLICY = Path(__file__).parents[2] / "policy.toml"
FAMILY = AgentAccount("family", ("*",), roots=("papers",), acts_as="adult")
ANNA = {"person": "Anna", "device": "phone", "role": "adult", "room": ""}
MIA = {"person": "Mia", "device": "speaker", "role": "child", "room": "kids' room"}
NINE_IN_THE_EVENING = 12 * 3600.0


def table(data: Path, text: str) -> Policy:
    file = data / "rules.toml"
    file.write_text(text)
    return read_policy(file)


@pytest.fixture
def examples(data: Path) -> Policy:
    """The two rules that policy.toml shows in its comments, without the signs that make them comments."""
    shown = re.findall(r"^#   (\[\[rule\]\]|\w+ = .+)$", POLICY.read_text(), re.MULTILINE)
    return table(data, "\n".join(shown))


# ── what a household writes ────────────────────────────────────────────────────────────────────────


def test_the_examples_in_the_file_are_rules(examples: Policy) -> None:
    assert [rule.id for rule in examples.rules[:2]] == ["no-music-late-for-kids", "garage-is-for-grown-ups"]
    assert examples.rules[0].hours == (Hours(21 * 60, 7 * 60),)


@pytest.mark.parametrize(
    ("seconds", "rule"),
    [(-1, None), (0, "no-music-late-for-kids"), (9.99 * 3600, "no-music-late-for-kids"), (10 * 3600, None)],
)
async def test_there_is_no_music_in_the_kids_rooms_after_nine(
    world: Any, examples: Policy, seconds: float, rule: str | None
) -> None:
    world.gate._policy = Policy((*world.gate._policy.rules, *examples.rules))
    world.pass_seconds(NINE_IN_THE_EVENING + seconds)
    answer = await world.refused("home.play", actor=ANNA, room="Kids room")  # there is no player at all
    assert answer.data.get("rule") == rule
    if rule:
        assert (answer.error, answer.text) == ("denied", "There is no music in the kids' rooms after nine.")
        assert (world.record[-1]["rule"], world.record[-1]["verdict"]) == (rule, "deny")
    assert (await world.refused("home.play", actor=ANNA, room="kitchen")).data.get("rule") is None


async def test_children_may_not_open_the_garage_and_grown_ups_are_asked(world: Any, examples: Policy) -> None:
    world.gate._policy = Policy((*world.gate._policy.rules, *examples.rules))
    for device in ("garage", "The big Garage door"):
        answer = await world.refused("home.open", actor=MIA, device=device)
        assert (answer.error, answer.data["rule"]) == ("denied", "garage-is-for-grown-ups")
        assert (await world.refused("home.open", actor=ANNA, device=device)).data.get("rule") is None


async def test_more_than_so_many_changes_a_minute_are_a_loop(world: Any) -> None:
    world.gate._meter._policy = read_policy(POLICY)
    for number in range(60):
        await world.ok("tasks.add", actor=ANNA, title=f"Task {number}")
    answer = await world.refused("tasks.add", actor=ANNA, title="Task 60")
    assert (answer.error, answer.code, answer.data["rule"]) == ("denied", -32000, "changes-a-minute")
    assert answer.text == "That may be done 60 times in 1 minute. Try again in 1 minute."
    assert (await world.call("timers.list", actor=ANNA)).error is None
    world.pass_seconds(60)
    await world.ok("tasks.add", actor=ANNA, title="Task 60")


# ── the strictest wins ─────────────────────────────────────────────────────────────────────────────

OPEN = Action("home.open", risk="change")
SEND = Action("email.send", risk="outward", level="explicit")
SATURDAY_NIGHT = datetime(2026, 11, 21, 23, tzinfo=UTC)


def ruled(*thens: Any, action: Action = OPEN, agent: AgentAccount = FAMILY, at: datetime = SATURDAY_NIGHT) -> Decision:
    rules = tuple(Rule(f"{then}-{number}", then, "So it is.") for number, then in enumerate(thens))
    return decide(Policy(rules), agent, CallActor(role="adult"), action, {}, at)


@for_every(
    ("thens", "verdict", "rule"),
    [
        ((), "allow", "agent.tools:*"),
        (("confirm",), "confirm", "confirm-0"),
        (("confirm", "deny", "explicit"), "deny", "deny-1"),
        (("explicit", "confirm"), "explicit", "explicit-0"),
        (("deny", "deny"), "deny", "deny-0"),
    ],
)
def test_of_all_that_fit_the_strictest_decides_and_of_equals_the_first(thens: Any, verdict: str, rule: str) -> None:
    decision = ruled(*thens)
    assert (decision.verdict, decision.rule) == (verdict, rule)


def test_no_rule_lowers_what_a_tool_asks_for_itself() -> None:
    assert ruled("confirm", action=SEND).verdict == "explicit"
    assert ruled("confirm", action=SEND).rule == "tool.level:email.send"
    assert ruled("deny", action=SEND).verdict == "deny"


def test_no_rule_opens_a_wall() -> None:
    narrow = AgentAccount("ide", ("clock.*",))
    assert ruled("confirm", agent=narrow) == ruled(agent=narrow)
    assert ruled(agent=narrow).rule == "agent.tools"


@for_every(
    ("agent", "action", "rule"),
    [
        (FAMILY, Action("notes.add", root="papers"), "agent.tools:*"),
        (FAMILY, Action("notes.add", root="*"), "agent.tools:*"),
        (FAMILY, Action("notes.add", root="accounts"), "agent.roots"),  # another's folder, though every tool is granted
        (AgentAccount("ide", ("*",)), Action("notes.add", root="papers"), "agent.roots"),
        (AgentAccount("ide", ("*",)), Action("notes.add", root="*"), "agent.roots"),
        (AgentAccount("work", ("*",), roles=("owner",)), OPEN, "agent.roles"),
        (FAMILY, Action("record.head", agents=("house",)), "tool.agents"),
    ],
)
def test_a_wall_stands_whatever_an_agent_was_granted(agent: AgentAccount, action: Action, rule: str) -> None:
    assert ruled(agent=agent, action=action).rule == rule
    assert ruled("confirm", agent=agent, action=action).rule == ("confirm-0" if "*" in rule else rule)


def test_who_is_not_named_is_nobody_unless_the_agent_acts_as_somebody() -> None:
    for acts_as, rule in (("", "agent.roles"), ("adult", "agent.tools:*")):
        for_adults = AgentAccount("ide", ("*",), roles=("adult",), acts_as=acts_as)
        assert decide(Policy(()), for_adults, CallActor(), OPEN, {}, SATURDAY_NIGHT).rule == rule


def test_no_rule_of_a_house_shuts_its_owner_out_or_leaves_a_timer_ringing() -> None:
    house = AgentAccount("house", ("*",))
    at_night = Rule("night", "deny", "Nothing is changed.", risks=("change",))
    by_name = Rule("shut", "deny", "Nothing is set.", tools=("settings.change", "timers.announced"))
    for tool in ("settings.change", "timers.announced"):
        errand = Action(tool, risk="change", agents=("house",))
        for tainted in (False, True):  # also right after words of others
            decision = decide(
                Policy((at_night, by_name)), house, CallActor(role="owner"), errand, {}, SATURDAY_NIGHT, tainted=tainted
            )
            assert decision.verdict == "allow"
    assert decide(Policy((at_night,)), FAMILY, CallActor(role="owner"), OPEN, {}, SATURDAY_NIGHT).verdict == "deny"


def test_after_midnight_it_is_the_next_day() -> None:
    rule = Rule("late", "deny", "It is late.", days=("sat",), hours=(Hours(21 * 60, 7 * 60),))

    def verdict(day: int, hour: int) -> str:
        at = datetime(2026, 11, day, hour, tzinfo=UTC)
        return decide(Policy((rule,)), FAMILY, CallActor(role="adult"), OPEN, {}, at).verdict

    assert (verdict(21, 23), verdict(21, 3)) == ("deny", "deny")  # Saturday
    assert (verdict(22, 3), verdict(20, 23)) == ("allow", "allow")  # Sunday, Friday


# ── what cannot be meant ───────────────────────────────────────────────────────────────────────────


@for_every(
    ("value", "verdict"),
    [
        ("Garage", "deny"),
        (["lamp", "Garage"], "deny"),
        (["lamp"], "allow"),
        ([], "allow"),
        (7, "allow"),
        ([7], "allow"),
    ],
)
def test_a_rule_on_an_argument_holds_where_one_item_of_a_list_fits(value: Any, verdict: str) -> None:
    rule = Rule("a", "deny", "So.", arguments={"device": ("garage*",)})
    given = {"device": value}
    assert decide(Policy((rule,)), FAMILY, CallActor(role="adult"), OPEN, given, SATURDAY_NIGHT).verdict == verdict


RULE = '[[rule]]\nid = "a"\nthen = "deny"\nbecause = "So."\n'
LIMIT = '[[limit]]\nid = "a"\nat_most = 1\nper_seconds = 60\n'


@for_every(
    ("text", "sentence"),
    [
        ("[", "is not TOML"),
        ("[[rules]]", "unknown key 'rules'"),
        ("rule = 1", "write each rule as [[rule]]"),
        ('[[rule]]\nthen = "deny"', "rule 1 needs an id"),
        (RULE + RULE, "two rows with the id 'a'"),
        (RULE + LIMIT, "two rows with the id 'a'"),
        (RULE.replace("deny", "allow"), "needs then = one of confirm, explicit, deny"),
        (RULE.replace("So.", "  "), "needs because = a sentence"),
        (RULE + "tols = []", "unknown key 'tols'"),
        (RULE + "tools = []", "at least one in it"),
        (RULE + 'tools = "home.*"', "tools is a list of texts"),
        (RULE + 'roles = ["kid"]', "'kid' is none of the roles"),
        (RULE + 'risks = ["danger"]', "'danger' is none of the risks"),
        (RULE + 'days = ["saturday"]', "'saturday' is none of the days"),
        (RULE + 'hours = ["9pm-7am"]', 'write hours as "21:00-07:00"'),
        (RULE + 'hours = ["21:00-21:00"]', 'write hours as "21:00-07:00"'),
        (RULE + 'hours = ["21:00-25:00"]', 'write hours as "21:00-07:00"'),
        (RULE + 'arguments = ["garage"]', "write arguments as"),
        (RULE + "arguments = { device = [] }", "at least one in it"),
        (LIMIT.replace("60", "0"), "per_seconds = a number"),
        (LIMIT.replace("at_most = 1", "at_most = -1"), "at_most = a whole number"),
        (LIMIT.replace("at_most = 1", "at_most = true"), "at_most = a whole number"),
        ('[[budget]]\nid = "a"\nunits_per_day = 1', "agents is a list of texts"),
        ("costs = 1", "write costs as a table"),
        ("[costs]\nreading = 1", "unknown key 'reading'"),
    ],
)
def test_a_row_that_cannot_be_meant_is_named(data: Path, text: str, sentence: str) -> None:
    with pytest.raises(BootFailed) as wrong:
        table(data, text)
    assert sentence in str(wrong.value)


def test_a_table_that_is_not_there_is_said(data: Path) -> None:
    with pytest.raises(BootFailed, match="cannot be read: No such file"):
        read_policy(data / "nowhere.toml")


@for_every(
    ("span", "outside", "inside"),
    [
        (Hours(8 * 60, 21 * 60), [(7, 59), (21, 0)], [(8, 0), (20, 59)]),
        (Hours(21 * 60, 7 * 60), [(20, 59), (7, 0)], [(21, 0), (6, 59)]),
    ],
)
def test_a_stretch_of_hours_begins_with_its_first_minute_and_ends_before_its_last(
    span: Hours, outside: list[tuple[int, int]], inside: list[tuple[int, int]]
) -> None:
    def holds(hour: int, minute: int) -> bool:
        return span.holds(datetime(2026, 11, 20, hour, minute, tzinfo=UTC))

    assert [holds(*at) for at in (*outside, *inside)] == [False, False, True, True]
