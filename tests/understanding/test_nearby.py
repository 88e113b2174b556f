"""Where one of another room is called only by its kind, "the blind" is still the one where the speaker stands."""

from __future__ import annotations

from dataclasses import replace

from atlas.conversation import HOUSE, Turn
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.slots import Command
from tests.conftest import for_every
from tests.houses import reader

CAN = frozenset({"open", "position", "on", "brightness"})
GERMAN = Names(
    (
        NamedDevice("Rollladen", "cover", "Stube", "blind", can=CAN),
        NamedDevice("Kinderzimmerrollladen", "cover", "Kinderzimmer", "blind", can=CAN),
        NamedDevice("Vorhang", "cover", "Schlafzimmer", "curtain", can=CAN),
    ),
    tuple(map(NamedPlace, ("Stube", "Kinderzimmer", "Schlafzimmer", "Flur"))),
)
ENGLISH = Names(
    (
        NamedDevice("Blind", "cover", "Lounge", "blind", can=CAN),
        NamedDevice("Nursery Blind", "cover", "Nursery", "blind", can=CAN),
        NamedDevice("Lamp", "light", "Lounge", can=CAN),
        NamedDevice("Cot Light", "light", "Nursery", can=CAN),
    ),
    tuple(map(NamedPlace, ("Lounge", "Nursery", "Hall"))),
)
BIG = Names(
    (
        NamedDevice("Deckenlampe", "light", "Küche", can=CAN),
        NamedDevice("Kinderzimmerlicht", "light", "Kinderzimmer", can=CAN),
        NamedDevice("Sternenlampe", "light", "Kinderzimmer", can=CAN),
        NamedDevice("Schreibtischlampe", "light", "Büro", can=CAN),
    ),
    tuple(map(NamedPlace, ("Küche", "Kinderzimmer", "Büro"))),
)


@for_every(
    ("language", "room", "text", "device"),
    [
        ("de", "Kinderzimmer", "mach mal den Rollladen hoch", "Kinderzimmerrollladen"),
        ("de", "Kinderzimmer", "und Rollladen hoch, ich zieh mich um", "Kinderzimmerrollladen"),
        ("de", "Kinderzimmer", "mach den Rollladen in der Stube auf", "Rollladen"),
        ("de", "Kinderzimmer", "mach den Vorhang auf", "Vorhang"),
        ("de", "Stube", "mach mal den Rollladen hoch", "Rollladen"),
        ("de", "Flur", "mach mal den Rollladen hoch", "Rollladen"),
        ("en", "Nursery", "open the blind please", "Nursery Blind"),
        ("en", "Nursery", "open the blind in the lounge", "Blind"),
        ("en", "Lounge", "open the blind please", "Blind"),
    ],
)
def test_a_kind_for_a_name_does_not_reach_into_another_room(language: str, room: str, text: str, device: str) -> None:
    names = GERMAN if language == "de" else ENGLISH
    meant = reader(language).understand(Turn("", text, replace(HOUSE, room=room), 0.0), names)
    [command] = meant.commands
    assert command == Command("home.open", command.arguments)
    assert command.arguments["device"] == device


def test_the_big_light_of_a_room_is_called_after_it_and_none_of_another_room() -> None:
    meant = reader("de").understand(Turn("", "mach das große Licht aus", replace(HOUSE, room="Kinderzimmer"), 0.0), BIG)
    assert meant.commands == (Command("home.turn", {"on": False, "device": "Kinderzimmerlicht"}),)


def test_a_verb_is_no_part_of_a_name_that_begins_with_it() -> None:
    meant = reader("de").understand(Turn("", "schreib das auch auf", replace(HOUSE, room="Küche"), 0.0), BIG)
    assert not meant.commands


@for_every(
    ("language", "text", "when"),
    [
        ("en", "remind me to turn the pie in fifteen", "in fifteen minutes"),
        ("de", "erinner mich in zwanzig, die Nudeln abzugießen", None),
        ("de", "erinner mich an die Wäsche in zwanzig", "in 20 minutes"),
    ],
)
def test_a_bare_number_that_a_sentence_ends_with_is_of_minutes(language: str, text: str, when: str | None) -> None:
    meant = reader(language).understand(Turn("", text, HOUSE, 0.0), BIG)
    assert [one.arguments.get("when") for one in meant.commands] == ([when] if when else [])
