"""What time and what day it is, here and elsewhere. Needs no network: the time zones are on the disk."""

from __future__ import annotations

import zoneinfo
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from typing import Annotated

from pydantic import Field

from tools_server.toolkit import Call, Result, ToolFailed, tool

Place = Annotated[str, Field(max_length=80, description="A city or country; leave out for here")]

# Places people name that no time zone is named after. A country stands for its capital.
ALIASES = {
    "Africa/Cairo": "egypt",
    "Africa/Johannesburg": "south africa, cape town, pretoria, durban",
    "Africa/Lagos": "nigeria, abuja",
    "Africa/Nairobi": "kenya",
    "Africa/Casablanca": "morocco, rabat, marrakesh",
    "America/Argentina/Buenos_Aires": "argentina",
    "America/Bogota": "colombia",
    "America/Chicago": "dallas, houston, austin, minneapolis, new orleans, san antonio, nashville, central time",
    "America/Denver": "salt lake city, albuquerque, mountain time",
    "America/Lima": "peru",
    "America/Los_Angeles": "california, la, l.a., san francisco, san diego, seattle, las vegas, pacific time",
    "America/Mexico_City": "mexico, guadalajara",
    "America/New_York": "washington, washington dc, boston, miami, philadelphia, atlanta, nyc, eastern time",
    "America/Phoenix": "arizona, tucson",
    "America/Santiago": "chile",
    "America/Sao_Paulo": "brazil, rio, rio de janeiro, brasilia",
    "America/Toronto": "canada, ottawa, montreal, quebec",
    "America/Vancouver": "victoria bc, british columbia",
    "America/Edmonton": "calgary",
    "Asia/Bangkok": "thailand",
    "Asia/Dhaka": "bangladesh",
    "Asia/Dubai": "abu dhabi, united arab emirates, emirates",
    "Asia/Ho_Chi_Minh": "vietnam, hanoi",
    "Asia/Hong_Kong": "hongkong",
    "Asia/Jakarta": "indonesia",
    "Asia/Jerusalem": "israel",
    "Asia/Karachi": "pakistan, islamabad, lahore",
    "Asia/Kathmandu": "nepal",
    "Asia/Kolkata": "india, mumbai, bombay, delhi, new delhi, bangalore, chennai, hyderabad",
    "Asia/Kuala_Lumpur": "malaysia",
    "Asia/Manila": "philippines",
    "Asia/Riyadh": "saudi arabia, mecca",
    "Asia/Seoul": "korea, south korea, busan",
    "Asia/Shanghai": "china, beijing, peking, shenzhen, guangzhou",
    "Asia/Taipei": "taiwan",
    "Asia/Tehran": "iran",
    "Asia/Tokyo": "japan, osaka, kyoto",
    "Asia/Yerevan": "armenia",
    "Asia/Tbilisi": "georgia",
    "Asia/Almaty": "kazakhstan",
    "Asia/Tashkent": "uzbekistan",
    "Atlantic/Reykjavik": "iceland",
    "Australia/Sydney": "australia, canberra",
    "Europe/Amsterdam": "netherlands, the netherlands, holland, rotterdam, the hague",
    "Europe/Athens": "greece",
    "Europe/Belgrade": "serbia",
    "Europe/Berlin": "germany, munich, hamburg, frankfurt, cologne",
    "Europe/Brussels": "belgium, antwerp",
    "Europe/Bucharest": "romania",
    "Europe/Budapest": "hungary",
    "Europe/Copenhagen": "denmark",
    "Europe/Dublin": "ireland",
    "Europe/Helsinki": "finland",
    "Europe/Istanbul": "turkey, ankara",
    "Europe/Kyiv": "ukraine, kiev",
    "Europe/Lisbon": "portugal, porto",
    "Europe/London": "england, united kingdom, uk, britain, scotland, wales, edinburgh, manchester, glasgow, cardiff",
    "Europe/Madrid": "spain, barcelona, valencia, seville",
    "Europe/Moscow": "russia, saint petersburg, st petersburg",
    "Europe/Oslo": "norway, bergen",
    "Europe/Paris": "france, lyon, marseille, nice",
    "Europe/Prague": "czechia, czech republic",
    "Europe/Rome": "italy, milan, naples, venice, florence",
    "Europe/Sofia": "bulgaria",
    "Europe/Stockholm": "sweden, gothenburg",
    "Europe/Vienna": "austria, salzburg",
    "Europe/Warsaw": "poland, krakow",
    "Europe/Zurich": "switzerland, geneva, bern, basel",
    "Pacific/Auckland": "new zealand, wellington, christchurch",
    "Pacific/Honolulu": "hawaii",
    "UTC": "utc, gmt, greenwich, universal time",
}
_CONTINENTS = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)


@tool("clock.time", risk="read", limit_seconds=5)
async def time(call: Call, place: Place = "") -> Result:
    """Say what time it is, here or in a city or country."""
    moment, name = _moment(call, place)
    spoken = f"{moment.hour % 12 or 12}:{moment.minute:02d} {'AM' if moment.hour < 12 else 'PM'}"
    text = f"In {name} it's {spoken}{_other_day(call, moment)}." if name else f"It's {spoken}."
    return Result(text, _data(moment, name))


@tool("clock.date", risk="read", limit_seconds=5)
async def date(call: Call, place: Place = "") -> Result:
    """Say what day and date it is, here or in a city or country."""
    moment, name = _moment(call, place)
    spoken = f"{moment:%A}, {moment:%B} {moment.day}, {moment.year}"
    return Result(f"In {name} it's {spoken}." if name else f"It's {spoken}.", _data(moment, name))


def _moment(call: Call, place: str) -> tuple[datetime, str]:
    here = call.local()
    if not (wanted := _plain(place)) or wanted == "here":
        return here, ""
    places = known_places()
    if wanted not in places:
        near = get_close_matches(wanted, places, n=1, cutoff=0.7)
        hint = f" Did you mean {_spoken_name(near[0])}?" if near else ""
        raise ToolFailed("not_found", f"I don't know what time it is in {place.strip()}.{hint}", nearest=near)
    return here.astimezone(zoneinfo.ZoneInfo(places[wanted])), _spoken_name(wanted)


@cache
def known_places() -> dict[str, str]:
    """Return place → IANA zone: every city a zone is named after, and the aliases above."""
    places: dict[str, str] = {}
    available = zoneinfo.available_timezones()
    for zone in sorted(available):
        if zone.split("/")[0] in _CONTINENTS:
            places[_plain(zone.rsplit("/", 1)[-1])] = zone
    for zone, names in ALIASES.items():
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
    return {0: "", 1: " tomorrow", -1: " yesterday"}.get(days, f" on {there:%A}")  # the date line has 25 hours


def _data(moment: datetime, place: str) -> dict[str, str]:
    return {
        "iso": moment.isoformat(timespec="seconds"),
        "date": f"{moment:%Y-%m-%d}",
        "time": f"{moment:%H:%M}",
        "weekday": f"{moment:%A}",
        "zone": str(moment.tzinfo),
        "place": place,
    }
