"""Sums that are written in signs, and what only looks like one."""

from __future__ import annotations

from typing import Any

from atlas.understanding.grammar import Grammar
from atlas.understanding.large_numbers import LargeNumbers
from tests.conftest import for_every


@for_every(
    ("text", "arguments"),
    [
        ("what's a third of 90", {"expression": "a third of 90"}),
        ("what's (3+4)*5", {"expression": "(3+4)*5"}),
        ("what's 1,000 divided by 8", {"expression": "1000 over 8"}),
        ("what is 2 + 2", {"expression": "2 + 2"}),
        ("what's 3/4 cup in ml", {"amount": "3/4", "unit": "cup", "to": "millilitre"}),
        ("convert 1 1/2 cups to ml", {"amount": "1 1/2", "unit": "cup", "to": "millilitre"}),
        ("half of 50", {"expression": "half of 50"}),
        ("how long is the day today", {"day": "today", "event": "daylight"}),
    ],
)
def test_what_is_asked_of_the_world_is_read(grammar: Grammar, text: str, arguments: dict[str, Any]) -> None:
    command = grammar.read(text)
    assert command is not None and command.tool.startswith("world.")
    assert command.arguments == arguments


@for_every("text", ["twenty percent", "add two", "add two and two", "what is one", "what is love", "a half"])
def test_what_only_looks_like_a_sum_is_none(grammar: Grammar, text: str) -> None:
    assert not any(command.tool == "world.calculate" for command in grammar.commands(text))


@for_every(
    ("said", "written"),
    [
        ("zwei hundert vierzig", "240"),
        ("zwei tausend fünf hundert plus drei hundert 12", "2500 plus 312"),
        ("hundert mal tausend", "100 mal 1000"),
        ("zwölf hundert? zehn", "1200 zehn"),
        ("zwanzig fünf", "zwanzig fünf"),
        ("drei hundert vier hundert", "304 100"),
    ],
)
def test_a_number_in_several_words_is_one(said: str, written: str) -> None:
    ones = {"zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "zwölf": 12, "zwanzig": 20, "vierzig": 40}
    assert LargeNumbers(ones, {"hundert": 100, "tausend": 1000}).in_digits(said) == written
