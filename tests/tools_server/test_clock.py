"""What time it is, here and far away. The clock stands at 2027-01-15 09:00 in Paris."""

from __future__ import annotations

import zoneinfo
from typing import Any

import pytest

from tests.conftest import for_every


async def test_the_time_here(world: Any) -> None:
    answer = await world.ok("clock.time")
    assert answer.text == "It's 9:00 AM."
    assert answer.data["iso"] == "2027-01-15T09:00:00+01:00"
    assert answer.data["zone"] == "Europe/Paris"


async def test_the_date_here(world: Any) -> None:
    assert await world.said("clock.date") == "It's Friday, January 15, 2027."


@for_every(
    ("place", "text"),
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
async def test_the_time_elsewhere(world: Any, place: str, text: str) -> None:
    assert await world.said("clock.time", place=place) == text


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


# ── other days and times ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("in three weeks", "That's Friday, February 5, 2027."),
        ("Easter", "That's Sunday, March 28, 2027."),
        ("the 3rd of May", "That's Monday, May 3, 2027."),
        ("tomorrow", "That's Saturday, January 16, 2027."),
    ],
)
async def test_the_date_of_another_day(world: Any, when: str, text: str) -> None:
    assert await world.said("clock.date", when=when) == text


async def test_the_date_knows_its_week(world: Any) -> None:
    assert (await world.ok("clock.date")).data["week"] == 2
    assert (await world.ok("clock.date", when="the 1st")).data["week"] == 5


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("Christmas", "There are 344 days until Saturday, December 25, 2027."),
        ("tomorrow", "That's tomorrow."),
        ("today", "That's today."),
        ("at noon", "It's 3 hours until today at noon."),
        ("5 PM", "It's 8 hours until today at 5 PM."),
        ("tomorrow at 9:30", "It's 1 day and 30 minutes until tomorrow at 9:30 AM."),
    ],
)
async def test_how_long_it_is_until_then(world: Any, when: str, text: str) -> None:
    assert await world.said("clock.until", when=when) == text


@for_every(
    ("start", "end", "text"),
    [
        ("9:40", "13:15", "That's 3 hours and 35 minutes."),
        ("nine", "five", "That's 8 hours."),
        ("10 PM", "6 AM", "That's 8 hours."),
        ("noon", "midnight", "That's 12 hours."),
        ("quarter to nine in the morning", "half past four in the afternoon", "That's 7 hours and 45 minutes."),
        ("June 5th", "Christmas", "That's 203 days, or 29 weeks."),
        ("Christmas", "Easter", "That's 272 days, or 38 weeks and 6 days."),  # islands, too
        ("Easter", "", "That's 72 days, or 10 weeks and 2 days."),
        ("tomorrow at noon", "Monday at 1 PM", "That's 2 days and 1 hour."),
        ("Tokyo", "", "Tokyo is 8 hours ahead of us."),
        ("New York", "Tokyo", "New York is 14 hours behind Tokyo."),
        ("India", "London", "India is 5 hours and 30 minutes ahead of London."),
        ("Berlin", "here", "Berlin is at the same time as us."),
    ],
)
async def test_how_far_apart_they_are(world: Any, start: str, end: str, text: str) -> None:
    assert await world.said("clock.difference", start=start, end=end) == text


@pytest.mark.parametrize("tool", ["clock.until", "clock.difference", "clock.date"])
async def test_what_is_no_time_is_named(world: Any, tool: str) -> None:
    argument = "start" if tool == "clock.difference" else "when"
    answer = await world.refused(tool, **{argument: "the purple day"})
    assert (answer.error, "“the purple day”" in answer.text) == ("invalid", True)


async def test_without_a_country_it_says_what_to_set(world: Any) -> None:
    answer = await world.ok("clock.holidays")
    assert answer.text.startswith("I don't know in which country this house is.")
    assert answer.data["holidays"] == []


async def test_the_next_holidays_of_a_country(world: Any) -> None:
    text = await world.said("clock.holidays", country="France")
    assert text == (
        "The next holidays: Easter Monday, on Monday, March 29; Labor Day, on Saturday, May 1; Ascension Day, on"
        " Thursday, May 6; Victory Day, on Saturday, May 8; Pentecost Monday, on Monday, May 17."
    )
    assert await world.said("clock.holidays", country="fr", when="July 14th") == (
        "Wednesday, July 14, 2027 is National Day."
    )
    assert await world.said("clock.holidays", country="france", when="tomorrow") == (
        "Saturday, January 16, 2027 is no public holiday."
    )


async def test_the_houses_own_country_and_region_come_from_its_settings(world: Any) -> None:
    settings = type(world.gate._settings["clock"])(country="Germany", region="BY")
    world.gate._settings = {**world.gate._settings, "clock": settings}
    assert "Corpus Christi" in (await world.said("clock.holidays", when="May 27th"))
    world.gate._settings["clock"] = settings.model_copy(update={"region": "Narnia"})
    assert (await world.refused("clock.holidays")).text == "There is no region Narnia in that country's calendar."


async def test_an_unknown_country_is_answered_with_the_nearest(world: Any) -> None:
    answer = await world.refused("clock.holidays", country="Frnace")
    assert (answer.error, answer.text) == ("not_found", "I don't know the holidays of Frnace. The nearest is France.")


async def test_the_week_has_the_number_that_calendars_print(world: Any) -> None:
    assert await world.said("clock.date", week=True) == "It's week 2 of 2027."
    assert await world.said("clock.date", week=True, when="January 1st") == "It's week 52 of 2027."
