"""MCP Inspector, the official hand tool, does what a new user would try, over every wire and in both eras."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]  # installing Node's packages comes first, once
ROOT = Path(__file__).parents[2]
ERAS = ("modern", "legacy")
WIRES = ("http", "stdio")
TOOL_SAID_NO = 5  # Inspector's exit status for a result that is an error
AT_A_TIME = max(2, os.cpu_count() or 1)
AGENTS = """
[owner]
token_sha256 = "{owner}"
tools = ["*"]
roots = ["family-agent-config"]
acts_as = "owner"

[reader]
token_sha256 = "{reader}"
tools = ["*"]
roots = ["family-agent-config"]
acts_as = "owner"

[guest]
token_sha256 = "{guest}"
tools = ["clock.*", "timers.*", "tasks.*"]
roots = ["family-agent-config"]
acts_as = "guest"

[house]
token_sha256 = "{house}"
tools = ["asks.*"]
acts_as = "owner"
"""


@dataclass
class Said:
    """What Inspector printed, and how it ended."""

    status: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        text = json.loads(self.out)
        return dict(text.get("result", text))

    @property
    def text(self) -> str:
        return str(self.result["content"][0]["text"])


@dataclass
class Inspector:
    """The command line, pointed at one server."""

    command: list[str]
    server: list[str]  # the command of the tool server, without its wire
    url: str
    house: Any  # who brings a person's yes
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, wire: str, era: str, method: str, *more: str, agent: str = "owner") -> Said:
        options = ["--method", method, "--protocol-era", era, "--format", "json", "-q", *more]
        if wire == "http":
            target = [
                "--server-url",
                self.url,
                "--transport",
                "http",
                "--header",
                f"Authorization: Bearer {agent}-token",
            ]
            command = [*self.command, *target, *options]
        else:
            command = [*self.command, *options, "--", *self.server, "--stdio", "--agent", agent]
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={**os.environ, **self.environment}
        )
        return Said(run.returncode, run.stdout, run.stderr)

    def together(self, wire: str, era: str, *methods: tuple[str, ...]) -> list[dict[str, Any]]:
        """Several at a time: each is a process, on stdio two."""
        with ThreadPoolExecutor(AT_A_TIME) as several:
            responses = list(several.map(lambda method: self(wire, era, *method), methods))
        assert not any(response.status for response in responses), responses
        return [response.result for response in responses]

    def call(self, wire: str, era: str, tool: str, *, agent: str = "owner", **arguments: Any) -> Said:
        given = ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
        return self(wire, era, "tools/call", *given, agent=agent)


@pytest.fixture(scope="module")
def inspect(node: str, official: Path, household: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    data = tmp_path_factory.mktemp("inspected")
    tokens = {
        name: hashlib.sha256(f"{name}-token".encode()).hexdigest() for name in ("owner", "reader", "guest", "house")
    }
    (data / "agents.toml").write_text(AGENTS.format(**tokens))
    house = household(data)
    given = {
        "data": data,
        "agents": data / "agents.toml",
        "policy": ROOT / "policy.toml",
        "house-key": house.public_file,
    }
    server = [sys.executable, "-m", "tools_server.server", *(f"--{name}={path}" for name, path in given.items())]
    launcher = official / "inspector" / "clients" / "launcher" / "build" / "index.js"
    catalog = {"MCP_CATALOG_PATH": str(data / "inspector.json")}  # else it writes into the home of whoever runs this
    with subprocess.Popen([*server, "--port=0"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        ready = process.stderr.readline()
        port = ready.partition("port=")[2].split()[0]
        url = f"http://127.0.0.1:{port}/mcp"
        yield Inspector([node, str(launcher), "--cli"], server, url, house, catalog)
        process.terminate()


def arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Something that a tool takes, from what it says that it takes."""
    return {name: example(schema["properties"][name]) for name in schema.get("required", [])}


