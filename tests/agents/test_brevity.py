"""A model that is not trusted says two sentences at most, none twice, and makes up no talk."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from atlas.agents.brevity import Brevity
from atlas.conversation import Message
from tests.conftest import for_every
from tests.scripted_tools import ScriptedTools

from .conftest import ask, says
from .test_chat import chat

CROCODILES = "Crocodiles are large reptiles that live in water."
BEFORE = (Message("user", "what is a crocodile"), Message("assistant", f"A: 1. {CROCODILES}"))


def said(text: str, history: Sequence[Message] = (), question: str = "what is a lizard") -> str:
    brevity = Brevity(history, question)
    return brevity.feed(text) + brevity.rest()


@for_every(
    ("text", "heard"),
    [
        ("Paris is. It lies on the Seine. And so on. And on.", "Paris is. It lies on the Seine. "),
        ("A: 1. Lizards are reptiles.", "Lizards are reptiles."),
        ("Answer: Lizards are reptiles.\nQuestion: What is a newt?\nAnswer: A newt.", "Lizards are reptiles.\n"),
        ("User: And what is a newt?", ""),
        ("They bask. They bask and they sleep.", "They bask. They bask and they sleep."),
        ("Lizards are reptiles too. Lizards are reptiles too. They bask.", "Lizards are reptiles too. They bask."),
        ("It took 3.5 years. Then 12. May came.", "It took 3.5 years. Then 12. May came."),
        ("Yes. Yes.", "Yes. Yes."),
        ("", ""),
    ],
)
def test_what_is_said_of_an_answer(text: str, heard: str) -> None:
    assert said(text) == heard


def test_what_was_said_to_another_question_is_not_said_again() -> None:
    assert said(f"{CROCODILES} Lizards are small.", BEFORE) == "Lizards are small."
    assert said(f"A: 1. {CROCODILES}", BEFORE) == ""


def test_who_asks_the_same_again_is_told_the_same_again() -> None:
    assert said(CROCODILES, BEFORE, "What is a crocodile?") == CROCODILES


@given(st.lists(st.text(alphabet="ab .!?\n1:", max_size=6), max_size=12))
def test_it_does_not_matter_in_which_pieces_words_come(pieces: list[str]) -> None:
    whole, cut = Brevity((), ""), Brevity((), "")
    assert whole.feed("".join(pieces)) + whole.rest() == "".join(map(cut.feed, pieces)) + cut.rest()


async def test_a_piece_of_many_sentences_is_cut_as_well(tools: ScriptedTools) -> None:
    model = says(["One is one. Two is two. ", "Three is three. Four is four. Five is five."])
    answer, _ = await ask(chat(model, tools, trusted=False), "count")
    assert answer.text == "One is one. Two is two. "


async def test_a_model_that_only_says_its_last_answer_again_has_no_answer(tools: ScriptedTools) -> None:
    model = says([f"A: 1. {CROCODILES}"])
    answer, _ = await ask(chat(model, tools, trusted=False), "what is a lizard", history=BEFORE)
    assert "rocodile" not in answer.text
    assert answer.end == "failed"
