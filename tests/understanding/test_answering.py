"""Which questions are answered by what somebody told, and which only share words with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.agents.facts import RememberedFact
from atlas.understanding.answering import LONGEST_CHARACTERS, MOST_FACTS, Answering
from atlas.understanding.grammar import Grammar
from atlas_bench.commands import corpus
from tests.conftest import for_every

TOLD = [
    "Bin day is Thursday",
    "The plumber's number is 555 1234",
    "The passport is in the top drawer",
    "We keep the spare key under the mat",
    "My favourite colour is blue",
    "Anna's favourite food is sushi",
    "Anna is allergic to nuts",
    "Mario is our dentist",
    "The gardener is Lee",
    "Zoe is my sister",
    "The wifi password is hunter2",
    "Anna's birthday is on the 3rd of May",
    "Ben likes music",
    "Ben is seven years old",
    "School starts at eight",
    "We have two cats",
    "The rent is 900 euros",
    "Grandma doesn't eat eggs",
    "My car is red",
    "I parked on level 3",
    "Boiler code: 4711",
    "The dog is called Rex",
    "The heating is broken",
    "The sky room is painted blue",
    "The capital of our club is 900 euros",
    "Mum works at the bank on Mondays",
    "The train to Berlin leaves at nine",
]


@pytest.fixture(scope="module")
def answering(grammar: Grammar) -> Answering:
    return Answering(grammar.tables)


def told(answering: Answering, question: str, facts: Sequence[str] = TOLD) -> list[str]:
    fact_question = answering.question(question)
    return [fact.text for fact in answering.answers(fact_question, map(RememberedFact, facts))] if fact_question else []


@for_every(
    ("question", "fact"),
    [
        ("When is bin day?", "Bin day is Thursday"),
        ("when's bin day", "Bin day is Thursday"),
        ("Hey, what day is bin day?", "Bin day is Thursday"),
        ("When do the bins go out?", "Bin day is Thursday"),
        ("Is bin day on Friday?", "Bin day is Thursday"),
        ("is bin day tomorrow", "Bin day is Thursday"),
        ("What's the plumber’s number?", "The plumber's number is 555 1234"),
        ("what was the plumber's phone number again", "The plumber's number is 555 1234"),
        ("Do you have the number of the plumber?", "The plumber's number is 555 1234"),
        ("what did I say the plumber's number was", "The plumber's number is 555 1234"),
        ("Where did I put the passport?", "The passport is in the top drawer"),
        ("I forgot where my passport is.", "The passport is in the top drawer"),
        ("can you remind me where we keep the spare key", "We keep the spare key under the mat"),
        ("where did I park", "I parked on level 3"),
        ("tell me our Wi-Fi password", "The wifi password is hunter2"),
        ("what's my favourite colour", "My favourite colour is blue"),
        ("what's Anna's favourite food", "Anna's favourite food is sushi"),
        ("what is Anna allergic to", "Anna is allergic to nuts"),
        ("is Anna allergic to nuts?", "Anna is allergic to nuts"),
        ("who is allergic to nuts", "Anna is allergic to nuts"),
        ("who's our dentist", "Mario is our dentist"),
        ("who is the gardener", "The gardener is Lee"),
        ("who is Zoe", "Zoe is my sister"),
        ("when is Anna's birthday", "Anna's birthday is on the 3rd of May"),
        ("what does Ben like", "Ben likes music"),
        ("how old is Ben", "Ben is seven years old"),
        ("when does school start", "School starts at eight"),
        ("how many cats do we have", "We have two cats"),
        ("how much is the rent", "The rent is 900 euros"),
        ("does grandma eat eggs", "Grandma doesn't eat eggs"),
        ("what's the boiler code", "Boiler code: 4711"),
        ("what's the dog's name", "The dog is called Rex"),
        ("is the heating broken", "The heating is broken"),
    ],
)
def test_a_question_is_answered_by_the_one_fact_that_says_it(answering: Answering, question: str, fact: str) -> None:
    assert told(answering, question) == [fact]


@for_every(
    "question",
    [
        # about the world
        "why is the sky blue",
        "is the sky blue",
        "what colour is the sky",
        "what is the capital of France",
        "what is a passport",
        "where do I get a passport",
        "how do I renew my passport",
        "how do bins work",
        "what are cars",
        "what is school",
        "what is music",
        "who is the president",
        "who invented the dog",
        "when was the war",
        "how many cats are there in the world",
        "are cats allergic to nuts",
        "do dogs eat eggs",
        "how much is a car",
        "when is Christmas",
        "what should I do with the passport",
        "where is Berlin",
        "tell me a joke",
        "tell me about music",
        # about another thing, or another's
        "when is my birthday",
        "what is the plumber's address",
        "what is the dentist's number",
        "who is the plumber",
        "what's Ben's favourite food",
        "is Ben allergic to nuts",
        "is Anna allergic to milk",
        "where is the bank",
        "what is the key",
        "is my car in the garage",
        "where is my car",
        "what does Anna like",
        "when does the train to Hamburg leave",
        # about something else than was told
        "where is school",
        "when is the rent due",
        "how old is Anna",
        # about what was said before, or Atlas itself
        "when is her birthday",
        "what is your favourite colour",
        "are you allergic to nuts",
        "where did I put it",
        # no questions
        "bin day is Thursday",
        "the passport is in the drawer",
        "my passport is gone",
        "bin day",
        "who",
        "tell me",
        "",
        "when is bin day " * LONGEST_CHARACTERS,
    ],
)
def test_a_fact_that_only_shares_words_answers_nothing(answering: Answering, question: str) -> None:
    assert told(answering, question) == []


def test_nothing_that_people_say_around_a_house_is_taken_for_a_question_about_these_facts(
    answering: Answering,
) -> None:
    """Of all the sentences that may do nothing, written by people who knew of no facts, none meets one by chance."""
    texts = [row.sentence for row in corpus("en") if not row.wanted]
    assert len(texts) > 500
    assert {one: facts for one in texts if (facts := told(answering, one))} == {}


def test_what_was_told_twice_is_said_twice_and_the_latest_last(answering: Answering) -> None:
    moved = [f"The passport is in drawer {number}" for number in range(5)]
    assert told(answering, "where is the passport", moved) == moved[-MOST_FACTS:]


def test_lines_that_say_nothing_of_anything_are_passed_over(answering: Answering) -> None:
    assert told(answering, "what is the plumber's number", ["", "plumber", "it is the plumber's number", ": 5"]) == []


@given(question=st.text(max_size=80), fact=st.text(max_size=80))
def test_any_words_can_be_asked_and_told(answering: Answering, question: str, fact: str) -> None:
    assert (
        told(answering, f"what is the {question}", [fact, f"the {question} is {fact}", f"{question}: {fact}"])
        is not None
    )
