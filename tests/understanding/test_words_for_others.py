"""Words that somebody else is to hear: for whom they are, what of a sentence they are, and what passes nothing on."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from atlas.understanding.grammar import open_grammar
from atlas.understanding.names import NamedPlace, Names
from atlas.understanding.words_for_others import WordsForOthers
from tests.understanding.talking import NAMES, Talk

HERE = Names(
    people=("Petra", "Oskar", "Lucy"),
    rooms=(NamedPlace("Kitchen"), NamedPlace("Boys' Room"), NamedPlace("Werkstatt")),
    called=(("Nana", "Petra"),),
)


@cache
def words(language: str) -> WordsForOthers:
    return WordsForOthers(open_grammar(language).tables["words_for_others"])


@pytest.mark.parametrize(
    ("language", "text", "people", "heard"),
    [
        ("en", "tell Oskar we're out of bread", "Oskar", "we're out of bread"),
        ("en", "could you tell Oskar to fetch the parcel on his way please", "Oskar", "fetch the parcel on your way"),
        ("en", "and let Lucy know she's riding with Nana", "Lucy", "she's riding with Nana"),
        ("en", "let Lucy know she's riding home with me", "Lucy", "you're riding home with me"),
        ("en", "tell Oskar she's riding home with me", "Oskar", "she's riding home with me"),
        ("en", "ask Petra if she could stay till nine", "Petra", "Could you stay till nine?"),
        ("en", "ask Nana whether she's got the tickets", "Petra", "Have you got the tickets?"),
        ("en", "ask Oskar what time he'll be back", "Oskar", "What time will you be back?"),
        ("en", "Tea, everybody! Atlas, tell Lucy tea's on the table", "Lucy", "tea's on the table"),
        ("en", "tell Lucy and Oskar the taxi's outside", "Lucy Oskar", "the taxi's outside"),
        ("en", "tell Lucy to come down, she's got her headphones on", "Lucy", "come down"),
        ("en", "tell Mum the plumber rang", "Mum", "the plumber rang"),
        ("de", "Sag dem Oskar, er soll die Leiter holen", "Oskar", "du sollst die Leiter holen"),
        ("de", "Kannst du Petra sagen, dass ich später komme?", "Petra", "ich komme später"),
        ("de", "Gib Lucy Bescheid, dass das Taxi da ist", "Lucy", "das Taxi ist da"),
        ("de", "Schick der Petra eine Nachricht, der Zug hat Verspätung", "Petra", "der Zug hat Verspätung"),
        ("de", "Frag den Oskar, ob er Kuchen mitbringt", "Oskar", "Ob du Kuchen mitbringst?"),
        ("de", "Sag dem Oskar, sein Paket liegt in der Diele", "Oskar", "dein Paket liegt in der Diele"),
        ("de", "Oskar soll den Müll rausbringen, sag ihm das bitte", "Oskar", "du sollst den Müll rausbringen"),
        ("de", "Sag Mama, ich bin bei Luca", "Mama", "ich bin bei Luca"),
    ],
)
def test_words_are_said_to_the_person_themselves(language: str, text: str, people: str, heard: str) -> None:
    passed_on = words(language).read(text, HERE)
    assert passed_on is not None, text
    assert (passed_on.people, passed_on.text) == (tuple(people.split()), heard)


def test_what_may_be_about_another_who_was_spoken_of_stays_as_it_was_said() -> None:
    passed_on = words("en").read("tell Lucy she's late", HERE, others=True)
    assert passed_on is not None
    assert passed_on.text == "she's late"


@pytest.mark.parametrize(
    ("language", "text", "room"),
    [
        ("en", "tell Lucy to hurry, she's in the kitchen", "Kitchen"),
        ("en", "tell the boys the film's starting", "Boys' Room"),
        ("de", "Sag Oskar, das Essen ist fertig, er sitzt in der Werkstatt", "Werkstatt"),
    ],
)
def test_who_is_in_a_room_that_is_named_or_has_one_is_told_there(language: str, text: str, room: str) -> None:
    passed_on = words(language).read(text, HERE)
    assert passed_on is not None
    assert passed_on.room == room


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I told Oskar he could stay up"),
        ("en", "did you tell Oskar about the parcel"),
        ("en", "don't tell Lucy about the cake"),
        ("en", "tell Lucy a story"),
        ("en", "tell Oskar nothing"),
        ("en", "tell Lucy's teacher she's ill"),
        ("en", "tell Lucy when the timer goes off"),
        ("en", "tell me about Oskar"),
        ("en", "ask Gandalf if he's coming"),
        ("de", "Ich hab Oskar gesagt, er soll kommen"),
        ("de", "Sag Oskar nichts"),
        ("de", "Sag mal, Oskar kommt doch heute"),
        ("de", "Sag Lucy Bescheid, wenn der Timer klingelt"),
        ("de", "Sag mir, wo Oskar ist"),
        ("de", "Frag nicht so blöd, Lucy"),
        ("de", "Frag doch mal den Oskar, ob er mitspielen will"),
    ],
)
def test_what_only_speaks_of_somebody_passes_nothing_on(language: str, text: str) -> None:
    assert words(language).read(text, HERE) is None


def talk(language: str) -> Talk:
    return Talk(open_grammar(language), names=replace(NAMES, people=HERE.people, called=HERE.called))


@pytest.mark.parametrize(
    ("language", "turns", "last"),
    [
        (
            "en",
            ["tell Oskar dinner's at seven", "and can he bring some ice"],
            [("broadcast.say", {"text": "can you bring some ice?", "person": "Oskar"})],
        ),
        (
            "en",
            ["message Oskar I'm ten minutes late", "no, not ten, twenty"],
            [("history.undo", {}), ("messages.leave", {"text": "I'm twenty minutes late", "person": "Oskar"})],
        ),
        (
            "en",
            ["has anyone told Lucy the pool's shut", "tell her that, and that Nana's here"],
            [("broadcast.say", {"text": "the pool's shut, Nana's here", "person": "Lucy"})],
        ),
        (
            "en",
            ["message Oskar I'm ten minutes late", "what did you send him?", "tell Lucy the same"],
            [("broadcast.say", {"text": "I'm ten minutes late", "person": "Lucy"})],
        ),
        (
            "en",
            ["tell him to hurry", "Oskar"],
            [("broadcast.say", {"text": "hurry", "person": "Oskar"})],
        ),
        (
            "de",
            ["Schreib Petra, ich bin um sechs da", "Nein, nicht um sechs, um sieben"],
            [("history.undo", {}), ("messages.leave", {"text": "ich bin um sieben da", "person": "Petra"})],
        ),
        (
            "de",
            ["Sag dem Oskar, er soll Brot mitbringen", "und dass es regnet"],
            [("broadcast.say", {"text": "es regnet", "person": "Oskar"})],
        ),
        (
            "de",
            ["Sag ihm, er soll heimkommen", "Oskar"],
            [("broadcast.say", {"text": "du sollst heimkommen", "person": "Oskar"})],
        ),
    ],
)
async def test_more_words_and_other_words_go_to_the_same_person(
    language: str, turns: list[str], last: list[tuple[str, dict[str, str]]]
) -> None:
    house = talk(language)
    for turn in turns:
        house.calls()
        await house.say(turn)
    assert house.calls() == last


@pytest.mark.parametrize(
    "text", ["and turn the hall light off", "and say good night in the kitchen", "can he swim", "and what time is it"]
)
async def test_what_is_no_word_for_somebody_goes_to_nobody(text: str) -> None:
    house = talk("en")
    await house.say("turn on the hall light")
    house.calls()
    await house.say(text)
    assert not [call for call in house.calls() if "person" in call[1]]
