"""A recogniser that says everything again is cut; a person who does is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atlas.speech.loops import cut_loop
from tests.conftest import for_every

RAN_ON, ENDED = False, True


@for_every(
    ("text", "ended", "remainder"),
    [
        ("Cancel timer. Cancel timer. Cancel timer. Cancel", RAN_ON, "Cancel timer."),
        ("Set a timer for 10 minutes. Set a timer", RAN_ON, "Set a timer for 10 minutes."),
        ("Add by milk to my tasks. Add by", RAN_ON, "Add by milk to my tasks."),
        ("at 10 minutes to the timer. At 10 minutes", RAN_ON, "at 10 minutes to the timer."),
        ("who wrote pride in prejudice, who wrote", RAN_ON, "who wrote pride in prejudice,"),
        ("No No No No No No No", RAN_ON, "No"),
        ("Stop. Stop. Stop.", ENDED, "Stop."),
        ("Turn it on, and on, and on, and on, and", RAN_ON, "Turn it on, and"),
        ("Tell me what's new. Tell me what's new.", ENDED, "Tell me what's new."),
        (
            "Run ten minutes, about five miles an hour. About five miles an hour.",
            RAN_ON,
            "Run ten minutes, about five miles an hour.",
        ),
        ("Speak louder Speak louder", ENDED, "Speak louder"),
        ("speak louder speak louder", ENDED, None),
        ("New York New York", ENDED, None),
        ("Turn on the light and turn on the", RAN_ON, None),  # the sentence goes on
        ("Stop, stop.", ENDED, None),
        ("No, no, no.", ENDED, None),
        ("It was very very good.", ENDED, None),
        ("What time is it?", ENDED, None),
        ("What time is it?", RAN_ON, None),
        ("", ENDED, None),
        ("...", RAN_ON, None),
    ],
)
def test_the_first_repeat_is_where_it_is_cut(text, ended, remainder):
    assert cut_loop(text, ended) == ((text, False) if remainder is None else (remainder, True))


@given(st.text(alphabet="ab .,'", max_size=60), st.booleans())
def test_what_is_kept_is_how_the_text_began(text, ended):
    remainder, looped = cut_loop(text, ended)
    assert text.startswith(remainder)
    assert looped or remainder == text
