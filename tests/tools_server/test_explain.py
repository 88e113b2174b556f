"""The picture of the rules shows what the gate would decide."""

from __future__ import annotations

import tomllib

from tests.conftest import ROOT
from tools_server.values.explain import SHIPPED, legend, picture, written
from tools_server.values.language import speaking
from tools_server.values.policy import Action, AgentAccount, Hours, Policy, Rule

FAMILY = AgentAccount("family", ("*",), roles=("owner", "child", "guest"))
ACTIONS = (Action("home.play", risk="change"), Action("mail.send", risk="outward", level="explicit"))
POLICY = Policy(
    (
        Rule("no-guests", "deny", "No.", roles=("guest",), risks=("outward",)),
        Rule("late", "deny", "It is late.", roles=("child",), tools=("home.play",), hours=(Hours(1260, 420),)),
    )
)


def test_who_may_do_what_is_seen_at_a_glance() -> None:
    assert picture(POLICY, FAMILY, ACTIONS).splitlines() == [
        "the agent family  risk     owner  adult  teen  child  guest  satellite",
        "────────────────  ───────  ─────  ─────  ────  ─────  ─────  ─────────",
        "home.play         change   yes    –      –     yes*   yes    –",
        "mail.send         outward  asks!  –      –     asks!  –      –",
    ]


def test_rules_that_depend_on_more_are_told_below() -> None:
    assert "  late: deny at 21:00–07:00 — It is late." in legend(POLICY).splitlines()
    assert '"*"' not in legend(Policy())


def test_an_agent_without_tools_is_told_so() -> None:
    assert picture(POLICY, AgentAccount("nobody", ()), ACTIONS) == "The agent nobody may use no tool."


def test_a_german_owner_reads_the_rules_in_german_also_those_of_the_file_that_comes_with_atlas() -> None:
    shipped = [row["because"] for row in tomllib.loads((ROOT / "policy.toml").read_text())["rule"]]
    assert set(SHIPPED) == set(shipped)
    rules = tuple(Rule(f"rule-{number}", "confirm", because) for number, because in enumerate(shipped))
    weekend = Rule("weekend", "deny", "Nein.", people=("mia", "leo"), days=("sat",), hours=(Hours(1260, 420),))
    with speaking("de"):
        rows = written(Policy((*rules, weekend)))
    assert rows[0]["because"] == "Es nimmt etwas weg, also muss erst jemand ja sagen."
    assert not {row["because"] for row in rows} & set(shipped)
    assert rows[-1]["when"] == "für mia oder leo am Samstag um 21:00–07:00"
