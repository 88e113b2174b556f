"""Where the larger cities of the world lie, without asking anybody.

Coordinates are those of the time zone database's zone.tab (public domain), which has a city for every zone and the
capital of most countries; places.toml adds the largest cities that have no zone of their own, to a tenth of a degree.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

_DEGREES = re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?([+-])(\d{3})(\d\d)(\d\d)?")
_NO_CITIES = ("Antarctica/", "Arctic/")


@dataclass(frozen=True, slots=True)
class Location:
    """A place on the earth."""

    name: str
    latitude: float  # degrees, north is positive
    longitude: float  # degrees, east is positive


def find(words: str) -> Location | None:
    """Return the city that is meant, whatever its case, accents or country behind a comma; None when it is not here."""
    known = _known()
    for text in (words, words.split(",")[0], re.sub(r"\bcity\b", "", words, flags=re.IGNORECASE)):
        key = _key(text)
        if place := known.get(_also().get(key, key)):
            return place
    return None


def nearest(words: str) -> str:
    """Return the name that looks most like it; "" when none does."""
    close = get_close_matches(_key(words.split(",")[0]), [*_known(), *_also()], n=1, cutoff=0.7)
    return _known()[_also().get(close[0], close[0])].name if close else ""


@cache
def _known() -> dict[str, Location]:
    cities = places_table()["cities"].items()
    places = [*_of_zones(), *(Location(name, north, east) for name, (north, east) in cities)]
    return {_key(place.name): place for place in places}


def _of_zones() -> list[Location]:
    lines = files("tzdata").joinpath("zoneinfo", "zone.tab").read_text(encoding="utf-8").splitlines()
    places = []
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        _, degrees, zone, *_ = line.split("\t")
        if zone.startswith(_NO_CITIES):
            continue
        match = _DEGREES.fullmatch(degrees)
        assert match, f"zone.tab has a place at {degrees}"
        parts = match.groups("0")
        places.append(Location(zone.rsplit("/", 1)[-1].replace("_", " "), _decimal(*parts[:4]), _decimal(*parts[4:])))
    return places


def _decimal(sign: str, degrees: str, minutes: str, seconds: str) -> float:
    value = int(degrees) + int(minutes) / 60 + int(seconds) / 3600
    return round(-value if sign == "-" else value, 3)


@cache
def places_table() -> Mapping[str, Any]:
    """Return the tables of places.toml."""
    return tomllib.loads(Path(__file__).with_name("places.toml").read_text(encoding="utf-8"))


def _also() -> Mapping[str, str]:
    names: Mapping[str, str] = places_table()["names"]
    return names


def _key(words: str) -> str:
    flat = unicodedata.normalize("NFKD", words.replace("ø", "o").replace("ł", "l")).casefold()
    letters = "".join(c if c.isalnum() else " " for c in flat if not unicodedata.combining(c) and c not in ".'’")
    return " ".join(letters.split()).removeprefix("the ")
