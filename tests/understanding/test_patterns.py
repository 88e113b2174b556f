"""What is looked up instead of tried: no pattern and no template is passed over that would have matched."""

from __future__ import annotations

import re
from pathlib import Path

import hassil
import pytest
from hassil.recognize import RecognizeResult

import atlas.understanding
from atlas.understanding.loose_patterns import letters
from atlas.understanding.patterns import PatternIndex, Rewrites
from atlas.understanding.templates import Templates, open_sentences

CORPUS = Path(atlas.understanding.__file__).parent / "corpus"
TABLE = [
    ["(?i)\\bper ?cent\\b|%", " percent "],
    ["^(?:so|well|oh)[ ,]+(?=\\S)", ""],
    ["(?<=[a-z])'s (?=(?:shut|open)\\b)", " is "],
    ["\\b(a|the|my) \\1\\b", "\\1"],
    ["(\\d) ?°", "\\1 degrees"],
    ["gro(?:ß|ss)e?", "large"],
    ["[aeiou]{3}", "-"],
]


def sentences(language: str, every: int) -> list[str]:
    """Return some of the sentences that the parser of a language learns from."""
    lines = (CORPUS / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    return [re.sub(r"[{}]", "", line.split("\t")[1]) for line in lines[::every] if "\t" in line]


def described(result: RecognizeResult) -> str:
    """Return what one match says."""
    return f"{result.intent.name} {result.entities_list}"


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("so, dim it to 50 PER CENT", "dim it to 50  percent "),
        ("the THE door's shut", "the door is shut"),
        ("about 20 °", "about 20 degrees"),
        ("das GROSSE Licht, das große", "das large Licht, das large"),
        ("beautiful", "b-tiful"),
    ],
)
def test_rows_are_applied_in_their_order_whatever_the_case(text: str, rewritten: str) -> None:
    assert Rewrites(TABLE).written(text) == rewritten


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_pattern_of_a_language_that_matches_is_among_the_possible_ones(language: str) -> None:
    tables, _ = open_sentences(language)
    rows = [*tables["rewrites"], *tables["frames"]["rewrites"], *tables["acts"]["rewrites"], *tables["marks"]]
    patterns = [re.compile(row[0], re.IGNORECASE) for row in rows]
    index = PatternIndex(patterns)
    for text in sentences(language, every=40):
        matching = {number for number, pattern in enumerate(patterns) if pattern.search(text)}
        assert matching <= index.possible(text), text


@pytest.mark.parametrize("language", ["en", "de"])
def test_no_template_is_passed_over_that_hassil_matches(language: str) -> None:
    _, templates = open_sentences(language)
    assert isinstance(templates, Templates)
    for text in sentences(language, every=150):
        every = sorted(map(described, hassil.recognize_all(text, templates.every)))
        some = (result for half in (False, True) for result in templates.match(text, half=half))
        assert sorted(map(described, some)) == every, text


def test_letters_are_the_same_however_they_are_typed() -> None:
    assert letters("Café – 7:30, o'clock!") == letters("CAFE\u0301 730 oclock")
