"""A reply may not claim what was not done, and ordinary talk passes untouched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.agents.truth import NOT_DONE, Deeds, Truth, is_true

TIMER = Deeds(changed=("timers.start started a 10-minute timer",))

CLAIMS = """
I've set a timer for ten minutes.
I’ve set a timer for ten minutes.
I have added milk to your list.
I've added milk.
I've turned on the lights.
I've turned the kitchen lights off.
I just sent the email.
I set a timer for 10 minutes.
I added buy milk to your tasks.
I've gone ahead and cancelled your timer.
I have successfully started the timer.
I've made a note of that.
I've got it: I've set your alarm.
I have reminded her.
I'll remind you at five.
I will remind you to call mum.
I'll set a timer for you.
I'm setting a timer for ten minutes now.
I'm going to turn off the lights.
Let me set a timer for you.
Your timer is set.
Your timer is now set for ten minutes.
The timer has been set for 10 minutes.
Your timer has now been cancelled.
The lights are turned off.
The meeting has been scheduled.
Milk has been added to your shopping list.
It's been added to your list.
Timer set!
Timer set for 10 minutes.
Sure! Timer set for 10 minutes.
Reminder set.
Added milk to your tasks.
Two minutes added to your pizza timer.
2 minutes taken off your timer.
Okay, bread and milk added to your shopping list.
Eggs removed from the list.
10 minute timer cancelled.
Your 10 minute timer paused with 3 minutes left.
Setting a timer for ten minutes.
Sure, setting a timer for ten minutes...
Done!
Okay, done.
All set!
You're all set.
It's done.
Consider it done.
Noted.
The lights are off.
All the kitchen lights are now off.
Okay, the lights in the hall are on now.
The front door is locked.
Your garage is closed again.
The heating is on.
""".strip().splitlines()

ORDINARY = """
Paris is the capital of France.
You can set a timer by saying "set a timer".
Set the timer for ten minutes and put the dish in the oven.
Setting a timer helps you focus.
I can set a timer for you.
I can't set timers.
I haven't set a timer.
I have not added anything to your list.
Would you like me to set a timer?
Shall I add it to your list?
The novel is set in Paris.
The sun has set.
I have a suggestion.
I've been thinking about your question.
I have changed my mind.
I made a mistake.
If I've set a timer, it will ring.
The timer is set by turning the knob.
Once I have added it, you can see it.
Water was added to the soup.
Salt added to the water makes it boil later.
Bread can be added to your list.
People who were removed from the list complained.
He said "I've set the timer" and left.
I will explain.
I'll start with the basics.
I'll tell you a story.
I am happy to help.
I'm sorry, I can't do that.
The list of planets is long.
It is done by heating the water.
Einstein was called a genius.
The temperature is 20 degrees.
She added the notes to the file.
The event was moved to 1945.
No timers are running.
I don't know.
Done right, it tastes great.
The lights are off in the theatre when the play begins.
The museum is open on Sundays.
Dinner is done.
The stores are closed.
An alarm is on the wall of every school.
""".strip().splitlines()


@pytest.mark.parametrize("sentence", CLAIMS)
def test_a_claim_without_a_deed_is_untrue(sentence: str) -> None:
    assert not is_true(sentence, Deeds())


@pytest.mark.parametrize("sentence", ORDINARY)
def test_ordinary_talk_claims_nothing(sentence: str) -> None:
    assert is_true(sentence, Deeds())


@pytest.mark.parametrize(
    ("sentence", "deeds", "true"),
    [
        ("I've set a timer for ten minutes.", TIMER, True),
        ("Done!", TIMER, True),
        ("I've turned off the lights.", TIMER, False),
        ("I've set a timer and turned on the light.", TIMER, False),
        ("I've added milk to your list.", Deeds(changed=("tasks.add added the task milk",)), True),
        ("Your timer is set for ten minutes.", Deeds(read=("timers.left 9 minutes left",)), True),
        ("I've set your timer for ten minutes.", Deeds(read=("timers.left 9 minutes left",)), False),
        ("Your reminder is set.", Deeds(read=("timers.left 9 minutes left",)), False),
    ],
)
def test_a_deed_proves_what_it_did_and_nothing_else(sentence: str, deeds: Deeds, true: bool) -> None:
    assert is_true(sentence, deeds) is true


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("mark buy milk as done", "Buy milk is done."),
        ("put milk on the list", "Milk is put onto the list."),
        ("put milk on the list", "Sure, the milk is on your list."),
        ("cancel my dentist appointment", "Your dentist appointment is cancelled."),
    ],
)
def test_what_was_asked_for_is_not_so_because_it_is_said(asked: str, sentence: str) -> None:
    assert not is_true(sentence, Deeds(asked=asked))
    assert is_true(sentence, Deeds(changed=("lists.add tasks.done calendar.remove milk",), asked=asked))


def test_what_was_not_asked_for_may_be_done_or_on_a_list() -> None:
    assert is_true("Dinner is done.", Deeds(asked="tell me a story"))
    assert is_true("Rome is on the list of world heritage.", Deeds(asked="what about rome"))


def test_a_claim_waits_for_the_call_that_makes_it_true() -> None:
    truth = Truth()
    assert truth.feed("Sure. I've set a timer. Anything else? ", Deeds()) == "Sure. "
    assert truth.settle(TIMER) == "I've set a timer. Anything else? "


def test_an_empty_claim_is_replaced_once_by_what_is_true() -> None:
    truth = Truth()
    assert truth.feed("Okay. I've set a timer. I've also turned on the light. Sleep well.", Deeds()) == "Okay. "
    assert truth.settle(Deeds()) == f"{NOT_DONE} Sleep well."


def test_the_replacement_says_why_when_it_is_known() -> None:
    truth = Truth()
    truth.feed("I've set the timer.", Deeds())
    assert truth.settle(Deeds(failed="That is too long.")) == "I haven't done that: That is too long."


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_it_does_not_matter_how_the_text_is_cut(size: int) -> None:
    text = "Paris is in France. It is 3.5 times as big, e.g. as Lyon!\n\nI've set a timer. Is that all? Yes"
    truth = Truth()
    said = "".join(truth.feed(text[at : at + size], Deeds()) for at in range(0, len(text), size))
    assert said + truth.settle(Deeds()) == text.replace("I've set a timer.", NOT_DONE)


def test_a_sentence_that_never_ends_is_not_held_back_for_ever() -> None:
    truth, said = Truth(), ""
    for _ in range(5_000):
        said += truth.feed("and on ", Deeds())
    assert len(said) > 30_000
    assert said + truth.settle(Deeds()) == "and on " * 5_000


@given(st.lists(st.sampled_from(ORDINARY)), st.lists(st.integers(1, 9), min_size=1))
def test_ordinary_talk_comes_out_letter_by_letter(sentences: list[str], sizes: list[int]) -> None:
    text, truth, said, at = " ".join(sentences), Truth(), "", 0
    while at < len(text):
        size = sizes[at % len(sizes)]
        said, at = said + truth.feed(text[at : at + size], Deeds()), at + size
    assert said + truth.settle(Deeds()) == text
