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
    replies = learned(*(("home.set", {"level": n}, f"It is at {n} percent.") for n in range(MOST_SENTENCES + 1)))
    assert foreseen(replies, "home.set", level=0) == ""
    assert foreseen(replies, "home.set", level=MOST_SENTENCES) == f"It is at {MOST_SENTENCES} percent."
    replies = learned(*((f"tool.{n}", {}, "Done.") for n in range(MOST_KINDS + 1)))
    assert (foreseen(replies, "tool.0"), foreseen(replies, f"tool.{MOST_KINDS}")) == ("", "Done.")
