"""Every tool, found by listing its folder, keeps the contract of a tool."""

from __future__ import annotations

import hashlib
import inspect
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator

import tools_server.tools
from atlas.understanding.spoken_tools import open_spoken_tools
from tests.conftest import for_every
from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.gate.call_request import CallRequest, CallResult
from tools_server.gate.confirmations import ConfirmationReply
from tools_server.gate.gate import Gate
from tools_server.sdk.toolkit import ToolSpec, find
from tools_server.values.policy import AgentAccount
from tools_server.values.uptime import Uptime

TOOLBOX = find(tools_server.tools)
TOOLS = TOOLBOX.tools
POLICY = Path(__file__).parents[2] / "policy.toml"
LONGEST_PATTERNLESS = 1999  # at this maxLength the grammars of small models stop compiling
FRIDAY_NINE = 1_800_000_000.0  # in Paris
ROOT = "family-agent-config"
# What to call a tool with: by the argument's name, where that is not enough by the tool's.
EXAMPLES: dict[str, Any] = {
    "names": ["weather.place"],
    "seconds": 60,
    "by_seconds": 60,
    "title": "Buy milk",
    "column": "doing",
    "hub": "mqtt",
    "query": "milk",
    "words": "milk",
    "parts": ["Roses.", "\nTulips."],
    "ids": ["timer_1"],
    "id": "1",
    "text": "take the bins out",
    "when": "tomorrow at 7 PM",
    "person": "Anna",
    "start": "9:40",
    "end": "13:15",
    "on": True,
    "items": ["milk"],
    "path": "notes/garden.md",
    "to": "notes/yard.md",
    "name": "evening",
    "device": "lamp",
    "satellite": "assist_satellite.bedside",
    "subject": "Bins",
    "statement": "yes",
    "tool": "timers.cancel_all",
    "what": "brightness",
    "by": 10,
}
EXAMPLES_OF: dict[str, dict[str, Any]] = {
    "lists.delete": {"list": "party"},
    "upstream.offered": {"server": "garden", "name": "water"},
    "upstream.approve": {"server": "garden", "name": "water", "sha256": "0" * 64},
    "upstream.withdraw": {"server": "garden", "name": "water"},
    "rules.refused": {"agent": "house"},
    "rules.preview": {"policy": POLICY.read_text(encoding="utf-8")},
    "world.echo": {"text": "Hello there."},
    "alarms.switch": {"on": False},
    "calendar.add": {"title": "Dentist", "start": "2027-01-20T10:00"},
    "calendar.change": {"title": "Buy milk", "place": "the market"},
    "email.reply": {"id": "1", "text": "Yes."},
    "email.send": {"to": ["anna@example.org"], "subject": "Bins", "text": "Out they go."},
    "facts.forget": {"text": "Anna is allergic to nuts"},
    "facts.remember": {"text": "Ben likes olives"},
    "files.create": {"path": "notes/new.md", "text": "new"},
    "later.do": {"tool": "timers.start", "seconds": 300, "arguments": {"seconds": 60}},
    "lists.add": {"items": ["bread"]},
    "messages.leave": {"text": "Dinner is ready"},
    "notes.create": {"title": "Holidays", "text": "by the sea"},
    "reminders.change": {"when": "tomorrow at 8 PM"},
    "tasks.change": {"title": "Buy milk", "priority": "high"},
    "timers.add": {"by_seconds": 60},
    "world.calculate": {"expression": "12 times 7"},
    "world.choose": {"options": ["tea", "coffee"]},
    "world.convert": {"unit": "mile", "to": "kilometre"},
    "world.spell": {"word": "necessary"},
    "world.unknown": {"topic": "news"},
}
# What a house has before its tools are tried, so that they have something to work on: calls, and seconds that pass.
FURNITURE: list[tuple[str, dict[str, Any]]] = [
    ("timers.start", {"seconds": 600}),
    ("tasks.add", {"title": "Buy milk"}),
    ("notes.create", {"title": "Buy milk", "text": "two litres"}),
    ("files.create", {"path": "notes/garden.md", "text": "roses"}),
    ("lists.add", {"items": ["milk"]}),
    ("facts.remember", {"text": "Anna is allergic to nuts"}),
    ("later.do", {"tool": "tasks.add", "seconds": 600, "arguments": {"title": "Buy bread"}}),
    ("reminders.add", {"text": "take the bins out", "when": "tomorrow at 7 AM"}),
    ("alarms.set", {"when": "every day at 7 AM"}),
    ("messages.leave", {"text": "Dinner is ready"}),
    ("calendar.add", {"title": "Buy milk", "start": "2027-01-20T18:00"}),
]
MORNING = 22.01 * 3600  # from Friday at nine to Saturday, just after seven
STAGE: dict[str, list[tuple[str, dict[str, Any]] | float]] = {
    "timers.resume": [("timers.pause", {})],
    "lists.delete": [("lists.add", {"list": "party", "items": ["crisps"]})],
    "lists.clear": [("lists.check", {"items": ["milk"]})],
    "alarms.snooze": [MORNING],
    "alarms.stop": [MORNING],
    "reminders.snooze": [MORNING],
    "reminders.done": [MORNING],
}
NOT_UNDONE_HERE = (
    "home",
    "email",
    "weather",
    "presence",
    "upstream",
)  # they need something outside, which their own tests have
NEVER_UNDONE = (  # said is said
    *("alarms.announced", "broadcast.announced", "later.announced", "timers.announced"),
    *("reminders.announced", "reminders.heard", "messages.announced", "messages.heard", "messages.delete"),
    "settings.change",  # decided and recorded; the house itself writes them
)


