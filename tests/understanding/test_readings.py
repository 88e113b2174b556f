"""A recogniser offers several readings; the grammar knows which one a household would say."""

from __future__ import annotations

from atlas.conversation import Utterance
from atlas.understanding.grammar import Grammar
from atlas.understanding.readings import pick
from atlas.understanding.understanding import Understanding
from tests.conftest import for_every
from tests.houses import reader_of


@for_every(
    ("readings", "first"),
    [
        (("Set the time before ten minutes.", "Set a timer for ten minutes."), "Set a timer for ten minutes."),
        (("What time is it?", "Set a timer for ten minutes."), "What time is it?"),
        (("Why is the sky blue?", "Why is this guy blue?"), "Why is the sky blue?"),
        (("Don't set a timer for ten minutes.", "Set a timer for ten minutes."), "Don't set a timer for ten minutes."),
        (("Why is it?", "Set a timer for ten minutes.", "Don't set a timer for ten minutes."), "Why is it?"),
        (
            ("Ask walk to stop a time.", "Ask work to set a timer for ten minutes."),
            "Ask work to set a timer for ten minutes.",
        ),
        (("Ask work to not set a timer.", "Set a timer for ten minutes."), "Ask work to not set a timer."),
        (("",), ""),
    ],
)
def test_the_first_reading_that_is_a_command_goes_first_unless_one_says_not_to(
    grammar: Grammar, readings: tuple[str, ...], first: str
) -> None:
    picked = pick(
        reader_of(grammar).read,
        lambda text: text.removeprefix("Ask work to "),
        Utterance(readings[0], 1.5, readings[1:]),
    )
    assert picked.text == first
    assert sorted((picked.text, *picked.alternatives)) == sorted(readings), "none is lost"
    assert picked.seconds == 1.5


def test_behind_a_first_reading_that_is_a_command_no_other_is_read(grammar: Grammar) -> None:
    reader, read = reader_of(grammar), list[str]()

    def reading(text: str) -> Understanding:
        read.append(text)
        return reader.read(text)

    heard = Utterance("What time is it?", 1.5, ("What timers are set?", "What time is at?"))
    assert pick(reading, str, heard) == heard
    assert read == ["What time is it?"]
