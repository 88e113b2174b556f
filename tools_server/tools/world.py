"""What holds everywhere and needs no network: sums, units, sun and moon, spelling, dice; and what nobody here can know.

Where the sun is looked at from is the place of the weather's settings, else the city of the house's time zone. What a
pint is depends on the country in the clock's settings.
"""

from __future__ import annotations

import secrets
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, tool
from tools_server.sdk.wording import capital, one_line, spoken
from tools_server.times.public_holidays import country_code
from tools_server.times.spans import DaySpan, span
from tools_server.times.spoken_time import day_words
from tools_server.values.language import clock, length, noted, number, series
from tools_server.values.language import text as _
from tools_server.world import cities as places
from tools_server.world import sky
from tools_server.world.arithmetic import NoSum, evaluate
from tools_server.world.arithmetic import amount as amount_of
from tools_server.world.cities import Location
from tools_server.world.units import CURRENCIES, UNITS, Apart, convert

MOST_DICE = 20
MOST_SIDES = 1000
MOST_LETTERS = 40
FIGURES = 4  # behind the point, of what does not come out even
SAID_BACK = 60  # characters of a sum
_AMERICAN_ZONES = ("America/", "US/", "Pacific/Honolulu")

Day = Annotated[str, Field(max_length=60, description="A day, such as tomorrow; empty is today")]
Place = Annotated[str, Field(max_length=100, description="A city; leave out for home")]


# ── numbers ────────────────────────────────────────────────────────────────────────────────────────


@tool("world.calculate", data={"value": float, "exact": bool}, risk="read", limit_seconds=5)
async def calculate(
    call: Call,
    expression: Annotated[
        str, Field(min_length=1, max_length=200, description="15 percent of 240; 12 times 7; (3 + 4) * 5")
    ],
) -> Result:
    """Work out a sum that is said in words or signs: percent, powers and roots too."""
    words = one_line(expression).rstrip("?=. ")
    try:
        value, exact = evaluate(words)
    except NoSum as wrong:
        raise ToolFailed("invalid", _(_NO_SUMS[str(wrong)])) from None
    figures, even = _figures(value)
    text = _("{sum} is {result}.") if exact and even else _("{sum} is about {result}.")
    if len(words) > SAID_BACK or "( " in words:  # which goes on from another sum
        text = _("That is {result}.") if exact and even else _("That is about {result}.")
    data = {"value": float(value), "exact": exact and even}
    return Result(capital(text.format(sum=words, result=figures)), data)


_NO_SUMS = {
    "words": noted("I can't work that out. Say it as 15 percent of 240, or 12 times 7."),
    "zero": noted("Nothing can be divided by zero."),
    "large": noted("That is too large a sum for me."),
    "root": noted("That root is no ordinary number."),
}


@tool("world.convert", data={"value?": float, "unit?": str, "known?": bool}, risk="read", limit_seconds=5)
async def convert_units(
    call: Call,
    unit: Annotated[str, Field(max_length=60, description="The unit that is given, such as mile, celsius, pint")],
    to: Annotated[str, Field(max_length=60, description="The unit that is wanted")],
    amount: Annotated[str, Field(max_length=60, description="How many of the first: 5, or in words")] = "1",
    more: Annotated[str, Field(max_length=60, description="Inches beside feet, pounds beside stone")] = "0",
) -> Result:
    """Say what an amount of one unit is in another: lengths, weights, cups, temperatures, speeds, fuel."""
    if unit in CURRENCIES or to in CURRENCIES:
        return Result(_("I don't know today's exchange rates: I ask nobody outside the house."), {"known": False})
    for name in (unit, to):
        if name not in UNITS:
            raise ToolFailed("not_found", _("I don't know the unit {unit}.").format(unit=spoken(one_line(name))))
    given, extra = _amount(amount), _amount(more)
    smaller = {"foot": ("inch", 12), "stone": ("pound", 14)}.get(unit)
    whole = given + extra / smaller[1] if smaller and extra else given
    try:
        value = convert(whole, unit, to, american=_american(call))
    except Apart:
        raise ToolFailed(
            "invalid",
            _("{one} can't be counted in {other}.").format(one=capital(_(UNITS[unit].names[1])), other=_name(to, None)),
        ) from None
    figures, even = _figures(value, 2 if abs(value) >= 1 else FIGURES)
    given_words = f"{_counted(given, unit)}"
    if smaller and extra:
        given_words = _("{one} {other}").format(one=given_words, other=_counted(extra, smaller[0]))
    result = f"{figures} {_name(to, value)}"
    form = _("{amount} is {result}.") if even else _("{amount} is about {result}.")
    return Result(capital(form.format(amount=given_words, result=result)), {"value": float(value), "unit": to})


def _amount(words: str) -> Fraction:
    """Return a number that came as one or in words. Raises `ToolFailed`."""
    value = amount_of(words[:MOST_LETTERS])
    if value is None:
        raise ToolFailed("invalid", _("I don't understand the amount {words}.").format(words=spoken(words)))
    return value


