"""What is done is done at the place that a sentence names: nothing that was spoken of before stands for it."""

from __future__ import annotations

from typing import Any

from atlas.understanding.frame_words import Lexicon
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.named_places import NamedPlaces
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.slots import Command
from tests.conftest import for_every

HOUSE = Names(
    (
        NamedDevice("Back door", "lock", "Kitchen"),
        NamedDevice("Front door", "lock", "Hall"),
        NamedDevice("Bedside lamp", "light", "Bedroom"),
        NamedDevice("Standard lamp", "light", "Lounge"),
        NamedDevice("Nursery heating", "climate", "Nursery"),
        NamedDevice("Study heating", "climate", "Study"),
        NamedDevice("Kitchen radio", "media", "Kitchen"),
        NamedDevice("Garage door", "cover", "Drive", "garage"),
    ),
    (
        *map(NamedPlace, ("Kitchen", "Hall", "Lounge", "Drive")),
        *(NamedPlace(room, "upstairs") for room in ("Bedroom", "Nursery", "Study")),
    ),
    (NamedPlace("upstairs"),),
)


def held(grammar: Grammar, text: str, tool: str, *before: str, **given: Any) -> tuple[Command, ...]:
    places = NamedPlaces(grammar.tables["places"], Lexicon(grammar.tables["frames"]))
    return places.held_to([Command(tool, given)], text, HOUSE, before)


@for_every(
    ("text", "place"),
    [
        ("turn off the light in the loft", "loft"),
        ("turn off the light in the cellar", "cellar"),
        ("turn on the lamp in the treehouse", "treehouse"),
        ("dim the lamp in the spare room to 20", "spare room"),
        ("is the light on in the utility room", "utility room"),
        ("turn off the lamp in the games room", "games room"),
    ],
)
def test_a_place_that_the_house_does_not_know_is_never_what_was_spoken_of(
    grammar: Grammar, text: str, place: str
) -> None:
    [command] = held(grammar, text, "home.turn", "Bedside lamp", on=True, device="Bedside lamp")
    assert command.arguments == {"on": True, "room": place, "kind": "light"}


@for_every(
    "text",
    [
        "turn on the lamp in the bedroom",
        "turn on the lamp in the back bedroom",
        "turn on the bedside lamp in the loft",
        "turn it on in the morning",
        "turn on the lamp in the corner",
        "turn on the lamp in this room",
        "turn everything off in the house",
        "turn it on",
    ],
)
def test_words_that_are_no_unknown_place_change_nothing(grammar: Grammar, text: str) -> None:
    [command] = held(grammar, text, "home.turn", "Bedside lamp", on=True, device="Bedside lamp")
    assert command.arguments == {"on": True, "device": "Bedside lamp"}


def test_a_named_room_outweighs_what_was_spoken_of(grammar: Grammar) -> None:
    set_to = {"temperature": 21, "device": "Nursery heating"}
    [command] = held(grammar, "warm the study up to 21", "home.set", "Nursery heating", **set_to)
    assert command.arguments == {"temperature": 21, "device": "Study heating"}
    [command] = held(grammar, "warm it up to 21 upstairs", "home.set", "Nursery heating", **set_to)
    assert command.arguments == set_to
    [command] = held(grammar, "warm the hall up to 21", "home.set", "Nursery heating", **set_to)
    assert command.arguments == {"temperature": 21, "room": "Hall", "kind": "climate"}


def test_the_only_thing_of_its_kind_may_stand_in_another_room(grammar: Grammar) -> None:
    [command] = held(
        grammar, "turn it up in the lounge", "home.set", "Kitchen radio", volume=30, device="Kitchen radio"
    )
    assert command.arguments["device"] == "Kitchen radio"


def test_one_that_its_name_tells_apart_is_not_what_was_spoken_of(grammar: Grammar) -> None:
    [command] = held(grammar, "lock the front one too", "home.lock", "Back door", device="Back door")
    assert command.arguments == {"device": "Front door"}
    [command] = held(grammar, "lock the back one", "home.lock", "Back door", device="Back door")
    assert command.arguments == {"device": "Back door"}


def test_a_tool_that_is_for_one_kind_is_called_without_it(grammar: Grammar) -> None:
    for tool in ("home.clean", "home.lock", "home.pause"):
        [command] = held(grammar, "do it in the loft", tool, kind="one that it is for")
        assert command.arguments == {"room": "loft"}, tool


def test_what_is_done_later_is_done_there_too(grammar: Grammar) -> None:
    inner = {"on": False, "device": "Bedside lamp"}
    later = Command("later.do", {"seconds": 600, "tool": "home.turn", "arguments": inner})
    places = NamedPlaces(grammar.tables["places"], Lexicon(grammar.tables["frames"]))
    [command] = places.held_to([later], "turn the lamp in the loft off in ten minutes", HOUSE, ["Bedside lamp"])
    assert command.arguments["arguments"] == {"on": False, "kind": "light", "room": "loft"}


def test_what_is_no_deed_in_a_place_stays_as_it_was(grammar: Grammar) -> None:
    assert held(grammar, "add bread in the loft", "lists.add", items=["bread"])[0].arguments == {"items": ["bread"]}
    song = {"query": "house in the spare room"}
    assert held(grammar, "play house in the spare room", "home.play", **song)[0].arguments == song


def test_german_places_are_heeded_as_well() -> None:
    german = open_grammar("de")
    given = {"on": True, "device": "Bedside lamp"}
    for text, place in (("mach die Lampe im Gartenhaus an", "Gartenhaus"), ("Licht auf dem Dachboden an", "Dachboden")):
        [command] = held(german, text, "home.turn", "Bedside lamp", **given)
        assert command.arguments == {"on": True, "room": place, "kind": "light"}
    [command] = held(german, "mach das Licht im Dunkeln an", "home.turn", "Bedside lamp", **given)
    assert command.arguments == given
