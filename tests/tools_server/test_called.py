"""What things are called in a sentence: with an article, in a case, in their room, and with a verb of their number."""

from __future__ import annotations

from tests.conftest import for_every
from tools_server.values import german_names
from tools_server.values.language import speaking
from tools_server.values.noun_phrases import SpokenName, listed, place, thing


@for_every(
    ("name", "forms"),
    [
        ("Küchenlicht", ["das Küchenlicht", "das Küchenlicht", "dem Küchenlicht"]),
        ("Fernseher", ["der Fernseher", "den Fernseher", "dem Fernseher"]),
        ("Stehlampe", ["die Stehlampe", "die Stehlampe", "der Stehlampe"]),
        ("Wohnzimmervorhänge", ["die Wohnzimmervorhänge", "die Wohnzimmervorhänge", "den Wohnzimmervorhängen"]),
        ("Kleines Licht", ["das kleine Licht", "das kleine Licht", "dem kleinen Licht"]),
        ("Großer Vorhang", ["der große Vorhang", "den großen Vorhang", "dem großen Vorhang"]),
        ("Lampe 2", ["die Lampe 2", "die Lampe 2", "der Lampe 2"]),
        ("Licht am Bett", ["das Licht am Bett", "das Licht am Bett", "dem Licht am Bett"]),
        ("Monitor", ["der Monitor", "den Monitor", "dem Monitor"]),  # it ends in a gate, and is none
        ("Annas Lampe", ["Annas Lampe"] * 3),
        ("Tradfri", ["Tradfri"] * 3),  # of which nobody knows the article
    ],
)
def test_a_german_name_has_the_article_of_the_noun_it_ends_in(name: str, forms: list[str]) -> None:
    assert [german_names.definite(name, case) for case in ("nominative", "accusative", "dative")] == forms


@for_every(
    ("room", "where"),
    [
        ("Küche", "in der Küche"),
        ("Wohnzimmer", "im Wohnzimmer"),
        ("Terrasse", "auf der Terrasse"),
        ("Dachboden", "auf dem Dachboden"),
        ("Kleines Bad", "im kleinen Bad"),
        ("Annas Zimmer", "in Annas Zimmer"),
        ("Draußen", "draußen"),
        ("Atrium", "im Bereich Atrium"),
    ],
)
def test_where_a_thing_is_is_said_with_the_word_of_its_room(room: str, where: str) -> None:
    assert german_names.inside(room) == where


def test_a_sentence_takes_the_form_of_a_name_and_the_number_of_the_verb() -> None:
    with speaking("de"):
        message = "{it:accusative} öffnen: {it} {it:ist|sind} {room:in}"
        assert (
            message.format(it=thing("Vorhänge"), room=place("Bad")) == "die Vorhänge öffnen: die Vorhänge sind im Bad"
        )
        assert message.format(it=thing("Ofen"), room=place("Flur")) == "den Ofen öffnen: der Ofen ist im Flur"
        assert thing("Leselampe", "Flur") == "die Leselampe im Flur"
        assert f"{thing('Anna', is_own=True):of}" == "von Anna"
        assert f"{thing('Ofen'):of}" == "vom Ofen"


def test_several_names_are_listed_in_the_case_of_the_sentence() -> None:
    with speaking("de"):
        both = listed([thing("Fernseher", "Bad"), thing("Lampe")])
        assert f"{both}|{both:accusative}" == "der Fernseher im Bad und die Lampe|den Fernseher im Bad und die Lampe"


def test_english_names_keep_their_article_and_their_number() -> None:
    assert "{it} {it:is|are} open".format(it=thing("Curtains", "Hall")) == "the Curtains in the Hall are open"
    assert "{it} {it:is|are} on".format(it=thing("Cactus")) == "the Cactus is on"
    assert "{room} {room:in}".format(room=place("Hall")) == "Hall Hall"


def test_a_name_without_forms_is_the_same_everywhere() -> None:
    assert "{it:dative} {it:in} {it:is|are}".format(it=SpokenName("Robbie")) == "Robbie Robbie is"


@for_every(
    ("told", "sentence"),
    [
        ("Anna keine Nüsse verträgt", "Anna verträgt keine Nüsse"),
        ("der Schlüssel unter der Matte liegt", "der Schlüssel liegt unter der Matte"),
        ("ich den Müll rausbringen muss", "ich muss den Müll rausbringen"),
        ("Anna mag keine Nüsse", "Anna mag keine Nüsse"),
        ("Anna mag Nüsse nicht", "Anna mag Nüsse nicht"),
        ("der Arzt sagt, alles ist gut", "der Arzt sagt, alles ist gut"),
    ],
)
def test_what_stood_behind_dass_becomes_a_sentence(told: str, sentence: str) -> None:
    assert german_names.main_clause(told) == sentence
