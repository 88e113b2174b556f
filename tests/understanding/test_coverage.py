"""A deed that does not account for its whole wish, or that one reader alone has, is asked about and not done."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from atlas.conversation import Actor, Turn
from atlas.understanding.act_model import ENCODER, open_act_model
from atlas.understanding.grammar import open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.parser import open_parser
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader, Understanding

pytestmark = pytest.mark.real
MODELS = Path(__file__).parents[2] / "models"
ROOMS = ("hall", "kitchen", "office", "bedroom", "living room")
NAMES = Names(
    devices=(
        NamedDevice("hall light", "light", "hall"),
        NamedDevice("kitchen light", "light", "kitchen"),
        NamedDevice("worktop light", "light", "kitchen"),
        NamedDevice("desk lamp", "light", "office"),
        NamedDevice("garden lights", "light", "garden"),
        NamedDevice("front door", "lock", "hall"),
        NamedDevice("back door", "lock", "kitchen"),
        NamedDevice("kettle", "switch", "kitchen"),
        NamedDevice("ceiling fan", "fan", "bedroom"),
        NamedDevice("desk fan", "fan", "office"),
        NamedDevice("television", "media", "living room"),
        NamedDevice("kitchen radio", "media", "kitchen"),
        NamedDevice("living room curtains", "cover", "living room", shape="curtain"),
        NamedDevice("office heating", "climate", "office"),
    ),
    rooms=tuple(NamedPlace(room) for room in (*ROOMS, "garden")),
    people=("Tom", "Anna", "Lily"),
    lists=("shopping", "camping"),
)


@pytest.mark.parametrize(
    "text",
    [
        "you could switch on the garden lights, but what's the point in this rain",
    ],
)
def test_a_deed_that_only_one_of_two_readers_has_is_asked_about(text: str) -> None:
    assert_asked(text)


def test_a_number_that_nobody_read_is_asked_about() -> None:
    assert_asked("Sunday is Mass at half ten, alarm for nine")


def test_a_word_that_tells_lamps_apart_and_that_nobody_knows_is_asked_about() -> None:
    assert_asked("twinkly lights off please")
    assert done("turn all the lights off please"), "every word is known"


def test_what_only_a_pronoun_names_is_not_put_on_a_list() -> None:
    meant = understood("put that on the list")
    assert not meant.commands
    assert meant.reply


def test_how_long_is_not_when() -> None:
    end = {"tool": "home.turn", "arguments": {"on": False, "device": "hall light"}}
    assert done("put the hall light on for an hour, I have it to myself at last") == [
        ("home.turn", {"on": True, "device": "hall light"}),
        ("later.do", {"seconds": 3600, **end}),
    ]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("put the hall light on, she's going up in a minute", ("home.turn", {"on": True, "device": "hall light"})),
        ("So stuffy tonight. Put the ceiling fan on.", ("home.turn", {"on": True, "device": "ceiling fan"})),
    ],
)
def test_what_only_a_reason_names_is_no_part_of_the_deed(text: str, command: tuple[str, dict[str, Any]]) -> None:
    assert done(text) == [command]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (
            "lock up front and back",
            [("home.lock", {"device": "front door"}), ("home.lock", {"device": "back door"})],
        ),
        ("set a timer for eight minutes, no, make that ten.", [("timers.start", {"seconds": 600})]),
        (
            "have the kettle switch itself off in five minutes in case I forget",
            [("later.do", {"seconds": 300, "tool": "home.turn", "arguments": {"on": False, "device": "kettle"}})],
        ),
        (
            "put the desk lamp down to thirty percent if you'd be so kind",
            [("home.set", {"brightness": 30, "device": "desk lamp"})],
        ),
        ("water for tea, boil please", [("home.turn", {"on": True, "device": "kettle"})]),
        ("please you open light in kitchen", [("home.turn", {"on": True, "device": "kitchen light"})]),
        ("Pause the film a minute, I need the loo.", [("home.pause", {"device": "television"})]),
        (
            "put the garden lights on a minute, I hear something",
            [("home.turn", {"on": True, "device": "garden lights"})],
        ),
        (
            "let everybody know we're leaving in five minutes",
            [("broadcast.say", {"text": "we're leaving in five minutes"})],
        ),
    ],
)
def test_what_accounts_for_the_whole_wish_is_done(text: str, commands: list[tuple[str, dict[str, Any]]]) -> None:
    assert done(text) == commands


def test_the_only_thing_of_a_room_that_can_be_unlocked_is_meant_by_it() -> None:
    assert done("unlock it, I'll have a look", room="hall") == [("home.unlock", {"device": "front door"})]
    assert not understood("lock it back up").commands, "'back' is no door there"


def test_a_tool_that_the_parser_was_never_taught_is_done_as_its_own_sentences_say() -> None:
    [(tool, arguments)] = done("leave a message for Anna that dinner is at seven")
    assert (tool, arguments["person"], arguments["text"]) == ("messages.leave", "Anna", "dinner is at seven")


def assert_asked(text: str) -> None:
    meant = understood(text)
    assert not meant.commands
    assert meant.choices


def done(text: str, room: str = "") -> list[tuple[str, dict[str, Any]]]:
    meant = understood(text, room)
    return [(one.tool, dict(one.arguments)) for one in meant.commands]


def understood(text: str, room: str = "") -> Understanding:
    return reader().understand(Turn("t", text, Actor("Tom", "test", "owner", room), 1.8e9), NAMES)


@cache
def reader() -> Reader:
    grammar, learned = open_grammar("en"), open_act_model(MODELS / ENCODER)
    assert learned, "the encoder is among the weights that real tests have"
    return Reader(grammar, PublicReader(open_public("en"), grammar.commands), open_parser(grammar, learned))


def test_a_number_that_was_taken_back_need_not_be_done() -> None:
    [(_, fan)] = done("the ceiling fan at seventy, no wait, that'll blow my hat off, at forty percent")
    assert fan["speed"] == 40


def test_a_wish_for_today_is_one_for_now() -> None:
    assert done("a fan wouldn't hurt in the bedroom tonight, get the ceiling fan going")[0][0] == "home.turn"


def test_the_wish_in_a_sentence_that_rambles_is_done() -> None:
    [(_, added)] = done("My grandson says we mustn't go without a torch, so put a torch on the camping list.")
    assert added == {"items": ["torch"], "list": "camping"}


def test_what_is_said_to_be_shut_is_not_shut() -> None:
    commands = understood("that's the towels in and the door's shut, so off you go, kettle on").commands
    assert all(one.tool != "home.lock" for one in commands)


def test_a_question_s_words_with_a_number_are_no_look() -> None:
    meant = understood(
        "Have the kitchen radio on for me at volume twenty, any louder and it sets my hearing aid whistling."
    )
    assert all(one.tool != "home.state" for one in meant.commands)


def test_a_second_deed_is_on_the_device_of_the_first() -> None:
    [_, (_, louder)] = done("Turn the kitchen radio on and set the volume to fifteen")
    assert louder == {"volume": 15, "device": "kitchen radio"}


def test_what_a_room_has_none_of_and_the_house_has_two_of_is_asked_about() -> None:
    meant = understood("put the fan on", "kitchen")
    assert meant.choices
    assert [one.commands[0].arguments["device"] for one in meant.choices.choices] == ["ceiling fan", "desk fan"]
    assert done("put the fan on", "bedroom"), "there is one"


def test_a_thing_whose_name_is_forgotten_is_asked_about() -> None:
    for text in ("can you turn the, the whatsit, oh what's it called, just turn it down a bit", "turn the thingy off"):
        meant = understood(text)
        assert meant.reply
        assert not meant.commands


def test_things_that_were_named_before_are_put_on_the_list_with_the_others() -> None:
    [(_, added)] = done("We're right out of marmalade, put it on the shopping list, dear, and some custard creams too.")
    assert added["items"] == ["marmalade", "custard creams"]


def test_a_length_is_corrected_behind_the_reason() -> None:
    [(_, timer)] = done("A timer for ten minutes, please, no, it's a thick piece of haddock, make it twelve.")
    assert timer["seconds"] == 720


def test_some_day_is_no_timer() -> None:
    assert understood("One day I'd like a proper fireplace instead of radiators.").empty


def test_stop_it_beside_talk_is_asked_about() -> None:
    assert not understood("Stop it, that tickles!").commands


def test_a_question_about_a_list_ticks_nothing_off() -> None:
    assert done("did I put bread on the list")[0][0] == "lists.read"


def test_talk_that_ends_is_no_thing_for_a_list() -> None:
    assert done("what was I after, oh yes, sausages, on the list please")[0][1]["items"] == ["sausages"]


def test_who_does_not_say_what_to_write_down_is_asked() -> None:
    meant = understood("there's a thing I need from the shop, put it on the list will you")
    assert not meant.commands
    assert meant.reply


def test_not_more_is_no_step() -> None:
    assert done("desk lamp thirty percent please, not more") == [
        ("home.set", {"brightness": 30, "device": "desk lamp"})
    ]


def test_two_values_of_one_setting_are_set_by_nobody() -> None:
    meant = understood("we bought a lamp like the reading lamp, it can make blue and red, he is using only white")
    assert not meant.commands
