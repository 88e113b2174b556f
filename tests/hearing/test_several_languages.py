"""A house of two languages hears each in its own; where it is not sure which was spoken, both are read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from atlas.conversation import Utterance
from atlas.hearing.ear import Ear, Sense
from atlas.hearing.several_languages import EarOfLanguages
from atlas.hearing.sounds import Sounds
from atlas.speech.stt import Hearing, SoundReading, UnweighedHearing
from tests.scripted_stt import ScriptedStt

COMMANDS = {"en": {"pause", "play music", "timer status"}, "de": {"pause", "spiel musik", "timer status"}}


class Heard(UnweighedHearing):
    """A sound that is words in one language, and others in another."""

    def __init__(self, text: str, language: str, score: float = -0.3, others: Sequence[Hearing] = ()) -> None:
        super().__init__(Utterance(text, 1.0, language=language))
        self.readings = (SoundReading(text, score),)
        self._others = others

    def in_other_languages(self) -> Sequence[Hearing]:
        return self._others


@pytest.fixture
def ear() -> EarOfLanguages:
    def of(language: str) -> Ear:
        def sense(text: str) -> Sense:
            return Sense.COMMAND if text.lower().strip(" .") in COMMANDS[language] else Sense.NOTHING

        return Ear(stt, Sounds("en-us"), sense)

    stt = ScriptedStt([])
    return EarOfLanguages(stt, {"en": of("en"), "de": of("de")})


def test_what_is_surely_of_one_language_is_read_in_it(ear: EarOfLanguages) -> None:
    heard = ear.judge(Heard("Spiel Musik.", "de"))
    assert (heard.text, heard.language) == ("Spiel Musik.", "de")


def test_the_language_in_which_it_is_a_command_wins(ear: EarOfLanguages) -> None:
    german = Heard("Spiel Musik.", "de", -0.6)
    heard = ear.judge(Heard("Shpeel music.", "en", -0.3, [german]))
    assert (heard.text, heard.language) == ("Spiel Musik.", "de")


def test_of_two_that_are_none_the_one_that_was_read_better_wins(ear: EarOfLanguages) -> None:
    german = Heard("Guten Abend.", "de", -0.2)
    assert ear.judge(Heard("Gooten arbend.", "en", -0.9, [german])).language == "de"


def test_what_is_said_alike_in_both_is_left_open(ear: EarOfLanguages) -> None:
    heard = ear.judge(Heard("Timer Status.", "en", -0.3, [Heard("Timer Status", "de", -0.4)]))
    assert (heard.text, heard.language) == ("Timer Status.", "")


def test_a_language_that_is_not_of_the_house_is_read_in_the_usual_one(ear: EarOfLanguages) -> None:
    assert ear.judge(Heard("Pause.", "fr")).language == "en"
