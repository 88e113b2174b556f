"""Whatever the tool server offers, somebody in a house as it is shipped can reach: some agent, for some role."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tools_server.tools
from atlas.cli.keys import introduce_agents, prepare_folders
from atlas.config import load
from tools_server.boot.opening import read_agents
from tools_server.sdk.toolkit import find
from tools_server.values.policy import CallActor, visible
from tools_server.values.rules import read_policy
from tools_server.wires.prompt_files import FOLDER, PERSON, SOURCES, read_prompts
from tools_server.wires.resources import VIEWS
from wall.roles import ROLES

ROOT = Path(__file__).parent.parent
TOOLS = find(tools_server.tools).tools
Users = Callable[[str], set[tuple[str, str]]]


@pytest.fixture(params=["with atlas.toml", "without"])
def users(request: pytest.FixtureRequest, tmp_path: Path) -> Users:
    """Who may use a tool, as (agent, role), by the settings that are shipped or by those in the code."""
    empty = tmp_path / "empty.toml"
    empty.touch()
    file = ROOT / "atlas.toml" if request.param == "with atlas.toml" else empty
    config = load({"ATLAS_CONFIG": str(file), "ATLAS_DATA": str(tmp_path / "data")})
    prepare_folders(config)
    _, agents = read_agents(introduce_agents(config))
    policy = read_policy(ROOT / "policy.toml")

    def users_of(tool: str) -> set[tuple[str, str]]:
        return {
            (agent.name, role)
            for agent in agents.values()
            for role in ROLES
            if visible(policy, agent, CallActor(role=role), TOOLS[tool].action)
        }

    return users_of


def test_every_tool_can_be_used_by_some_agent_for_somebody(users: Users) -> None:
    assert [tool for tool in TOOLS if not users(tool)] == []


def test_every_resource_can_be_read_by_some_agent_for_somebody(users: Users) -> None:
    assert [view.uri for view in VIEWS if not users(view.tool)] == []


def test_every_prompt_can_be_filled_in_whole_by_one_agent_for_one_person(users: Users) -> None:
    tools_of_views = {view.uri: view.tool for view in VIEWS}
    for prompt in read_prompts(FOLDER, SOURCES):
        slots = [slot for slot in prompt.slots if slot not in prompt.arguments and slot != PERSON]
        needed = [SOURCES[slot].tool for slot in slots]
        needed += [tools_of_views[prompt.embed]] if prompt.embed in tools_of_views else []
        assert set.intersection(*map(users, needed)), f"nobody sees all that {prompt.name} tells"


def test_what_the_record_tells_is_for_the_owner_alone(users: Users) -> None:
    assert users("logs.read") - {("house", role) for role in ROLES} == {("work", "owner")}


def test_guests_learn_nothing_of_budgets_and_other_servers(users: Users) -> None:
    for tool in ("ledger.show", "upstream.status"):
        assert ("family", "adult") in users(tool)
        assert ("family", "guest") not in users(tool)
