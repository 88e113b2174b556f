"""What a model thinks aloud is kept from the words that people hear, however it is cut into pieces."""

from __future__ import annotations

from atlas.thoughts import Thoughts
from tests.conftest import for_every


def heard(text: str, size: int) -> str:
    thoughts = Thoughts()
    words = "".join(thoughts.add(text[at : at + size]) for at in range(0, len(text), size))
    return words + thoughts.end()


@for_every("size", [1, 2, 7, 100])
@for_every(
    ("text", "words"),
    [
        ("<think>\nHm, the sea.\n</think>\n\nIt is wide.", "It is wide."),
        ("\n <think></think>Wide.", "Wide."),
        ("[THINK]a < b[/THINK]Wide.", "Wide."),
        ("<think>one</think><think>two</think>Wide.", "Wide."),
        ("<thin ice is dangerous", "<thin ice is dangerous"),
        ("Write <think> before it.", "Write <think> before it."),
        ("<", "<"),
        ("", ""),
        ("<think>and never an end", ""),
    ],
)
def test_only_what_is_not_thought_is_said(text: str, words: str, size: int) -> None:
    assert heard(text, size) == words


def test_a_thought_that_never_ends_is_not_kept() -> None:
    thoughts = Thoughts()
    thoughts.add("<think>")
    for _ in range(1000):
        assert thoughts.add("and on " * 100) == ""
    assert len(thoughts._held) < 20
