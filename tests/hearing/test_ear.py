"""Whoever listens with a house's own sentences in mind hears more, and never makes a command of what is none."""

from __future__ import annotations

import pytest

from atlas.conversation import Utterance
from atlas.hearing.automaton import graph_of
from atlas.hearing.ear import Ear, Sense, by_words
from atlas.hearing.nearest import Book
from atlas.hearing.search import Nets, Search
from atlas.speech.stt import SoundReading, UnweighedHearing, Weight
from atlas.ways import Slot, SpokenWords, WaySeries, either
from tests.conftest import for_every
from tests.scripted_stt import ScriptedStt
from tests.scripted_vad import voice

COMMANDS = (
    *("turn on the kettle", "turn off the kettle", "turn on the petal", "cancel all timers", "start the party"),
    "turn on the cattle",  # of a thing that there is not
)
WAYS = [
    WaySeries((SpokenWords("turn"), either("on", "off"), SpokenWords("the"), Slot("name", "name"))),
    SpokenWords("cancel all timers"),
    SpokenWords("start the party"),
]


def sense(text: str) -> Sense:
    plain = text.lower().strip(".?!")
    if plain.startswith("don't"):
        return Sense.DENIED
    if plain == "yes":
        return Sense.OTHER
    if plain.startswith("can't"):
        return Sense.NEGATED
    return Sense.COMMAND if plain in COMMANDS else Sense.NOTHING


@pytest.fixture
def ear_for(sounds):
    def ear(text: str, *alternatives: str) -> Ear:
        ear = Ear(ScriptedStt([text], alternatives=alternatives), sounds, sense)
        ear.books = [
            Book(
                Search(Nets(graph_of(WAYS)), {"name": [("kettle", "kettle"), ("petal", "petal")]}, sounds),
                by_words("en"),
                near=0.2,
                less_likely=2.0,
                ask_near=0.3,
                ask_less_likely=1.0,
            )
        ]
        return ear

    return ear


async def test_what_means_nothing_but_sounds_like_a_command_is_heard_as_it(ear_for):
    heard = await ear_for("Cancel all tires.").transcribe(voice(1.0))
    assert heard.text == "Cancel all timers."
    assert heard.alternatives == ("Cancel all tires.",)


@for_every(
    "text",
    [
        "Turn on the kettle.",
        "Yes.",
        "Don't cancel all tires.",
        "Where did you put the cattle?",
        "Start.",
        "The party was nice.",
    ],
)
async def test_commands_answers_denials_and_talk_stay_what_they_are(ear_for, text):
    assert (await ear_for(text).transcribe(voice(1.0))).text == text


async def test_a_denial_in_any_reading_is_enough_to_leave_it_all(ear_for):
    heard = await ear_for("Cancel all tires.", "Don't cancel all tires.").transcribe(voice(1.0))
    assert heard.text == "Cancel all tires."


async def test_of_what_can_be_said_no_worse_reading_is_read(sounds):
    read: list[str] = []

    def noted(text: str) -> Sense:
        read.append(text)
        return sense(text)

    ear = Ear(ScriptedStt(["Cancel all timers."], alternatives=["Cancel all tires."]), sounds, noted)
    ear.books = [Book(Search(Nets(graph_of(WAYS[1:])), {}, sounds), by_words("en"), near=0.2, less_likely=2.0)]
    assert (await ear.transcribe(voice(1.0))).text == "Cancel all timers."
    assert read == ["Cancel all timers."]


async def test_without_a_book_words_are_as_they_were_read(sounds):
    ear = Ear(ScriptedStt(["Cancel all tires."]), sounds, sense)
    assert (await ear.transcribe(voice(1.0))).text == "Cancel all tires."


async def test_several_readings_help_each_other(ear_for):
    heard = await ear_for("Third of the cattle.", "Turn off the kennel.").transcribe(voice(1.0))
    assert heard.text == "Turn off the kettle."


async def test_a_command_with_a_word_that_nothing_here_has_may_be_another(ear_for):
    heard = await ear_for("Turn on the cattle.").transcribe(voice(1.0))
    assert heard.text == "Turn on the kettle."


async def test_two_that_are_as_likely_are_both_possible(ear_for):
    heard = await ear_for("Turn on the settle.").transcribe(voice(1.0))
    assert {"Turn on the kettle.", "Turn on the petal."} <= {heard.text, *heard.possible}


