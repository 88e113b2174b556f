"""When the sun rises and sets, and what the moon looks like. Pure; from astral's formulas, to a minute and a day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from astral import Observer, moon, sun

from tools_server.values.language import noted
from tools_server.world.cities import Location

Event = Literal["sunrise", "sunset", "dawn", "dusk", "noon"]
Phase = Literal["full", "new"]
_CYCLE = 28.0  # what astral counts a phase in: 0 is new, 14 is full
_NEAR = 1.0  # of these, on either side of new, full and the quarters
_PHASES = (
    (0.0, noted("It is a new moon")),
    (7.0, noted("The moon is in its first quarter")),
    (14.0, noted("It is a full moon")),
    (21.0, noted("The moon is in its last quarter")),
)
_BETWEEN = (
    noted("The moon is a waxing crescent"),
    noted("The moon is waxing, more than half full"),
    noted("The moon is waning, more than half full"),
    noted("The moon is a waning crescent"),
)
LONGEST_DAYS = 60  # within which every phase comes


def sun_at(event: Event, day: date, where: Location, zone: tzinfo | None) -> datetime | None:
    """Return when the sun does that on a day; None where it does not, as in a polar summer."""
    watch: Callable[..., datetime] = getattr(sun, event)  # they are called alike
    try:
        return watch(Observer(where.latitude, where.longitude), date=day, tzinfo=zone or UTC).astimezone(zone)
    except ValueError:
        return None


def daylight(day: date, where: Location) -> timedelta | None:
    """Return how long the sun is up on a day; None where it does not set or rise."""
    try:
        rise, fall = sun.daylight(Observer(where.latitude, where.longitude), date=day)
    except ValueError:
        return None
    return fall - rise


def phase_words(day: date) -> str:
    """Return what the moon is on a day, as a message: "It is a full moon"."""
    at = moon.phase(day) % _CYCLE
    for middle, words in _PHASES:
        if min(abs(at - middle), _CYCLE - abs(at - middle)) < _NEAR:
            return words
    return _BETWEEN[int(at // 7) % 4]


def next_phase(phase: Phase, today: date) -> date:
    """Return the day, today or later, on which the moon is full or new."""
    middle = 14.0 if phase == "full" else 0.0
    days = [today + timedelta(number) for number in range(LONGEST_DAYS)]
    away = [min(abs(at - middle), _CYCLE - abs(at - middle)) for at in (moon.phase(day) % _CYCLE for day in days)]
    for number in range(LONGEST_DAYS - 1):
        before = away[number - 1] if number else away[0] + 1
        if away[number] <= _NEAR and away[number] <= away[number + 1] and away[number] <= before:
            return days[number]
    raise AssertionError("every phase comes within two months")
