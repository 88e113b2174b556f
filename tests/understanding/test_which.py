"""When a tool has asked which of several is meant, an answer in any of the usual ways chooses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.agents import prompt
from atlas.conversation import Message, Tool, ToolCall, ToolResult
from atlas.understanding.grammar import Grammar
from tests.agents.conftest import Room, commands_of, turn
from tests.conftest import for_every
from tests.houses import reader_of
from tests.scripted_tools import ScriptedResult, ScriptedTools

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
DOORS = [
    {"id": "ha:lock.back", "name": "Back Door", "room": "Kitchen"},
    {"id": "ha:lock.front", "name": "Front Door", "room": "Hall"},
]
TASKS = ["call the plumber", "call the bank"]


def asked(
    call: tuple[str, Mapping[str, Any]], data: Mapping[str, Sequence[Any]], text: str = "Which one?"
) -> tuple[Message, ...]:
    """A conversation in which a tool could not choose; `said` is what the person heard of it."""
    made = ToolCall("c1", *call)
    refused = ToolResult("c1", False, "Which one?", data, error="invalid")
    return (
        Message("user", "cancel it"),
        Message("assistant", calls=(made,)),
        Message("tool", prompt.result(refused), call_id="c1"),
        Message("assistant", text),
    )


OF_REMINDERS = asked(("reminders.cancel", {"about": "call mum"}), {"reminders": REMINDERS})
OF_TIMERS = asked(("timers.add", {"by_seconds": 60}), {"timers": TIMERS})
OF_ALARMS = asked(("alarms.cancel", {"day": "tomorrow"}), {"alarms": ALARMS})
OF_DOORS = asked(("home.lock", {}), {"code": "which", "devices": DOORS})
OF_DOORS_LATER = asked(
    ("later.do", {"seconds": 60, "tool": "home.lock", "arguments": {}}), {"code": "which", "devices": DOORS}
)
OF_TASKS = asked(("tasks.done", {"title": "call"}), {"several": TASKS})
OF_EVENTS = asked(
    ("calendar.remove", {"title": "dentist"}),
    {
        "several": ["Dentist Monday at 9 AM", "Dentist Wednesday at 3 PM"],
        "days": ["2026-11-23", "2026-11-25"],
        "ids": ["event_1", "event_2"],
    },
)


async def answer(grammar: Grammar, text: str, history: tuple[Message, ...]) -> list[dict[str, Any]] | str | None:
    """Return the arguments of what was called, what was said instead, or `None` when it was no answer."""
    name = history[1].calls[0].name
    tools = ScriptedTools(
        [(Tool(name, name, {"type": "object"}), lambda arguments, actor: ScriptedResult("Done.", changed="x"))]
    )
    room = Room()
    if await commands_of(grammar, tools).respond(turn(text, history=history), room.emit) is None:
        return None
    return [dict(call.arguments) for call in tools.calls] or room.said


@for_every(
    ("text", "chosen"),
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
    grammar: Grammar, text: str, chosen: int
) -> None:
    assert await answer(grammar, text, OF_REMINDERS) == [{"about": f"reminder_{chosen}"}]


@for_every(
    ("text", "history", "message"),
    [
        ("the fourth one", OF_REMINDERS, "There are only three."),
        ("number five, please", OF_REMINDERS, "There are only three."),
        ("the third one", OF_TIMERS, "There are only two."),
    ],
)
async def test_who_chooses_one_that_was_not_named_hears_how_many_there_are(
    grammar: Grammar, text: str, history: tuple[Message, ...], message: str
) -> None:
    assert await answer(grammar, text, history) == message


@for_every(
    ("text", "history", "wanted"),
    [
        ("the pizza one", OF_TIMERS, {"by_seconds": 60, "name": "timer_1"}),
        ("the five minute one", OF_TIMERS, {"by_seconds": 60, "name": "timer_2"}),
        ("the other one", OF_TIMERS, {"by_seconds": 60, "name": "timer_2"}),
        ("the bedroom timer", OF_TIMERS, {"by_seconds": 60, "name": "timer_2"}),
        ("the gym alarm", OF_ALARMS, {"day": "tomorrow", "name": "alarm_2"}),
        ("the one at seven", OF_ALARMS, {"day": "tomorrow", "name": "alarm_1"}),
        ("noon", OF_ALARMS, {"day": "tomorrow", "name": "alarm_2"}),
        ("the front door", OF_DOORS, {"device": "ha:lock.front"}),
        ("the one in the kitchen", OF_DOORS, {"device": "ha:lock.back"}),
        ("the second one", OF_DOORS, {"device": "ha:lock.front"}),
        (
            "the front one",
            OF_DOORS_LATER,
            {"seconds": 60, "tool": "home.lock", "arguments": {"device": "ha:lock.front"}},
        ),
        ("the bank", OF_TASKS, {"title": "call the bank"}),
        ("the second", OF_TASKS, {"title": "call the bank"}),
        ("the one at three", OF_EVENTS, {"title": "event_2", "day": "2026-11-25"}),
        ("Monday's", OF_EVENTS, {"title": "event_1", "day": "2026-11-23"}),
    ],
)
async def test_timers_alarms_and_titles_are_chosen_alike(
    grammar: Grammar, text: str, history: tuple[Message, ...], wanted: dict[str, Any]
) -> None:
    assert await answer(grammar, text, history) == [wanted]


@for_every("text", ["both", "both of them", "all of them"])
async def test_both_doors_are_locked_where_that_is_answered(grammar: Grammar, text: str) -> None:
    assert await answer(grammar, text, OF_DOORS) == [{"device": "ha:lock.back"}, {"device": "ha:lock.front"}]


@for_every("text", ["both", "both of them", "all of them", "Cancel both, please."])
async def test_both_are_done_one_after_the_other(grammar: Grammar, text: str) -> None:
    two = asked(("reminders.cancel", {"about": "call mum"}), {"reminders": REMINDERS[:2]})
    assert await answer(grammar, text, two) == [{"about": "reminder_1"}, {"about": "reminder_2"}]


@for_every(
    "text",
    ["cancel the pizza timer", "stop the pizza timer", "pause the pizza timer", "cancel both", "stop the first one"],
)
async def test_another_verb_than_that_of_the_command_is_another_command(grammar: Grammar, text: str) -> None:
    called = await answer(grammar, text, OF_TIMERS)
    assert not called or "by_seconds" not in called[0], "no time was added"


async def test_a_command_with_a_verb_of_its_own_is_done_and_is_no_answer(grammar: Grammar) -> None:
    asked_of = asked(("reminders.snooze", {"minutes": 10}), {"reminders": REMINDERS[1:]})
    reader = reader_of(grammar)
    assert reader.understand(turn("cancel the reminder about mum", history=asked_of)).commands == grammar.commands(
        "cancel the reminder about mum"
    )
    gym = asked(("reminders.cancel", {}), {"reminders": [REMINDERS[0], REMINDERS[1] | {"text": "gym"}]})
    assert reader.understand(turn("cancel the gym alarm", history=gym)).commands == grammar.commands(
        "cancel the gym alarm"
    )


async def test_a_command_that_may_have_been_misheard_is_no_answer_either(grammar: Grammar) -> None:
    heard = turn("cancel the pizza timer", history=OF_TIMERS, alternatives=("the pizza timer",))
    assert reader_of(grammar).understand(heard).commands == grammar.commands("cancel the pizza timer")


async def test_what_could_start_a_new_one_still_names_an_old_one(grammar: Grammar) -> None:
    timers = [TIMERS[0] | {"seconds": 300}, TIMERS[1] | {"seconds": 600}]
    ten = asked(("timers.add", {"by_seconds": 60}), {"timers": timers})
    assert await answer(grammar, "the 10 minute timer", ten) == [{"by_seconds": 60, "name": "timer_2"}]


@for_every("text", ["the 10 minute timer", "the first one"])
async def test_an_answer_to_a_strangers_wish_stays_the_strangers_wish(grammar: Grammar, text: str) -> None:
    timers = [TIMERS[0], TIMERS[1] | {"name": "mum"}]
    user, *rest = asked(("timers.add", {"by_seconds": 60}), {"timers": timers})
    history = (user, *(replace(message, tainted=True) for message in rest))
    tools = ScriptedTools(
        [(Tool("timers.add", "", {"type": "object"}), lambda arguments, actor: ScriptedResult("Done."))]
    )
    await commands_of(grammar, tools).respond(turn(text, history=history), Room().emit)
    assert [dict(call.arguments) for call in tools.calls] == [{"by_seconds": 60, "name": "timer_1"}]
    assert tools.tainted == [True]


@for_every("text", ["all of them", "the last one", "cancel all of them"])
async def test_with_more_than_were_named_all_and_the_last_say_not_which(grammar: Grammar, text: str) -> None:
    of_many = asked(("reminders.cancel", {"about": "call mum"}), {"reminders": REMINDERS})
    assert await answer(grammar, text, of_many)
    [user, call, message, heard] = of_many
    more = replace(message, text=message.text.replace('"data": {', '"data": {"more": 2, '))
    assert await answer(grammar, text, (user, call, more, heard)) is None
    assert await answer(grammar, "the first one", (user, call, more, heard)) == [{"about": "reminder_1"}]


async def test_appointments_of_one_name_on_one_day_are_chosen_by_their_id(grammar: Grammar) -> None:
    day = {"several": ["Dentist Monday at 9 AM", "Dentist Monday at 3 PM"], "days": ["2026-11-23"] * 2}
    of_a_day = asked(("calendar.remove", {"title": "dentist"}), day | {"ids": ["event_a", "event_b"]})
    assert await answer(grammar, "the one at three", of_a_day) == [{"title": "event_b", "day": "2026-11-23"}]


async def test_neither_is_an_answer_too(grammar: Grammar) -> None:
    assert await answer(grammar, "never mind", OF_REMINDERS) == "All right."


@for_every(
    "text",
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
async def test_what_chooses_none_of_them_does_nothing(grammar: Grammar, text: str) -> None:
    assert await answer(grammar, text, OF_REMINDERS) is None


async def test_whoever_heard_other_words_than_the_tools_own_has_heard_another_order(grammar: Grammar) -> None:
    retold = asked(("reminders.cancel", {"about": "mum"}), {"reminders": REMINDERS}, text="There are three. Which?")
    assert await answer(grammar, "the first one", retold) is None