def example(described: dict[str, Any]) -> Any:
    if "enum" in described:
        return described["enum"][0]
    simple = {"string": "milk", "integer": described.get("minimum", 1), "number": 1, "boolean": True}
    return [example(described["items"])] if described["type"] == "array" else simple[described["type"]]


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_that_reads_can_be_called(inspect: Inspector, era: str) -> None:
    tools = inspect("http", era, "tools/list").result["tools"]
    reading = [tool for tool in tools if tool["annotations"]["readOnlyHint"]]
    assert {"timers_list", "tasks_list", "clock_time", "memory_search"} <= {tool["name"] for tool in reading}

    def called(tool: dict[str, Any]) -> Said:
        # As an agent of its own: who has read words of others is asked before anything changes, for half an hour.
        return inspect.call("http", era, tool["name"], agent="reader", **arguments(tool["inputSchema"]))

    with ThreadPoolExecutor(AT_A_TIME) as several:
        for tool, response in zip(reading, several.map(called, reading), strict=True):
            assert response.status in (0, TOOL_SAID_NO), (tool["name"], response)
            assert response.text[-1] in ".?…" or tool["name"] in ("echo", "world_echo"), tool["name"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("era", ERAS)
def test_a_new_user_finds_their_way(inspect: Inspector, wire: str, era: str) -> None:
    start = json.dumps({"seconds": 600, "name": f"{wire} {era}"})
    listed, started, resources, templates, prompts, prompt = inspect.together(
        wire,
        era,
        ("tools/list", "--strict"),  # fails when a schema is not portable
        ("tools/call", "--tool-name", "timers_start", "--tool-args-json", start),
        ("resources/list",),
        ("resources/templates/list",),
        ("prompts/list",),
        ("prompts/get", "--prompt-name", "weekly_shopping", "--prompt-args", "meals=soup", "people=4"),
    )
    titles = {tool["name"]: tool["title"] for tool in listed["tools"]}
    assert titles["timers_cancel_all"] == "Timers: cancel all"
    assert started["_meta"]["atlas.house/receipt"]
    assert {"timers://active", "tasks://board"} <= {result["uri"] for result in resources["resources"]}
    assert "memory://vector/{query}" in {result["uriTemplate"] for result in templates["resourceTemplates"]}
    assert "weekly_shopping" in {result["name"] for result in prompts["prompts"]}
    assert "these meals: soup" in prompt["messages"][0]["content"]["text"]
    data, _ = inspect(wire, era, "resources/read", "--uri", "timers://active").result["contents"]
    assert f"{wire} {era}" in data["text"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("era", ERAS)
def test_the_examples_of_the_source_documents_work_as_they_are_written(inspect: Inspector, wire: str, era: str) -> None:
    title = f"Paint the fence {wire} {era}"
    added = inspect.call(wire, era, "add_task", title=title, description="Green.", priority="high")
    assert added.text == f"Added {title} to your tasks."
    assert inspect.call(wire, era, "echo", message="Hello").text == "Hello"
    weather = inspect.call(wire, era, "weather", location="San Francisco, CA")
    assert weather.text.startswith("I can't ask for the weather just now."), "there is no way out in this test"


@pytest.mark.parametrize("era", ERAS)
def test_a_guest_sees_less_and_may_do_less(inspect: Inspector, era: str) -> None:
    owners, guests = (
        {tool["name"] for tool in inspect("http", era, "tools/list", agent=agent).result["tools"]}
        for agent in ("owner", "guest")
    )
    assert guests < owners
    assert "tasks_remove" in owners - guests
    refused = inspect.call("http", era, "logs_read", agent="guest")
    assert refused.status == TOOL_SAID_NO
    assert inspect("http", era, "resources/read", "--uri", "system://logs/info", agent="guest").status != 0
    assert inspect("http", era, "tools/list", agent="nobody").status != 0


@pytest.mark.parametrize("era", ERAS)
def test_nothing_is_removed_before_a_person_says_yes_and_then_once(inspect: Inspector, era: str) -> None:
    title = f"Water the plants {era}"
    for _ in range(2):  # the second keeps its question: one yes is for one of them
        assert inspect.call("http", era, "tasks_add", title=title).status == 0
    for _ in range(2):  # asking again is no yes
        response = inspect.call("http", era, "tasks_remove", title=title)
        assert (response.status, title in response.text) == (TOOL_SAID_NO, True)
    assert json.dumps(inspect.call("http", era, "tasks_list").result["structuredContent"]).count(title) == 2
    statement = inspect.house.says(response.result["_meta"]["atlas.house/ask"])
    assert inspect.call("http", era, "asks_answer", statement=statement).status != 0  # the owner is not the house
    assert inspect.call("http", era, "asks_answer", agent="house", statement=statement).status == 0
    assert inspect.call("http", era, "tasks_remove", title=title).status == 0
    assert inspect.call("http", era, "tasks_remove", title=title).status == TOOL_SAID_NO
    assert json.dumps(inspect.call("http", era, "tasks_list").result["structuredContent"]).count(title) == 1


@pytest.mark.parametrize("era", ERAS)
def test_over_stdio_neither(inspect: Inspector, era: str) -> None:
    title = f"Dust the piano {era}"
    assert inspect.call("http", era, "tasks_add", title=title).status == 0
    response = inspect.call("stdio", era, "tasks_remove", title=title)
    assert (response.status, title in response.text) == (TOOL_SAID_NO, True)
    assert title in json.dumps(inspect.call("http", era, "tasks_list").result)