@pytest.fixture(params=sorted(TOOLS))
def spec(request: pytest.FixtureRequest) -> ToolSpec:
    return TOOLS[request.param]


@pytest.fixture
def clock() -> list[float]:
    return [FRIDAY_NINE]


@contextmanager
def opened(data: Path, house: Any, clock: list[float]) -> Iterator[Gate]:
    file = data / "agents.toml"
    token = f"token_sha256 = '{'0' * 64}'"
    file.write_text(f"[house]\n{token}\ntools = ['*']\nroots = ['{ROOT}']\nacts_as = 'owner'\n")
    settings = ServerSettings(data, file, POLICY, house_key=house.public_file, timezone="Europe/Paris")
    with opened_gate(settings, lambda: clock[0], TOOLBOX, lambda: Uptime("", clock[0])) as (gate, _):
        yield gate


@pytest.fixture
def gate(request: pytest.FixtureRequest, data: Path, house: Any, clock: list[float]) -> Iterator[Gate]:
    if "furnished" in request.fixturenames:
        folder = request.getfixturevalue("furniture")
        shutil.copytree(folder, data, ignore=shutil.ignore_patterns(house.public_file.name), dirs_exist_ok=True)
    with opened(data, house, clock) as gate:
        yield gate


@pytest.fixture(scope="module")
def furniture(household: Any) -> Iterator[Path]:
    """A data directory in which everything is in its place, made once."""

    async def furnish(folder: Path) -> None:
        house = household(folder)
        with opened(folder, house, [FRIDAY_NINE]) as gate:
            for tool, arguments in FURNITURE:
                await do(gate, house, tool, arguments)

    with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
        anyio.run(furnish, Path(folder))
        yield Path(folder)


def able(spec: ToolSpec) -> AgentAccount:
    return AgentAccount(spec.action.agents[0] if spec.action.agents else "anyone", ("*",), (ROOT,), acts_as="owner")


async def agreed(gate: Gate, house: Any, wish: CallRequest) -> CallResult:
    """Have it done; where a person's yes is asked for, a person says yes."""
    answer = await gate.call(wish)
    if answer.ask is None:
        return answer
    yes = ConfirmationReply(answer.ask.id, "accept", house.says(answer.ask.shown()))
    return await gate.call(replace(wish, reply=yes))


async def do(gate: Gate, house: Any, tool: str, arguments: dict[str, Any]) -> None:
    answer = await agreed(gate, house, CallRequest(able(TOOLS[tool]), tool, arguments))
    assert answer.error is None, f"{tool}: {answer.text}"


@pytest.fixture
def furnished(gate: Gate, house: Any, clock: list[float]) -> Callable[[ToolSpec], Awaitable[None]]:
    """Do, in a house where everything is in its place, whatever one tool needs besides."""

    async def furnish(spec: ToolSpec) -> None:
        for step in STAGE.get(spec.name, ()):
            if isinstance(step, float):
                clock[0] += step
            else:
                await do(gate, house, *step)

    return furnish


