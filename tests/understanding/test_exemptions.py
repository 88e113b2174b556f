"""What an English wish leaves alone is not touched; where it is not clear what that is, nothing is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from atlas.conversation import Actor, Message, Turn
from atlas.understanding.act_model import ENCODER, open_act_model
from atlas.understanding.grammar import open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.parser import open_parser
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader, Understanding

pytestmark = pytest.mark.real
MODELS = Path(__file__).parents[2] / "models"
HOUSE = Names(
    devices=(
        NamedDevice("kitchen light", "light", "kitchen"),
        NamedDevice("hall light", "light", "hall"),
        NamedDevice("reading lamp", "light", "living room"),
        NamedDevice("bedside lamp", "light", "bedroom"),
        NamedDevice("kettle", "switch", "kitchen"),
        NamedDevice("television", "media", "living room"),
        NamedDevice("kitchen radio", "media", "kitchen"),
        NamedDevice("kitchen blind", "cover", "kitchen", "blind"),
        NamedDevice("bedroom blinds", "cover", "bedroom", "blind"),
        NamedDevice("garage door", "cover", "garage", "garage"),
        NamedDevice("front door", "lock", "hall"),
        NamedDevice("back door", "lock", "kitchen"),
        NamedDevice("living room heating", "climate", "living room"),
        NamedDevice("bedroom heating", "climate", "bedroom"),
        NamedDevice("lawn mower", "mower", "garden"),
    ),
    rooms=tuple(map(NamedPlace, ("kitchen", "hall", "living room", "bedroom", "garage", "garden"))),
    people=("Tom", "Anna"),
    lists=("shopping",),
)
BUT_THE_HALL = ["kitchen light", "reading lamp", "bedside lamp"]


@cache
def reader() -> Reader:
    grammar, learned = open_grammar("en"), open_act_model(MODELS / ENCODER)
    assert learned, "the encoder is among the weights that real tests have"
    return Reader(grammar, PublicReader(open_public("en"), grammar.commands), open_parser(grammar, learned))


def meant(text: str, room: str = "", history: tuple[Message, ...] = ()) -> Understanding:
    return reader().understand(Turn("", text, Actor("", "test", "owner", room), 0.0, history=history), HOUSE)


@pytest.mark.parametrize(
    ("text", "tool", "touched"),
    [
        ("Turn off all lights except the hall light.", "home.turn", BUT_THE_HALL),
        ("turn off all the lights apart from the hall light", "home.turn", BUT_THE_HALL),
        ("turn off all the lights but not in the hall", "home.turn", BUT_THE_HALL),
        ("turn off all the lights and leave the hall on", "home.turn", BUT_THE_HALL),
        ("turn off all the lights but keep the hall light on", "home.turn", BUT_THE_HALL),
        ("turn off all the lights but don't touch the hall", "home.turn", BUT_THE_HALL),
        ("turn off all the lights, the hall light stays on", "home.turn", BUT_THE_HALL),
        ("except for the hall light, turn off all the lights", "home.turn", BUT_THE_HALL),
        ("All lights off except the hall.", "home.turn", BUT_THE_HALL),
        (
            "turn off every light besides the hall light and the reading lamp",
            "home.turn",
            ["kitchen light", "bedside lamp"],
        ),
        ("lock everything but the back door", "home.lock", ["front door"]),
        ("lock all the doors other than the back door", "home.lock", ["front door"]),
        ("all blinds up, except the bedroom", "home.open", ["kitchen blind"]),
        ("pause everything except the television", "home.pause", ["kitchen radio"]),
        ("mute all speakers except the kitchen radio", "home.mute", ["television"]),
        ("mute everything except the television", "home.mute", ["kitchen radio"]),
        ("turn off the kitchen light but keep the hall light on", "home.turn", ["kitchen light"]),
    ],
)
def test_what_is_spared_is_left_alone_and_the_rest_is_done(text: str, tool: str, touched: list[str]) -> None:
    commands = meant(text).commands
    assert [one.arguments.get("device") for one in commands] == touched
    assert {one.tool for one in commands} == {tool}


@pytest.mark.parametrize(
    "text",
    [
        "turn off all the lights except the doodah",
        "turn off all the lights except Tom's",
        "turn off all the lights except",
        "lock everything but",
        "unlock everything except the shed",
        "everything off but the television",
        "cancel all the timers except the pasta timer",
    ],
)
def test_where_it_is_not_clear_what_is_spared_nothing_is_done(text: str) -> None:
    assert not meant(text).commands


def test_the_answer_to_what_is_spared_is_spared() -> None:
    asked = "turn off all the lights except the doodah"
    history = (Message("user", asked), Message("assistant", meant(asked).reply))
    commands = meant("the hall light", history=history).commands
    assert "hall light" not in [one.arguments.get("device") for one in commands]


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("is everything locked except the back door", "home.state"),
        ("add everything but the milk to the shopping list", "lists.add"),
        ("turn on the kitchen light but not too bright", "home.turn"),
    ],
)
def test_what_only_sounds_like_an_exemption_is_read_as_before(text: str, tool: str) -> None:
    assert meant(text).commands[0].tool == tool


@pytest.mark.parametrize("text", ["all lights off", "All the lights off, please.", "all lights on"])
def test_all_of_a_kind_and_a_state_is_a_deed_where_nobody_asks(text: str) -> None:
    assert [(one.tool, one.arguments["kind"]) for one in meant(text).commands] == [("home.turn", "light")]


@pytest.mark.parametrize("text", ["all lights off?", "are all the lights off"])
def test_the_same_words_as_a_question_only_look(text: str) -> None:
    assert [one.tool for one in meant(text).commands] == ["home.state"]


@pytest.mark.parametrize(
    "text",
    [
        "cancel all timers, keep the pasta one",
        "cancel all timers but keep the pasta timer",
        "cancel all timers, let the pasta one run",
        "stop all the timers, leave the egg one running",
        "delete all reminders, the dentist one should stay",
        "clear the shopping list, leave the milk on it",
        "clear the shopping list, not the milk",
    ],
)
def test_what_would_take_away_a_part_that_stays_is_not_done(text: str) -> None:
    assert [one.tool for one in meant(text).commands if not one.tool.endswith((".read", ".list"))] == []


@pytest.mark.parametrize(
    "text",
    [
        "turn off all lights, hall not",
        "all lights off, leave out the hall",
        "turn off all the lights, the hall stays out of it",
    ],
)
def test_a_place_that_is_left_out_is_not_touched(text: str) -> None:
    assert [one.arguments.get("device") for one in meant(text).commands] == BUT_THE_HALL


def test_it_is_asked_which_lights_are_meant_outside_of_a_place() -> None:
    understood = meant("turn off all lights outside of the hall")
    assert not understood.commands
    assert understood.reply == "Which one do you mean?"


def test_all_but_one_of_many_is_done_to_all_the_others() -> None:
    lamps = tuple(NamedDevice(f"lamp {letter}", "light", "hall") for letter in "abcdefghijklmn")
    names = Names(devices=(*lamps, NamedDevice("night light", "light", "bedroom")))
    turn = Turn("", "turn off all the lights but leave the night light on", Actor("", "test", "owner", ""), 0.0)
    assert len(reader().understand(turn, names).commands) == len(lamps)
