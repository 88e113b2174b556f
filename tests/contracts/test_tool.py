"""Every tool, found by listing its folder, keeps the contract of a tool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import tools_server.tools
from tools_server.boot import Settings, opened_gate
from tools_server.gate import Gate, Wish
from tools_server.policy import Agent
from tools_server.toolkit import ToolSpec, find

TOOLS = find(tools_server.tools).tools
POLICY = Path(__file__).parents[2] / "policy.toml"
LONGEST_PATTERNLESS = 1999  # at this maxLength the grammars of small models stop compiling
EXAMPLES: dict[str, Any] = {
    "seconds": 60,
    "by_seconds": 60,
    "title": "Buy milk",
    "column": "todo",
    "query": "milk",
    "ids": ["timer_1"],
    "text": "take the bins out",
    "when": "tomorrow at 7 PM",
    "person": "Anna",
    "start": "9:40",
    "end": "13:15",
    "on": True,
}


@pytest.fixture(params=sorted(TOOLS))
def spec(request: pytest.FixtureRequest) -> ToolSpec:
    return TOOLS[request.param]


@pytest.fixture
def gate(data: Path) -> Iterator[Gate]:
    file = data / "agents.toml"
    file.write_text("[house]\ntools = ['*']\nroots = ['family-agent-config']\nacts_as = 'owner'\n")
    with opened_gate(Settings(data, file, POLICY)) as (opened, _):
        yield opened


def able(spec: ToolSpec) -> Agent:
    return Agent(
        spec.action.agents[0] if spec.action.agents else "anyone", ("*",), ("family-agent-config",), acts_as="owner"
    )


def example(spec: ToolSpec) -> dict[str, Any]:
    return {name: EXAMPLES[name] for name in spec.schema.get("required", [])}


def contents(data: Path) -> dict[str, str]:
    """Everything tools may change; the record, which every call adds to, left out."""
    return {
        str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in data.rglob("*")
        if path.is_file() and not path.name.startswith(("audit.", "tools.db-shm"))
    }


def test_there_are_tools() -> None:
    assert {name.split(".")[0] for name in TOOLS} >= {"clock", "timers", "tasks"}


def test_its_schema_is_valid_flat_and_closed(spec: ToolSpec) -> None:
    Draft202012Validator.check_schema(spec.schema)
    assert spec.schema["type"] == "object"
    assert spec.schema["additionalProperties"] is False
    for name, described in spec.schema["properties"].items():
        assert described.get("type") in ("string", "integer", "number", "boolean", "array"), name
        assert "pattern" not in described, "grammars of small models choke on patterns"
        if described["type"] == "string" and "enum" not in described:
            assert described["maxLength"] < LONGEST_PATTERNLESS, f"{name} has no limit"
        if described["type"] == "array":
            assert "maxItems" in described, f"{name} has no limit"


def test_it_says_what_it_does_in_a_sentence(spec: ToolSpec) -> None:
    first = spec.description.splitlines()[0]
    assert first[0].isupper()
    assert first.endswith(".")
    assert len(spec.description) < 400, "every prompt pays for it"


def test_its_name_says_where_it_lives(spec: ToolSpec) -> None:
    family, _, verb = spec.name.partition(".")
    assert family.isidentifier()
    assert verb.isidentifier()
    assert spec.run.__module__ == f"tools_server.tools.{family}"


async def test_it_is_denied_when_policy_denies_and_nothing_happens(spec: ToolSpec, gate: Gate, data: Path) -> None:
    before = contents(data)
    for agent in (Agent("stranger", ()), replace(able(spec), name="other", tools=("nothing.*",))):
        answer = await gate.call(Wish(agent, spec.name, example(spec)))
        assert answer.error == "denied"
        assert spec not in gate.visible(agent)
    assert contents(data) == before


async def test_it_refuses_an_extra_argument(spec: ToolSpec, gate: Gate) -> None:
    answer = await gate.call(Wish(able(spec), spec.name, {**example(spec), "extra": 1}))
    assert (answer.error, "does not take extra" in answer.text) == ("invalid", True)


async def test_it_answers_in_a_sentence_fit_for_speech(spec: ToolSpec, gate: Gate) -> None:
    answer = await gate.call(Wish(able(spec), spec.name, example(spec)))
    assert answer.text[-1] in ".?"
    assert not set(answer.text) & set("{}<>\n_*")


@pytest.mark.parametrize("spec", [spec for spec in TOOLS.values() if not spec.reads], ids=lambda spec: spec.name)
async def test_a_tool_that_changes_something_has_a_receipt_for_it(spec: ToolSpec, gate: Gate, data: Path) -> None:
    before = contents(data)
    answer = await gate.call(Wish(able(spec), spec.name, example(spec)))
    assert (answer.receipt is not None) == (contents(data) != before)


@pytest.mark.parametrize("spec", [spec for spec in TOOLS.values() if spec.reads], ids=lambda spec: spec.name)
async def test_a_tool_that_only_reads_writes_nothing(spec: ToolSpec, gate: Gate, data: Path) -> None:
    agent = Agent("house", ("*",), ("family-agent-config",), acts_as="owner")
    for name, arguments in (("timers.start", {"seconds": 60}), ("tasks.add", {"title": "Buy milk"})):
        assert (await gate.call(Wish(agent, name, arguments))).receipt
    before = contents(data)
    answer = await gate.call(Wish(able(spec), spec.name, example(spec)))
    assert (answer.error, answer.receipt) == (None, None)
    assert contents(data) == before
