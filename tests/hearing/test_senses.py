"""What words are to a house decides what the ear may make of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.hearing.ear import Sense
from atlas.hearing.house_ear import MOST_TIMERS, Senses
from atlas.understanding.intents import PublicReader
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader
from tests.conftest import for_every
from tests.houses import english, reader_of

from .conftest import HOUSE

NAMES = replace(HOUSE, lists=("camping",))


@pytest.fixture(scope="module")
def sense():
    grammar = english()
    reader, senses = Reader(grammar, PublicReader(open_public("en"), grammar.commands)), Senses("en")
    return lambda text: senses.of(text, reader.read(text, NAMES), NAMES)


@for_every(
    ("text", "is_to_the_house"),
    [
        ("Turn on the office lamp.", Sense.COMMAND),
        ("Turn off the lights in the kitchen.", Sense.COMMAND),
        ("Turn on the lights in the portal.", Sense.NOTHING),
        ("Add milk to my shopping list.", Sense.COMMAND),
        ("Add rope to the camping list.", Sense.COMMAND),
        ("Add milk to my sharpening list.", Sense.LOOSE),
        ("Don't turn on the office lamp.", Sense.DENIED),
        ("Didn't read in length to 75%.", Sense.NEGATED),
        ("The bus was late.", Sense.NOTHING),
    ],
)
def test_words_are_known_for_what_they_are(sense, text, is_to_the_house):
    assert sense(text) is is_to_the_house


def test_the_name_of_a_timer_that_was_set_here_is_believed_when_it_is_read_again():
    grammar = english()
    reader, senses = reader_of(grammar), Senses("en")

    def sense(text: str) -> Sense:
        return senses.of(text, reader.read(text), NAMES)

    assert sense("Cancel my pizza timer.") is Sense.LOOSE
    senses.learn_timer("Pizza")
    assert sense("Cancel my pizza timer.") is Sense.COMMAND
    assert sense("Cancel my Pisa timer.") is Sense.LOOSE
    for number in range(MOST_TIMERS):
        senses.learn_timer(f"number {number}")
    assert sense("Cancel my pizza timer.") is Sense.LOOSE, "that was long ago"
