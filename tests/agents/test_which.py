"""When a tool has asked which of several is meant, an answer in any of the usual ways chooses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from atlas.agents import prompt
from atlas.agents.agent_commands import Commands
from atlas.agents.grammar import Grammar
from atlas.conversation import Message, Tool, ToolCall, ToolResult
from atlas.mcp.tools_scripted import Done, ScriptedTools

from .conftest import Room, turn

REMINDERS = [
    {"id": "reminder_1", "text": "call mum", "person": "Anna", "room": "kitchen", "when": "today at 5 PM"},
    {"id": "reminder_2", "text": "call mum", "person": "Anna", "room": "", "when": "tomorrow at 7:30 PM"},
    {"id": "reminder_3", "text": "call mum", "person": "Ben", "room": "study", "when": "every Monday at 6:45 AM"},
]
TIMERS = [
    {"id": "timer_1", "name": "pizza", "room": "kitchen", "seconds": 600},
    {"id": "timer_2", "name": "", "room": "bedroom", "seconds": 300},
]
ALARMS = [
    {"id": "alarm_1", "name": "", "person": "", "room": "", "when": "tomorrow at 7 AM"},
    {"id": "alarm_2", "name": "gym", "person": "", "room": "", "when": "tomorrow at noon"},
]
TASKS = ["call the plumber", "call the bank"]


def asked(
    call: tuple[str, Mapping[str, Any]], data: Mapping[str, Sequence[Any]], said: str = "Which one?"
) -> tuple[Message, ...]:
    """A conversation in which a tool could not choose; `said` is what the person heard of it."""
    made = ToolCall("c1", *call)
    refused = ToolResult("c1", False, "Which one?", data, error="invalid")
    return (
        Message("user", "cancel it"),
        Message("assistant", calls=(made,)),
        Message("tool", prompt.result(refused), call_id="c1"),
        Message("assistant", said),
    )


OF_REMINDERS = asked(("reminders.cancel", {"about": "call mum"}), {"reminders": REMINDERS})
OF_TIMERS = asked(("timers.add", {"by_seconds": 60}), {"timers": TIMERS})
OF_ALARMS = asked(("alarms.cancel", {"day": "tomorrow"}), {"alarms": ALARMS})
OF_TASKS = asked(("tasks.done", {"title": "call"}), {"several": TASKS})
OF_EVENTS = asked(
    ("calendar.remove", {"title": "dentist"}),
    {"several": ["Dentist Monday at 9 AM", "Dentist Wednesday at 3 PM"], "days": ["2026-11-23", "2026-11-25"]},
)


async def answer(grammar: Grammar, said: str, history: tuple[Message, ...]) -> list[dict[str, Any]] | str | None:
    """Return the arguments of what was called, what was said instead, or `None` when it was no answer."""
    name = history[1].calls[0].name
    tools = ScriptedTools([(Tool(name, name, {"type": "object"}), lambda arguments, actor: Done("Done.", changed="x"))])
    room = Room()
    if await Commands("family", grammar, tools).respond(turn(said, history=history), room.emit) is None:
        return None
    return [dict(call.arguments) for call in tools.calls] or room.said


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        ("the first one", 1),
        ("The second one, please.", 2),
        ("the last one", 3),
        ("number three", 3),
        ("the one at five", 1),
        ("at five", 1),
        ("the five o'clock one", 1),
        ("5 pm", 1),
        ("tomorrow", 2),
        ("tomorrow's", 2),
        ("the one at half past seven", 2),
        ("half seven", 2),
        ("seven thirty", 2),
        ("quarter to seven", 3),
        ("I mean the one on Monday", 3),
        ("Ben's", 3),
        ("the one for Ben", 3),
        ("the one in the kitchen", 1),
        ("cancel the one at five", 1),
    ],
)
async def test_one_is_chosen_by_its_place_its_time_its_person_or_its_room(
    grammar: Grammar, said: str, chosen: int
) -> None:
    assert await answer(grammar, said, OF_REMINDERS) == [{"about": f"reminder_{chosen}"}]


@pytest.mark.parametrize(
    ("said", "history", "wanted"),
    [
        ("the pizza one", OF_TIMERS, {"by_seconds": 60, "name": "timer_1"}),
        ("the five minute one", OF_TIMERS, {"by_seconds": 60, "name": "timer_2"}),
        ("the other one", OF_TIMERS, {"by_seconds": 60, "name": "timer_2"}),
        ("the bedroom timer", OF_TIMERS, {"by_seconds": 60, "name": "timer_2"}),
        ("the gym alarm", OF_ALARMS, {"day": "tomorrow", "name": "alarm_2"}),
        ("the one at seven", OF_ALARMS, {"day": "tomorrow", "name": "alarm_1"}),
        ("noon", OF_ALARMS, {"day": "tomorrow", "name": "alarm_2"}),
        ("the bank", OF_TASKS, {"title": "call the bank"}),
        ("the second", OF_TASKS, {"title": "call the bank"}),
        ("the one at three", OF_EVENTS, {"title": "dentist", "day": "2026-11-25"}),
        ("Monday's", OF_EVENTS, {"title": "dentist", "day": "2026-11-23"}),
    ],
)
async def test_timers_alarms_and_titles_are_chosen_alike(
    grammar: Grammar, said: str, history: tuple[Message, ...], wanted: dict[str, Any]
) -> None:
    assert await answer(grammar, said, history) == [wanted]


@pytest.mark.parametrize("said", ["both", "both of them", "all of them", "Cancel both, please."])
async def test_both_are_done_one_after_the_other(grammar: Grammar, said: str) -> None:
    two = asked(("reminders.cancel", {"about": "call mum"}), {"reminders": REMINDERS[:2]})
    assert await answer(grammar, said, two) == [{"about": "reminder_1"}, {"about": "reminder_2"}]


async def test_neither_is_an_answer_too(grammar: Grammar) -> None:
    assert await answer(grammar, "never mind", OF_REMINDERS) == "All right."


@pytest.mark.parametrize(
    "said",
    [
        "mum",  # all of them
        "call mum",
        "the other one",  # of three
        "at eight",
        "not the first one",
        "the first one was a mistake",
        "why do you ask",
        "seven",  # one is at half past
        "is it the one at five",
        "yes",
    ],
)
async def test_what_chooses_none_of_them_does_nothing(grammar: Grammar, said: str) -> None:
    assert await answer(grammar, said, OF_REMINDERS) is None


async def test_whoever_heard_other_words_than_the_tools_own_has_heard_another_order(grammar: Grammar) -> None:
    retold = asked(("reminders.cancel", {"about": "mum"}), {"reminders": REMINDERS}, said="There are three. Which?")
    assert await answer(grammar, "the first one", retold) is None
