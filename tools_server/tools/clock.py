"""What time and what day it is, here and elsewhere, how long until another, and when the holidays are.

Needs no network: the time zones and the holidays are on the disk.
"""

from __future__ import annotations

import zoneinfo
from datetime import date as Date  # noqa: N812  # a tool has that name here
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, tool
from tools_server.sdk.wording import NAMED, one_line
from tools_server.times.public_holidays import country_code, days_off, nearest
from tools_server.times.recurrence import local
from tools_server.times.recurrence import moment as to_seconds
from tools_server.times.spoken_time import moment_words, on_day
from tools_server.times.time_phrase import ClockTime
from tools_server.times.when import NotUnderstood, understand, understand_day
from tools_server.times.when_grammar import read_words
from tools_server.values.language import calendar_day, counted, exact_clock, noted, parts_of, series, weekday
from tools_server.values.language import text as _
from tools_server.world.cities import places_table

MOMENT = dict.fromkeys(("iso?", "date?", "time?", "weekday?", "zone?", "place?"), str) | {"week?": int}

Place = Annotated[str, Field(max_length=80, description="A city or country; leave out for here")]


class Settings(BaseModel):
    """Where the house is, for its holidays."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    country: str = Field("", max_length=60)  # its name or its code of ISO 3166: "FR"
    region: str = Field("", max_length=60)  # where regions have holidays of their own: "BY" of Germany


NO_COUNTRY = noted(
    "I don't know in which country this house is. Name one, or choose it in the app under The house, Settings."
)


@tool("clock.time", data={**MOMENT, "names?": [str]}, risk="read", limit_seconds=5)
async def time(call: Call, place: Place = "") -> Result:
    """Say what time it is, here or in a city or country."""
    moment, name = _moment(call, place)
    spoken = exact_clock(moment)
    return Result(_it_is(spoken, name, _other_day(call, moment)), _data(moment, name))


@tool("clock.date", data=MOMENT, risk="read", limit_seconds=5)
async def date(
    call: Call,
    place: Place = "",
    when: Annotated[str, Field(max_length=100, description="Another day, such as in three weeks; empty is today")] = "",
    week: Annotated[bool, Field(description="true says the number of its week")] = False,
) -> Result:
    """Say what day and date it is, here or in a city or country, or on a day such as Easter or in three weeks."""
    moment, name = _moment(call, place)
    if when.strip():
        day = _day(call, when)[0]
        moment = datetime.combine(day, datetime.min.time(), moment.tzinfo)
    if week:
        text = _("It's week {number} of {year}.").format(
            number=moment.isocalendar().week, year=moment.isocalendar().year
        )
        return Result(text, _data(moment, name))
    if when.strip():
        return Result(_("That's {long}.").format(long=_long(day)), _data(moment, name))
    return Result(_it_is(_long(moment.date()), name), _data(moment, name))


def _it_is(spoken: str, name: str, other_day: str = "") -> str:
    if not name:
        return _("It's {spoken}.").format(spoken=spoken)
    return _("In {name} it's {spoken}{other_day}.").format(name=name, spoken=spoken, other_day=other_day)


When = Annotated[str, Field(min_length=1, max_length=100, description="A time or a day: 9:40, Christmas, June 5th")]


@tool("clock.until", data={"iso": str, "days": int, "weeks?": int, "seconds?": float}, risk="read", limit_seconds=5)
async def until(call: Call, when: When) -> Result:
    """Say how long it is until a time or a day, such as Christmas."""
    day, timed = _day(call, when)
    if timed:
        at = _instant(call, when)
        left = int(at - call.now())
        text = _("It's {lasting} until {moment_words}.").format(
            lasting=_lasting(left), moment_words=moment_words(local(at, call.zone), local(call.now(), call.zone))
        )
        return Result(text, {"seconds": left, "days": left // 86_400, "iso": call.local(at).isoformat()})
    left = (day - call.local().date()).days
    words = {0: _("That's today."), 1: _("That's tomorrow.")}.get(
        left, _("There are {count} days until {day}.").format(count=left, day=_long(day))
    )
    return Result(words, {"days": left, "weeks": left // 7, "iso": day.isoformat()})


@tool("clock.difference", data={"seconds?": float, "days?": int}, risk="read", limit_seconds=5)
async def difference(
    call: Call,
    start: When,
    end: Annotated[str, Field(max_length=100, description="The other time, day or city; empty is now and here")] = "",
) -> Result:
    """Say how long it is between two times or two days, or how far apart the clocks of two cities are."""
    here = call.local()
    if end.strip():
        between = _times_between(start, end, here.date())
        if between is not None:
            return Result(_("That's {lasting}.").format(lasting=_lasting(between)), {"seconds": between})
    if _is_place(call, start) and (not end.strip() or _plain(end) == "here" or _is_place(call, end)):
        return _clocks_apart(call, start, end)
    first, timed = _day(call, start)
    last, also_timed = _day(call, end) if end.strip() else (here.date(), False)
    if timed or also_timed:
        seconds = abs(int((_instant(call, end) if end.strip() else call.now()) - _instant(call, start)))
        return Result(_("That's {lasting}.").format(lasting=_lasting(seconds)), {"seconds": seconds})
    apart = abs((last - first).days)
    weeks = _(", or {lasting}").format(lasting=_lasting(apart * 86400, weeks=True)) if apart >= 14 else ""
    return Result(
        _("That's {length}{weeks}.").format(length=counted(apart, "day"), weeks=weeks),
        {"days": apart},
    )


@tool("clock.holidays", data={"country": str, "holidays": [{"date": str, "name": str}]}, risk="read", limit_seconds=30)
async def holidays(
    call: Call,
    when: Annotated[str, Field(max_length=100, description="A day to ask about; empty is the next ones")] = "",
    country: Annotated[str, Field(max_length=60, description="A country, if one was said")] = "",
) -> Result:
    """Say when the next public holidays are, or whether a day is one."""
    request = country.strip() or call.settings.country
    if not request:
        return Result(_(NO_COUNTRY), {"country": "", "holidays": []})
    code = await to_thread.run_sync(country_code, request, abandon_on_cancel=True)
    if code is None:
        near = await to_thread.run_sync(nearest, request, abandon_on_cancel=True)
        hint = _(" The nearest is {near}.").format(near=near) if near else ""
        raise ToolFailed(
            "not_found",
            _("I don't know the holidays of {one_line}.{hint}").format(one_line=one_line(request), hint=hint),
            nearest=[near],
        )
    region = "" if country.strip() else call.settings.region
    today = call.local().date()
    try:
        results = await to_thread.run_sync(days_off, code, region, today, abandon_on_cancel=True)
    except NotImplementedError:
        raise ToolFailed(
            "invalid", _("There is no region {one_line} in that country's calendar.").format(one_line=one_line(region))
        ) from None
    if when.strip():
        day = _day(call, when)[0]
        known = results.get(day, "")
        text = (
            _("{long} is {known}.").format(long=_long(day), known=known)
            if known
            else _("{long} is no public holiday.").format(long=_long(day))
        )
        return Result(text, {"country": code, "holidays": [{"date": day.isoformat(), "name": known}] if known else []})
    coming = list(results.items())[:NAMED]
    messages = [f"{name}, {on_day(day, today)}" for day, name in coming]
    data = {"country": code, "holidays": [{"date": day.isoformat(), "name": name} for day, name in results.items()]}
    return Result(
        _("The next holidays: {join}.").format(join="; ".join(messages))
        if messages
        else _("I know of no holidays there."),
        data,
    )


# ── times and days ─────────────────────────────────────────────────────────────────────────────────


def _day(call: Call, when: str) -> tuple[Date, bool]:
    """Return the day that is meant, and whether a time was said with it."""
    return understand_day(when, call.now(), call.zone)


def _instant(call: Call, when: str) -> float:
    understood = understand(when, call.now(), call.zone)
    if understood.at is None or understood.rule:
        raise ToolFailed("invalid", _("Name one time, such as tomorrow at 5 PM."))
    return to_seconds(understood.at, call.zone)


def _times_between(start: str, end: str, today: Date) -> int | None:
    """Return the seconds between two times of one day, or of two nights; None when they are not just times of day."""
    clocks = []
    for words in (start, end):
        try:
            phrase = read_words(words, today)
        except NotUnderstood:
            return None
        if len(phrase.clocks) != 1 or phrase.day or phrase.length or phrase.recurs:
            return None
        clocks.append(phrase.clocks[0])
    first, last = (_minute(clock) for clock in clocks)
    if last < first and not clocks[1].half and not clocks[1].part:
        last += 12 * 60  # from nine to five
    return (last - first) % (24 * 60) * 60


def _minute(clock: ClockTime) -> int:
    afternoon = clock.half == "pm" or (not clock.half and clock.part in ("afternoon", "evening", "night"))
    hour = clock.hour if clock.half in ("", "24") and not afternoon else clock.hour % 12
    return (hour + 12 * afternoon) * 60 + clock.minute


def _clocks_apart(call: Call, start: str, end: str) -> Result:
    there, name = _moment(call, start)
    here, other = _moment(call, end)
    ahead = int((_offset(there) - _offset(here)).total_seconds())
    other = other or _("us")
    text = _("{name} is at the same time as {other}.")
    if ahead:
        text = _("{name} is {length} ahead of {other}.") if ahead > 0 else _("{name} is {length} behind {other}.")
    return Result(text.format(name=name, length=_lasting(abs(ahead)), other=other), {"seconds": ahead})


def _is_place(call: Call, words: str) -> bool:
    """Whether words are a place and no day: Christmas and Easter are islands too."""
    if _plain(words) not in known_places():
        return False
    try:
        understand_day(words, call.now(), call.zone)
    except NotUnderstood:
        return True
    return False


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta()


def _lasting(seconds: int, *, weeks: bool = False) -> str:
    """Return "3 hours and 35 minutes": the two largest units of it."""
    parts = parts_of(seconds, weeks=weeks)[:2] if seconds else []
    return series([counted(count, unit) for count, unit in parts]) if parts else _("no time at all")


def _long(day: Date) -> str:
    return calendar_day(day, year=True)


# ── places ─────────────────────────────────────────────────────────────────────────────────────────


def _moment(call: Call, place: str) -> tuple[datetime, str]:
    here = call.local()
    if not (wanted := _plain(place)) or wanted == "here":
        return here, ""
    places = known_places()
    if wanted not in places:
        near = get_close_matches(wanted, places, n=1, cutoff=0.7)
        hint = _(" Did you mean {spoken_name}?").format(spoken_name=_spoken_name(near[0])) if near else ""
        raise ToolFailed(
            "not_found",
            _("I don't know what time it is in {strip}.{hint}").format(strip=place.strip(), hint=hint),
            nearest=near,
        )
    return here.astimezone(zoneinfo.ZoneInfo(places[wanted])), _spoken_name(wanted)


@cache
def known_places() -> dict[str, str]:
    """Return place → IANA zone: every city a zone is named after, and what else people call places in it."""
    places: dict[str, str] = {}
    available, table = zoneinfo.available_timezones(), places_table()
    for zone in sorted(available):
        if zone.split("/")[0] in table["continents"]:
            places[_plain(zone.rsplit("/", 1)[-1])] = zone
    for zone, names in table["zones"].items():
        if zone in available:
            places.update((_plain(name), zone) for name in names.split(","))
    return places


def _plain(place: str) -> str:
    return " ".join(place.replace("_", " ").replace(",", " ").casefold().split()).strip(" ?.!")


_SMALL = ("of", "the", "de", "da", "and")
_INITIALS = ("la", "uk", "utc", "gmt", "nyc", "l.a")


def _spoken_name(plain: str) -> str:
    if plain in _INITIALS:
        return plain.upper()
    words = plain.split()
    return " ".join(word if word in _SMALL and number else word.capitalize() for number, word in enumerate(words))


def _other_day(call: Call, there: datetime) -> str:
    days = (there.date() - call.local().date()).days
    return {0: "", 1: _(" tomorrow"), -1: _(" yesterday")}.get(
        days, _(" on {weekday}").format(weekday=weekday(there))
    )  # the date line has 25 hours


def _data(moment: datetime, place: str) -> dict[str, Any]:
    return {
        "iso": moment.isoformat(timespec="seconds"),
        "date": f"{moment:%Y-%m-%d}",
        "time": f"{moment:%H:%M}",
        "weekday": f"{moment:%A}",
        "week": moment.isocalendar().week,
        "zone": str(moment.tzinfo),
        "place": place,
    }
