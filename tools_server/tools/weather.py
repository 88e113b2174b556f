"""The weather here and elsewhere, asked of a server with Open-Meteo's interface through the way out, and kept.

What was heard is remembered, so that without a way out the last of it is still told, and how old it is.
Source of the interface: open-meteo.com/en/docs; of the codes: WMO table 4677 as used there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta, timezone, tzinfo
from functools import partial
from typing import Annotated, Literal
from urllib.parse import urlencode

import anyio
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tools_server.reach.outside import Unreachable
from tools_server.sdk.toolkit import Call, Result, ToolFailed, tool
from tools_server.times.recurrence import local
from tools_server.times.spans import span
from tools_server.values.language import ago, calendar_day, noted, parts_of, plural, weekday
from tools_server.values.language import text as _
from tools_server.world import cities as places
from tools_server.world.cities import Location

WEATHER = {"place": str, "units": str, "age_seconds": int, "current": bool}
NOW = WEATHER | dict.fromkeys(("temperature_2m", "apparent_temperature", "relative_humidity_2m"), float)
NOW |= {"weather_code": int, "wind_speed_10m": float}
DAY = {"date": str, "low": float, "high": float, "code": int, "rain_percent": float | None}
FORECAST = WEATHER | {"days": [DAY]}

FRESH_SECONDS = 600  # the service itself computes anew every quarter of an hour
TOLD_SECONDS = 120  # from this age on it is said
FETCH_SECONDS = 8.0  # of the patience of somebody who asked aloud
ANSWER_BYTES = 256 * 1024  # forty times an answer
DAYS = 7
MIGRATIONS = {
    "weather.answers": """
        CREATE TABLE weather_answers (
            place TEXT PRIMARY KEY,  -- "latitude,longitude units"
            at REAL NOT NULL,        -- when it was heard: wall clock, seconds since 1970
            answer TEXT NOT NULL     -- JSON, as the service gave it
        );
    """
}
_KEPT = 100  # places


class Settings(BaseModel):
    """[tools.weather]: where home is, and who is asked. `address` must be listed in [egress] allow."""

    model_config = ConfigDict(extra="forbid")

    place: str = Field("", max_length=100)
    latitude: float | None = Field(None, ge=-90, le=90)
    longitude: float | None = Field(None, ge=-180, le=180)
    units: Literal["metric", "imperial"] = "metric"
    address: str = Field("https://api.open-meteo.com", pattern=r"^https?://[^/\s]+$")


class Current(BaseModel):
    """What the service says of now; numbers in the units that were asked for."""

    temperature_2m: float = Field(allow_inf_nan=False, ge=-200, le=200)
    apparent_temperature: float = Field(allow_inf_nan=False, ge=-200, le=200)
    relative_humidity_2m: float = Field(allow_inf_nan=False, ge=0, le=100)
    weather_code: int
    wind_speed_10m: float = Field(allow_inf_nan=False, ge=0, le=1000)


class Daily(BaseModel):
    """What it says of the days: lists of one length, today first."""

    time: list[date] = Field(min_length=1, max_length=20)
    weather_code: list[int | None]
    temperature_2m_max: list[float | None]
    temperature_2m_min: list[float | None]
    precipitation_probability_max: list[float | None]


class WeatherResponse(BaseModel):
    """One answer. What else is in it is left aside."""

    utc_offset_seconds: int = Field(ge=-86_400, le=86_400)
    current: Current
    daily: Daily


@dataclass(frozen=True, slots=True)
class Known:
    """An answer and its age."""

    heard: WeatherResponse
    at: float  # wall clock, seconds since 1970
    trouble: str = ""  # why there is no newer one


WORDS: Mapping[int, str] = {
    0: noted("and clear"),
    1: noted("and mostly clear"),
    2: noted("and partly cloudy"),
    3: noted("and overcast"),
    45: noted("with fog"),
    48: noted("with freezing fog"),
    51: noted("with light drizzle"),
    53: noted("with drizzle"),
    55: noted("with heavy drizzle"),
    56: noted("with light freezing drizzle"),
    57: noted("with freezing drizzle"),
    61: noted("with light rain"),
    63: noted("with rain"),
    65: noted("with heavy rain"),
    66: noted("with light freezing rain"),
    67: noted("with freezing rain"),
    71: noted("with light snow"),
    73: noted("with snow"),
    75: noted("with heavy snow"),
    77: noted("with snow grains"),
    80: noted("with light showers"),
    81: noted("with showers"),
    82: noted("with violent showers"),
    85: noted("with light snow showers"),
    86: noted("with heavy snow showers"),
    95: noted("with thunderstorms"),
    96: noted("with thunderstorms and some hail"),
    99: noted("with thunderstorms and heavy hail"),
}
Place = Annotated[str, Field(max_length=100, description="A city; leave out for home")]


@tool("weather.now", data=NOW, risk="read", limit_seconds=15, open_world=True)
async def now(call: Call, place: Place = "") -> Result:
    """Tell what the weather is like now, at home or in a city."""
    where = _where(call, place)
    known = await _known(call, where)
    current = known.heard.current
    degrees, feels = round(current.temperature_2m), round(current.apparent_temperature)
    felt = _(" It feels like {degrees}.").format(degrees=_degrees(feels)) if abs(feels - degrees) >= 3 else ""
    wind = (
        _(" The wind is {speed:.0f} {unit}.").format(speed=current.wind_speed_10m, unit=_speed(call))
        if current.wind_speed_10m >= 20
        else ""
    )
    sentence = f"{_degrees(degrees)}{_sky(current.weather_code)}"
    form = _("{where} it was {weather}.") if known.trouble else _("{where} it is {weather}.")
    text = form.format(where=_in(where), weather=sentence) + felt + wind
    data = {"place": where.name, **current.model_dump(), "units": call.settings.units}
    return _told(call, known, text, data)


@tool("weather.forecast", data=FORECAST, risk="read", limit_seconds=15, open_world=True)
async def forecast(
    call: Call,
    place: Place = "",
    day: Annotated[
        str,
        Field(
            max_length=30, description="today, tomorrow, weekend, next week, a weekday, or a date such as 2027-01-31"
        ),
    ] = "",
    days: Annotated[int, Field(ge=1, le=DAYS, description="How many days, when no day is named")] = 2,
) -> Result:
    """Tell what the weather will be on a day, or over the next days."""
    where = _where(call, place)
    known = await _known(call, where)
    there = timezone(timedelta(seconds=known.heard.utc_offset_seconds))
    today = local(call.now(), there).date()
    daily = known.heard.daily
    wanted = _wanted(day, days, call.now(), there)
    rows = [row for row in (_day(daily, one_day) for one_day in wanted) if row]
    if not rows:
        last = max(daily.time)
        until = (
            _("I only know until {day}.").format(day=calendar_day(last))
            if last >= today
            else _("What I know is too old.")
        )
        raise ToolFailed(
            "not_found",
            _("I have no forecast for that. {trouble} {until}")
            .format(trouble=known.trouble, until=until)
            .replace("  ", " "),
        )
    sentences = [
        f"{_named(row.date, today)}{_on(where) if not number else ''}: {row.text}" for number, row in enumerate(rows)
    ]
    text = ". ".join(sentences) + "."
    data = {"place": where.name, "days": [row.data for row in rows], "units": call.settings.units}
    return _told(call, known, text, data)


# ── where and when ─────────────────────────────────────────────────────────────────────────────────


def _where(call: Call, place: str) -> Location:
    settings: Settings = call.settings
    words = place.strip()
    at_home = words.casefold() in ("", "home", "here", "outside", settings.place.strip().casefold())
    if at_home and settings.latitude is not None and settings.longitude is not None:
        return Location(settings.place.strip(), settings.latitude, settings.longitude)
    words = settings.place.strip() if at_home else words
    if not words:
        raise ToolFailed(
            "invalid",
            _("I don't know where home is. Say a city, or say it in the app under The house, Settings."),
        )
    if location := places.find(words):
        return location
    near = places.nearest(words)
    hint = _(" The nearest name is {near}.").format(near=near) if near else _(" Say a larger city nearby.")
    raise ToolFailed(
        "not_found",
        _("I don't know where {join} is.{hint}").format(join=" ".join(words.split()), hint=hint),
        nearest=[near] if near else [],
    )


def _wanted(day: str, days: int, now: float, zone: tzinfo) -> Sequence[date]:
    """Return the days that are meant, on the calendar of the place."""
    today = local(now, zone).date()
    words = day.strip().casefold().removeprefix("on ").removeprefix("the ")
    if not words:
        return _days(today, days)
    if words in ("week", "this week", "next days", "next few days"):
        return _days(today, DAYS)
    return span(words, now, zone).days


def _days(first: date, number: int) -> list[date]:
    return [first + timedelta(one_value) for one_value in range(number)]


# ── asking and keeping ─────────────────────────────────────────────────────────────────────────────


async def _known(call: Call, where: Location) -> Known:
    """Return a fresh answer, or the last one with the reason why there is none. Raises `ToolFailed` with neither."""
    key = f"{where.latitude:.2f},{where.longitude:.2f} {call.settings.units}"
    known = _kept(call, key)
    if known and 0 <= call.now() - known.at < FRESH_SECONDS:
        return known
    fetch = partial(call.outside.fetch, _address(call.settings, where), FETCH_SECONDS, ANSWER_BYTES)
    try:
        status, body = await anyio.to_thread.run_sync(fetch, abandon_on_cancel=True)
        heard = _heard(status, body)
    except Unreachable as trouble:
        if known is None:
            raise ToolFailed(
                "failed", _("I can't ask for the weather just now. {trouble}").format(trouble=trouble)
            ) from trouble
        return Known(known.heard, known.at, str(trouble))
    _keep(call, key, heard)
    return Known(heard, call.now())


def _heard(status: int, body: bytes) -> WeatherResponse:
    if status != 200:
        raise Unreachable(_("The weather service answers with error {status}.").format(status=status))
    try:
        return WeatherResponse.model_validate_json(body)
    except ValidationError as garbage:
        raise Unreachable(_("The weather service said something that I don't understand.")) from garbage


def _kept(call: Call, key: str) -> Known | None:
    for row in call.state.rows("SELECT at, answer FROM weather_answers WHERE place = ?", key):
        return Known(WeatherResponse.model_validate(json.loads(row["answer"])), row["at"])
    return None


def _keep(call: Call, key: str, heard: WeatherResponse) -> None:
    with call.state.transaction():
        call.state.run(
            "INSERT OR REPLACE INTO weather_answers (place, at, answer) VALUES (?, ?, ?)",
            *(key, call.now(), heard.model_dump_json()),
        )
        oldest = "SELECT place FROM weather_answers ORDER BY at DESC LIMIT -1 OFFSET ?"
        call.state.run(f"DELETE FROM weather_answers WHERE place IN ({oldest})", _KEPT)  # noqa: S608 — a constant


def _address(settings: Settings, where: Location) -> str:
    imperial = settings.units == "imperial"
    arguments = {
        "latitude": f"{where.latitude:.2f}",  # a kilometre: enough for weather, and all that the service learns
        "longitude": f"{where.longitude:.2f}",
        "current": ",".join(Current.model_fields),
        "daily": ",".join(name for name in Daily.model_fields if name != "time"),
        "forecast_days": DAYS,
        "timezone": "auto",
        "temperature_unit": "fahrenheit" if imperial else "celsius",
        "wind_speed_unit": "mph" if imperial else "kmh",
    }
    return f"{settings.address}/v1/forecast?{urlencode(arguments, safe=',')}"


# ── in words ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ForecastDay:
    """One day of a forecast."""

    date: date
    text: str
    data: Mapping[str, object]


def _day(daily: Daily, wanted: date) -> ForecastDay | None:
    """Return a day of the answer; None when it is not in there, or has no temperatures."""
    number = daily.time.index(wanted) if wanted in daily.time else -1
    lists = (
        daily.weather_code,
        daily.temperature_2m_max,
        daily.temperature_2m_min,
        daily.precipitation_probability_max,
    )
    if number < 0 or any(number >= len(values) for values in lists):
        return None
    code, high, low, rain = (values[number] for values in lists)
    if high is None or low is None:
        return None
    chance = ""
    if rain is not None and rain >= 20:
        article = "an" if round(rain) // 10 == 8 else "a"  # eighty and what follows
        chance = _(", and {article} {percent} percent chance of rain").format(article=article, percent=round(rain))
    text = _("{low} to {high}{sky}{chance}").format(
        low=round(low), high=_degrees(round(high)), sky=_sky(code), chance=chance
    )
    return ForecastDay(
        wanted, text, {"date": wanted.isoformat(), "low": low, "high": high, "code": code, "rain_percent": rain}
    )


def _told(call: Call, known: Known, text: str, data: Mapping[str, object]) -> Result:
    age = max(0.0, call.now() - known.at)
    old = _(" I heard that {ago}.").format(ago=_ago(age)) if age >= TOLD_SECONDS else ""
    if known.trouble:
        old = _(" {trouble} That is what I heard {ago}.").format(trouble=known.trouble, ago=_ago(age))
    return Result(text + old, {**data, "age_seconds": round(age), "current": not known.trouble})


def _ago(seconds: float) -> str:
    count, unit = parts_of(int(seconds))[0]
    return ago(count, unit) if unit != "second" else _("a moment ago")


def _degrees(number: int) -> str:
    return plural("{count} degree", "{count} degrees", abs(number), count=number)


def _sky(code: int | float | None) -> str:
    words = WORDS.get(int(code)) if code is not None else None
    return f" {_(words)}" if words else ""


def _speed(call: Call) -> str:
    return _("miles an hour") if call.settings.units == "imperial" else _("kilometres an hour")


def _in(where: Location) -> str:
    return _("In {name}").format(name=where.name) if where.name else _("Outside")


def _on(where: Location) -> str:
    return _(" in {name}").format(name=where.name) if where.name else ""


def _named(day: date, today: date) -> str:
    match (day - today).days:
        case 0:
            return _("Today")
        case 1:
            return _("Tomorrow")
        case number if 0 < number < 7:
            return weekday(day)
    return calendar_day(day)
