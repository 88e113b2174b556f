"""Words of somebody who still speaks are told once, and never taken back."""

from __future__ import annotations

from atlas.speech.agreement import Agreement
from tests.conftest import for_every


@for_every(
    ("readings", "new"),
    [
        (["Turn", "Turn on the", "Turn on the kitchen light"], ["", "", "Turn on"]),
        (["Turn on the kit", "Turn on the kitchen lights", "Turn on the kitchen light, please"],
         ["", "Turn on the", " kitchen"]),
        (["Set a time", "Said a timer for", "Said a timer for ten"], ["", "", "Said a timer"]),
        (["Set a timer", "Set a timer for", "", "Set a timer for ten", "Set a timer for ten minutes"],
         ["", "Set a", "", "", " timer for"]),
        (["", "", ""], ["", "", ""]),
    ],
)  # fmt: skip
def test_what_two_readings_agree_on_stands_but_for_the_last_word_of_each(readings: list[str], new: list[str]) -> None:
    agreement = Agreement()
    assert [agreement.read(reading) for reading in readings] == new
    assert agreement.text == "".join(new)


def test_marks_and_capitals_keep_no_word_from_standing() -> None:
    agreement = Agreement()
    assert [agreement.read(text) for text in ("Milk. And", "milk, and eggs", "Milk and eggs, please")] == [
        "",
        "milk,",
        " and",
    ]


def test_a_reading_that_contradicts_what_stands_adds_nothing() -> None:
    agreement = Agreement()
    for text in ("turn on the light", "turn on the light now"):
        agreement.read(text)
    assert [agreement.read("torn in the light now please") for _ in range(2)] == ["", ""]
    assert agreement.text == "turn on the"


def test_the_whole_adds_the_rest_and_where_it_turned_out_otherwise_nothing() -> None:
    agreement = Agreement()
    for text in ("Turn on the kit", "Turn on the kitchen"):
        agreement.read(text)
    assert agreement.finish("turn off the kitchen light") == ""
    assert agreement.finish("Turn on the kitchen light.") == " kitchen light."
    assert Agreement().finish("Stop.") == "Stop."


def test_a_part_goes_on_from_the_words_that_stand_where_it_shares_three_of_them() -> None:
    agreement = Agreement()
    for _ in range(2):
        agreement.read("once there was an old man and")
    assert agreement.text == "once there was an old man"
    assert agreement.read_on("ere was an old man and his goat") == ""
    assert agreement.read_on("was an old man, and his goats who") == " and his"
    assert agreement.read_on("his goat. Who ate everything that") == "", "it shares two, and nothing is taken back"
    assert agreement.text == "once there was an old man and his"
