"""What is moved keeps what was not said: the hour, the day, the length, how often."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

PARIS = ZoneInfo("Europe/Paris")
NOW = datetime(2026, 11, 20, 8, 0, tzinfo=PARIS).timestamp()  # a Friday


@pytest.fixture
def world(world: Any) -> Any:
    world.clock[0] = NOW
    return world


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("Wednesday", "2026-11-25T09:15", "2026-11-25T09:45"),
        ("2026-12-24", "2026-12-24T09:15", "2026-12-24T09:45"),
        ("half past four", "2026-11-23T16:30", "2026-11-23T17:00"),
        ("at four", "2026-11-23T16:00", "2026-11-23T16:30"),
        ("noon", "2026-11-23T12:00", "2026-11-23T12:30"),
        ("an hour later", "2026-11-23T10:15", "2026-11-23T10:45"),
        ("half an hour earlier", "2026-11-23T08:45", "2026-11-23T09:15"),
        ("a week later", "2026-11-30T09:15", "2026-11-30T09:45"),
        ("two days later", "2026-11-25T09:15", "2026-11-25T09:45"),
        ("Thursday at ten", "2026-11-26T10:00", "2026-11-26T10:30"),
        ("tomorrow", "2026-11-21T09:15", "2026-11-21T09:45"),
        ("the afternoon", "2026-11-23T15:00", "2026-11-23T15:30"),
        ("Tuesday morning", "2026-11-24T09:15", "2026-11-24T09:45"),
    ],
)
async def test_an_appointment_that_is_moved_keeps_what_was_not_said(
    world: Any, words: str, start: str, end: str
) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-23T09:15", minutes=30)
    answer = await world.ok("calendar.change", title="dentist", start=words)
    event = answer.data["event"]
    assert (event["start"][:16], event["end"][:16], event["all_day"]) == (start, end, False)


async def test_an_evening_stays_an_evening(world: Any) -> None:
    await world.ok("calendar.add", title="Dinner", start="2026-11-23T19:00", minutes=120)
    answer = await world.ok("calendar.change", title="dinner", start="Thursday at eight")
    assert answer.data["event"]["start"][:16] == "2026-11-26T20:00"
    assert answer.data["event"]["end"][:16] == "2026-11-26T22:00"


async def test_a_weekday_is_of_the_week_that_the_appointment_is_in(world: Any) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-12-10T09:00")
    answer = await world.ok("calendar.change", title="dentist", start="Wednesday")
    assert answer.data["event"]["start"][:16] == "2026-12-09T09:00"


async def test_days_away_stay_as_many(world: Any) -> None:
    await world.ok("calendar.add", title="Holiday", start="2026-11-25", end="2026-11-27")
    answer = await world.ok("calendar.change", title="holiday", start="Thursday")
    assert (answer.data["event"]["start"], answer.data["event"]["end"]) == ("2026-11-26", "2026-11-29")
    assert answer.data["event"]["all_day"]


async def test_nothing_is_moved_into_the_past(world: Any) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-20T10:00")
    assert (await world.refused("calendar.change", title="dentist", start="at seven")).text == "That is already past."


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("Thursday", "Changed. I'll remind you Thursday at 6:30 PM: take the bins out."),
        ("at eight", "Changed. I'll remind you Monday at 8 PM: take the bins out."),
        ("an hour later", "Changed. I'll remind you Monday at 7:30 PM: take the bins out."),
        ("tomorrow at noon", "Changed. I'll remind you tomorrow at noon: take the bins out."),
    ],
)
async def test_a_reminder_that_is_moved_keeps_what_was_not_said(world: Any, words: str, text: str) -> None:
    await world.ok("reminders.add", text="take the bins out", when="Monday at 6:30 pm")
    assert await world.said("reminders.change", about="bins", when=words) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("Thursday", "every Thursday at 6 PM"),
        ("at seven", "every Monday at 7 PM"),
        ("an hour earlier", "every Monday at 5 PM"),
        ("every Friday at noon", "every Friday at noon"),
    ],
)
async def test_a_weekly_reminder_stays_weekly(world: Any, words: str, text: str) -> None:
    await world.ok("reminders.add", text="water the plants", when="every Monday at 6 pm")
    assert text in await world.said("reminders.change", about="plants", when=words)


async def test_a_reminder_of_every_weekday_is_not_moved_to_one_day(world: Any) -> None:
    await world.ok("reminders.add", text="take the pill", when="every weekday at 7")
    refused = await world.refused("reminders.change", about="pill", when="Saturday")
    assert "how often" in refused.text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("half past six", "The 7 AM alarm is now set for tomorrow at 6:30 AM."),
        ("Monday", "The 7 AM alarm is now set for Monday at 7 AM."),
        ("half an hour later", "The 7 AM alarm is now set for tomorrow at 7:30 AM."),
    ],
)
async def test_an_alarm_that_is_moved_keeps_what_was_not_said(world: Any, words: str, text: str) -> None:
    await world.ok("alarms.set", when="tomorrow at 7 am")
    assert await world.said("alarms.change", when=words) == text


async def test_an_alarm_of_every_weekday_rings_on_weekdays_at_its_new_time(world: Any) -> None:
    await world.ok("alarms.set", when="every weekday at 7 am")
    await world.ok("alarms.set", when="every weekend at 9 am")
    text = await world.said("alarms.change", time="7 am", when="quarter past six")
    assert text == "The 7 AM alarm is now set for every weekday at 6:15 AM."


async def test_a_moved_alarm_can_be_put_back(world: Any) -> None:
    await world.ok("alarms.set", when="tomorrow at 7 am")
    before = (await world.ok("alarms.list")).data
    await world.ok("alarms.change", when="half past six")
    await world.ok("history.undo")
    assert (await world.ok("alarms.list")).data == before