@pytest.mark.parametrize("text", ["Cattle are dinners.", "Can't sell all tires."])
async def test_what_lies_farther_or_says_not_is_only_possible(ear_for, text):
    heard = await ear_for(text).transcribe(voice(1.0))
    assert (heard.text, heard.possible) == (text, ("Cancel all timers.",))


@pytest.mark.parametrize(
    ("read", "score", "doubtful"),
    [
        ("The party was nice.", -0.2, False),
        ("The party was nice.", -0.7, True),  # none of what can be said, and badly read
        ("Turn on the kettle.", -0.7, False),
        ("Turn on the kennel.", -0.2, False),
        ("Turn on the channel.", -0.7, True),  # near enough to be that, and not near enough to be sure
    ],
)
async def test_what_was_hardly_heard_is_in_doubt(ear_for, read, score, doubtful):
    heard = ear_for(read).judge(Unsure(read, score))
    assert heard.doubtful is doubtful


class Unsure(UnweighedHearing):
    """One reading of that score, on a sound on which any other text is as likely as it may be at all."""

    def __init__(self, text, score):
        super().__init__(Utterance(text, 1.0))
        self.readings = (SoundReading(text, score),)

    def weigh(self, texts):
        return [Weight(-2.0 * len(text.split()), -9.0 * len(text.split()), len(text.split())) for text in texts]


class Unbelieved(UnweighedHearing):
    """Words that are too unlikely for the recogniser to stand by."""

    def believed(self) -> Utterance:
        return Utterance("", self.seconds)


@pytest.mark.parametrize(
    ("read", "heard"),
    [("Cancel all tires.", "Cancel all timers."), ("Thank you.", ""), ("You", ""), ("I'm going to go.", "")],
)
def test_words_that_nobody_believes_count_when_they_lie_near_a_command(ear_for, read, heard):
    assert ear_for("").judge(Unbelieved(Utterance(read, 1.0))).text == heard


# ── while a question of the house is open ──────────────────────────────────────────────────────────

ANSWERS = ("ten minutes", "an hour", "an hour and a half", "the party", "sour timer")


def answers(text: str) -> bool:
    """As a reader has it: what has a length in it, or an own word, answers how long and what for."""
    return any(one in text.lower() for one in ANSWERS)


@pytest.fixture
def asking_ear_for(ear_for, sounds):
    def ear(*readings: str) -> Ear:
        ear = ear_for(*readings)
        ways = either("ten minutes", "an hour", "an hour and a half", "the kettle")
        ear.answer_book = Book(Search(Nets(graph_of([ways])), {}, sounds), by_words("en"), near=0.2, less_likely=2.0)
        return ear

    return ear


@for_every(
    ("read", "heard"),
    [
        ("Ten minutes.", "Ten minutes."),
        ("Tin minutes.", "Ten minutes."),
        ("An hour in the half.", "An hour and a half."),  # which has an hour in it
        ("The party of my brother.", "The party of my brother."),  # in words that nobody could foresee
        ("Sour timers.", "Sour timers."),  # near to "cancel all timers"
        ("Turn on the kettle.", "Turn on the kettle."),
        ("Turn on the cattle.", "Turn on the kettle."),
        ("Cancel all tires.", "Cancel all timers."),
        ("Don't do it.", "Don't do it."),
        ("The weather was nice.", "The weather was nice."),
    ],
)
async def test_what_answers_a_question_goes_first_and_a_new_command_stays_one(asking_ear_for, read, heard):
    ear = asking_ear_for(read)
    assert (await ear.transcribe(voice(1.0), ear.answering(answers))).text == heard


async def test_an_answer_brings_no_other_reading_that_could_be_taken_for_a_command(asking_ear_for):
    ear = asking_ear_for("Ten minutes.", "Turn on the kettle.")
    heard = await ear.transcribe(voice(1.0), ear.answering(answers))
    assert (heard.text, heard.alternatives, heard.possible) == ("Ten minutes.", (), ())


async def test_behind_a_dont_in_any_reading_no_answer_is_guessed_at(asking_ear_for):
    ear = asking_ear_for("Tin minutes.", "Don't ten minutes.")
    assert (await ear.transcribe(voice(1.0), ear.answering(answers))).text == "Tin minutes."
