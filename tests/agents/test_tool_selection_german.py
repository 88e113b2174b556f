"""In a German house a model is shown the tools that a German request is about."""

from __future__ import annotations

import pytest

from atlas.agents.tool_selection import MOST_TOOLS, ToolSelection
from atlas.understanding.grammar import open_grammar
from atlas.understanding.templates import open_sentences
from atlas_bench.commands import corpus
from tests.agents.test_tool_selection import READS, TOOLS, held, names
from tests.conftest import for_every


@pytest.fixture(scope="module")
def german() -> ToolSelection:
    grammar = open_grammar("de")
    return ToolSelection(grammar.tables, grammar.plain_words)


def test_what_is_asked_in_german_finds_its_tool(german: ToolSelection) -> None:
    """11 of 59 before there were German words for it."""
    assert [text for text, tool in held("de") if tool not in names(german, text)] == []
    commands = [row for row in corpus("de") if row.wanted]
    assert [
        row.sentence for row in commands if not {tool for tool, _ in row.wanted} <= set(names(german, row.sentence))
    ] == []


def test_german_strangers_are_served_worse_and_it_is_known_how_much(german: ToolSelection) -> None:
    """Roundabout sentences that no word was chosen for: 23 of 32."""
    rows = held("heldout_de")
    assert len([text for text, tool in rows if tool in names(german, text)]) / len(rows) >= 0.71


@for_every(
    ("text", "asks"),
    [
        ("Ist das Licht im Flur noch an?", True),
        ("wie stelle ich einen Timer", True),
        ("hast du die Tür abgeschlossen", True),
        ("Kannst du mir sagen, was auf der Liste steht?", True),
        ("mach das Licht an", False),
        ("kannst du das Licht anmachen?", False),
        ("wie wäre es mit etwas Musik", False),
        ("was steht auf der Liste und setz Milch drauf", False),
        ("ja bitte", False),
    ],
)
def test_a_german_question_is_shown_only_tools_that_read(german: ToolSelection, text: str, asks: bool) -> None:
    assert german.is_question(text) is asks
    assert (set(names(german, text)) <= READS) is asks


def test_a_compound_is_what_it_ends_with(german: ToolSelection) -> None:
    for text in ("Nachttischlampe bitte", "das Badezimmerlicht", "Terrassenbeleuchtung"):
        assert "home.turn" in names(german, text)
    assert len(names(german, "Donaudampfschifffahrt")) <= MOST_TOOLS


def test_every_german_word_for_choosing_is_about_a_tool_that_there_is() -> None:
    own_values, _ = open_sentences("de")
    words, known = own_values["choosing"], {tool.name for tool in TOOLS}
    assert {*words["tools"], *words["usual"]} <= known
    assert set(words["families"]) <= {name.split(".")[0] for name in known}
    assert all(isinstance(text, str) for text in (*words["tools"].values(), *words["families"].values()))


def test_without_a_model_a_german_house_says_in_german_what_still_works(german: ToolSelection) -> None:
    assert german.simple(TOOLS) == "Im Moment kann ich nur einfache Dinge, zum Beispiel Timer, Listen und Aufgaben."
