"""Where a wish is taken back or broken off, in words alone."""

from __future__ import annotations

from atlas.understanding.grammar import open_grammar
from atlas.understanding.withdrawals import Withdrawal, Withdrawals
from tests.conftest import for_every

ENGLISH = Withdrawals(open_grammar("en").tables["withdrawals"])


@for_every(
    ("text", "wish", "rest"),
    [
        ("open the garage, ah no, the car's not here", "open the garage", "the car's not here"),
        ("close the blinds, scratch that, it's still light", "close the blinds", "it's still light"),
        ("fan on, no, wait", "fan on", ""),
        ("lock the door. Oh, it's locked already.", "lock the door", ""),
        ("put the kettle on never mind", "put the kettle on", ""),
        ("turn the light on, no, no, I'll do it myself", "turn the light on", ""),
        ("cancel all timers, abort", "cancel all timers", ""),
        ("turn off the hall light, I take that back.", "turn off the hall light", ""),
        ("turn off the hall light, lieber nicht", "turn off the hall light", ""),
    ],
)
def test_words_that_take_back_part_a_sentence_in_two(text: str, wish: str, rest: str) -> None:
    assert ENGLISH.read(text) == Withdrawal(wish, rest)


@for_every(
    "text",
    [
        "turn the light on, leave it on all night",
        "no rush, but turn the heating up",
        "stop the washing machine, stop it, my phone is in there",
        "off with the lamp, no need for it now",
        "play never gonna give you up, never too loud",
    ],
)
def test_words_that_only_look_like_it_take_nothing_back(text: str) -> None:
    assert ENGLISH.read(text) is None


@for_every("text", ["put cucumbers on the", "remind me tomorrow to", "close the blinds and then…"])
def test_a_wish_that_ends_in_the_middle_is_unfinished(text: str) -> None:
    assert ENGLISH.is_unfinished(text)


@for_every("text", ["put it on then", "stick it in", "send him home", "let's have the curtains to"])
def test_a_wish_that_ends_with_a_short_word_may_be_whole(text: str) -> None:
    assert not ENGLISH.is_unfinished(text)


def test_a_language_without_a_table_takes_nothing_back() -> None:
    assert Withdrawals({}).read("fan on, never mind") is None
    assert not Withdrawals({}).is_unfinished("fan on the")


def test_a_text_that_nobody_says_is_read_at_once() -> None:
    assert ENGLISH.read(f"fan on{chr(32) * 200_000}never mind") is None
