"""What is said to something that rings, without a wake word, and what is other talk beside it."""

from __future__ import annotations

from functools import cache

import pytest

from atlas.understanding.grammar import open_grammar
from atlas.understanding.understanding import Reader
from tests.houses import english, reader_of


@cache
def reader(language: str) -> Reader:
    return reader_of(english() if language == "en" else open_grammar(language))


ABOUT = {
    "en": [
        *("stop", "Stop it!", "shut up", "never mind", "be quiet", "That's enough.", "silence"),
        *("stop the timer", "turn off the alarm", "snooze", "snooze for ten minutes", "cancel the pizza timer"),
        *("I'm up", "set a timer for five minutes", "how much time is left on the timer"),
    ],
    "de": ["Stopp.", "Ruhe!", "Sei still.", "Stopp den Timer.", "Mach den Wecker aus.", "Genug."],
}
OTHER = {
    "en": [
        *(
            "the bus stop is over there",
            "he works nonstop",
            "did you see the alarm clock on ebay",
            "quiet people are nice",
        ),
        *("there is enough pasta for everyone", "I said stop hitting your sister", "turn off the oven", "what a day"),
    ],
    "de": ["Die Haltestelle ist da drüben.", "Ich habe genug Nudeln gekocht.", "In der Ruhe liegt die Kraft."],
}


@pytest.mark.parametrize(("language", "text"), [(one, text) for one, texts in ABOUT.items() for text in texts])
def test_what_may_be_meant_for_a_ring_is_heeded(language: str, text: str) -> None:
    assert reader(language).is_about_ring(text)


@pytest.mark.parametrize(("language", "text"), [(one, text) for one, texts in OTHER.items() for text in texts])
def test_other_talk_beside_a_ring_is_not(language: str, text: str) -> None:
    assert not reader(language).is_about_ring(text)
