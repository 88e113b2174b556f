"""What is withdrawn, corrected, half said or only remarked on is not done; where it is not clear, nothing is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atlas.conversation import Actor, Message, ToolCall, Turn
from atlas.understanding.coverage import undoes_itself
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Understanding
from tests.understanding.test_exemptions import meant, reader

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    "text",
    [
        "open the garage door, ah no, the car's not even here",
        "close the bedroom blinds, scratch that, it's still light",
        "lock the front door, hang on a second",
        "unlock the front door please, hang on, who is it?",
        "turn on the television, I changed my mind",
        "could you lock the front door? Oh, it's locked already.",
        "make the kitchen light brighter, or, no, it's all right, I've found it",
        "put eggs on the list, oh, we've got some",
        "movie on the television, no, not now",
    ],
)
def test_a_wish_that_is_withdrawn_is_not_done(text: str) -> None:
    assert meant(text).empty


@pytest.mark.parametrize(
    "text",
    [
        "cancel all alarms except the one at nine",
        "remove everything from the shopping list except the milk",
        "cancel all timers, abort",
        "tell nobody that dinner is ready",
        "tell Anna nothing",
    ],
)
def test_what_is_spared_is_never_what_is_taken_away_and_nobody_is_no_audience(text: str) -> None:
    assert not meant(text).commands


@pytest.mark.parametrize(
    "text", ["put cucumbers on the, hmm", "remind me tomorrow to, uh", "open the kitchen blind but only", "turn on the"]
)
def test_a_wish_that_is_broken_off_is_not_done(text: str) -> None:
    assert not meant(text).commands


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        (
            "turn off the radio and the kitchen light, no, sorry, just the radio",
            "home.turn",
            {"on": False, "device": "kitchen radio"},
        ),
        ("turn off the kettle, no, the television", "home.turn", {"on": False, "device": "television"}),
        (
            "switch the reading lamp off, no, the hall",
            "home.turn",
            {"on": False, "kind": "light", "room": "hall"},
        ),
        ("switch the kettle off, no, the telly", "home.turn", {"on": False, "device": "television"}),
        ("open the bedroom blinds, I meant close them", "home.close", {"device": "bedroom blinds"}),
        ("lock the front door, uh, the back door I mean", "home.lock", {"device": "back door"}),
        ("turn on the bedside lamp, or no, better the hall light", "home.turn", {"on": True, "device": "hall light"}),
        ("the kettle and the radio off, no, not the radio", "home.turn", {"on": False, "device": "kettle"}),
    ],
)
def test_a_correction_is_done_and_what_it_corrects_is_not(text: str, tool: str, arguments: dict[str, Any]) -> None:
    commands = meant(text).commands
    assert [(one.tool, dict(one.arguments)) for one in commands] == [(tool, arguments)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("set a timer for ten, no, what am I saying, fifteen minutes", 900),
        ("set a timer for ten, I tell a lie, fifteen minutes", 900),
        ("set a timer for ten, no, silly me, twelve minutes", 720),
    ],
)
def test_who_blames_himself_corrects_what_he_said(text: str, seconds: int) -> None:
    [command] = meant(text).commands
    assert command.arguments["seconds"] == seconds


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("reading lamp to fifty, nah, seventy", {"brightness": 70, "device": "reading lamp"}),
        (
            "Now then, I want to read, so let me have the bedside lamp at, oh, sixty, no, seventy per cent.",
            {"brightness": 70, "device": "bedside lamp"},
        ),
        (
            "If the bedroom could be at nineteen, no, I tell a lie, eighteen was what we said, eighteen degrees.",
            {"temperature": 18.0, "kind": "climate", "room": "bedroom"},
        ),
        ("can the bedside lamp be purple, no wait, blue, I want blue", {"colour": "blue", "device": "bedside lamp"}),
        (
            "set me ten minutes for the carrots, no, they're old ones, better make it fifteen",
            {"seconds": 900, "name": "carrots"},
        ),
        (
            "The television is set at forty, isn't it, well, make it twenty-five, the baby sleeps",
            {"volume": 25, "device": "television"},
        ),
    ],
)
def test_a_value_is_set_as_it_is_put_right(text: str, arguments: dict[str, Any]) -> None:
    assert [dict(one.arguments) for one in meant(text).commands] == [arguments]


@pytest.mark.parametrize(
    "text",
    [
        "in case I fall asleep, turn the telly off",
        "should it get too hot, close the kitchen blind",
        "the moment the film ends, lights on",
        "repeat after me: open the garage door",
    ],
)
def test_what_is_not_so_yet_and_what_is_only_a_text_is_not_done(text: str) -> None:
    assert meant(text).empty


@pytest.mark.parametrize(
    "text",
    [
        "leave the hall light on, will you",
        "you can leave the kettle on, I'm still making tea",
        "keep the hall light on tonight",
        "keep the kitchen blind open while I'm cooking",
        "leave the kettle going",
    ],
)
def test_what_is_to_stay_as_it_is_is_not_done_and_that_is_said(text: str) -> None:
    understood = meant(text)
    assert understood.reply
    assert not understood.commands


@pytest.mark.parametrize(
    "text",
    [
        "Anna wants the bedroom painted sage green",
        "my wife wants the living room redecorated in blue",
        "Tom would like the reading lamp mended",
        "Tom reckons the hall light should be off by now",
        "Anna thinks the living room heating is too high",
        "I like the reading lamp red",
    ],
)
def test_what_takes_a_craftsman_and_what_somebody_thinks_is_no_deed_of_the_house(text: str) -> None:
    assert meant(text).empty


@pytest.mark.parametrize(
    "text",
    ["turn the kettle on at sunset", "when it gets dark, turn on the hall light", "close the kitchen blind at dusk"],
)
def test_what_the_sun_shall_begin_is_not_done_at_once(text: str) -> None:
    assert not meant(text).commands


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("open the bedroom blinds a little", 20),
        ("open the bedroom blinds, but not all the way", 20),
        ("close the kitchen blind a bit", -20),
    ],
)
def test_what_is_to_move_a_little_moves_a_part_of_the_way(text: str, by: int) -> None:
    [command] = meant(text).commands
    assert (command.tool, command.arguments["what"], command.arguments["by"]) == ("home.adjust", "position", by)


@pytest.mark.parametrize(
    ("text", "what", "by"),
    [
        ("the television's a bit quiet", "volume", 10),
        ("the television is too quiet", "volume", 10),
        ("the radio's far too loud", "volume", -10),
        ("the reading lamp's too dim", "brightness", 20),
    ],
)
def test_too_much_of_something_wants_less_of_it(text: str, what: str, by: int) -> None:
    [command] = meant(text).commands
    assert (command.arguments["what"], command.arguments["by"]) == (what, by)


def test_what_can_only_open_wide_is_asked_about_where_a_little_is_wanted() -> None:
    garage = NamedDevice("garage door", "cover", "garage", "garage", can=frozenset({"open"}))
    turn = Turn("", "open the garage door a little", Actor("", "test", "owner", ""), 0.0)
    understood = reader().understand(turn, Names(devices=(garage,), rooms=(NamedPlace("garage"),)))
    assert not understood.commands
    assert understood.choices


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("lights out in the bedroom, the kids are in bed", "home.turn", {"on": False, "room": "bedroom"}),
        ("no butter, put milk on the shopping list", "lists.add", {"items": ["milk"]}),
        (
            "wake me at quarter to seven tomorrow, double maths first thing",
            "alarms.set",
            {"when": "at quarter to seven tomorrow"},
        ),
    ],
)
def test_a_reason_names_nothing_that_is_wanted(text: str, tool: str, arguments: dict[str, Any]) -> None:
    [command] = meant(text).commands
    assert command.tool == tool
    assert arguments.items() <= dict(command.arguments).items()


@pytest.mark.parametrize(
    "text",
    [
        "yeah, hi, I'm in the kitchen, the radio's on, can you hear me?",
        "did you hear what she said on the radio?",
    ],
)
def test_a_remark_with_a_question_beside_it_is_no_look(text: str) -> None:
    assert not meant(text).commands


@pytest.mark.parametrize("room", ["garage", ""])
def test_a_thing_without_a_name_is_asked_about(room: str) -> None:
    understood = meant("turn that thing off", room)
    assert understood.reply
    assert not understood.commands


def test_a_lock_alone_in_a_room_is_what_its_verb_means() -> None:
    [unlock] = meant("unlock it", "hall").commands
    assert unlock.arguments["device"] == "front door"


def test_the_only_door_of_a_room_opens_whatever_its_tool_calls_that() -> None:
    assert meant("open up, I'm taking the car out", "garage").commands


def test_deeds_that_take_each_other_back_are_asked_about() -> None:
    assert undoes_itself([Command("home.turn", {"on": one, "device": "hall light"}) for one in (False, True)])
    both = [Command("home.turn", {"on": one, "device": f"lamp {one}"}) for one in (False, True)]
    assert not undoes_itself(both)


def test_short_deeds_one_behind_the_other_are_all_done() -> None:
    done = meant("reading lamp on, kettle off").commands
    assert [(one.arguments["device"], one.arguments["on"]) for one in done] == [
        ("reading lamp", True),
        ("kettle", False),
    ]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (
            "it's boiling, turn the heating down in every room",
            {"what": "temperature", "by": -1, "kind": "climate", "everything": True},
        ),
        ("please make hot the water for tea", {"on": True, "device": "kettle"}),
        ("set an alarm for six thirty on school days", {"when": "at six thirty on weekdays"}),
        ("close all the blinds except for the one in the kitchen", {"device": "bedroom blinds"}),
    ],
)
def test_words_that_were_not_bound_are(text: str, arguments: dict[str, Any]) -> None:
    assert [dict(one.arguments) for one in meant(text).commands] == [arguments]


def test_to_have_a_thing_come_on_is_a_wish_and_no_question() -> None:
    [later] = meant("have the kettle come on at half six tomorrow morning").commands
    assert later.tool == "later.do"


def after(said: str, call: ToolCall, device: str, text: str) -> Understanding:
    """Return what words mean behind a deed on one device."""
    data = {"devices": [{"name": device, "room": "", "kind": "climate", "state": {}}]}
    result = Message("tool", json.dumps({"ok": True, "changed": True, "data": data}), call_id=call.id)
    history = (Message("user", said), Message("assistant", "", calls=(call,)), result, Message("assistant", "Done."))
    return meant(text, "living room", history)


def test_what_about_another_place_behind_a_deed_is_asked() -> None:
    call = ToolCall("c1", "home.set", {"temperature": 23, "device": "living room heating"})
    understood = after("heating to 23", call, "living room heating", "what about the bedroom?")
    assert not understood.commands
    assert understood.choices


def test_another_place_than_here_is_another_device() -> None:
    call = ToolCall("c1", "home.adjust", {"what": "temperature", "by": 1, "device": "living room heating"})
    understood = after("make it warmer", call, "living room heating", "not in here, in the bedroom")
    *_, warmer = understood.commands
    assert (warmer.tool, warmer.arguments.get("room")) == ("home.adjust", "bedroom")
    assert "device" not in warmer.arguments


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        (
            "pick a number between one and twenty, whoever's closest goes first",
            "world.number",
            {"least": 1, "most": 20},
        ),
        (
            "the recipe says three fifty Fahrenheit, what is that in Celsius",
            "world.convert",
            {"amount": "three hundred and fifty", "unit": "fahrenheit", "to": "celsius"},
        ),
        (
            "would you tell me what two hundred and fifty grams comes to in ounces?",
            "world.convert",
            {"amount": "two hundred and fifty", "unit": "gram", "to": "ounce"},
        ),
        ("light in here make more small, too strong for my eyes", "home.adjust", {"what": "brightness", "by": -20}),
        ("How writes the word necessary, letter and letter tell me.", "world.spell", {"word": "necessary"}),
        ("One pancake left, Anna or Tom, you pick", "world.choose", {"options": ["Anna", "Tom"]}),
        ("what does the thermometer say outdoors", "home.state", {"measure": "temperature", "room": "garden"}),
        ("hold the programme where it is until I'm back", "home.pause", {"device": "television"}),
        ("I'd be obliged if you'd switch the television set off", "home.turn", {"on": False, "device": "television"}),
        (
            "leave word for Anna that her parcel is here",
            "messages.leave",
            {"person": "Anna", "text": "her parcel is here"},
        ),
        ("for Anna leave message, the key is here", "messages.leave", {"person": "Anna", "text": "the key is here"}),
    ],
)
def test_what_everybody_says_is_understood(text: str, tool: str, arguments: dict[str, Any]) -> None:
    command = meant(text, "kitchen").commands[-1]
    assert command.tool == tool
    assert arguments.items() <= dict(command.arguments).items()


def test_the_other_one_is_no_number() -> None:
    text = "it's small print, so if I could have both lights in here, the desk one and the other one"
    assert [dict(one.arguments) for one in meant(text, "hall").commands] == [{"on": True, "kind": "light"}]


def test_a_reminder_of_which_only_its_weight_is_said_is_asked_for_its_words() -> None:
    assert meant("Would you remind me tomorrow afternoon, please, it's rather important, you know.").half


def test_not_all_the_way_off_turns_nothing_off() -> None:
    assert meant("no, not all the way off, Daddy").empty


def test_a_message_for_a_stranger_in_any_order_of_words_is_for_nobody() -> None:
    assert meant("leave Gandalf a message that tea is ready").reply == "I know nobody called Gandalf."


@pytest.mark.parametrize(
    ("text", "device", "tool", "arguments"),
    [
        ("turn off the television and remind me at eight to call Anna", "television", "reminders.add", "call Anna"),
        ("put the kettle on, and set me four minutes for the egg as well", "kettle", "timers.start", "egg"),
        ("put the kettle on and set me twenty minutes for the fish pie", "kettle", "timers.start", "fish pie"),
        ("put the kettle on, and set an egg timer for four minutes", "kettle", "timers.start", "egg"),
        ("turn off the television, then set a pasta timer for ten minutes", "television", "timers.start", "pasta"),
    ],
)
def test_a_deed_beside_a_timer_or_a_reminder_is_done_as_well(text: str, device: str, tool: str, arguments: str) -> None:
    deed, beside = meant(text).commands
    assert (deed.tool, deed.arguments["device"], beside.tool) == ("home.turn", device, tool)
    assert arguments in beside.arguments.values()


def test_dark_outside_names_no_place_to_do_something() -> None:
    text = "It's quite dark outside now and I don't care to have the neighbours peering in, so let the blind down"
    assert [dict(one.arguments) for one in meant(text, "kitchen").commands] == [{"device": "kitchen blind"}]
