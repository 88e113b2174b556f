"""What is said while somebody looks for the word is no part of what they want."""

from __future__ import annotations

from atlas.understanding.grammar import open_grammar
from atlas.understanding.hesitations import Hesitations
from tests.conftest import for_every

ENGLISH, GERMAN = (Hesitations(open_grammar(code).tables) for code in ("en", "de"))


@for_every(
    ("spoken", "wanted"),
    [
        ("I want eggs, butter and, what was it, oh yes, bird seed.", "I want eggs, butter and bird seed."),
        ("can you do the, what's it called, the movie night thing", "can you do the movie night thing"),
        ("the airbed pump and, ooh, bug spray", "the airbed pump and bug spray"),
        ("set it to, I dunno, eight", "set it to eight"),
        ("a timer for er twenty minutes", "a timer for twenty minutes"),
        ("remind me to, oh what was it, ring Breda at five", "remind me to ring Breda at five"),
        ("um, what time is it", "what time is it"),
        ("lights off in the erm in the utility", "lights off in the utility"),
    ],
)
def test_hesitation_is_taken_out(spoken: str, wanted: str) -> None:
    assert ENGLISH.without(spoken) == wanted


@for_every(
    "spoken",
    [
        "yes, turn it on",
        "the lamp, no, the radio",
        "eggs, flour and milk",
        "what is it",
        "turn the hum off",
        "uh",
        "turn it on, please",
    ],
)
def test_what_means_something_stays(spoken: str) -> None:
    assert ENGLISH.without(spoken) == spoken


def test_a_language_without_a_table_hesitates_nowhere() -> None:
    assert Hesitations({}).without("um, the lamp") == "um, the lamp"


def test_a_text_that_nobody_says_is_left_as_it_is_at_once() -> None:
    text = f"hello{' ' * 200_000}x"
    assert ENGLISH.without(text) == ENGLISH.fluent(text) == text


@for_every(
    ("text", "fluent"),
    [
        ("take it down to, um, thirty percent", "take it down to thirty percent"),
        ("and the, um, the hall light", "and the hall light"),
        ("do you know what, switch it off", "switch it off"),
        ("and, what are they called, taco shells", "and taco shells"),
        ("set it to like twenty percent", "set it to twenty percent"),
        ("the coffee machine, what about that", "the coffee machine?"),
        ("yeah and the hall light", "and the hall light"),
        ("just the corner one I meant", "no, I meant the corner one"),
        ("yes", "yes"),
        ("um", "um"),
        ("what do you know about Rome", "what do you know about Rome"),
    ],
)
def test_what_fills_a_pause_is_no_word_of_a_wish(text: str, fluent: str) -> None:
    assert ENGLISH.fluent(text) == fluent


@for_every(
    ("text", "fluent"),
    [
        ("und auf, äh, dreißig Prozent", "und auf dreißig Prozent"),
        ("weißt du was, mach ihn aus", "mach ihn aus"),
        ("mach sie auf, sagen wir, zwanzig Prozent", "mach sie auf zwanzig Prozent"),
        ("gut, und den Flur", "und den Flur"),
    ],
)
def test_german_pauses_are_filled_with_other_words(text: str, fluent: str) -> None:
    assert GERMAN.fluent(text) == fluent


@for_every(
    ("spoken", "wanted"),
    [
        ("Ah, Milch auf die Liste", "Milch auf die Liste"),
        ("Eier und, wie heißt das noch, Backpulver", "Eier und Backpulver"),
        ("schick den, äh, den Krümel los", "schick den Krümel los"),
        ("Geh, mach das Licht an", "mach das Licht an"),
        ("Na, das Bad lass auch", "Na, das Bad lass auch"),
        ("Ach", "Ach"),
        ("Ach nein, Licht an", "Ach nein, Licht an"),
    ],
)
def test_a_german_looks_for_the_word_in_the_first_turn_too(spoken: str, wanted: str) -> None:
    assert GERMAN.without(spoken) == wanted
