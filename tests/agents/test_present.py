"""What time and day it is, a reply says only as the house's clock has it, or a tool that was asked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from atlas.agents.agent_chat import Chat
from atlas.agents.persona import Persona
from atlas.agents.tongues import ENGLISH, open_tongues
from atlas.agents.truth import Deeds, is_true
from atlas.conversation import ToolCall, ToolResult
from atlas.mcp.tools_scripted import ScriptedTools
from tests.houses import choosing

from .conftest import NOT_KNOWN, ask, says

SUNDAY = datetime(2026, 11, 22, 11, 24, tzinfo=UTC)
NOW = Deeds(asked="don't do that", now=SUNDAY)


@pytest.mark.parametrize(
    "said",
    [
        "The time is 12:30 AM.",
        "The current time is 3:45 PM.",
        "It's 12:30 AM.",
        "Sure! It is now 9 o'clock.",
        "It is currently 14:05.",
        "Right now it's 8 PM.",
        "The time is 11:24 PM.",
        "It's half past nine.",
        "Today is Monday.",
        "It's Tuesday today.",
        "It is now Tuesday, November 24th.",
        "Today is October 5, 2023.",
        "Today's date is 2023-10-05.",
        "The date today is March 15th.",
        "The current year is 2023.",
        "The year is 2024.",
    ],
)
def test_a_present_time_or_day_that_is_not_so_is_not_true(said: str) -> None:
    assert not is_true(said, NOW)


@pytest.mark.parametrize(
    "said",
    [
        "The time is 11:24 AM.",
        "It's 11:24.",
        "It is almost half past eleven.",
        "Today is Sunday.",
        "Today is Sunday, November 22nd, 2026.",
        "Today's date is 2026-11-22.",
        "The current year is 2026.",
    ],
)
def test_a_present_time_or_day_that_is_so_is_true(said: str) -> None:
    assert is_true(said, NOW)


@pytest.mark.parametrize(
    "said",
    [
        "The film begins at 8.",
        "The film begins at 8 PM.",
        "It's 5 km to the station.",
        "It is 20 degrees outside.",
        "It's 3 minutes from here.",
        "It's 2023 all over again.",
        "The best time is 7 AM.",
        "The departure time is 12:30.",
        "If it's 8 PM in London, it's 3 PM in New York.",
        "When it is 9 AM here, they sleep.",
        "Is it 5 PM already?",
        "Monday is a good day.",
        "It's Monday's news.",
        "Today is a good day to rest.",
        "Christmas is on Friday.",
        "The year is divided into months.",
        'She said "It is 9 PM".',
        "The ratio is 12:30.",
        "It's 50/50.",
        "It's July 4th.",
        "It is 12.5 percent.",
    ],
)
def test_what_only_sounds_like_a_clock_passes(said: str) -> None:
    assert is_true(said, NOW)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("what year was the moon landing", "The year is 1969."),
        ("what is a solstice", "The day is June 21st."),
        ("who invented the clock", "The time is measured in seconds."),
        ("convert 5 pm to 24 hours", "It's 17:00."),
        ("when does the film begin", "It's 8 PM."),
        ("so", "It's now 3 years since then."),
        ("so", "It's now one of the best."),
        ("so", "It's now ten times faster."),
        ("so", "It is currently the second largest city."),
    ],
)
def test_what_is_said_of_something_else_passes(asked: str, said: str) -> None:
    assert is_true(said, Deeds(asked=asked, now=SUNDAY))


def test_a_story_has_a_clock_of_its_own() -> None:
    assert is_true("It is 9 PM, and the wind howls.", Deeds(asked="tell me a story", now=SUNDAY))


def test_what_a_clock_was_asked_for_may_be_said() -> None:
    looked_up = NOW.looked_up(ToolCall("c", "clock.time", {"place": "Tokyo"}), ToolResult("c", True, "It is 8:24 PM."))
    assert is_true("It's 8:24 PM.", looked_up)
    assert not is_true("It's 9:30 PM.", looked_up)


@pytest.mark.parametrize(
    ("said", "so"),
    [
        ("Es ist 12:30 Uhr.", False),
        ("Es ist jetzt neun Uhr.", False),
        ("Heute ist Montag.", False),
        ("Heute ist der 5. Oktober 2023.", False),
        ("Es ist 11:24 Uhr.", True),
        ("Heute ist Sonntag, der 22. November.", True),
        ("Es ist fast halb zwölf.", True),
        ("Es ist halb neun.", False),
        ("Es ist jetzt 11 Uhr 24.", True),
        ("Die aktuelle Uhrzeit ist 15:45.", False),
        ("Der Film beginnt um 8 Uhr.", True),
        ("Heute ist ein guter Tag.", True),
        ("Es ist ein Uhrwerk.", True),
        ("Es ist 5 Kilometer weit.", True),
    ],
)
def test_german_is_judged_by_the_same_clock(said: str, *, so: bool) -> None:
    assert is_true(said, NOW, open_tongues("de")) is so


def test_without_a_clock_nothing_is_known_of_the_present() -> None:
    assert is_true("It's 12:30 AM.", Deeds(asked="hello"))
    assert ENGLISH[0]["time_is"]


async def test_who_hears_a_model_hears_no_time_that_it_made_up(tools: ScriptedTools) -> None:
    persona = Persona("family", "always", "You are Atlas.", spoken_tokens=80, written_tokens=400)
    model = says(["The time is 12:30 AM.", " I like ", "the sea."])
    agent = Chat(persona, model, tools, choosing(), trusted=False, context_tokens=4096, zone=UTC)
    answer, _ = await ask(agent, "so what", at=SUNDAY.timestamp())
    assert answer.text == f"{NOT_KNOWN} I like the sea."
    answer, _ = await ask(agent, "so what", at=SUNDAY.replace(hour=0, minute=28).timestamp())
    assert answer.text == "The time is 12:30 AM. I like the sea."
