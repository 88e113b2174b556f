"""Memory finds what was written down for this agent, as it is now, and never another agent's papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools_server.boot.opening import AUDIT_FILE
from tools_server.gate.call_request import CallRequest
from tools_server.gate.ledger import Ledger
from tools_server.values.rules import read_policy
from tools_server.writing.likeness import PASSAGE_CHARACTERS, Index, pieces

PAPERS = {
    "notes/pizza-dough.md": "# Pizza dough\n\n500 g flour, 325 g water, 10 g salt, 2 g yeast. Rest it over night.",
    "notes/anna.md": "Anna's birthday is on the third of May. She likes climbing and dark chocolate.",
    "lists/shopping.md": "- [ ] oat milk\n- [ ] washing powder\n",
}


@pytest.fixture
def papers(data: Path) -> Path:
    home = data / "family-agent-config"
    for name, text in PAPERS.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    return home


async def found(world: Any, query: str, agent: str = "family", **more: Any) -> list[str]:
    matches = (await world.ok("memory.search", agent, query=query, **more)).data["matches"]
    assert [match["score"] for match in matches] == sorted((match["score"] for match in matches), reverse=True)
    return [match["document"] for match in matches]


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("how much flour goes into a pizza", "notes/pizza-dough.md"),
        ("when is annas birthday", "notes/anna.md"),
        ("chocolat", "notes/anna.md"),
        ("detergent, washing powders", "lists/shopping.md"),
    ],
)
async def test_the_paper_that_is_most_like_the_query_comes_first(
    papers: Path, world: Any, query: str, document: str
) -> None:
    assert (await found(world, query))[0] == document


async def test_it_knows_at_once_what_people_changed(papers: Path, world: Any) -> None:
    async with world.gate.engines():
        assert not await found(world, "zebra crossing")
        (papers / "notes" / "anna.md").write_text("She drew a zebra.")
        assert await found(world, "zebra") == ["notes/anna.md"]
        (papers / "notes" / "anna.md").unlink()
        assert not await found(world, "zebra")


async def test_another_agents_papers_are_never_found(papers: Path, world: Any, data: Path) -> None:
    (data / "work-agent-config").mkdir(exist_ok=True)
    (data / "work-agent-config" / "plan.md").write_text("The secret plan of the zebra.")
    assert not await found(world, "secret plan zebra")
    assert await found(world, "secret plan zebra", "work") == ["plan.md"]
    assert not await found(world, "pizza flour", "work")
    assert (await world.refused("memory.search", "guest", query="pizza")).error == "denied"


async def test_links_out_of_the_folder_are_not_followed(papers: Path, world: Any, data: Path) -> None:
    (data / "secret.md").write_text("zebra zebra zebra")
    (papers / "notes" / "out.md").symlink_to(data / "secret.md")
    (papers / "away").symlink_to(data)
    assert not await found(world, "zebra")


async def test_it_says_so_when_there_is_nothing(world: Any) -> None:
    assert await world.said("memory.search", query="zebra") == "I found nothing written down like zebra."
    assert (await world.refused("memory.search", query="  ")).text == "What shall I look for?"


async def test_no_more_are_returned_than_were_wanted(papers: Path, world: Any) -> None:
    for number in range(9):
        (papers / "notes" / f"zebra-{number}.md").write_text(f"Zebra number {number}")
    assert len(await found(world, "zebra", most=3)) == 3


def test_an_index_over_nothing_finds_nothing() -> None:
    index = Index()
    assert index.like("anything", 5, 0.0) == []
    index.put("empty", 1, " \n\n ")
    assert index.like("anything", 5, 0.0) == []
    assert index.like("", 5, 0.0) == []


def test_long_documents_are_cut_into_passages_and_lose_nothing() -> None:
    text = "word " * 1_000 + "\n\n" + "x" * 2_000
    cut = pieces(text)
    assert max(map(len, cut)) <= PASSAGE_CHARACTERS
    assert "".join(cut).replace(" ", "") == text.replace(" ", "").replace("\n", "")


# ── the record and the ledger, as tools ────────────────────────────────────────────────────────────


async def test_the_record_is_read_by_level(world: Any) -> None:
    await world.ok("timers.list")
    await world.refused("timers.cancel")
    rows = {
        level: [row["tool"] for row in (await world.ok("logs.read", level=level)).data["rows"]]
        for level in ("info", "warning", "error")
    }
    assert rows["info"][-1] == "timers.list"
    assert rows["warning"] == ["timers.cancel"]
    assert rows["error"] == []


async def test_an_agent_reads_its_own_calls_and_the_owner_everybodys(world: Any) -> None:
    await world.refused("timers.list", "guest")
    assert not (await world.ok("logs.read", level="warning")).data["rows"]
    row = (await world.ok("logs.read", "owner", level="warning")).data["rows"][0]
    assert (row["agent"], row["tool"], row["outcome"]) == ("guest", "timers.list", "denied")
    assert "hash" not in row


async def test_what_was_said_to_a_tool_is_not_in_what_is_read_of_the_record(world: Any) -> None:
    await world.ok("tasks.add", title="Surprise for Anna")
    assert "Surprise" not in str((await world.ok("logs.read", "owner")).data)


async def test_an_agent_sees_its_own_usage_and_the_owner_anybodys(world: Any) -> None:
    async def shown(asking: str, whose: str) -> Any:
        return await world.gate.call(CallRequest(world.agents[asking], "ledger.show", {"agent": whose}))

    assert (await shown("family", "")).data["agent"] == "family"
    assert (await shown("owner", "family")).data["agent"] == "family"
    assert (await shown("family", "work")).error == "denied"


async def test_usage_is_what_the_ledger_counted(world: Any) -> None:
    policy = read_policy(Path(__file__).parents[2] / "policy.toml")
    world.gate._meter = Ledger(policy, world.data / AUDIT_FILE, lambda: float(world.clock[0]))
    await world.ok("timers.start", seconds=60)
    shown = await world.ok("ledger.show")
    assert (shown.data["calls"], shown.data["spent"]) == (2, 3)  # looking is a call, too
    assert shown.text == "Family has used tools 2 times today: 1 percent of what a day allows."