def _counted(value: Fraction, unit: str) -> str:
    return f"{_figures(value)[0]} {_name(unit, value)}"


def _name(unit: str, value: Fraction | None) -> str:
    """Return what so many of a unit are called; without an amount, several."""
    one, several = UNITS[unit].names
    return _(one if value == 1 else several)


def _figures(value: Fraction, most: int = FIGURES) -> tuple[str, bool]:
    """Return a number as it is written in the language, and whether that is all of it; the small by what counts."""
    digits = most
    while value and abs(value) < Fraction(1, 10 ** (digits - 1)) and digits < 12:
        digits += 1
    rounded = round(value, digits)
    return number(float(rounded), digits), rounded == value


def _american(call: Call) -> bool:
    """Tell whether a pint is an American one: by the country of the house, else by its time zone."""
    country = getattr(call.settings_of.get("clock"), "country", "")
    if country:
        return country_code(country) == "US"
    return str(call.zone or "").startswith(_AMERICAN_ZONES)


# ── the sky ────────────────────────────────────────────────────────────────────────────────────────


@tool(
    "world.sun",
    data={"at?": str | None, "place?": str, "seconds?": int | None, "date?": str},
    risk="read",
    limit_seconds=5,
)
async def sun(
    call: Call,
    event: Annotated[
        Literal["sunrise", "sunset", "dawn", "dusk", "noon", "daylight"],
        Field(description="What is asked about; daylight is how long the day is"),
    ] = "sunset",
    day: Day = "",
    place: Place = "",
) -> Result:
    """Say when the sun rises or sets, when it gets light or dark, or how long the day is."""
    where, named = _where(call, place), _span(call, day)
    if event == "daylight":
        lasting = sky.daylight(named.first, where)
        if lasting is None:
            return Result(_("The sun does not both rise and set there that day."), {"seconds": None})
        seconds = round(lasting.total_seconds() / 60) * 60
        text = _("The sun is up for {length}{day}{place}.")
        on_day = "" if not day.strip() else f" {_day(call, named.first)}"
        text = text.format(length=length(seconds), day=on_day, place=_in(where, place))
        return Result(text, {"seconds": seconds, "date": named.first.isoformat()})
    at = sky.sun_at(event, named.first, where, call.local().tzinfo)
    if at and not day.strip() and at < call.local():  # "when is sunrise", asked at noon, is tomorrow's
        named = DaySpan(named.first + timedelta(1), named.after + timedelta(1))
        at = sky.sun_at(event, named.first, where, call.local().tzinfo)
    if at is None:
        return Result(_("The sun does not do that there that day."), {"at": None})
    text = _(_EVENTS[event]).format(day=_day(call, named.first), time=clock(_minute(at)), place=_in(where, place))
    return Result(capital(text), {"at": at.isoformat(timespec="minutes"), "place": where.name})


_EVENTS = {
    "sunrise": noted("The sun rises {day} at {time}{place}."),
    "sunset": noted("The sun sets {day} at {time}{place}."),
    "dawn": noted("It gets light {day} at {time}{place}."),
    "dusk": noted("It gets dark {day} at {time}{place}."),
    "noon": noted("The sun is highest {day} at {time}{place}."),
}


@tool("world.moon", data={"date": str, "phase?": str}, risk="read", limit_seconds=5)
async def moon(
    call: Call,
    day: Day = "",
    phase: Annotated[Literal["", "full", "new"], Field(description="To ask when the moon is next so")] = "",
) -> Result:
    """Say what the moon looks like on a day, or when it is next full or new."""
    today = call.local().date()
    if phase:
        on = sky.next_phase(phase, today)
        form = _("The next full moon is {day}.") if phase == "full" else _("The next new moon is {day}.")
        return Result(form.format(day=_day(call, on)), {"date": on.isoformat(), "phase": phase})
    on = _span(call, day).first
    words = _(sky.phase_words(on))
    text = f"{words}." if on == today else _("{day}: {moon}.").format(day=capital(_day(call, on)), moon=words)
    return Result(text, {"date": on.isoformat()})


def _where(call: Call, place: str) -> Location:
    """Return where the sun is looked at from. Raises `ToolFailed` for a place nobody knows."""
    weather = call.settings_of.get("weather")
    words = place.strip()
    if not words and weather is not None:
        if weather.latitude is not None and weather.longitude is not None:
            return Location(weather.place.strip(), weather.latitude, weather.longitude)
        words = weather.place.strip()
    words = words or str(call.zone or "").rpartition("/")[2].replace("_", " ")
    if known := places.find(words) if words else None:
        return known
    if not words:
        raise ToolFailed(
            "invalid",
            _("I don't know where home is. Say a city, or say it in the app under The house, Settings."),
        )
    raise ToolFailed("not_found", _("I don't know where {place} is.").format(place=spoken(one_line(words))))


def _span(call: Call, day: str) -> DaySpan:
    return span(day, call.now(), call.zone)


def _day(call: Call, day: date) -> str:
    return day_words(day, call.local().date())


