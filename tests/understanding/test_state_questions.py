"""Questions about a state that name no kind are looked up for the place that they name; other talk is no such one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from atlas.understanding.frame_words import Lexicon
from atlas.understanding.grammar import open_grammar
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.state_questions import StateQuestions

ENGLISH = Names(
    (NamedDevice("Kitchen Light", "light", "Kitchen"), NamedDevice("Lounge Blind", "cover", "Lounge", "blind")),
    (NamedPlace("Kitchen", "Ground Floor"), NamedPlace("Lounge", "Ground Floor"), NamedPlace("Bedroom", "First Floor")),
    (NamedPlace("Ground Floor", aliases=("downstairs",)), NamedPlace("First Floor", aliases=("upstairs",))),
)
GERMAN = Names(
    (NamedDevice("Küchenlicht", "light", "Küche"), NamedDevice("Rollladen", "cover", "Bad", "shutter")),
    (NamedPlace("Küche", "Erdgeschoss"), NamedPlace("Bad", "Obergeschoss")),
    (NamedPlace("Erdgeschoss", aliases=("unten",)), NamedPlace("Obergeschoss", aliases=("oben",))),
)
HOUSE, KITCHEN, UP, DOWN = (
    {"everything": True},
    {"room": "Kitchen"},
    {"floor": "First Floor"},
    {"floor": "Ground Floor"},
)
KÜCHE, OBEN, UNTEN = {"room": "Küche"}, {"floor": "Obergeschoss"}, {"floor": "Erdgeschoss"}


def asked(language: str, text: str, spoken_of: str = "") -> list[Mapping[str, Any]]:
    grammar, names = open_grammar(language), {"en": ENGLISH, "de": GERMAN}[language]
    questions = StateQuestions(grammar.tables["state_questions"], Lexicon(grammar.tables["frames"]))
    before = [one for one in names.devices if one.name == spoken_of]
    room = {"en": "Kitchen", "de": "Küche"}[language]
    return [dict(one.arguments) for one in questions.read(text, names, room, before)]


@pytest.mark.parametrize(
    ("language", "text", "quantity", "value", "place"),
    [
        ("en", "is anything still on upstairs", "any", "on", UP),
        ("en", "Is there anything still on in the kitchen?", "any", "on", KITCHEN),
        ("en", "is anything still on", "any", "on", HOUSE),
        ("en", "anything left on downstairs?", "any", "on", DOWN),
        ("en", "what's still on", "which", "on", HOUSE),
        ("en", "what's on in the kitchen", "which", "on", KITCHEN),
        ("en", "what have we left on", "which", "on", HOUSE),
        ("en", "have I left anything on", "any", "on", HOUSE),
        ("en", "is upstairs anything still on", "any", "on", UP),
        ("en", "could you check whether anything is open upstairs", "any", "open", UP),
        ("en", "is anything unlocked", "any", "unlocked", HOUSE),
        ("en", "and is everything locked", "all", "locked", HOUSE),
        ("en", "are we all locked up for the night", "all", "locked", HOUSE),
        ("en", "did I lock everything", "all", "locked", HOUSE),
        ("en", "is everything off in here", "all", "off", KITCHEN),
        ("en", "before we go to bed, is everything shut downstairs", "all", "closed", DOWN),
        ("en", "can you check everything's off downstairs", "all", "off", DOWN),
        ("de", "ist oben noch was an", "any", "on", OBEN),
        ("de", "Ist in der Küche noch was an?", "any", "on", KÜCHE),
        ("de", "was ist noch an", "which", "on", HOUSE),
        ("de", "was ist in der Küche alles an", "which", "on", KÜCHE),
        ("de", "und ist alles abgeschlossen", "all", "locked", HOUSE),
        ("de", "ist unten alles aus", "all", "off", UNTEN),
        ("de", "steht noch irgendwo was offen", "any", "open", HOUSE),
        ("de", "kannst du mir sagen, ob oben noch was an ist", "any", "on", OBEN),
        ("de", "haben wir irgendwas angelassen", "any", "on", HOUSE),
    ],
)
def test_anything_is_looked_up_where_it_was_asked_of(
    language: str, text: str, quantity: str, value: str, place: Mapping[str, Any]
) -> None:
    assert asked(language, text) == [{"quantity": quantity, "value": value, **place}]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "is there anything on tonight"),
        ("en", "is there anything on"),
        ("en", "what's on tv"),
        ("en", "what's still on the list"),
        ("en", "what's on tomorrow"),
        ("en", "what's open on sunday"),
        ("en", "is everything ok"),
        ("en", "if anything is on, turn it off"),
        ("en", "make sure everything is locked"),
        ("en", "everything off upstairs"),
        ("en", "lock everything"),
        ("en", "is everything locked except the back door"),
        ("de", "was ist noch auf der Liste"),
        ("de", "alles aus oben"),
        ("de", "mach alles zu"),
        ("de", "ist alles gut"),
        ("de", "wenn noch was an ist, mach es aus"),
        ("de", "ist heute noch was an der Uni"),
    ],
)
def test_what_asks_for_something_else_or_wants_a_deed_is_no_such_question(language: str, text: str) -> None:
    assert asked(language, text) == []


def test_any_without_a_noun_is_of_the_kind_that_was_spoken_of_where_that_can_be_so() -> None:
    assert asked("en", "are there any still open", "Lounge Blind") == [
        {"kind": "cover", "shape": "blind", "value": "open", "quantity": "any", "everything": True}
    ]
    assert asked("en", "are there any still open", "Kitchen Light") == [
        {"value": "open", "quantity": "any", "everything": True}
    ]
    assert "kind" not in asked("en", "is anything still on", "Kitchen Light")[0]


def test_who_asks_how_many_burn_asks_of_lights_and_of_the_whole_house() -> None:
    burning = {"kind": "light", "value": "on", "quantity": "how_many", **HOUSE}
    assert asked("en", "How many are still burning?") == [burning]
    assert asked("de", "Wie viele brennen noch?") == [burning]
    assert asked("en", "how many are coming") == []
    assert asked("de", "wie viele kommen noch") == []


def test_up_here_is_the_floor_of_the_room() -> None:
    assert asked("en", "did I leave anything else on down here") == [{"value": "on", "quantity": "any", **DOWN}]


def test_everywhere_is_the_whole_house() -> None:
    assert asked("de", "is überall aus?") == [{"value": "off", "quantity": "all", **HOUSE}]
    assert asked("en", "did anybody lock up?") == [{"value": "locked", "quantity": "all", **HOUSE}]
