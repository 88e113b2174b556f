"""What is to be kept stays as it was typed: a password that lost its comma opens nothing."""

from __future__ import annotations

from tests.conftest import for_every
from tests.houses import english


@for_every(
    ("text", "remainder"),
    [
        ("remember that the wifi password is Hell0,World!x", "the wifi password is Hell0,World!x"),
        ("remember that my email is anna.smith@example.org.", "my email is anna.smith@example.org"),
        ("remember that the gate’s code is a;b:c", "the gate's code is a;b:c"),
        ("make a note: the wifi password is a;b,c!d", "the wifi password is a;b,c!d"),
        ("remind me to write to anna.smith@example.org tomorrow at five", "write to anna.smith@example.org"),
        ("add visit www.example.org to my tasks", "visit www.example.org"),
        ("remember that Anna, Ben and Mia are allergic to nuts!", "Anna Ben and Mia are allergic to nuts"),
    ],
)
def test_marks_inside_a_word_are_kept(text: str, remainder: str) -> None:
    [command] = english().commands(text)
    assert remainder in command.arguments.values()
