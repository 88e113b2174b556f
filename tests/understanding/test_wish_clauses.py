"""The wish in a sentence that rambles is found: after reasons, before talk, and never in what somebody else said."""

from __future__ import annotations

import re

from atlas.understanding.grammar import open_grammar
from atlas.understanding.wish_clauses import WishClauses, parts_of
from tests.conftest import for_every

GRAMMAR = open_grammar("en")
ACTS = GRAMMAR.tables["acts"]
UNWANTED = [re.compile(ACTS[name], re.IGNORECASE) for name in ("conditions", "unwanted")]
ENGLISH = WishClauses(GRAMMAR.tables["wishes"], GRAMMAR.clauses.is_aside, GRAMMAR.clauses.reports, UNWANTED)


def cores(text: str) -> tuple[str, ...]:
    return ENGLISH.cores(text, lambda words: words.endswith((" up", " off")))


@for_every(
    ("text", "wish"),
    [
        ("My grandson says we need a torch, so put a torch on the camping list.", "so put a torch on the camping list"),
        ("Could you start the coffee machine, please, Margaret's on her way", "Could you start the coffee machine"),
        ("I've people coming at six so blinds up", "so blinds up"),
        ("the quiz is over, I never want to see that again, telly off", "telly off"),
        ("it is dry at last, cut the grass", "cut the grass"),
        ("So stuffy tonight. Put the ceiling fan on.", "Put the ceiling fan on"),
    ],
)
def test_the_wish_is_cut_out(text: str, wish: str) -> None:
    assert wish in [core.strip() for core in cores(text)]


@for_every(
    "text",
    [
        "put the lamp on",
        "put the lamp on low, about ten per cent",
        "and the wolf said, little pig, open the door",
        "cancel the alarm, that's what I should have done, but too late now",
        "Add two eggs and a pinch of salt, then fold in the flour, it says here in the recipe.",
        "it's raining, it's pouring, the old man is snoring",
        "please do not, under any circumstances, cut the lamp off",
        "don't you dare, ever, put the lamp on",
        "by no means, put the lamp on",
        "in no case, put the lamp on",
        "not now, later, put the lamp on",
        "perhaps, put the lamp on",
        "when I say so, put the lamp on",
        "should it rain, put the blind down",
        "if anybody rings, so put the lamp on",
        "Tom, put the lamp on",
        "Tom. Put the lamp on.",
        "In no case at all. Put the lamp on.",
        f"hello{' ' * 200_000}, put the lamp on",
    ],
)
def test_a_sentence_without_a_wish_beside_talk_stays_whole(text: str) -> None:
    assert cores(text) == ()


def test_the_last_clauses_are_tried_before_the_first() -> None:
    parts = [part for part, _ in parts_of("we're late, switch it off, it's only us")]
    assert parts == [
        *("switch it off, it's only us", "it's only us"),
        *("we're late, switch it off", "we're late", "switch it off"),
    ]


def test_one_clause_has_no_parts_and_a_story_has_too_many() -> None:
    assert [*parts_of("switch it off")] == []
    assert [*parts_of("a, b, c, d, e, f, g")] == []
