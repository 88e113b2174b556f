"""A share of what is, tasks in one breath and a wish in two halves are read; what only sounds so is not."""

from __future__ import annotations

import pytest

from atlas.understanding.grammar import open_grammar
from atlas.understanding.shares import Shares
from atlas.understanding.unfinished import UnfinishedWishes
from tests.conftest import for_every
from tests.understanding.talking import GERMAN_NAMES, Talk

SHARES = [
    ("en", "make the kitchen light half as bright", "brightness", 0.5),
    ("en", "turn the kitchen light down by half", "brightness", 0.5),
    ("en", "kitchen radio twice as loud", "volume", 2),
    ("de", "mach das Küchenlicht halb so hell", "brightness", 0.5),
    ("de", "Küchenradio doppelt so laut", "volume", 2),
    ("de", "Küchenlicht um die Hälfte dunkler", "brightness", 0.5),
]
NONE = [
    ("en", "wake me at half past six"),
    ("en", "he's half as tired as yesterday"),
    ("en", "open the blind to half"),
    ("de", "weck mich um halb sieben"),
    ("de", "Rollladen zur Hälfte runter"),
    ("de", "die Hälfte der Klasse ist krank"),
]


@for_every("language, text, what, times", SHARES)
async def test_a_share_is_taken_of_what_is(language: str, text: str, what: str, times: float) -> None:
    german = language == "de"
    talk = Talk(open_grammar("de"), "Küche", GERMAN_NAMES) if german else Talk(open_grammar("en"))
    await talk.say(text)
    [(tool, given)] = talk.calls()
    assert (tool, given["what"], given["times"]) == ("home.adjust", what, times)
    assert "by" not in given


@for_every("language, text", NONE)
def test_other_halves_are_no_share(language: str, text: str) -> None:
    assert Shares(open_grammar(language).tables["shares"]).read(text) is None


@for_every(
    "language, first, rest, wish",
    [
        ("en", "turn off the", "kitchen light", "turn off the kitchen light"),
        ("de", "Und", "das Licht aus", "Und das Licht aus"),
    ],
)
def test_a_wish_that_breaks_off_waits_for_its_rest(language: str, first: str, rest: str, wish: str) -> None:
    broken = UnfinishedWishes(open_grammar(language).tables["broken_off"])
    assert broken.breaks_off(first)
    assert not broken.breaks_off(wish)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "what are you waiting for"),
        ("en", "turn it off"),
        ("en", "let him in"),
        ("de", "mach das"),
        ("de", "lass ihn rein"),
        ("de", "ist sie da"),
        ("de", "das war nicht meine"),
    ],
)
def test_a_whole_sentence_does_not_wait(language: str, text: str) -> None:
    assert not UnfinishedWishes(open_grammar(language).tables["broken_off"]).breaks_off(text)
