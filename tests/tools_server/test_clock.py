"""What time it is, here and far away. The clock stands at 2027-01-15 09:00 in Paris."""

from __future__ import annotations

import zoneinfo
from typing import Any

import pytest


async def test_the_time_here(world: Any) -> None:
    answer = await world.ok("clock.time")
    assert answer.text == "It's 9:00 AM."
    assert answer.data["iso"] == "2027-01-15T09:00:00+01:00"
    assert answer.data["zone"] == "Europe/Paris"


async def test_the_date_here(world: Any) -> None:
    assert await world.said("clock.date") == "It's Friday, January 15, 2027."


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("Tokyo", "In Tokyo it's 5:00 PM."),
        ("new york", "In New York it's 3:00 AM."),
        ("New York, ", "In New York it's 3:00 AM."),
        ("Los Angeles", "In Los Angeles it's 12:00 AM."),
        ("Buenos Aires", "In Buenos Aires it's 5:00 AM."),
        ("India", "In India it's 1:30 PM."),
        ("the Netherlands", "In The Netherlands it's 9:00 AM."),
        ("UTC", "In UTC it's 8:00 AM."),
        ("Honolulu", "In Honolulu it's 10:00 PM yesterday."),
        ("here", "It's 9:00 AM."),
    ],
)
async def test_the_time_elsewhere(world: Any, place: str, said: str) -> None:
    assert await world.said("clock.time", place=place) == said


async def test_midnight_and_noon_are_twelve(world: Any) -> None:
    world.pass_seconds(3 * 3600)
    assert await world.said("clock.time") == "It's 12:00 PM."
    world.pass_seconds(12 * 3600)
    assert await world.said("clock.time") == "It's 12:00 AM."
    assert await world.said("clock.date", place="tokyo") == "In Tokyo it's Saturday, January 16, 2027."


async def test_the_day_changes_across_the_date_line(world: Any) -> None:
    world.pass_seconds(13 * 3600)
    assert await world.said("clock.time", place="Auckland") == "In Auckland it's 10:00 AM tomorrow."


async def test_two_days_apart_is_said_by_the_name_of_the_day(world: Any) -> None:
    world.gate._zone = zoneinfo.ZoneInfo("Pacific/Pago_Pago")  # where it is 9 PM on Thursday
    world.pass_seconds(2.5 * 3600)
    assert await world.said("clock.time", place="Kiritimati") == "In Kiritimati it's 12:30 AM on Saturday."


async def test_summer_time_is_known(world: Any) -> None:
    world.pass_seconds(180 * 86_400)
    assert (await world.ok("clock.time")).data["iso"].endswith("+02:00")


@pytest.mark.parametrize("place", ["Pariss", "pari"])
async def test_an_unknown_place_is_answered_with_the_nearest(world: Any, place: str) -> None:
    answer = await world.refused("clock.time", place=place)
    assert (answer.error, answer.data["nearest"]) == ("not_found", ["paris"])
    assert answer.text == f"I don't know what time it is in {place}. Did you mean Paris?"


@pytest.mark.parametrize("place", ["Narnia", "../etc/passwd", "Europe/../../etc/localtime", "\u202e"])
async def test_what_is_no_place_is_not_found(world: Any, place: str) -> None:
    assert (await world.refused("clock.time", place=place)).error == "not_found"
