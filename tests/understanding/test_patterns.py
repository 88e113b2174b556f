"""What is looked up instead of tried: no pattern and no template is passed over that would have matched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import hassil
import pytest
from hassil.expression import ListReference
from hassil.intents import Intents
from hassil.recognize import RecognizeResult

from atlas.understanding.act_model import corpus_lines
from atlas.understanding.loose_patterns import LoosePatterns, letters
from atlas.understanding.moments import BARE_HOUR
from atlas.understanding.patterns import PatternIndex, Rewrites, SoughtPattern, beginnings
from atlas.understanding.templates import Templates, open_sentences
from tests.conftest import sample

opened = cache(open_sentences)  # these tests change nothing in it
TABLE = [
    ["(?i)\\bper ?cent\\b|%", " percent "],
    ["^(?:so|well|oh)[ ,]+(?=\\S)", ""],
    ["(?<=[a-z])'s (?=(?:shut|open)\\b)", " is "],
    ["\\b(a|the|my) \\1\\b", "\\1"],
    ["(\\d) ?°", "\\1 degrees"],
    ["gro(?:ß|ss)e?", "large"],
    ["[aeiou]{3}", "-"],
]


def truth_values(table: Any, place: str) -> Iterator[str]:
    """Yield where a key, or one of several words, is no text: `off:` is `False:`, `[on]` is `[True]`."""
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        inner = f"{place}.{key}"
        if isinstance(key, bool) or (isinstance(table, list) and isinstance(value, bool)):
            yield inner
        if isinstance(value, dict | list):
            yield from truth_values(value, inner)


def sentences(language: str, every: int) -> list[str]:
    """Return some of the sentences that the parser of a language learns from."""
    return [re.sub(r"[{}]", "", line.split("\t")[1]) for line in corpus_lines(language)[::every]]


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
def test_words_that_yaml_reads_as_truth_values_stand_in_quotes(language: str) -> None:
    tables, _ = opened(language)
    assert [*truth_values(tables, language)] == []


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_pattern_of_a_language_that_matches_is_among_the_possible_ones(language: str) -> None:
    tables, _ = opened(language)
    rows = [*tables["rewrites"], *tables["frames"]["rewrites"], *tables["acts"]["rewrites"], *tables["marks"]]
    patterns = [re.compile(row[0], re.IGNORECASE) for row in rows]
    index = PatternIndex(patterns)
    for text in sample(sentences(language, every=40)):
        matching = {number for number, pattern in enumerate(patterns) if pattern.search(text)}
        assert matching <= index.possible(text), text


@pytest.mark.parametrize("language", ["en", "de"])
def test_no_template_is_passed_over_that_hassil_matches(language: str) -> None:
    _, templates = opened(language)
    assert isinstance(templates, Templates)
    for text in sample(sentences(language, every=150)):
        every, some = (
            hassil.recognize_all(text, templates.every),
            [*templates.match(text), *templates.match(text, half=True)],
        )
        assert sorted(map(described, filter(may_be, some))) == sorted(map(described, filter(may_be, every))), text


def may_be(result: RecognizeResult) -> bool:
    """Whether a match can be meant: to hassil any words are a sum, which has a test of its own."""
    return result.intent.name != "world.calculate"


@pytest.mark.parametrize(
    ("language", "text", "tried"),
    [
        ("en", "2+2", True),
        ("en", "Seven times eight", True),
        ("en", "square root of nine", True),
        ("en", "who invented the telephone", False),
        ("de", "zwei mal drei", True),
        ("de", "12 geteilt durch 4", True),
        ("de", "wer hat das Telefon erfunden", False),
    ],
)
def test_words_are_tried_as_a_sum_only_where_a_number_is_among_them(language: str, text: str, tried: bool) -> None:
    _, templates = opened(language)
    assert any(result.intent.name == "world.calculate" for result in templates.match(text)) is tried


@pytest.mark.parametrize(
    ("language", "words", "fits"),
    [
        ("en", "twenty two point five degrees", True),
        ("en", "22.5 degrees", True),
        ("en", "make it warm", False),
        ("de", "zweiundzwanzig Grad", True),
        ("de", "Dreißig Grad", True),
        ("de", "mach es warm", False),
    ],
)
def test_a_template_that_begins_with_a_number_is_tried_on_what_begins_like_one(
    language: str, words: str, fits: bool
) -> None:
    grammar = Intents.from_dict(
        {"language": language, "intents": {}, "lists": {"n": {"range": {"from": 0, "to": 100}}}}
    )
    assert bool(LoosePatterns(grammar).of(ListReference("n")).match(letters(words))) is fits


def test_letters_are_the_same_however_they_are_typed() -> None:
    assert letters("Café – 7:30, o'clock!") == letters("CAFE\u0301 730 oclock")


@pytest.mark.parametrize(
    "pattern",
    [
        *(pattern.removeprefix("(?i)") for pattern, _ in TABLE),
        r"(?:um |gegen )?(?:halb|\d{1,2})(?: uhr)?",
        r"(?:at )?a(?:n hour)?\b|\bnoon",
        r"(?:the )*(?=lamp)|[^a-z]{2}\w",
        BARE_HOUR,
    ],
)
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_pattern_is_found_wherever_it_stands_when_its_beginning_is_looked_for_first(
    pattern: str, language: str
) -> None:
    tried = re.compile(pattern, re.IGNORECASE)
    for letters_before in (1, 2, 4):
        guarded = re.compile(f"(?={beginnings(pattern, letters_before)})(?:{pattern})", re.IGNORECASE)
        for text in ("", "a", "AT 7", "um halb", *sentences(language, 211)):
            assert [one.span() for one in guarded.finditer(text)] == [one.span() for one in tried.finditer(text)], text


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in TABLE])
def test_a_pattern_that_is_sought_is_found_where_it_is(pattern: str) -> None:
    plain = re.compile(pattern, re.IGNORECASE)
    sought = SoughtPattern(plain)
    for text in ("", "PERCENT", *sentences("en", 211), *sentences("de", 211)):
        match, other = sought.search(text), plain.search(text)
        assert (match and match.span()) == (other and other.span()), text
