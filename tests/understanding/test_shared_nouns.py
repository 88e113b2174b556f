"""A noun that two names share is written out, so that both are meant and not only the first."""

from __future__ import annotations

from atlas.understanding.grammar import open_grammar
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.shared_nouns import SharedNouns
from tests.conftest import for_every

NAMES = Names(
    devices=(
        NamedDevice("Front Door", "lock", "Hall"),
        NamedDevice("Back Door", "lock", "Kitchen"),
        NamedDevice("Desk Lamp", "light", "Study"),
        NamedDevice("Reading Lamp", "light", "Study"),
        NamedDevice("Kitchen Light", "light", "Kitchen"),
        NamedDevice("Hall Light", "light", "Hall"),
    ),
    rooms=(NamedPlace("Hall"), NamedPlace("Kitchen"), NamedPlace("Study")),
)


@for_every(
    ("text", "written"),
    [
        ("lock up front and back", "lock up front door and back door"),
        ("lock two doors, the front and the back", "lock two doors, the front door and the back door"),
        ("the desk and reading lamp off", "the desk lamp and reading lamp off"),
        ("set that lamp on the desk going", "set that desk lamp going"),
        ("are the front or the back doors open", "are the front door or the back door open"),
    ],
)
def test_a_noun_that_two_names_share_is_written_out(text: str, written: str) -> None:
    assert written_out(text) == written


@for_every(
    "text",
    ["lock the front door and come back", "kitchen and hall lights off", "go to the front and wait", "back and back"],
)
def test_words_that_are_no_two_such_names_stay_as_they_are(text: str) -> None:
    assert written_out(text) == text


@for_every(
    ("text", "written"),
    [
        (
            "Turn the big light on, the kitchen one, I've lost a tooth",
            "Turn the big light on in the kitchen, I've lost a tooth",
        ),
        ("put the lamp on, the one in the study", "put the lamp on in the study"),
        ("the light off, not the kitchen one", None),
        ("the kitchen light off, the hall one", None),
        ("the lamp, no, the study one", None),
        ("the light off, the hall one and the kitchen one", None),
        ("well then, the kitchen one", None),
    ],
)
def test_a_room_behind_a_thing_tells_which_one_is_meant_and_is_no_other(text: str, written: str | None) -> None:
    assert written_out(text) == (written or text)


def written_out(text: str) -> str:
    words = open_grammar("en").tables["frames"]
    return SharedNouns(words["shares"], words["described"], words["apposed"]).written_out(text, NAMES)
