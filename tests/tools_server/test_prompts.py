"""Prompts are filled in by read tools, for whoever asks, and what is put in stays what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from tests.conftest import for_every
from tools_server.gate.call_request import CallRequest
from tools_server.values.boot_files import BootFailed
from tools_server.wires.prompt_files import FOLDER, NOT_AVAILABLE, SOURCES, PromptFiles, filled, read_prompts
from tools_server.wires.resources import Resources
from tools_server.wires.wire import mcp_server


async def prompted(world: Any, name: str, agent: str = "family", actor: Any = None, **given: str) -> str:
    prompts = PromptFiles(world.gate, Resources(world.gate))
    result = await prompts.get(CallRequest(world.agents[agent], "", None, actor, route="test"), name, given)
    return "\n".join(getattr(message.content, "text", "") for message in result.messages)


def written(folder: Path, text: str) -> Path:
    (folder / "one.md").write_text(text)
    return folder


@pytest.mark.parametrize("era", ["2026-07-28", "legacy"])
async def test_a_client_lists_and_gets_prompts(world: Any, era: str) -> None:
    await world.ok("tasks.add", title="Buy milk")
    async with Client(mcp_server(world.gate, world.agents["family"]), mode=era) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        board, text = (await client.get_prompt("tidy_board")).messages
    assert names == sorted(names)
    assert {"day_briefing", "tidy_board", "usage_report", "week_plan", "weekly_shopping"} <= set(names)
    assert "Buy milk" in board.content.resource.text
    assert "{{" not in text.content.text


async def test_a_variable_is_what_the_tool_says_now(world: Any) -> None:
    await world.ok("timers.start", seconds=600, name="pizza")
    assert await world.said("timers.list") in await prompted(world, "day_briefing")


async def test_what_the_asker_may_not_read_is_not_available_and_recorded(world: Any) -> None:
    text = await prompted(world, "day_briefing", "guest")
    assert f"Timers: {NOT_AVAILABLE}" in text
    assert "denied" in {row["outcome"] for row in world.record if row["agent"] == "guest"}


async def test_a_prompt_that_embeds_what_one_may_not_read_is_not_shown(world: Any) -> None:
    prompts = PromptFiles(world.gate, Resources(world.gate))
    names = {prompt.name for prompt in prompts.listed(world.agents["guest"])}
    assert "tidy_board" not in names
    assert "day_briefing" in names
    with pytest.raises(MCPError):
        await prompted(world, "tidy_board", "guest")


async def test_who_asks_is_named(world: Any) -> None:
    assert "Brief Anna on the day" in await prompted(world, "day_briefing", actor={"person": "Anna", "role": "adult"})
    assert "Brief somebody in the house" in await prompted(world, "day_briefing")


async def test_an_argument_is_put_in_as_it_is(world: Any) -> None:
    text = await prompted(world, "weekly_shopping", meals="{{TIMERS}} and {{people}} and \\1 and $meals")
    assert "these meals: {{TIMERS}} and {{people}} and \\1 and $meals" in text


async def test_what_a_tool_says_is_put_in_as_it_is(world: Any) -> None:
    await world.ok("tasks.add", title="Write {{CURRENT_BALANCE}} down")
    assert "Write {{CURRENT_BALANCE}} down" in await prompted(world, "week_plan")


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("nothing", {}, "There is no prompt called nothing"),
        ("weekly_shopping", {}, "weekly_shopping needs meals"),
        ("tidy_board", {"x": "1"}, "does not take x; it takes nothing"),
        ("weekly_shopping", {"meals": "x" * 2_001}, "at most 2000 characters"),
    ],
)
async def test_a_wrong_argument_is_an_error_that_says_what_is_right(
    world: Any, name: str, given: dict[str, str], says: str
) -> None:
    with pytest.raises(MCPError) as wrong:
        await prompted(world, name, **given)
    assert wrong.value.error.code == -32602
    assert says in wrong.value.error.message


HEAD = "name: one\ntitle: One\ndescription: A prompt."


@for_every(
    ("text", "says"),
    [
        (f"---\n{HEAD}\n---\nIt is {{{{WETHER}}}}.", "unknown variable WETHER; there are BACKLOG"),
        (f"---\n{HEAD}\n---\nFor {{{{whom}}}}.", "unknown variable whom"),
        (f"---\n{HEAD}\nembed: x://{{{{what}}}}\n---\n", "unknown variable what"),
        ("no front matter", "begins with front matter"),
        (f"---\n{HEAD}\nmore: 1\n---\n", "begins with front matter"),
        ("---\nname: [\n---\n", "not YAML in line 3"),
        (f"---\n{HEAD}\narguments: [a]\n---\n", "arguments is a table"),
    ],
)
def test_a_file_that_is_no_prompt_stops_the_start_with_a_sentence(data: Path, text: str, says: str) -> None:
    with pytest.raises(BootFailed, match=r"one\.md") as failed:
        read_prompts(written(data, text), SOURCES)
    assert says in str(failed.value)


def test_every_prompt_of_the_house_is_well_formed() -> None:
    for prompt in read_prompts(FOLDER, SOURCES):
        assert prompt.description.endswith(".")
        assert set(prompt.arguments) <= set(prompt.slots), "an argument that is not used"


def test_filling_looks_at_nothing_twice() -> None:
    assert filled("{{a}}{{ b }}", {"a": "{{b}}", "b": "{{a}}"}) == "{{b}}{{a}}"
