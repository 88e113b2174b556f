"""Of several wishes in one breath none is lost: each is read behind those before it, at its time, if it is wanted."""

from __future__ import annotations

from dataclasses import replace
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


OTHERS = [
    ("en", ("ceiling light on", "And the other one can go off, nobody needs it"), [("home.turn", "Reading Lamp")]),
    ("de", ("Leselampe an", "Die andere kannst du ausmachen, die braucht kein Mensch"), [("home.turn", "Deckenlampe")]),
]


@for_every("language, sentences, done", OTHERS)
async def test_the_other_one_is_never_the_one_before(
    language: str, sentences: tuple[str, ...], done: list[tuple[str, Any]]
) -> None:
    room = "Wohnzimmer" if language == "de" else "Living Room"
    assert await deeds(house(language, room), *sentences) in (done, [])


AMOUNTS = [
    (
        "en",
        "add three lemons to the shopping list",
        "Make the lemons five, actually",
        ["three lemons"],
        ["five lemons"],
    ),
    ("de", "setz drei Zitronen auf die Liste", "Die Zitronen lieber fünf", ["drei Zitronen"], ["fünf Zitronen"]),
]


@for_every("language, first, text, gone, added", AMOUNTS)
async def test_one_thing_of_a_list_gets_another_amount(
    language: str, first: str, text: str, gone: list[str], added: list[str]
) -> None:
    german = language == "de"
    talk = Talk(open_grammar(language), "Küche" if german else "Kitchen", GERMAN_NAMES if german else NAMES)
    assert await deeds(talk, first, text) == [("lists.remove", gone), ("lists.add", added)]


async def test_a_nameless_timer_is_known_by_the_wish_that_set_it() -> None:
    talk = house("en", "Kitchen")
    await talk.say("I've an egg on, set a timer for four minutes")
    talk.calls()
    await talk.say("cancel the egg timer")
    assert talk.calls() == [("timers.cancel", {"name": "timer_1"})]


@for_every(
    "language, text",
    [("en", "remind me ten minutes before"), ("de", "erinner mich zehn Minuten vorher an den Zug")],
)
async def test_nothing_is_counted_back_from_what_nobody_named(language: str, text: str) -> None:
    assert await deeds(house(language, "Hall"), text) == []


@for_every(
    "language, text, degrees",
    [
        ("en", "set the thermostat to nineteen and a half", 19.5),
        ("en", "set the thermostat to twenty one and a half please", 21.5),
        ("de", "Büroheizung auf achtzehneinhalb", 18.5),
    ],
)
async def test_half_a_degree_is_not_lost(language: str, text: str, degrees: float) -> None:
    talk = house(language, "Living Room")
    await talk.say(text)
    assert [call.get("temperature") for _, call in talk.calls()] == [degrees]


MESSAGES = [
    ("en", "tell Ben in the study she should hurry up", "study", "hurry"),
    ("de", "sag Ben im Büro, dass das Essen fertig ist", "büro", "essen"),
]


@for_every("language, text, place, words", MESSAGES)
async def test_where_somebody_is_is_no_part_of_what_they_hear(language: str, text: str, place: str, words: str) -> None:
    names = replace(GERMAN_NAMES if language == "de" else NAMES, people=("Ben",))
    talk = Talk(open_grammar(language), "Küche" if language == "de" else "Kitchen", names)
    await talk.say(text)
    [(tool, given)] = talk.calls()
    assert (tool, str(given["room"]).casefold()) == ("broadcast.say", place)
    assert words in str(given["text"]).casefold()
    assert place not in str(given["text"]).casefold()


@for_every(
    "language, room, text",
    [
        ("en", "Kitchen", "turn on the kettle and Marcus can open the front door"),
        ("en", "Kitchen", "turn on the kettle and later unlock the front door"),
        ("en", "Kitchen", "never. everything off in here"),
        ("de", "Küche", "mach die Leselampe an und Karim kann die Haustür aufsperren"),
    ],
)
async def test_nothing_is_opened_that_somebody_else_may_open_or_later(language: str, room: str, text: str) -> None:
    tools = {tool for tool, _ in await deeds(house(language, room), text)}
    assert not tools & {"home.unlock", "home.open"}, tools
    assert "never" not in text or not tools


@for_every(
    "sentences",
    [
        ("is the front door locked?", "if it's open, turn the reading lamp off"),
        ("is the front door locked?", "if it is, Marcus can unlock it"),
    ],
)
async def test_a_condition_that_names_another_state_or_person_is_no_wish(sentences: tuple[str, ...]) -> None:
    assert not {tool for tool, _ in await deeds(house("en", "Hall"), *sentences)} & {"home.turn", "home.unlock"}
