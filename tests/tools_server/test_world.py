"""What needs no network to be known, asked of the real tools; and what nobody in a house can know."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import for_every
from tools_server.world.arithmetic import NoSum, evaluate

NOW = datetime(2026, 11, 22, 8, 0, tzinfo=ZoneInfo("Europe/Paris")).timestamp()


@pytest.fixture
def world(world: Any) -> Any:
    world.clock[0] = NOW
    return world


@for_every(
    ("expression", "text"),
    [
        ("15 percent of 240", "15 percent of 240 is 36."),
        ("12 times 7", "12 times 7 is 84."),
        ("the square root of 81", "The square root of 81 is 9."),
        ("the square root of 2", "The square root of 2 is about 1.4142."),
        ("a third of 90", "A third of 90 is 30."),
        ("(3 + 4) * 5", "(3 + 4) * 5 is 35."),
        ("2 + 3 * 4", "2 + 3 * 4 is 14."),
        ("50 plus 20 percent", "50 plus 20 percent is 60."),
        ("20 percent off 80", "20 percent off 80 is 64."),
        ("two hundred and five plus three point five", "Two hundred and five plus three point five is 208.5."),
        ("100 over 3", "100 over 3 is about 33.3333."),
        ("seven squared", "Seven squared is 49."),
        ("one million times 2", "One million times 2 is 2,000,000."),
        ("a thousand million times 2", "A thousand million times 2 is 2,000,000,000."),
        ("zero hundred plus 1", "Zero hundred plus 1 is 1."),
    ],
)
async def test_sums_are_worked_out(world: Any, expression: str, text: str) -> None:
    assert await world.said("world.calculate", expression=expression) == text


@for_every(
    ("expression", "text"),
    [
        ("10 / 0", "Nothing can be divided by zero."),
        ("9 ** 9 ** 9", "That is too large a sum for me."),
        ("__import__('os')", "I can't work that out. Say it as 15 percent of 240, or 12 times 7."),
        ("square root of -1", "That root is no ordinary number."),
        ("0 to the power of -0.5", "Nothing can be divided by zero."),
        ("(10^15)^100.5", "That is too large a sum for me."),
        ("(" * 90 + "1" + ")" * 90, "That is too large a sum for me."),
    ],
)
async def test_what_is_no_sum_is_refused_in_words(world: Any, expression: str, text: str) -> None:
    assert (await world.refused("world.calculate", expression=expression)).text == text


@for_every(
    ("words", "value"),
    [
        ("three thousand million billion", 3 * 10**18),
        ("two thousand three million", 2003 * 10**6),
        ("five million two hundred thousand and six", 5_200_006),
        ("zwei hundert tausend millionen", 2 * 10**11),
        ("eine million hundert", 1_000_100),
        ("twelve hundred", 1200),
    ],
)
def test_large_words_multiply_what_is_smaller_before_them(words: str, value: int) -> None:
    assert evaluate(words) == (value, True)


@for_every(
    ("words", "reason"),
    [
        ("a million million million million million", "large"),
        ("two million three million", "words"),
        ("five thousand six thousand", "words"),
        ("two hundred three hundred", "words"),
        ("a million thousand", "words"),
    ],
)
def test_numbers_that_only_stand_beside_each_other_are_no_sum(words: str, reason: str) -> None:
    with pytest.raises(NoSum, match=reason):
        evaluate(words)


@given(st.text(alphabet="0123456789.+-*/^()% ", max_size=80))
def test_whatever_signs_are_written_there_is_a_number_or_a_reason(text: str) -> None:
    try:
        evaluate(text)
    except NoSum as wrong:
        assert str(wrong) in ("words", "zero", "large", "root")


@for_every(
    ("arguments", "text"),
    [
        ({"amount": "5", "unit": "mile", "to": "kilometre"}, "5 miles is about 8.05 kilometres."),
        ({"amount": "a", "unit": "pint", "to": "millilitre"}, "1 pint is about 568.26 millilitres."),
        ({"amount": "two and a half", "unit": "ounce", "to": "gram"}, "2.5 ounces is about 70.87 grams."),
        (
            {"amount": "70", "unit": "fahrenheit", "to": "celsius"},
            "70 degrees Fahrenheit is about 21.11 degrees Celsius.",
        ),
        ({"amount": "0", "unit": "celsius", "to": "fahrenheit"}, "0 degrees Celsius is 32 degrees Fahrenheit."),
        (
            {"amount": "11", "more": "4", "unit": "stone", "to": "kilogram"},
            "11 stone 4 pounds is about 71.67 kilograms.",
        ),
        ({"amount": "6", "more": "2", "unit": "foot", "to": "centimetre"}, "6 feet 2 inches is 187.96 centimetres."),
        (
            {"amount": "40", "unit": "mile per gallon", "to": "litre per 100 kilometres"},
            "40 miles to the gallon is about 7.06 litres per 100 kilometres.",
        ),
        (
            {"amount": "5", "unit": "litre per 100 kilometres", "to": "mile per gallon"},
            "5 litres per 100 kilometres is about 56.5 miles to the gallon.",
        ),
        ({"amount": "a", "unit": "week", "to": "hour"}, "1 week is 168 hours."),
        ({"amount": "a", "unit": "pint", "to": "ounce"}, "1 pint is 20 ounces."),
        ({"amount": "3 hundred 50", "unit": "gram", "to": "metric pound"}, "350 grams is 0.7 metric pounds."),
    ],
)
async def test_units_are_converted(world: Any, arguments: dict[str, Any], text: str) -> None:
    assert await world.said("world.convert", **arguments) == text


@pytest.mark.parametrize("unit", ["euro", "dollar", "yen"])
async def test_currencies_are_understood_and_honestly_refused(world: Any, unit: str) -> None:
    text = await world.said("world.convert", amount="10", unit=unit, to="pound")
    assert text == "I don't know today's exchange rates: I ask nobody outside the house."


async def test_what_cannot_be_converted_is_refused(world: Any) -> None:
    assert (await world.refused("world.convert", unit="mile", to="litre")).text == "Miles can't be counted in litres."
    assert (await world.refused("world.convert", amount="-500", unit="celsius", to="kelvin")).error == "invalid"
    assert (await world.refused("world.convert", unit="parsec", to="mile")).error == "not_found"


async def test_the_sun_is_looked_at_from_the_city_of_the_time_zone_when_no_place_is_set(world: Any) -> None:
    assert await world.said("world.sun", event="sunset") == "The sun sets today at 5:03 PM."
    assert await world.said("world.sun", event="sunrise", day="tomorrow") == "The sun rises tomorrow at 8:12 AM."
    assert await world.said("world.sun", event="daylight") == "The sun is up for 8 hours and 52 minutes."
    assert (await world.refused("world.sun", place="Nowhereville")).error == "not_found"


async def test_a_sunrise_that_is_over_is_not_the_next_one(world: Any) -> None:
    world.pass_seconds(4 * 3600)
    assert (await world.said("world.sun", event="sunrise")).startswith("The sun rises tomorrow")


async def test_the_moon_is_known_by_the_calendar(world: Any) -> None:
    assert await world.said("world.moon", phase="full") == "The next full moon is Tuesday."
    assert await world.said("world.moon", phase="new") == "The next new moon is Wednesday, December 9."
    assert await world.said("world.moon", day="Tuesday") == "Tuesday: It is a full moon."
    assert "more than half full" in await world.said("world.moon")


async def test_words_are_spelled(world: Any) -> None:
    text = await world.said("world.spell", word="necessary")
    assert text == "Necessary is spelled N, E, C, E, S, S, A, R, Y."


async def test_chance_stays_within_what_was_asked(world: Any) -> None:
    rolled = [(await world.ok("world.dice", count=2)).data["rolled"] for _ in range(50)]
    assert {number for pair in rolled for number in pair} == {1, 2, 3, 4, 5, 6}
    assert {await world.said("world.coin") for _ in range(50)} == {"Heads.", "Tails."}
    assert {(await world.ok("world.number", least=3, most=1)).data["number"] for _ in range(80)} == {1, 2, 3}
    assert {await world.said("world.choose", options=["pizza", "pasta"]) for _ in range(50)} == {"Pizza.", "Pasta."}


@for_every("topic", ["news", "sport", "prices", "traffic", "television", "hours", "trains", "lottery"])
async def test_what_nobody_here_can_know_is_said_to_be_so(world: Any, topic: str) -> None:
    text = await world.said("world.unknown", topic=topic)
    assert text.startswith("I can't know") and text.count(".") == 1


@pytest.mark.parametrize(
    ("sum_", "comes_to"),
    [("three quarters of 450", "337.5"), ("two thirds of 90", "60"), ("ten minus three and a half", "6.5")],
)
async def test_a_sum_may_hold_parts_and_halves(world: Any, sum_: str, comes_to: str) -> None:
    assert comes_to in await world.said("world.calculate", expression=sum_)