def _in(where: Location, place: str) -> str:
    return _(" in {place}").format(place=where.name) if place.strip() and where.name else ""


def _minute(at: datetime) -> datetime:
    return (at + timedelta(seconds=30)).replace(second=0, microsecond=0)


# ── letters and luck ───────────────────────────────────────────────────────────────────────────────


@tool("world.spell", data={"word": str, "letters": [str]}, risk="read", limit_seconds=5)
async def spell(
    call: Call, word: Annotated[str, Field(min_length=1, max_length=MOST_LETTERS, description="The word to spell")]
) -> Result:
    """Spell a word, letter by letter."""
    plain = one_line(word).strip(" \"'?.")
    letters = [letter.upper() for letter in plain if letter.isalnum()]
    if not letters:
        raise ToolFailed("invalid", _("Which word should I spell?"))
    text = _("{word} is spelled {letters}.").format(word=capital(plain), letters=", ".join(letters))
    return Result(text, {"word": plain, "letters": letters})


@tool("world.echo", data={"text": str}, risk="read", limit_seconds=5)
async def echo(
    call: Call, text: Annotated[str, Field(min_length=1, max_length=1_900, description="What to give back")]
) -> Result:
    """Give a text back as it came: for trying out a connection."""
    return Result(text, {"text": text})


@tool("world.dice", data={"rolled": [int]}, risk="read", limit_seconds=5)
async def dice(
    call: Call,
    count: Annotated[int, Field(ge=1, le=MOST_DICE, description="How many dice")] = 1,
    sides: Annotated[int, Field(ge=2, le=MOST_SIDES, description="How many sides each has")] = 6,
) -> Result:
    """Roll dice."""
    rolled = [secrets.randbelow(sides) + 1 for _number in range(count)]
    if count == 1:
        return Result(_("You rolled {number}.").format(number=rolled[0]), {"rolled": rolled})
    text = _("You rolled {numbers}: {total} together.").format(numbers=series([*map(str, rolled)]), total=sum(rolled))
    return Result(text, {"rolled": rolled})


@tool("world.coin", data={"heads": bool}, risk="read", limit_seconds=5)
async def coin(call: Call) -> Result:
    """Toss a coin."""
    heads = bool(secrets.randbelow(2))
    return Result(_("Heads.") if heads else _("Tails."), {"heads": heads})


@tool("world.number", data={"number": int}, risk="read", limit_seconds=5)
async def any_number(
    call: Call,
    least: Annotated[int, Field(ge=-(10**9), le=10**9, description="The smallest it may be")] = 1,
    most: Annotated[int, Field(ge=-(10**9), le=10**9, description="The largest it may be")] = 100,
) -> Result:
    """Pick a number by chance."""
    least, most = sorted((least, most))
    picked = least + secrets.randbelow(most - least + 1)
    return Result(_("{number}.").format(number=number(picked, 0)), {"number": picked})


@tool("world.choose", data={"choice": str}, risk="read", limit_seconds=5)
async def choose(
    call: Call,
    options: Annotated[list[Annotated[str, Field(min_length=1, max_length=60)]], Field(min_length=2, max_length=20)],
) -> Result:
    """Pick one of several things by chance."""
    picked = secrets.choice(options)
    return Result(_("{choice}.").format(choice=capital(spoken(one_line(picked)))), {"choice": picked})


# ── what nobody here can know or do ─────────────────────────────────────────────────────────────────────

_UNKNOWN = {
    "news": noted("I can't know the news: I read nothing outside this house."),
    "sport": noted("I can't know results or fixtures: I read nothing outside this house."),
    "prices": noted("I can't know prices or shares: I read nothing outside this house."),
    "traffic": noted("I can't know the traffic: I see nothing outside this house."),
    "television": noted("I can't know what is on: I have no programme guide."),
    "hours": noted("I can't know opening hours: I ask nobody outside this house."),
    "trains": noted("I can't know timetables or delays: I ask nobody outside this house."),
    "cinema": noted("I can't know what is playing: I ask nobody outside this house."),
    "lottery": noted("I can't know the lottery numbers: I read nothing outside this house."),
    "exchange": noted("I don't know today's exchange rates: I ask nobody outside the house."),
    "calls": noted("I can't make calls or send texts: I have no telephone. I can leave a message for somebody here."),
    "channels": noted(
        "I can't choose channels or inputs: I only switch on and off, play, pause, and set how loud it is."
    ),
    "phone": noted("I can't find or ring a phone: none tells me where it is."),
    "orders": noted("I can't order or book anything: I ask nobody outside this house."),
}
Topic = Annotated[
    str,
    Field(
        description="What was asked about that only the world outside knows", json_schema_extra={"enum": list(_UNKNOWN)}
    ),
]


@tool("world.unknown", data={"topic": str, "known": bool}, risk="read", limit_seconds=5)
async def unknown(call: Call, topic: Topic) -> Result:
    """Say that something cannot be known or done in this house: news, results, prices, traffic, telephone calls."""
    return Result(_(_UNKNOWN[topic]), {"topic": topic, "known": False})
