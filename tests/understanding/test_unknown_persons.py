"""A message for somebody whom the house does not know is left for nobody."""

from __future__ import annotations

import json

import pytest

from atlas.conversation import Actor, Message, ToolCall, Turn
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from tests.conftest import for_every
from tests.houses import reader_of
from tests.understanding.test_exemptions import reader

HOUSE = Names((NamedDevice("Priya", "person"),), (NamedPlace("Kitchen"),), people=("Anna",))


def test_a_message_for_a_stranger_is_for_nobody(grammar: Grammar) -> None:
    meant = reader_of(grammar).read("leave a message for Leo that his PE kit is on the stairs", HOUSE)
    assert meant.commands == () and meant.reply == "I know nobody called Leo."


@for_every("who", ["Anna", "Priya", "mum", "the kids", "everyone"])
def test_whom_the_house_knows_is_no_stranger(grammar: Grammar, who: str) -> None:
    assert "nobody" not in reader_of(grammar).read(f"leave a message for {who} that dinner is at seven", HOUSE).reply


def test_it_is_said_in_german_too() -> None:
    meant = reader_of(open_grammar("de")).read(
        "Hinterlass eine Nachricht für Leo, dass der Turnbeutel hier liegt", HOUSE
    )
    assert meant.reply == "Ich kenne niemanden, der Leo heißt."


@for_every("text", ["Vergiss das mit dem Ersatzschlüssel", "vergiss die Sache mit dem Ersatzschlüssel"])
def test_what_is_to_be_forgotten_is_a_fact(text: str) -> None:
    [command] = reader_of(open_grammar("de")).read(text, HOUSE).commands
    assert (command.tool, command.arguments) == ("facts.forget", {"text": "Ersatzschlüssel"})


@for_every("text", ["was ist am Donnerstag", "was liegt morgen an"])
def test_what_a_day_holds_is_in_the_calendar(text: str) -> None:
    assert [one.tool for one in reader_of(open_grammar("de")).read(text, HOUSE).commands] == ["calendar.list"]


def test_tomorrow_and_every_weekday_after_that_are_two_alarms(grammar: Grammar) -> None:
    text = "wake me up at quarter past six tomorrow, and every weekday after that"
    rings = [one.arguments["when"] for one in reader_of(grammar).read(text, HOUSE).commands]
    assert rings == ["at quarter past six tomorrow", "every weekday at quarter past six"]


@for_every("text", ["do I have any messages", "read me my messages", "any messages?"])
def test_messages_are_those_that_were_left(grammar: Grammar, text: str) -> None:
    assert [one.tool for one in reader_of(grammar).read(text, HOUSE).commands] == ["messages.list"]


@for_every("text", ["do I have any new emails", "read my emails", "any unread messages"])
def test_mail_is_mail(grammar: Grammar, text: str) -> None:
    assert [one.tool.partition(".")[0] for one in reader_of(grammar).read(text, HOUSE).commands] == ["email"]


@for_every(
    ("text", "items"),
    [
        ("add some of those little yoghurts to the shopping list", ["little yoghurts"]),
        ("add milk, two pints to the shopping list", ["two pints of milk"]),
        ("add bread, milk, 2 bottles and eggs to the shopping list", ["bread", "2 bottles of milk", "eggs"]),
    ],
)
def test_things_are_written_down_as_one_buys_them(grammar: Grammar, text: str, items: list[str]) -> None:
    assert [one.arguments["items"] for one in reader_of(grammar).read(text, HOUSE).commands] == [items]


@pytest.mark.real
@pytest.mark.parametrize(("text", "person"), [("and Anna", "Anna"), ("and the mother", "mother"), ("and now", "Priya")])
def test_who_else_is_asked_about_need_not_be_known(text: str, person: str) -> None:
    asked = ToolCall("call_1", "presence.where", {"person": "Priya"})
    told = Message("tool", json.dumps({"devices": [{"name": "Priya", "kind": "person"}]}), call_id="call_1")
    history = (Message("user", "where's Priya"), Message("assistant", calls=(asked,)), told)
    turn = Turn("", text, Actor("", "test", "owner", ""), 0.0, history=(*history, Message("assistant", "Away.")))
    [command] = reader().understand(turn, HOUSE).commands
    assert (command.tool, command.arguments) == ("presence.where", {"person": person})
