"""Where a sentence may be over: what a voice waits for, and for how long."""

from __future__ import annotations

import pytest

from atlas.understanding.endings import CLOSED_SECONDS, LOOK_SECONDS, SWEEPING_SECONDS
from atlas.understanding.grammar import OPEN_COMMAND_SECONDS, open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader
from tests.conftest import for_every
from tests.houses import english, reader_of

HOUSE = Names(
    devices=(
        *(NamedDevice("kitchen light", "light", "kitchen"), NamedDevice("desk lamp", "light", "office")),
        *(NamedDevice("front door", "lock", "hall"), NamedDevice("garage door", "cover", "garage", "garage")),
        *(
            NamedDevice("side gate", "cover", "garden", "gate"),
            NamedDevice("kitchen blind", "cover", "kitchen", "blind"),
        ),
    ),
    rooms=(NamedPlace("kitchen"), NamedPlace("office")),
    lists=("shopping",),
)


@pytest.fixture(scope="module")
def reader() -> Reader:
    grammar = english()
    return Reader(grammar, PublicReader(open_public("en"), grammar.commands))


@for_every(
    "text",
    [
        "Add milk to my shopping list.",
        "Add call the doctor to my tasks.",
        "Turn on the kitchen light.",
        "Turn off the lights in the kitchen.",
        "Switch the desk lamp off.",
        "Open the kitchen blind.",
        "Dim the desk lamp to twenty percent.",
        "Set a timer for ten minutes, please.",
        "Cancel my pizza timer.",
    ],
)
def test_behind_what_closes_a_command_a_short_silence_is_enough(reader: Reader, text: str) -> None:
    assert reader.settle_seconds(text, HOUSE) == CLOSED_SECONDS
    assert not reader.goes_on(text)


@for_every(
    "text",
    ["What time is it?", "How long is left on my timer?", "What is on my shopping list?", "Is the front door locked?"],
)
def test_a_look_waits_for_nothing_for_it_can_be_looked_up_again(reader: Reader, text: str) -> None:
    assert reader.settle_seconds(text, HOUSE) == LOOK_SECONDS < CLOSED_SECONDS


@for_every(
    "text",
    [
        "Set a timer for ten minutes.",  # and thirty seconds
        "Set an alarm for seven.",  # thirty
        "Remind me to call mum at five.",  # fifteen
        "Add milk.",  # and eggs
        "Cancel all timers.",  # in the kitchen
        "Dim the desk lamp.",  # to twenty percent
        "Make the kitchen light.",  # blue
    ],
)
def test_what_may_go_on_in_the_next_word_is_waited_for(reader: Reader, text: str) -> None:
    settle = reader.settle_seconds(text, HOUSE)
    assert settle is None or settle >= OPEN_COMMAND_SECONDS


@for_every(
    "text",
    [
        *("Lock the front door.", "Unlock the front door.", "Lock the front door, please.", "Close the side gate."),
        *("Open the garage door.", "Lock the front door in ten.", "Lock the front door in ten"),
    ],
)
def test_what_moves_a_door_is_never_done_after_the_short_silence(reader: Reader, text: str) -> None:
    settle = reader.settle_seconds(text, HOUSE)
    assert settle is None or settle >= OPEN_COMMAND_SECONDS


@for_every(
    "text",
    [
        *(
            "Turn off all lights except",
            "Lock everything but",
            "Lock the front door after",
            "Open the garage door once",
        ),
        *(
            "Open the garage door only",
            "Lock the front door because",
            "Unlock the front door unless",
            "Lights on until",
        ),
        *("Lock the front door in", "Lock the front door in ten", "Lock the front door in 10."),
    ],
)
def test_behind_a_word_that_limits_or_delays_the_speaker_is_given_longer(reader: Reader, text: str) -> None:
    assert reader.goes_on(text)
    settle = reader.settle_seconds(text, HOUSE)
    assert settle is None or settle >= OPEN_COMMAND_SECONDS


@for_every(
    "text",
    [
        *("Turn on.", "Turn on the", "Add milk and", "Add milk, eggs and...", "Set a timer for", "Remind me"),
        *("Remind me to", "What time", "What is", "How long", "Set the kitchen light to", "Put bread on the"),
        *("Call my", "Set a timer for 20."),
    ],
)
def test_behind_half_a_phrase_the_speaker_is_given_longer(reader: Reader, text: str) -> None:
    assert reader.goes_on(text)


@for_every(
    "text",
    [
        *("Turn it on.", "Tell me what time it is.", "Is Anna in?", "Lights off.", "Who is that?", "Yes.", "Stop.", ""),
        *("What's the weather like?", "Why is the sky blue?", "Cancel that.", "No thanks."),
    ],
)
def test_a_whole_sentence_is_not_taken_for_half_of_one(reader: Reader, text: str) -> None:
    assert not reader.goes_on(text)


def test_german_sentences_end_with_their_particles_and_go_on_behind_their_articles() -> None:
    reader = reader_of(open_grammar("de"))
    for text in ("Stell einen Timer auf zehn Minuten und", "Mach das Licht in der", "Setz Milch und", "Erinner mich"):
        assert reader.goes_on(text), text
    for text in ("Mach das Licht an.", "Mach die Tür zu.", "Wie spät ist es?", "Ist Anna da?", "Stopp."):
        assert not reader.goes_on(text), text
    assert reader.settle_seconds("Setz Milch auf die Einkaufsliste.") == CLOSED_SECONDS
    assert reader.settle_seconds("Stell einen Timer auf zehn Minuten.") == OPEN_COMMAND_SECONDS


def test_behind_what_concerns_the_whole_house_an_exception_may_follow(reader: Reader) -> None:
    assert reader.settle_seconds("Turn off all lights in the house.", HOUSE) == SWEEPING_SECONDS
