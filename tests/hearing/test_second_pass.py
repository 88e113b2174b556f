"""What one recogniser is not sure of, a better one hears again; then only what both find likely is done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.conversation import Utterance
from atlas.hearing.automaton import graph_of
from atlas.hearing.ear import Ear, Sense, by_words
from atlas.hearing.nearest import Book
from atlas.hearing.search import Nets, Search
from atlas.speech.stt import SoundReading, Weight
from atlas.ways import Slot, SpokenWords, WaySeries, either
from tests.scripted_stt import ScriptedStt

COMMANDS = (
    *("turn on the kettle", "turn off the kettle", "turn on the petal", "cancel all timers", "what is the time"),
    *("share the timer", "it's too hot in here", "turn on the saddle"),  # commands, though no way says them
)
WAYS = [
    WaySeries((SpokenWords("turn"), either("on", "off"), SpokenWords("the"), Slot("name", "name"))),
    SpokenWords("cancel all timers"),
    SpokenWords("what is the time"),
]
LIKELY, UNLIKELY = -0.3, -8.0


class Heard:
    """One sound, as a recogniser has it that finds some texts likely and all others not."""

    def __init__(
        self,
        *readings: str,
        score: float = -0.7,
        likely: tuple[str, ...] = (),
        other: float = UNLIKELY,
        better: Heard | None = None,
    ):
        self.seconds, self.language = 1.0, "en"
        self.readings = [SoundReading(text, score - 0.01 * place) for place, text in enumerate(readings)]
        self._likely = {text.lower().strip(".?") for text in (*readings, *likely)}
        self._better, self._other = better, other
        self.asked_again = 0

    def weigh(self, texts):
        return [self._weight(text.lower().strip(".?"), len(text.split())) for text in texts]

    def _weight(self, text: str, words: int) -> Weight:
        return Weight((LIKELY if text in self._likely else self._other) * words, -4.0 * words, words)

    def believed(self):
        text, *others = (reading.text for reading in self.readings)
        return Utterance(text, self.seconds, tuple(others))

    def second_pass(self):
        self.asked_again += 1
        return self._better


def sense(text: str) -> Sense:
    plain = text.lower().strip(".?!")
    if plain == "yes":
        return Sense.OTHER
    if plain.startswith("don't"):
        return Sense.DENIED
    if plain.startswith("what"):
        return Sense.COMMAND if plain in COMMANDS else Sense.OPEN
    if plain == "turn on the cattle":
        return Sense.LOOSE
    return Sense.COMMAND if plain in COMMANDS else Sense.NOTHING


@pytest.fixture
def ear(sounds):
    ear = Ear(ScriptedStt(), sounds, sense)
    search = Search(Nets(graph_of(WAYS)), {"name": [("kettle", "kettle"), ("petal", "petal")]}, sounds)
    ear.books = [Book(search, by_words("en"), near=0.2, less_likely=2.0, ask_near=0.3, ask_less_likely=1.0)]
    return ear


@pytest.mark.parametrize("text", ["Turn on the kettle.", "Yes."])
def test_a_command_or_an_answer_that_was_heard_well_is_not_heard_again(ear, text):
    quick = Heard(text, score=-0.2, better=Heard("Turn off the kettle."))
    assert ear.judge(quick).text == text
    assert quick.asked_again == 0


def test_without_a_better_recogniser_everything_is_as_one_hears_it(ear):
    quick = Heard("The weather was fine.")
    assert ear.judge(quick) == Utterance("The weather was fine.", 1.0, doubtful=True)
    assert quick.asked_again == 1


def test_a_command_that_was_read_badly_and_that_both_find_likely_is_done(ear):
    heard = ear.judge(
        Heard("Cancer all tire.", likely=("Cancel all timers.",), better=Heard("Cancel all time.", likely=COMMANDS))
    )
    assert (heard.text, heard.possible, heard.doubtful) == ("Cancel all timers.", (), False)


def test_a_command_that_the_better_one_alone_finds_likely_is_asked_about(ear):
    heard = ear.judge(Heard("Go to the cattle.", better=Heard("Turn on the kettle.")))
    assert heard.text != "Turn on the kettle." or heard.doubtful or heard.possible


def test_two_that_are_as_likely_to_both_are_both_possible(ear):
    likely = ("Turn on the kettle.", "Turn on the petal.")
    heard = ear.judge(Heard("Turn on the settle.", likely=likely, better=Heard("Turn on the metal.", likely=likely)))
    assert {*likely} <= {heard.text, *heard.possible}
    assert heard.possible


def test_how_much_less_likely_each_command_was_than_what_was_read_is_known(ear):
    likely = ("Turn on the kettle.",)
    better = Heard("Turn on the metal.", likely=likely, other=LIKELY - 0.5)
    heard = ear.judge(Heard("Turn on the settle.", likely=likely, other=LIKELY - 0.5, better=better))
    margins = dict(heard.margins)
    assert margins["Turn on the kettle."] == pytest.approx(-0.7 - LIKELY)
    assert margins["Turn on the petal."] - margins["Turn on the kettle."] == pytest.approx(0.5)


def test_words_that_no_way_says_are_believed_where_both_read_them_first(ear):
    agreed = ear.judge(Heard("It's too hot in here.", better=Heard("It's too hot in here.")))
    alone = ear.judge(Heard("It's too hard to hear.", better=Heard("It's too hot in here.")))
    later = ear.judge(
        Heard("She had a timer.", "Share the timer.", better=Heard("She had a timer.", "Share the timer."))
    )
    assert (agreed.text, agreed.doubtful) == ("It's too hot in here.", False)
    assert alone.doubtful
    assert later.text == "She had a timer."


def test_a_denial_in_any_reading_of_either_forbids_what_is_near(ear):
    heard = ear.judge(Heard("Turn on the settle.", better=Heard("Turn on the kettle.", "Don't turn on the kettle.")))
    assert not heard.possible
    assert heard.doubtful


def test_a_question_has_the_words_that_both_read_however_they_are_written(ear):
    quick = Heard("What is to plus too?", "What is two plus two?")
    heard = ear.judge(
        Heard(*(one.text for one in quick.readings), better=Heard("What is Peru?", "What is two plus two?"))
    )
    assert heard.text == "What is two plus two?"


def test_nobody_is_asked_again_about_silence(ear):
    quick = Heard("Thank you.", better=Heard("Turn on the kettle."))
    quick.believed = lambda: Utterance("", 1.0)
    assert ear.judge(quick).text == ""
    assert quick.asked_again == 0


def test_a_name_that_may_be_any_word_is_asked_about_beside_one_that_is_here(ear):
    read, here = "Turn on the cattle.", "Turn on the kettle."
    heard = ear.judge(Heard(read, other=-2.5, better=Heard(read, other=-2.5)))
    assert {read, here} <= {heard.text, *heard.possible}
    assert heard.possible


def test_a_name_that_may_be_any_word_and_that_one_alone_read_is_asked_about_beside_one_that_is_here(ear):
    heard = ear.judge(
        Heard("Turn on the cattles.", other=-3.5, better=Heard("Turn on the cattle.", score=-0.6, other=-3.5))
    )
    assert "Turn on the kettle." in heard.possible


def test_a_name_that_may_be_any_word_is_asked_about_beside_a_command_that_was_read_too(ear):
    better = Heard("Turn on the cattle.", score=-0.6, other=-3.5)
    heard = ear.judge(Heard("Turn on the cattles.", "Turn on the saddle.", other=-3.5, better=better))
    assert "Turn on the saddle." in heard.possible


def test_what_lies_within_the_limits_of_a_book_that_asks_nothing_is_heard_in_doubt(ear):
    ear.books = [replace(ear.books[0], ask_near=0.0, ask_less_likely=0.0)]
    heard = ear.judge(
        Heard(
            "Cancel old tires.", score=LIKELY, other=-2.4, better=Heard("Cancel all tires.", score=LIKELY, other=-2.4)
        )
    )
    assert (heard.text, heard.doubtful) == ("Cancel all timers.", True)
