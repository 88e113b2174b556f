"""What a tool said of one deed is what it will probably say of the next like it."""

from __future__ import annotations

from typing import Any

from atlas.conversation import Receipt, ToolCall, ToolResult
from atlas.understanding.foreseen_replies import MOST_KINDS, MOST_SENTENCES, ForeseenReplies
from atlas.understanding.slots import Command


def learned(*deeds: tuple[str, dict[str, Any], str]) -> ForeseenReplies:
    replies = ForeseenReplies()
    for tool, arguments, text in deeds:
        learn(replies, ToolCall("c", tool, arguments), ToolResult("c", True, text, receipt=Receipt("r", "it")))
    return replies


def learn(replies: ForeseenReplies, call: ToolCall, result: ToolResult, language: str = "en") -> None:
    replies.learn(language, call, result)


def foreseen(replies: ForeseenReplies, tool: str, **arguments: Any) -> str:
    return replies.foresee("en", [Command(tool, arguments)])


MILK = ("lists.add", {"item": "milk", "list": "shopping"}, "I added milk to the shopping list.")


def test_the_next_thing_on_a_list_is_said_like_the_last() -> None:
    replies = learned(MILK)
    assert foreseen(replies, "lists.add", item="brown bread", list="shopping") == (
        "I added brown bread to the shopping list."
    )


def test_what_is_not_said_word_for_word_must_be_the_same_again() -> None:
    replies = learned(("home.turn", {"device": "kitchen light", "on": True}, "The kitchen light is on now."))
    assert foreseen(replies, "home.turn", device="desk lamp", on=True) == "The desk lamp is on now."
    assert foreseen(replies, "home.turn", device="desk lamp", on=False) == ""
    assert foreseen(replies, "home.turn", room="kitchen", on=True) == ""


def test_the_same_deed_is_said_in_each_language_as_it_was_said_there() -> None:
    replies, call = ForeseenReplies(), ToolCall("c", "home.turn", {"device": "Lampe", "on": True})
    german, english = "Die Lampe ist jetzt an.", "Lampe is on now."
    learn(replies, call, ToolResult("c", True, german, receipt=Receipt("r", "it")), "de")
    commands = [Command(call.name, dict(call.arguments))]
    assert (replies.foresee("de", commands), replies.foresee("en", commands)) == (german, "")
    learn(replies, call, ToolResult("c", True, english, receipt=Receipt("r", "it")), "en")
    assert (replies.foresee("de", commands), replies.foresee("en", commands)) == (german, english)


def test_a_length_is_said_in_the_unit_that_it_has_and_a_name_may_begin_the_sentence() -> None:
    replies = learned(
        ("timers.start", {"seconds": 600}, "Timer set for 10 minutes."),
        ("timers.start", {"seconds": 7200}, "Timer set for 2 hours."),
        ("timers.start", {"seconds": 3120, "name": "pizza"}, "Pizza timer set for 52 minutes."),
    )
    assert foreseen(replies, "timers.start", seconds=300) == "Timer set for 5 minutes."
    assert foreseen(replies, "timers.start", seconds=3600 * 3) == "Timer set for 3 hours."
    assert foreseen(replies, "timers.start", seconds=2400, name="tea") == "Tea timer set for 40 minutes."
    for other in (60, 90, 3600, 5400):
        assert foreseen(replies, "timers.start", seconds=other) == "", "one of them, and two units, are said otherwise"


def test_a_number_is_said_where_the_last_one_stood_and_not_inside_another() -> None:
    replies = learned(("home.set", {"device": "desk lamp", "level": 40}, "The desk lamp is at 40 percent."))
    assert foreseen(replies, "home.set", device="hall light", level=75) == "The hall light is at 75 percent."
    replies = learned(("home.set", {"level": 4}, "It is 4.5 or 14:4 now."))
    assert foreseen(replies, "home.set", level=5) == ""


def test_a_word_that_only_holds_the_value_is_left_as_it_is() -> None:
    replies = learned(("lists.add", {"item": "ham", "list": "x"}, "I added ham for hamburgers."))
    assert foreseen(replies, "lists.add", item="tea", list="x") == "I added tea for hamburgers."


def test_nothing_is_foreseen_of_what_only_looks_of_two_deeds_or_of_a_failure() -> None:
    replies = ForeseenReplies()
    look = ToolCall("c", "clock.time", {})
    learn(replies, look, ToolResult("c", True, "It's noon."))
    learn(replies, ToolCall("c", "lists.add", {}), ToolResult("c", False, "There is no such list.", error="invalid"))
    assert (foreseen(replies, "clock.time"), foreseen(replies, "lists.add")) == ("", "")
    replies = learned(MILK)
    assert replies.foresee("en", [Command("lists.add", MILK[1]), Command("lists.add", MILK[1])]) == ""
    assert replies.foresee("en", []) == ""


def test_only_some_kinds_and_some_sentences_of_each_are_remembered() -> None:
    colours = [f"colour {letter}" for letter in "abcdefghijklmnop"][: MOST_SENTENCES + 1]
    replies = learned(*(("home.set", {"colour": one}, f"It is {one[-1]}.") for one in colours))
    assert foreseen(replies, "home.set", colour=colours[0]) == ""
    assert foreseen(replies, "home.set", colour=colours[-1]) == f"It is {colours[-1][-1]}."
    replies = learned(*((f"tool.{n}", {}, "Done.") for n in range(MOST_KINDS + 1)))
    assert (foreseen(replies, "tool.0"), foreseen(replies, f"tool.{MOST_KINDS}")) == ("", "Done.")
