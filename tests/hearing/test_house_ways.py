"""What can be said to a house, laid on what was heard of it, in every language that has ways."""

from __future__ import annotations

from functools import cache

from atlas.hearing.house_ear import ESPEAK_VOICES, HouseBook
from atlas.hearing.nearest import Book
from atlas.hearing.search import Search
from atlas.hearing.sounds import NUMBER_OF, Sounds
from atlas.understanding import english_ways, german_ways
from atlas.understanding.grammar import open_grammar
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from tests.conftest import for_every, sample

HOUSES = {
    "en": Names((NamedDevice("kitchen light", "light", "kitchen"),), (NamedPlace("kitchen"),)),
    "de": Names(
        (NamedDevice("Küchenlicht", "light", "Küche"), NamedDevice("Stehlampe", "light", "Flur")),
        (NamedPlace("Küche"), NamedPlace("Flur")),
    ),
}


LANGUAGES = sample(ESPEAK_VOICES)  # the ways of a language take 2.5 s to be written


@cache
def house_book(language: str) -> tuple[Sounds, HouseBook]:
    sounds = Sounds(ESPEAK_VOICES[language])
    return sounds, HouseBook(language, open_grammar(language).tables, sounds)


def in_languages(*rows: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Of these rows, those in the languages that are tried: one is enough for ./check --quick."""
    return [row for row in rows if row[0] in LANGUAGES]


@cache
def book(language: str) -> tuple[Sounds, Search]:
    sounds, of_houses = house_book(language)
    search = of_houses.of(HOUSES[language]).search
    assert isinstance(search, Search)
    return sounds, search


@cache
def answers_of(language: str) -> Book:
    return house_book(language)[1].answers_of(HOUSES[language])


@for_every(
    ("language", "heard", "meant"),
    in_languages(
        ("en", "at 40 minutes to the timer", "add 40 minutes to the timer"),
        ("en", "said a timer for an our and 50 minutes", "set a timer for an hour and 50 minutes"),
        ("de", "Stelle einen Teimer auf 10 Minuten", "stelle einen Timer auf 10 Minuten"),
        ("de", "Schalte die Stelampe aus", "schalte die Stehlampe aus"),
        ("de", "Wegg mich um halb 8", "weck mich um halb 8"),
        ("de", "Stell einen Wecker auf 7 Uhr 30", "stell einen Wecker auf 7 Uhr 30"),
        ("de", "Verlängere den Teimer um eine halbe Stunde", "verlängere den Timer um eine halbe Stunde"),
        ("de", "Mach das Küchen licht an", "mach das Küchenlicht an"),
    ),
)
def test_what_was_misread_lies_nearest_to_what_was_said(language: str, heard: str, meant: str) -> None:
    sounds, search = book(language)
    best, *_ = search.nearest(sounds.of(heard), 5, 1.5)
    assert best.text == meant


@for_every(
    ("language", "answer"),
    in_languages(
        ("en", "in the kitchen"),
        ("en", "the kitchen light"),
        ("de", "in der Küche"),
        ("de", "im Flur"),
        ("de", "die Stehlampe"),
        ("de", "das Küchenlicht"),
    ),
)
def test_a_thing_or_a_place_is_answered_with_the_articles_of_its_language(language: str, answer: str) -> None:
    assert answers_of(language).says(answer)


@for_every("language", LANGUAGES)
def test_every_word_of_a_language_has_sounds_that_are_known(language: str) -> None:
    sounds, search = book(language)
    strange = {word for word in search.words if NUMBER_OF["?"] in sounds.of(word)}
    assert strange == set()


def test_numbers_are_spoken_as_people_say_them() -> None:
    assert [english_ways.numbers(number, number)[0][0] for number in (0, 13, 21, 100)] == [
        *("zero", "thirteen", "twenty one", "a hundred")
    ]
    assert [german_ways.numbers(number, number)[0][0] for number in (0, 13, 17, 21, 30, 66, 100)] == [
        *("null", "dreizehn", "siebzehn", "einundzwanzig", "dreißig", "sechsundsechzig", "hundert")
    ]