def example(spec: ToolSpec) -> dict[str, Any]:
    if spec.name in EXAMPLES_OF:
        return EXAMPLES_OF[spec.name]
    return {name: EXAMPLES[name] for name in spec.schema.get("required", [])}


def contents(data: Path) -> dict[str, str]:
    """Everything tools may change; left out the record, which every call adds to, and the questions to people."""
    files = {
        str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in data.rglob("*")
        if path.is_file() and not path.name.startswith(("audit.", "tools.db"))
    }
    with closing(sqlite3.connect(data / "tools.db")) as db:
        rows = [line for line in db.iterdump() if not line.startswith('INSERT INTO "asks"')]
    return {**files, "tools.db": "\n".join(rows)}


def test_there_are_tools() -> None:
    assert {name.split(".")[0] for name in TOOLS} >= {"clock", "timers", "tasks"}


def test_what_the_house_takes_for_a_look_is_what_only_reads() -> None:
    assert open_spoken_tools().looks == {name for name, spec in TOOLS.items() if spec.reads}


@for_every("tool", sorted(TOOLS))
def test_its_schema_is_valid_flat_and_closed(tool: str) -> None:
    spec = TOOLS[tool]
    Draft202012Validator.check_schema(spec.schema)
    assert spec.schema["type"] == "object"
    assert spec.schema["additionalProperties"] is False
    for name, described in spec.schema["properties"].items():
        if (spec.name, name) in (("later.do", "arguments"), ("rules.preview", "policy")):
            continue  # another tool's, which has a schema of its own; a whole file, which no model writes
        assert described.get("type") in ("string", "integer", "number", "boolean", "array"), name
        assert "pattern" not in described, "grammars of small models choke on patterns"
        if described["type"] == "string" and "enum" not in described:
            assert described["maxLength"] < LONGEST_PATTERNLESS, f"{name} has no limit"
        if described["type"] == "array":
            assert "maxItems" in described, f"{name} has no limit"


@for_every("tool", sorted(TOOLS))
def test_it_says_what_it_does_in_a_sentence(tool: str) -> None:
    spec = TOOLS[tool]
    first = spec.description.splitlines()[0]
    assert first[0].isupper()
    assert first.endswith(".")
    assert len(spec.description) < 400, "every prompt pays for it"


@for_every("tool", sorted(TOOLS))
def test_its_name_says_where_it_lives(tool: str) -> None:
    spec = TOOLS[tool]
    family, _, verb = spec.name.partition(".")
    assert family.isidentifier()
    assert verb.isidentifier()
    assert spec.run.__module__ == f"tools_server.tools.{family}"


async def test_it_is_denied_when_policy_denies_and_nothing_happens(gate: Gate, data: Path) -> None:
    before, misses = contents(data), []
    for spec in TOOLS.values():
        for agent in (AgentAccount("stranger", ()), replace(able(spec), name="other", tools=("nothing.*",))):
            answer = await gate.call(CallRequest(agent, spec.name, example(spec)))
            if answer.error != "denied" or spec in gate.visible(agent):
                misses.append((spec.name, agent.name, answer.text))
    assert misses == []
    assert contents(data) == before


async def test_it_refuses_an_extra_argument(gate: Gate) -> None:
    answers = {}
    for spec in TOOLS.values():
        answer = await gate.call(CallRequest(able(spec), spec.name, {**example(spec), "extra": 1}))
        answers[spec.name] = (answer.error, "does not take extra" in answer.text)
    assert {tool: answer for tool, answer in answers.items() if answer != ("invalid", True)} == {}


async def test_it_answers_in_a_sentence_fit_for_speech(spec: ToolSpec, gate: Gate) -> None:
    answer = await gate.call(CallRequest(able(spec), spec.name, example(spec)))
    assert answer.text[-1] in ".?"
    assert not set(answer.text) & set("{}<>\n_*")


CHANGING = [spec for spec in TOOLS.values() if not spec.reads]
READING = [spec for spec in TOOLS.values() if spec.reads]
GRAVE = [spec for spec in TOOLS.values() if spec.action.risk in ("destructive", "outward")]
UNDONE = [
    spec
    for spec in CHANGING
    if spec.file in TOOLBOX.undo and spec.action.risk != "outward" and spec.file not in NOT_UNDONE_HERE
]


