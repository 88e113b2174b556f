"""Where a reply is cut so that it can be spoken while it is still being written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atlas.speech.sentences import FIRST_WORDS, LONGEST_CHARACTERS, Sentences, pieces
from tests.conftest import done_within, for_every


@for_every(
    "expected",
    [
        ["Yes."],
        ["Hello there. ", "How are you?"],
        ["Sure! ", "The timer is set."],
        ["It is 9.30 in the morning. ", "Time for tea."],
        ["Pi is about 3.14159. ", "It goes on."],
        ["Dr. Smith and Mrs. Jones called. ", "Call back."],
        ["J. R. R. Tolkien wrote it. ", "It is long."],
        ["So do I. ", "Then we agree."],
        ["Bring fruit, e.g. apples. ", "Not pears."],
        ["We meet at 5 p.m. on Friday. ", "Be there."],
        ["We meet at 5 p.m. ", "Be there."],
        ["Apples, pears etc. are in the bowl. ", "Eat."],
        ["See No. 5 on the list. ", "Then stop."],
        ["No. ", "I will not."],
        ["The answer is no. ", "Sorry."],
        ["He came on Jan. 5 by train. ", "Good."],
        ["Well... maybe not. ", "Or yes."],
        ["Wait… ", "Who is there?"],
        ['"Stop!" he said. ', "So I did."],
        ['"Stop." ', "So I did."],
        ["Really?! ", "Yes."],
        ["Here is the list:\n", "1. Milk\n", "2. Bread\n", "3. Dr. Pepper\n"],
        ["- Milk\n", "- Bread\n", "That is all."],
        ["Go to example.com now. ", "Look."],
        ["Version 2.0.1 is out. ", "Try it."],
        ["It costs $3.50. ", "Cheap."],
        ["First we go home, ", "and then we eat, and then we sleep. ", "Good night."],
        ["Yes, of course I can do that. ", "Wait."],  # two words of a clause are not worth a cut
        ["There are 1,000 of them. ", "Count."],
        ["今日は。", "元気ですか？"],
        ["Try this:\n", "```python\nprint('a. b')\n\nx = 1\n```\n", "Done."],
        ["Try this:\n", "~~~\na. b\n\n```\n~~~\n", "Done."],
        ["  \n Hello. ", "You."],
        ["(It rained.) ", "We stayed."],
        ["**Bold.** ", "Plain."],
    ],
)
def test_a_reply_is_cut_where_a_person_would_breathe(expected):
    assert pieces("".join(expected)) == expected
    cutter = Sentences()
    by_letter = [piece for letter in "".join(expected) for piece in cutter.feed(letter)]
    assert [*by_letter, *cutter.finish()] == expected


def test_a_sentence_is_given_as_soon_as_the_next_one_could_begin():
    cutter = Sentences()
    assert cutter.feed("The timer is") == []
    assert cutter.feed(" set.") == []  # it could be 3.5
    assert cutter.feed(" ") == ["The timer is set. "]


def test_the_first_piece_comes_early_even_from_a_long_sentence():
    text = "The capital of France is a very old and beautiful city on the river Seine that everybody ought to see once."
    cut = pieces(text)
    assert cut[0] == "The capital of France is a very old and beautiful city "
    assert len(pieces("word " * 40)[0].split()) == FIRST_WORDS


def test_only_the_first_piece_is_cut_at_its_clauses():
    cut = pieces("I think so, yes. When it rains, which it does, we stay at home, and read.")
    assert cut == ["I think so, ", "yes. ", "When it rains, which it does, we stay at home, and read."]


def test_a_reply_after_a_finished_one_begins_early_again():
    cutter = Sentences()
    for _ in range(2):
        assert cutter.feed("If you like, I will do it.") == ["If you like, "]
        assert cutter.finish() == ["I will do it."]


def test_nothing_comes_of_nothing():
    assert pieces("") == []
    assert "".join(pieces("\n\n. . .\n")) == "\n\n. . .\n"
    assert Sentences().finish() == []


@given(st.text(alphabet="ab AB.,!?…:;\n\"'*`-1。 ", max_size=400), st.lists(st.integers(1, 9), min_size=1))
def test_nothing_is_lost_however_the_words_arrive(text, steps):
    cutter, at, got, turn = Sentences(), 0, [], 0
    while at < len(text):
        step = steps[turn % len(steps)]
        got += cutter.feed(text[at : at + step])
        at, turn = at + step, turn + 1
    got += cutter.finish()
    assert "".join(got) == text
    assert all(got)
    assert all(len(piece) <= LONGEST_CHARACTERS for piece in got if "```" not in piece)


@given(st.text(max_size=1_000))
def test_any_text_at_all_can_be_cut(text):
    assert "".join(pieces(text)) == text


@for_every("part", [" ", "\n", "A. ", "word ", "etc. x, "])
def test_a_text_of_any_length_is_cut_in_time_that_grows_with_it(part: str) -> None:
    text = part * (100_000 // len(part))
    with done_within(processor_seconds=5):
        assert "".join(pieces(text)) == text
