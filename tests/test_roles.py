"""Every role may do what the one table of roles says, at the gate and at the router, and nothing else."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

import tools_server.tools
from atlas.config import DEFAULT_AGENTS
from atlas.conversation import Actor, Turn
from atlas.errors import RequestError
from atlas.gateway.limits import LIMITS
from atlas.router import choose, may_talk
from tests.conftest import for_every
from tests.sources import nodes, python_files
from tools_server.sdk.toolkit import find
from tools_server.values.policy import AgentAccount, CallActor, decide
from tools_server.values.rights import COVERED
from tools_server.values.rules import read_policy
from wall.roles import NOBODY, RIGHTS, ROLES, Right, Role, may

ROOT = Path(__file__).parent.parent
TOOLS = find(tools_server.tools).tools
POLICY = read_policy(ROOT / "policy.toml")
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
ANYTHING = AgentAccount("family", ("*",), ("family-agent-config",))

# Written out a second time, on purpose: whoever changes the table has to mean it.
HOLDERS = {
    "manage": {"owner"},
    "assent": {"owner", "adult"},
    "reside": {"owner", "adult", "teen", "child", "satellite"},
    "household": {"owner", "adult", "teen", "satellite"},
    "papers": {"owner", "adult", "teen", "child", "satellite"},
    "lists": {"owner", "adult", "teen", "child", "satellite"},
    "presence": {"owner", "adult", "teen", "child", "satellite"},
    "announce": {"owner", "adult", "teen", "child", "satellite"},
    "mail": {"owner", "adult"},
    "remove": {"owner", "adult", "teen", "child", "satellite"},
    "send": {"owner", "adult", "satellite"},
    "unlock": {"owner", "adult", "teen", "satellite"},
}
AT_THE_GATE: dict[Right, tuple[str, dict[str, Any]]] = {
    "papers": ("notes.read", {}),
    "lists": ("tasks.add", {}),
    "presence": ("home.state", {"kind": "person"}),
    "announce": ("broadcast.say", {}),
    "mail": ("email.read", {}),
    "remove": ("tasks.remove", {}),
    "send": ("email.send", {}),
    "unlock": ("home.unlock", {}),
}


def test_the_table_is_what_the_household_was_promised() -> None:
    assert {right: {role for role in ROLES if may(role, right)} for right in get_args(Right)} == HOLDERS
    assert set(RIGHTS) == set(ROLES)
    assert NOBODY == "guest"


def test_what_is_no_role_has_no_right() -> None:
    assert not any(may(role, right) for role in ("", "Owner", "root", "admin", "nobody") for right in get_args(Right))


@for_every("role", ROLES)
@for_every("right", AT_THE_GATE)
def test_the_gate_denies_a_role_what_it_has_no_right_to(role: Role, right: Right) -> None:
    tool, arguments = AT_THE_GATE[right]
    denied = decide(POLICY, ANYTHING, CallActor(role=role), TOOLS[tool].action, arguments, NOON).verdict == "deny"
    needed = {right} | ({"mail"} if right == "send" else set())
    assert denied == any(role not in HOLDERS[one] for one in needed)


def test_every_right_about_tools_is_held_to_at_the_gate() -> None:
    of_the_house = {"manage", "assent", "reside", "household"}
    assert {right for right, _rule in COVERED} == set(get_args(Right)) - of_the_house == set(AT_THE_GATE)


def test_no_rule_of_a_household_can_give_a_role_more(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("")
    action = TOOLS["notes.read"].action
    assert decide(read_policy(file), ANYTHING, CallActor(role="guest"), action, {}, NOON).verdict == "deny"


@for_every("role", ROLES)
def test_the_router_lets_a_role_talk_to_the_agents_that_are_for_it_and_to_no_other(role: Role) -> None:
    actor = Actor("", "phone", role)
    for name, agent in DEFAULT_AGENTS.items():
        turn = Turn("turn_1", "hello", actor, 0.0, agent=name)
        assert may_talk(DEFAULT_AGENTS, actor, name) == (role in agent.roles)
        if role in agent.roles:
            assert choose(turn, DEFAULT_AGENTS, "family").agent == name
        else:
            with pytest.raises(RequestError, match="may not talk"):
                choose(turn, DEFAULT_AGENTS, "family")
    assert may_talk(DEFAULT_AGENTS, actor, "an IDE's") == may(role, "manage")


def test_every_kind_of_work_has_a_bound_for_every_role() -> None:
    assert all(set(limits) == set(ROLES) for limits in LIMITS.values())


def test_nothing_but_the_table_asks_for_a_role_by_its_name() -> None:
    """A comparison with a role's name is a second table: it says who may, where nobody looks for it."""
    compared = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("atlas", "tools_server")
        for node in nodes(path)
        if isinstance(node, ast.Compare) and _names_a_role(node)
    ]
    assert compared == []


def _names_a_role(compared: ast.Compare) -> bool:
    sides = (compared.left, *compared.comparators)
    names = {constant.value for side in sides for constant in ast.walk(side) if isinstance(constant, ast.Constant)}
    return bool(names & set(ROLES)) and any(
        "role" in ast.unparse(side) or "acts_as" in ast.unparse(side) for side in sides
    )
