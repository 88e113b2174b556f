"""A reply may not claim what was not done, and ordinary talk passes untouched."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.agents.truth import Deeds, Truth, correction, is_true
from atlas.conversation import Receipt, ToolCall, ToolResult
from tests.agents.conftest import NOT_DONE, NOT_KNOWN

from .conftest import labelled

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
        ("Your timer is set for nine minutes.", Deeds(read=("timers.left 9 minutes left",)), True),
        ("Your timer is set for ten minutes.", Deeds(read=("timers.left 9 minutes left",)), False),
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
    assert is_true(sentence, Deeds(changed=("lists.add tasks.done calendar.remove milk dentist",), asked=asked))


def test_what_was_not_asked_for_may_be_done_or_on_a_list() -> None:
    assert is_true("Dinner is done.", Deeds(asked="tell me a story"))
    assert is_true("Rome is on the list of world heritage.", Deeds(asked="what about rome"))


def deeds(*done: tuple[str, dict[str, object], str], asked: str = "") -> Deeds:
    """What a turn did: tool, arguments, what the tool said; a read when it says so with a leading question mark."""
    made = Deeds(asked=asked)
    for tool, arguments, said in done:
        call = ToolCall("c", tool, arguments)
        if said.startswith("?"):
            made = made.looked_up(call, ToolResult("c", True, said[1:]))
        else:
            made = made.done(call, ToolResult("c", True, said, receipt=Receipt("r", said)))
    return made


EGG = ("timers.start", {"seconds": 600, "name": "egg"}, "Egg timer set for 10 minutes.")
HALL_OFF = ("home.turn", {"on": False, "device": "hall lamp"}, "The hall lamp is off.")
MILK = ("lists.add", {"items": ["milk"]}, "Added milk to the shopping list.")


@pytest.mark.parametrize(
    ("sentence", "done", "true"),
    [
        ("I've set the egg timer for ten minutes.", (EGG,), True),
        ("Your ten-minute egg timer is running.", (EGG,), True),
        ("I've set a timer for 600 seconds.", (EGG,), True),
        ("I've set the pasta timer for ten minutes.", (EGG,), False),
        ("I've set the egg timer for twelve minutes.", (EGG,), False),
        ("I've cancelled the egg timer.", (EGG,), False),
        ("I've set an alarm for ten.", (EGG,), False),
        ("I've set the egg timer and sent Anna a message.", (EGG,), False),
        ("I've set both timers.", (EGG,), False),
        ("I've turned off the hall lamp.", (HALL_OFF,), True),
        ("The hall light is off now.", (HALL_OFF,), True),
        ("I've turned on the hall lamp.", (HALL_OFF,), False),
        ("The hall lamp is on.", (HALL_OFF,), False),
        ("I've turned off the kitchen lights.", (HALL_OFF,), False),
        ("I've turned off all the lights.", (HALL_OFF,), False),
        ("I've turned off the lamp in the bedroom.", (HALL_OFF,), False),
        ("I've added milk to your shopping list.", (MILK,), True),
        ("Milk is on your list.", (MILK,), True),
        ("I've added milk and eggs to your shopping list.", (MILK,), False),
        ("I've removed milk from your shopping list.", (MILK,), False),
        ("I've told Ben about the milk.", (MILK,), False),
        ("Done!", (MILK,), True),
        ("I've added milk and set the egg timer.", (MILK, EGG), True),
        ("The front door is locked.", (("home.state", {"device": "front door"}, "?The front door is locked."),), True),
        (
            "The front door is locked.",
            (("home.state", {"device": "front door"}, "?The front door is unlocked."),),
            False,
        ),
        (
            "I've locked the front door.",
            (("home.state", {"device": "front door"}, "?The front door is locked."),),
            False,
        ),
    ],
)
def test_a_claim_of_more_or_of_another_thing_than_was_done_is_untrue(
    sentence: str, done: tuple[tuple[str, dict[str, object], str], ...], true: bool
) -> None:
    assert is_true(sentence, deeds(*done)) is true


def test_what_was_really_done_is_said_in_the_place_of_a_claim_of_more() -> None:
    truth = Truth()
    done = deeds(MILK)
    assert truth.feed("I've added milk and eggs to your list. Anything else?", done) == ""
    assert truth.settle(done) == f"This is what I did: {MILK[2]} Anything else?"


def test_what_was_found_is_said_in_the_place_of_a_claim_that_it_is_otherwise() -> None:
    truth = Truth()
    found = deeds(("home.state", {}, "?The front door is unlocked."))
    truth.feed("The front door is locked. ", found)
    assert truth.settle(found) == "This is what I found: The front door is unlocked. "


# ── how often is a claim believed that has nothing behind it? ──────────────────────────────────────

MOST_WITHHELD = 0.02  # of what claims nothing; now 0.8 %


@pytest.mark.parametrize("name", ["replies", "devious", "heldout"])
def test_nobody_is_left_to_believe_what_was_not_done(name: str) -> None:
    """Each sentence is a whole reply: it is withheld, or what is true is added. The false-success rate is 0."""
    claims = labelled(name, "claim")
    assert claims
    believed = [
        (asked, said)
        for asked, said in claims
        if is_true(said, Deeds(asked=asked)) and not correction(said, Deeds(asked=asked))
    ]
    assert believed == []


def test_sentences_that_claim_nothing_are_let_through() -> None:
    harmless = [*labelled("replies", "harmless"), *labelled("ordinary", "harmless")]
    withheld = [(asked, said) for asked, said in harmless if not is_true(said, Deeds(asked=asked))]
    assert len(harmless) > 500
    assert len(withheld) <= MOST_WITHHELD * len(harmless), withheld


def test_ordinary_answers_are_not_corrected() -> None:
    ordinary = labelled("ordinary", "harmless")
    corrected = [(asked, said) for asked, said in ordinary if correction(said, Deeds(asked=asked))]
    assert len(corrected) <= MOST_WITHHELD * len(ordinary), corrected


def test_every_deed_that_is_wanted_and_not_done_is_owned_up_to() -> None:
    silent = [asked for asked, said in labelled("deeds", "deed") if correction(said, Deeds(asked=asked)) != NOT_DONE]
    assert silent == []


@pytest.mark.timeout(10)
@pytest.mark.parametrize("words", ["could you to ", "to so and ", "did it you ", "mark my list to so "])
def test_no_request_takes_long_to_understand(words: str) -> None:
    assert not correction("I can't do that.", Deeds(asked=words * 1_000))
    assert is_true("Yes.", Deeds(asked=words * 1_000))


@pytest.mark.timeout(10)
def test_a_long_answer_to_a_request_with_a_book_in_it_is_judged_in_no_time() -> None:
    truth, wanted = Truth(), Deeds(asked="please sum up this story about a light and a door: " * 4_000)
    said = "It was dark in the first act. " * 200
    assert truth.feed(said, wanted) + truth.settle(wanted) == said


def test_a_wanted_letter_may_say_what_it_is_about_and_not_that_it_was_sent() -> None:
    wanted = Deeds(asked="write an e-mail to Ben that I've cancelled the appointment")
    assert is_true("Hi Ben, I've cancelled the appointment.", wanted)
    assert not is_true("I've sent the e-mail.", wanted)
    assert not is_true("I've turned on the lights.", wanted)


@pytest.mark.parametrize(
    ("asked", "said", "added"),
    [
        ("wake me at seven", "I'll nudge you then.", NOT_DONE),
        ("please turn off the lights", "Darkness it is.", NOT_DONE),
        ("turn off the lights", "I can't do that.", ""),
        ("turn off the lights", "Which lights?", ""),
        ("tell me a joke", "Knock, knock.", ""),
        ("write a poem about the sea", "The waves are high.", ""),
        ("did you lock the door", "Sure did.", NOT_KNOWN),
        ("is Paris in France", "Yes.", ""),
        ("who wrote Hamlet", "Shakespeare.", ""),
    ],
)
def test_who_asked_for_a_deed_hears_that_there_was_none(asked: str, said: str, added: str) -> None:
    assert correction(said, Deeds(asked=asked)) == added


def test_who_got_the_deed_hears_nothing_more() -> None:
    assert correction("Sleep well.", deeds(HALL_OFF, asked="turn off the hall lamp")) == ""
    failed = Deeds(asked="turn off the hall lamp", failed="The lamp does not answer.")
    assert correction("Sleep well.", failed) == "I haven't done that: The lamp does not answer."


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


def test_no_language_is_read_before_one_is_opened() -> None:
    watch = "sys.addaudithook(lambda event, told: event == 'open' and 'honesty' in str(told[0]) and print(told[0]))"
    script = f"import sys; {watch}; import atlas.agents.prompt, atlas.agents.reply, atlas.agents.truth"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == ""
