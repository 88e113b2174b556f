"""Of several wishes in one breath none is lost: each is read behind those before it, at its time, if it is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.understanding.grammar import open_grammar
from tests.conftest import for_every
from tests.understanding.talking import GERMAN_NAMES, NAMES, Talk

pytestmark = pytest.mark.real


def house(language: str, room: str) -> Talk:
    """Return a dialogue with the house of these tests, begun in one of its rooms."""
    return Talk(open_grammar(language), room, GERMAN_NAMES if language == "de" else NAMES)


async def deeds(talk: Talk, *sentences: str) -> list[tuple[str, Any]]:
    """Return what the last of some sentences does: each tool, and which device or words it is about."""
    for text in sentences:
        talk.calls()
        await talk.say(text)
    given = [(tool, {**call, **call.get("arguments", {})}) for tool, call in talk.calls()]
    return [
        (tool, next((one[key] for key in ("device", "items", "room", "when") if key in one), "")) for tool, one in given
    ]


SEVERAL = [
    (
        "en",
        "Living Room",
        "reading lamp off, and the one in the kitchen as well, I'm heading out",
        ["Reading Lamp", "Kitchen"],
    ),
    ("en", "Bedroom", "hall light off, blind up, and wake me at eight", ["hall", "blind", "at eight"]),
    ("de", "Küche", "Leselampe an, und das in der Küche auch, ich komm gleich", ["Leselampe", "Küche"]),
    ("de", "Flur", "Sperr die Haustür zu, und weck mich um sechs", ["Haustür", "um sechs"]),
]


@for_every("language, room, text, wanted", SEVERAL)
async def test_each_of_several_wishes_is_done(language: str, room: str, text: str, wanted: list[str]) -> None:
    assert [about for _, about in await deeds(house(language, room), text)] == wanted


@for_every(
    "language, first, text",
    [("en", "is the front door locked?", "Leave it as it is then, but remind me at ten to lock up")],
)
async def test_what_is_left_alone_does_not_hold_up_the_wish_beside_it(language: str, first: str, text: str) -> None:
    assert await deeds(house(language, "Hall"), first, text) == [("reminders.add", "at ten")]


@for_every(
    "language, text",
    [
        ("en", "he turned the hall light off, and locked the door"),
        ("en", "the hall light off, and no, leave it"),
        ("de", "er hat das Küchenlicht ausgemacht und die Tür abgesperrt"),
    ],
)
async def test_what_is_reported_or_taken_back_is_no_wish(language: str, text: str) -> None:
    assert await deeds(house(language, "Küche" if language == "de" else "Hall"), text) == []


TIMED = [
    ("en", ("reading lamp a bit brighter", "In ten minutes then please turn it off"), ["later.do"]),
    ("en", ("the guests arrive at six, so then the heating on twenty-two please",), ["later.do"]),
    ("en", ("heating to twenty-three for one hour and then like before",), ["home.set", "later.do"]),
    ("de", ("Leselampe an", "In zehn Minuten dann ganz aus bitte"), ["later.do"]),
    ("de", ("Die Gäste kommen um sechs, also dann bitte die Leselampe an",), ["later.do"]),
    ("de", ("Büroheizung eine halbe Stunde auf vierundzwanzig, dann wieder wie vorher",), ["home.set", "later.do"]),
    ("en", ("we ate at six, so the reading lamp on then",), ["home.turn"]),
]


@for_every("language, sentences, tools", TIMED)
async def test_a_deed_is_never_done_now_that_was_wanted_at_a_time(
    language: str, sentences: tuple[str, ...], tools: list[str]
) -> None:
    talk = house(language, "Wohnzimmer" if language == "de" else "Living Room")
    assert [tool for tool, _ in await deeds(talk, *sentences)] == tools


CONDITIONS = [  # the list of these tests has milk and bread, and only the kitchen's and the hall's light are on
    (
        "en",
        "is there flour on the list?",
        "If there isn't, put it on, and two lemons",
        [("lists.add", ["flour", "two lemons"])],
    ),
    ("en", "is there milk on the list?", "if not, add it please", [("lists.read", "")]),
    ("en", "is the reading lamp on?", "if not, turn it on", [("home.turn", "Reading Lamp")]),
    ("en", "is the hall light on?", "if not, turn it on", [("home.state", "Hall Light")]),
    ("de", "haben wir Reis auf der Liste?", "Falls nicht, dann setz ihn drauf", [("lists.add", ["Reis"])]),
    ("de", "ist die Leselampe an?", "wenn nicht, dann mach sie an", [("home.turn", "Leselampe")]),
]


@for_every("language, look, wish, done", CONDITIONS)
async def test_what_depends_on_the_answer_before_is_done_only_where_it_must(
    language: str, look: str, wish: str, done: list[tuple[str, Any]]
) -> None:
    assert await deeds(house(language, "Wohnzimmer" if language == "de" else "Living Room"), look, wish) == done
