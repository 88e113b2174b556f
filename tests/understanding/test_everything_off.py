"""Everything off: all that can simply be switched off where it is said, and a question where no place is said."""

from __future__ import annotations

from typing import Any

from atlas.conversation import Actor, Turn
from atlas.understanding.everything_off import EverythingOff
from atlas.understanding.frame_words import Lexicon
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from tests.conftest import for_every
from tests.houses import reader_of

CAN = frozenset({"on"})
HOUSE = Names(
    (
        NamedDevice("Kitchen Ceiling", "light", "Kitchen", can=CAN),
        NamedDevice("Worktop lights", "light", "Kitchen", can=CAN),
        NamedDevice("Kettle", "switch", "Kitchen", can=CAN),
        NamedDevice("Kitchen radio", "media", "Kitchen", can=CAN),
        NamedDevice("Back door", "lock", "Kitchen"),
        NamedDevice("Fairy lights", "switch", "Lounge", can=CAN),
        NamedDevice("Freezer", "switch", "Lounge", can=CAN),
        NamedDevice("Heating", "climate", "Lounge", can=CAN),
        NamedDevice("Bedside lamp", "light", "Bedroom", can=CAN),
    ),
    (NamedPlace("Kitchen", "downstairs"), NamedPlace("Lounge", "downstairs"), NamedPlace("Bedroom", "upstairs")),
    (NamedPlace("downstairs"), NamedPlace("upstairs")),
)


def off(grammar: Grammar, text: str, room: str = "Kitchen") -> Any:
    read = EverythingOff(grammar.tables["everything_off"], Lexicon(grammar.tables["frames"])).read(text, HOUSE, room)
    return read if read is None or isinstance(read, list) else [dict(one.arguments) for one in read]


@for_every(
    "text",
    [
        "everything off in the kitchen",
        "everything off in the kitchen please",
        "turn everything off in the kitchen",
        "turn off everything in the kitchen, please",
        "in the kitchen, everything off",
        "switch everything in the kitchen off",
        "turn everything off in here",
        "everything off in here, we're leaving",
        "Blackout. Everything off in here.",
    ],
)
def test_everything_of_a_room_is_its_lights_its_switches_and_its_players(grammar: Grammar, text: str) -> None:
    kinds = ("light", "switch", "media")
    assert off(grammar, text) == [{"on": False, "kind": kind, "room": "Kitchen"} for kind in kinds]


def test_what_has_to_go_on_is_never_a_part_of_everything(grammar: Grammar) -> None:
    assert off(grammar, "turn everything off downstairs") == [
        {"on": False, "kind": "light", "floor": "downstairs"},
        {"on": False, "device": "Kettle"},
        {"on": False, "device": "Fairy lights"},
        {"on": False, "kind": "media", "floor": "downstairs"},
    ]
    assert {"on": False, "kind": "light", "everything": True} in off(grammar, "everything off in the whole house")


def test_without_a_place_it_is_asked_which(grammar: Grammar) -> None:
    house, here = off(grammar, "switch everything off")
    assert (house.label, here.label) == ("everything in the house", "everything in the Kitchen")
    assert {one.arguments.get("room") for one in here.commands} == {"Kitchen"}
    assert off(grammar, "everything off please") == [house, here]
    assert off(grammar, "we're going to bed, everything off please") == [house, here]
    assert off(grammar, "I sleep now, all off") == off(grammar, "Finish, all off please") == [house, here]
    [only] = off(grammar, "everything off, please", room="")
    assert only.label == "everything in the house"


@for_every(
    "text",
    [
        "everything off except the radio",
        "everything off in here, I need the radio",
        "everything off in here, I'm still listening to the radio",
        "everything off in the kitchen, it's late, and lock the front door",
        "everything off in the kitchen, I'm cold, heating to 21 in the bedroom",
        "everything is off the table",
        "shut everything",
        "take everything off the list",
        "turn everything up",
        "everything down",
        "everything off in the loft",
        "turn off everything I asked for",
    ],
)
def test_other_words_are_no_everything_off(grammar: Grammar, text: str) -> None:
    assert off(grammar, text) is None


def test_german_says_it_as_well() -> None:
    german = open_grammar("de")
    kinds = ("light", "switch", "media")
    for text in ("alles aus im Kitchen", "mach bitte alles im Kitchen aus", "mach hier alles aus"):
        assert off(german, text) == [{"on": False, "kind": kind, "room": "Kitchen"} for kind in kinds], text
    assert [one.label for one in off(german, "Schalte alles aus!")] == ["alles im Haus", "alles hier (Kitchen)"]
    assert off(german, "alles aus dem Kitchen") is None


@for_every(
    "text",
    [
        "Küche alles aus",
        "Küche alles aus, danke",
        "Küche bitte alles ausmachen",
        "Alles in der Küche aus",
        "In der Küche alles aus",
        "In der Küche alles aus, wir gehen",
        "Küche alles aus! Gute Nacht.",
    ],
)
def test_a_fridge_on_a_plug_stays_on_however_everything_off_is_said(text: str) -> None:
    house = Names(
        (
            NamedDevice("Deckenlampe", "light", "Küche"),
            NamedDevice("Kühlschrank", "switch", "Küche"),
            NamedDevice("Radio", "media", "Küche"),
        ),
        (NamedPlace("Küche"),),
    )
    meant = reader_of(open_grammar("de")).understand(Turn("", text, Actor("", "test", "owner", ""), 0.0), house)
    kinds = ("light", "media")
    assert [one.arguments for one in meant.commands] == [{"on": False, "kind": kind, "room": "Küche"} for kind in kinds]
