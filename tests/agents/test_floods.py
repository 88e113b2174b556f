"""A sentence that could be divided in sixty ways holds the house up no longer than any other."""

from __future__ import annotations

from collections.abc import Sequence

from hassil.recognize import RecognizeResult

from atlas.understanding.grammar import Grammar
from atlas.understanding.templates import Templates
from tests.conftest import for_every
from tests.houses import english

MOST_MATCHES = 40  # of the whole grammar, each about a millisecond


class Counted(Templates):
    """The sentences of a language, and how often they were gone through."""

    def __init__(self, templates: Templates) -> None:
        self._counted = templates
        self.times = 0

    def match(self, words: str, *, half: bool = False) -> Sequence[RecognizeResult]:
        self.times += 1
        return self._counted.match(words, half=half)


@for_every(
    "text",
    [
        ("add " + "a, " * 60)[:190],
        ("turn on " + "ab and " * 24 + "now"),
        ("set a timer for " + "ten minutes and " * 10 + "five seconds"),
        ("turn on the light and " * 8 + "dance"),
    ],
)
def test_it_is_matched_a_few_times_and_then_known(text: str) -> None:
    counted = Counted(english()._templates)
    grammar = Grammar(english().tables, counted)
    for _ in range(3):  # as one mind after the other does
        grammar.commands(text)
        grammar.half(text)
    assert 0 < counted.times <= MOST_MATCHES


def test_many_things_and_one_deed_more_are_still_two_commands() -> None:
    both = english().commands(
        "add milk, eggs, bread, butter, ham, tea and rice to the list and set a timer for ten minutes"
    )
    assert [command.tool for command in both] == ["lists.add", "timers.start"]