@pytest.mark.parametrize("spec", CHANGING, ids=lambda spec: spec.name)
async def test_a_tool_that_changes_something_has_a_receipt_for_it(
    spec: ToolSpec, gate: Gate, data: Path, house: Any, furnished: Callable[[ToolSpec], Awaitable[None]]
) -> None:
    await furnished(spec)
    before = contents(data)
    answer = await agreed(gate, house, CallRequest(able(spec), spec.name, example(spec)))
    if spec.file not in NOT_UNDONE_HERE and spec.name not in (*NEVER_UNDONE, "asks.answer"):  # where nothing waits
        assert answer.receipt, answer.text
    assert (answer.receipt is not None) == (contents(data) != before)


@pytest.mark.parametrize("spec", READING, ids=lambda spec: spec.name)
async def test_a_tool_that_only_reads_writes_nothing(
    spec: ToolSpec, gate: Gate, data: Path, furnished: Callable[[ToolSpec], Awaitable[None]]
) -> None:
    await furnished(spec)
    before = contents(data)
    answer = await gate.call(CallRequest(able(spec), spec.name, example(spec)))
    if spec.file not in NOT_UNDONE_HERE:
        assert answer.error is None, answer.text
    assert answer.receipt is None
    assert contents(data) == before


@pytest.mark.parametrize("spec", GRAVE, ids=lambda spec: spec.name)
async def test_a_grave_tool_says_what_would_happen_and_does_nothing_without_a_yes(
    spec: ToolSpec,
    gate: Gate,
    data: Path,
    clock: list[float],
    furnished: Callable[[ToolSpec], Awaitable[None]],
) -> None:
    assert spec.preview, f"{spec.name} has no words for what it would do"
    takes = list(inspect.signature(spec.preview).parameters)[1:]
    assert takes == list(inspect.signature(spec.run).parameters)[1:], "a preview takes what its tool takes"
    await furnished(spec)
    before = contents(data)
    answer = await gate.call(CallRequest(able(spec), spec.name, example(spec)))
    assert contents(data) == before
    if spec.file in NOT_UNDONE_HERE:
        assert answer.error
        return
    assert answer.ask, answer.text
    assert answer.ask.level == ("explicit" if spec.action.risk == "outward" else "confirm")
    assert answer.ask.sentence.endswith("?")
    assert not set(answer.ask.sentence) & set("{}<>\n_*")
    clock[0] += 30
    again = await gate.call(CallRequest(able(spec), spec.name, example(spec)))
    assert again.ask == answer.ask, "a yes is to the sentence, which must not change with the clock"


@pytest.mark.parametrize("spec", UNDONE, ids=lambda spec: spec.name)
async def test_what_says_it_can_be_undone_is_undone_and_all_is_as_before(
    spec: ToolSpec, gate: Gate, data: Path, house: Any, furnished: Callable[[ToolSpec], Awaitable[None]]
) -> None:
    await furnished(spec)
    before = world(data)
    answer = await agreed(gate, house, CallRequest(able(spec), spec.name, example(spec)))
    assert answer.error is None, answer.text
    if answer.receipt is None or not answer.receipt.undo:
        assert spec.name in NEVER_UNDONE, "it should have changed something that can be undone"
        return
    after = world(data)
    assert after != before
    undone = await gate.call(CallRequest(able(spec), "history.undo", {"receipt": answer.receipt.id}))
    assert undone.error is None, undone.text
    assert undone.receipt
    assert world(data) == before
    if spec.action.risk != "destructive":  # that would take another yes
        redone = await gate.call(CallRequest(able(spec), "history.undo", {"receipt": undone.receipt.id}))
        assert redone.error is None, redone.text
        assert world(data) == after


def world(data: Path) -> dict[str, Any]:
    """What people have: every file, and every row that is no receipt."""
    files = {
        str(path.relative_to(data)): path.read_bytes()
        for path in data.rglob("*")
        if path.is_file() and not path.name.startswith(("audit.", "tools.db"))
    }
    rows = {}
    with closing(sqlite3.connect(data / "tools.db")) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if table not in ("receipts", "migrations"):
                rows[table] = sorted(map(repr, db.execute(f"SELECT * FROM {table}")))
    return {**files, **rows}
