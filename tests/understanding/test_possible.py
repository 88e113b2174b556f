"""What may have been one of two commands is asked about; what only looks, or comes to the same, is done."""

from __future__ import annotations

import pytest

from atlas.agents.agent_commands import Commands
from atlas.agents.minds import InOrder
from atlas.conversation import Actor, Message, Turn
from atlas.understanding.grammar import Grammar
from atlas.understanding.understanding import Understanding
from tests.agents.conftest import ask
from tests.conftest import for_every
from tests.houses import reader_of
from tests.scripted_tools import ScriptedHousehold, ScriptedTools


def heard(grammar: Grammar, text: str, *possible: str, doubtful: bool = False) -> Understanding:
    turn = Turn("", text, Actor("Anna", "phone", "adult", "kitchen"), 0.0, possible=possible, doubtful=doubtful)
    return reader_of(grammar).understand(turn)


@for_every(
    ("text", "possible", "question"),
    [
        ("Can't solve the table.", ["Cancel all timers."], "Cancel all timers?"),
        (
            "Set a timer for 15 minutes.",
            ["Set a timer for 15 minutes.", "Set a timer for 50 minutes."],
            "Set a timer for 15 minutes, or set a timer for 50 minutes?",
        ),
        (
            "Shanta timer.",
            ["Start a timer for 5 minutes.", "Set a 5 minute timer.", "Cancel the timer."],
            "Start a timer for 5 minutes, or cancel the timer?",
        ),
        ("Cancel the time.", ["Cancel the timer.", "How long is left on the timer."], "Cancel the timer?"),
    ],
)
def test_deeds_are_asked_about(grammar: Grammar, text: str, possible: list[str], question: str) -> None:
    meant = heard(grammar, text, *possible)
    assert meant.choices
    assert meant.choices.question == question
    assert not meant.commands


@for_every(
    ("text", "possible", "tool"),
    [
        ("Set a timer for 5 minutes.", ["Set a timer for 5 minutes.", "Set a 5 minute timer."], "timers.start"),
        ("Set a timer for 5 minutes.", ["Set a timer for 5 minutes.", "Seven minutes."], "timers.start"),
        ("Watt I miss it.", ["What time is it."], "clock.time"),
        ("What time is it.", ["What time is it.", "Set a timer for 5 minutes."], "clock.time"),
    ],
)
def test_what_is_one_thing_or_only_looks_is_not(grammar: Grammar, text: str, possible: list[str], tool: str) -> None:
    meant = heard(grammar, text, *possible)
    assert [command.tool for command in meant.commands] == [tool]
    assert meant.choices is None


def test_what_only_looks_and_lies_near_words_that_were_hardly_heard_is_asked_about(grammar: Grammar) -> None:
    meant = heard(grammar, "Thank you.", "What time is it.", doubtful=True)
    assert not meant.commands
    assert meant.choices
    assert meant.choices.question == "Do you want to know: what time is it?"
    assert heard(grammar, "What time is it.", "What time is it.", "What day is it.", doubtful=True).commands


def hardly(grammar: Grammar, text: str) -> Understanding:
    turn = Turn("", text, Actor("Anna", "phone", "adult", "kitchen"), 0.0, doubtful=True)
    return reader_of(grammar).understand(turn)


def test_a_deed_that_was_hardly_heard_is_asked_about(grammar: Grammar) -> None:
    meant = hardly(grammar, "Set a timer for 15 minutes.")
    assert not meant.commands
    assert meant.choices
    assert meant.choices.question == "Set a timer for 15 minutes?"
    assert [command.tool for command in meant.choices.choices[0].commands] == ["timers.start"]


@for_every(
    "text",
    ["What time is it?", "What's my next appointment?", "Which lists do I have?", "When is the next public holiday?"],
)
def test_a_look_that_was_hardly_heard_is_not_taken(grammar: Grammar, text: str) -> None:
    assert reader_of(grammar).read(text).commands
    assert hardly(grammar, text).empty


@pytest.mark.parametrize(("answer", "timers"), [("yes", {}), ("no", {"tea": 240}), ("what time is it", {"tea": 240})])
async def test_the_answer_decides(
    grammar: Grammar, house: ScriptedHousehold, tools: ScriptedTools, answer: str, timers: dict[str, int]
) -> None:
    house.timers["tea"] = 240
    agent = InOrder("family", reader_of(grammar), [Commands(grammar.tables, tools)])
    agent_answer, _ = await ask(agent, "Can't solve the table.", possible=("Cancel all timers.",))
    assert agent_answer.text == "Cancel all timers?"
    assert house.timers == {"tea": 240}, "nothing was done yet"
    history = (Message("user", "Can't solve the table."), Message("assistant", agent_answer.text))
    await ask(agent, answer, history=history)
    assert house.timers == timers
