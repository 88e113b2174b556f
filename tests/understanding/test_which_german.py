"""Which of several is meant can be said in German as well."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.conversation import Message
from atlas.understanding.grammar import Grammar, open_grammar
from tests.conftest import for_every

from .test_which import ALARMS, OF_REMINDERS, OF_TASKS, OF_TIMERS, REMINDERS, answer, asked


@pytest.fixture(scope="module")
def german() -> Grammar:
    return open_grammar("de")


TWO = asked(("reminders.cancel", {"about": "call mum"}), {"reminders": REMINDERS[:2]})
OF_ALARMS = asked(
    ("alarms.cancel", {}),
    {
        "alarms": [
            ALARMS[0],
            ALARMS[1] | {"when": "today at 8 PM"},
            ALARMS[1] | {"id": "alarm_3", "when": "Monday at 8:35 AM"},
        ]
    },
)


@for_every(
    ("text", "chosen"),
    [
        ("das erste", 1),
        ("Das zweite, bitte.", 2),
        ("die letzte", 3),
        ("Nummer drei", 3),
        ("das um fünf", 1),
        ("um fünf Uhr", 1),
        ("das um 17 Uhr", 1),
        ("die um halb acht", 2),
        ("Viertel vor sieben", 3),
        ("um sieben Uhr dreißig", 2),
        ("das von morgen", 2),
        ("ich meine das am Montag", 3),
        ("das von Ben", 3),
        ("das in der kitchen", 1),
        ("lösche die um fünf", 1),
    ],
)
async def test_one_is_chosen_by_its_place_its_time_its_person_or_its_room(
    german: Grammar, text: str, chosen: int
) -> None:
    assert await answer(german, text, OF_REMINDERS) == [{"about": f"reminder_{chosen}"}]


@for_every(
    ("text", "history", "wanted"),
    [
        ("der Pizza-Timer", OF_TIMERS, {"by_seconds": 60, "name": "timer_1"}),
        ("der mit fünf Minuten", OF_TIMERS, {"by_seconds": 60, "name": "timer_2"}),
        ("den 10-Minuten-Timer", OF_TIMERS, {"by_seconds": 60, "name": "timer_1"}),
        ("den anderen", OF_TIMERS, {"by_seconds": 60, "name": "timer_2"}),
        ("das um acht", OF_ALARMS, {"name": "alarm_2"}),
        ("den um fünf nach halb neun", OF_ALARMS, {"name": "alarm_3"}),
        ("der zweite", OF_TASKS, {"title": "call the bank"}),
    ],
)
async def test_timers_alarms_and_titles_are_chosen_alike(
    german: Grammar, text: str, history: tuple[Message, ...], wanted: dict[str, Any]
) -> None:
    assert await answer(german, text, history) == [wanted]


@for_every("text", ["beide", "alle beide", "Lösche beide, bitte."])
async def test_both_are_done_one_after_the_other(german: Grammar, text: str) -> None:
    assert await answer(german, text, TWO) == [{"about": "reminder_1"}, {"about": "reminder_2"}]


@for_every("text", ["keine", "vergiss das", "Lass es."])
async def test_neither_is_an_answer_too(german: Grammar, text: str) -> None:
    assert await answer(german, text, OF_REMINDERS) == "In Ordnung."


@for_every(
    "text",
    [
        "mum",
        "die andere",
        "um neun",
        "nicht das erste",
        "das erste war ein Versehen",
        "um sieben",
        "warum fragst du",
        "ja",
    ],
)
async def test_what_chooses_none_of_them_does_nothing(german: Grammar, text: str) -> None:
    assert await answer(german, text, OF_REMINDERS) is None


@for_every("text", ["stoppe den Pizza-Timer", "pausiere den Pizza-Timer"])
async def test_another_verb_than_that_of_the_command_is_another_command(german: Grammar, text: str) -> None:
    called = await answer(german, text, OF_TIMERS)
    assert not called or "by_seconds" not in called[0], "no time was added"


async def test_who_chooses_one_that_was_not_named_hears_how_many_there_are(german: Grammar) -> None:
    assert await answer(german, "die vierte", OF_REMINDERS) == "Es sind nur drei."
