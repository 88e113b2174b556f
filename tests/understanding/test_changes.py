"""What stands is changed where a sentence says so: no second alarm, reminder or task is made beside it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from atlas.conversation import Actor, Turn
from atlas.understanding.act_model import ENCODER, open_act_model
from atlas.understanding.grammar import open_grammar
from atlas.understanding.names import Names
from atlas.understanding.parser import open_parser
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Reader
from tests.understanding.test_exemptions import MODELS, meant

pytestmark = pytest.mark.real


def calls(commands: tuple[Command, ...]) -> list[tuple[str, dict[str, Any]]]:
    return [(one.tool, dict(one.arguments)) for one in commands]


@cache
def german_reader() -> Reader:
    grammar = open_grammar("de")
    return Reader(grammar, None, open_parser(grammar, open_act_model(MODELS / ENCODER)))


def german(text: str) -> list[tuple[str, dict[str, Any]]]:
    turn = Turn("turn", text, Actor("Anna", "phone", "adult", ""), 0.0)
    return calls(german_reader().understand(turn, Names()).commands)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("change the feed the cat reminder to nine", {"about": "feed the cat", "when": "at nine"}),
        ("move the feed the cat reminder to nine", {"about": "feed the cat", "when": "at nine"}),
        ("change the reminder to call Tom to half past nine", {"about": "call Tom", "when": "half past nine"}),
        ("change the letter reminder to ten", {"about": "letter", "when": "at ten"}),
        ("move my dentist reminder to friday", {"about": "dentist", "when": "friday"}),
        ("change the pills reminder from seven to eight", {"about": "pills", "when": "at eight"}),
    ],
)
def test_a_reminder_that_stands_is_moved(text: str, arguments: dict[str, Any]) -> None:
    assert calls(meant(text).commands) == [("reminders.change", arguments)]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("change the alarm to eight", {"when": "at eight"}),
        ("wake me at quarter past nine instead", {"when": "at quarter past nine"}),
        ("wake me at nine instead of eight", {"when": "at nine", "time": "eight"}),
        ("move the six o'clock alarm to quarter past six", {"when": "at quarter past six", "time": "six o'clock"}),
        ("move the saturday alarm to six", {"when": "at six", "day": "saturday"}),
        ("change the seven o'clock alarm from seven to eight", {"when": "at eight", "time": "seven o'clock"}),
        ("move the alarm from seven to eight", {"when": "at eight", "time": "seven"}),
        ("make my seven o'clock alarm eight", {"when": "at eight", "time": "seven o'clock"}),
    ],
)
def test_an_alarm_that_stands_is_moved(text: str, arguments: dict[str, Any]) -> None:
    assert calls(meant(text).commands) == [("alarms.change", arguments)]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("change the 5 minute timer to 8 minutes", {"seconds": 300, "to_seconds": 480}),
        ("change the pasta timer to 8 minutes", {"name": "pasta", "to_seconds": 480}),
        ("make the timer 8 minutes instead", {"to_seconds": 480}),
        ("extend the pasta timer by 8 minutes", {"name": "pasta", "by_seconds": 480}),
    ],
)
def test_a_timer_that_stands_is_set_to_another_length(text: str, arguments: dict[str, Any]) -> None:
    assert calls(meant(text).commands) == [("timers.add", arguments)]


@pytest.mark.parametrize("text", ["set the alarm for nine", "wake me at eight", "make a seven o'clock alarm"])
def test_an_alarm_that_is_only_set_moves_no_other(text: str) -> None:
    assert [tool for tool, _ in calls(meant(text).commands)] == ["alarms.set"]


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("move buy milk to doing", "tasks.move", {"title": "buy milk", "column": "doing"}),
        ("start working on paint the fence", "tasks.move", {"title": "paint the fence", "column": "doing"}),
        ("assign paint the fence to Tom", "tasks.change", {"title": "paint the fence", "assignee": "Tom"}),
    ],
)
def test_a_task_that_stands_is_moved_or_given_to_somebody(text: str, tool: str, arguments: dict[str, Any]) -> None:
    assert calls(meant(text).commands) == [(tool, arguments)]


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("verschieb den Wecker auf neun", "alarms.change", {"when": "um neun"}),
        ("stell den Wecker von sieben auf acht", "alarms.change", {"when": "um acht", "time": "um sieben"}),
        ("verschieb den Wecker am Samstag auf sechs", "alarms.change", {"when": "um sechs", "day": "am Samstag"}),
        ("weck mich stattdessen um neun", "alarms.change", {"when": "um neun"}),
        ("weck mich um neun statt um acht", "alarms.change", {"when": "um neun", "time": "um acht"}),
        ("verschieb die Erinnerung an die Katze auf neun", "reminders.change", {"about": "Katze", "when": "um neun"}),
        ("ändere den 5 Minuten Timer auf 8 Minuten", "timers.add", {"seconds": 300, "to_seconds": 480}),
        ("ändere den Timer auf 8 Minuten", "timers.add", {"to_seconds": 480}),
        ("verschieb Milch kaufen in Arbeit", "tasks.move", {"title": "Milch kaufen", "column": "doing"}),
    ],
)
def test_german_moves_what_stands(text: str, tool: str, arguments: dict[str, Any]) -> None:
    assert german(text) == [(tool, arguments)]


@pytest.mark.parametrize(
    ("text", "tool", "day"),
    [
        ("what reminders do I have tomorrow", "reminders.list", "tomorrow"),
        ("any reminders for friday", "reminders.list", "friday"),
        ("what alarms do I have on saturday", "alarms.list", "saturday"),
    ],
)
def test_who_asks_for_a_day_hears_of_that_day(text: str, tool: str, day: str) -> None:
    assert calls(meant(text).commands) == [(tool, {"day": day})]
