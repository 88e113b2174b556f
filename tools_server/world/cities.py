"""Where the larger cities of the world lie, without asking anybody.

Coordinates are those of the time zone database's zone.tab (public domain), which has a city for every zone and the
capital of most countries; the table adds the largest cities that have no zone of their own, to a tenth of a degree.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

_MORE = """
Aberdeen 57.1 -2.1; Aarhus 56.2 10.2; Abu Dhabi 24.5 54.4; Agra 27.2 78.0; Ahmedabad 23.0 72.6; Alexandria 31.2 29.9
Ankara 39.9 32.9; Antwerp 51.2 4.4; Atlanta 33.7 -84.4; Austin 30.3 -97.7; Baltimore 39.3 -76.6; Bangalore 13.0 77.6
Barcelona 41.4 2.2; Basel 47.6 7.6; Bath 51.4 -2.4; Beijing 39.9 116.4; Belfast 54.6 -5.9; Bergen 60.4 5.3
Bern 46.9 7.4; Bilbao 43.3 -2.9; Birmingham 52.5 -1.9; Bologna 44.5 11.3; Bonn 50.7 7.1; Bordeaux 44.8 -0.6
Boston 42.4 -71.1; Bremen 53.1 8.8; Brighton 50.8 -0.1; Bristol 51.5 -2.6; Bruges 51.2 3.2; Brasilia -15.8 -47.9
Bursa 40.2 29.1; Busan 35.2 129.1; Cali 3.4 -76.5; Calgary 51.0 -114.1; Cambridge 52.2 0.1; Canberra -35.3 149.1
Cape Town -33.9 18.4; Cardiff 51.5 -3.2; Charlotte 35.2 -80.8; Chengdu 30.7 104.1; Chennai 13.1 80.3
Chongqing 29.6 106.6; Christchurch -43.5 172.6; Cologne 50.9 7.0; Cork 51.9 -8.5; Dallas 32.8 -96.8
Da Nang 16.1 108.2; Delhi 28.6 77.2; Dortmund 51.5 7.5; Dresden 51.1 13.7; Dundee 56.5 -3.0; Durban -29.9 31.0
Dusseldorf 51.2 6.8; Edinburgh 55.9 -3.2; Edmonton 53.5 -113.5; Eindhoven 51.4 5.5; Essen 51.5 7.0; Exeter 50.7 -3.5
Florence 43.8 11.3; Frankfurt 50.1 8.7; Freiburg 48.0 7.9; Fukuoka 33.6 130.4; Galway 53.3 -9.1; Gdansk 54.4 18.6
Geneva 46.2 6.1; Genoa 44.4 8.9; Ghent 51.1 3.7; Giza 30.0 31.2; Glasgow 55.9 -4.3; Gothenburg 57.7 12.0
Granada 37.2 -3.6; Graz 47.1 15.4; Grenoble 45.2 5.7; Groningen 53.2 6.6; Guadalajara 20.7 -103.3
Guangzhou 23.1 113.3; Haifa 32.8 35.0; The Hague 52.1 4.3; Hamburg 53.6 10.0; Hanoi 21.0 105.8; Hanover 52.4 9.7
Heidelberg 49.4 8.7; Houston 29.8 -95.4; Hyderabad 17.4 78.5; Innsbruck 47.3 11.4; Izmir 38.4 27.1; Jaipur 26.9 75.8
Jeddah 21.5 39.2; Kansas City 39.1 -94.6; Karlsruhe 49.0 8.4; Kiel 54.3 10.1; Kobe 34.7 135.2; Krakow 50.1 19.9
Kyoto 35.0 135.8; Lahore 31.5 74.3; Las Vegas 36.2 -115.1; Lausanne 46.5 6.6; Leeds 53.8 -1.5; Leicester 52.6 -1.1
Leipzig 51.3 12.4; Liege 50.6 5.6; Lille 50.6 3.1; Limerick 52.7 -8.6; Linz 48.3 14.3; Liverpool 53.4 -3.0
Lodz 51.8 19.5; Lucerne 47.1 8.3; Lyon 45.8 4.8; Maastricht 50.9 5.7; Malaga 36.7 -4.4; Malmo 55.6 13.0
Manchester 53.5 -2.2; Marrakesh 31.6 -8.0; Marseille 43.3 5.4; Medellin 6.2 -75.6; Melbourne -37.8 145.0
Miami 25.8 -80.2; Milan 45.5 9.2; Milwaukee 43.0 -87.9; Minneapolis 45.0 -93.3; Montreal 45.5 -73.6
Montpellier 43.6 3.9; Mumbai 19.1 72.9; Munich 48.1 11.6; Munster 52.0 7.6; Nagoya 35.2 136.9; Nantes 47.2 -1.6
Naples 40.9 14.3; Nashville 36.2 -86.8; Newcastle 55.0 -1.6; New Orleans 30.0 -90.1; Nice 43.7 7.3; Norwich 52.6 1.3
Nottingham 53.0 -1.2; Nuremberg 49.5 11.1; Odense 55.4 10.4; Odesa 46.5 30.7; Osaka 34.7 135.5; Ottawa 45.4 -75.7
Oulu 65.0 25.5; Oxford 51.8 -1.3; Palermo 38.1 13.4; Palma 39.6 2.7; Philadelphia 40.0 -75.2; Pisa 43.7 10.4
Pittsburgh 40.4 -80.0; Plymouth 50.4 -4.1; Portland 45.5 -122.7; Porto 41.1 -8.6; Portsmouth 50.8 -1.1
Poznan 52.4 16.9; Pretoria -25.7 28.2; Pune 18.5 73.9; Quebec 46.8 -71.2; Rabat 34.0 -6.8; Rennes 48.1 -1.7
Rio de Janeiro -22.9 -43.2; Rotterdam 51.9 4.5; Saint Petersburg 59.9 30.3; Salt Lake City 40.8 -111.9
Salzburg 47.8 13.0; San Antonio 29.4 -98.5; San Diego 32.7 -117.2; San Francisco 37.8 -122.4; San Jose 37.3 -121.9
Sapporo 43.1 141.4; Seattle 47.6 -122.3; Sendai 38.3 140.9; Seville 37.4 -6.0; Sheffield 53.4 -1.5
Shenzhen 22.5 114.1; Southampton 50.9 -1.4; Stavanger 59.0 5.7; Strasbourg 48.6 7.8; Stuttgart 48.8 9.2
Swansea 51.6 -3.9; Tampa 27.9 -82.5; Tampere 61.5 23.8; Tel Aviv 32.1 34.8; Thessaloniki 40.6 22.9; Toulouse 43.6 1.4
Trieste 45.6 13.8; Trondheim 63.4 10.4; Turin 45.1 7.7; Turku 60.5 22.3; Uppsala 59.9 17.6; Utrecht 52.1 5.1
Valencia 39.5 -0.4; Venice 45.4 12.3; Verona 45.4 11.0; Washington 38.9 -77.0; Wellington -41.3 174.8
Winterthur 47.5 8.7; Wroclaw 51.1 17.0; Wuhan 30.6 114.3; Wurzburg 49.8 9.9; Xi'an 34.3 108.9; Yokohama 35.4 139.6
York 54.0 -1.1; Zaragoza 41.6 -0.9
"""
_ALSO = {
    "bombay": "mumbai",
    "bengaluru": "bangalore",
    "cologne germany": "cologne",
    "koln": "cologne",
    "munchen": "munich",
    "wien": "vienna",
    "tokio": "tokyo",
    "rom": "rome",
    "mailand": "milan",
    "venedig": "venice",
    "neapel": "naples",
    "florenz": "florence",
    "genf": "geneva",
    "moskau": "moscow",
    "warschau": "warsaw",
    "brussel": "brussels",
    "lissabon": "lisbon",
    "athen": "athens",
    "kopenhagen": "copenhagen",
    "prag": "prague",
    "kairo": "cairo",
    "peking": "beijing",
    "roma": "rome",
    "milano": "milan",
    "firenze": "florence",
    "napoli": "naples",
    "venezia": "venice",
    "torino": "turin",
    "lisboa": "lisbon",
    "praha": "prague",
    "warszawa": "warsaw",
    "kiev": "kyiv",
    "moskva": "moscow",
    "den haag": "hague",
    "nyc": "new york",
    "new york city": "new york",
    "la": "los angeles",
    "dc": "washington",
    "washington dc": "washington",
    "saigon": "ho chi minh",
    "ho chi minh city": "ho chi minh",
    "st petersburg": "saint petersburg",
    "calcutta": "kolkata",
}
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
        if place := known.get(_ALSO.get(key, key)):
            return place
    return None


def nearest(words: str) -> str:
    """Return the name that looks most like it; "" when none does."""
    close = get_close_matches(_key(words.split(",")[0]), [*_known(), *_ALSO], n=1, cutoff=0.7)
    return _known()[_ALSO.get(close[0], close[0])].name if close else ""


@cache
def _known() -> dict[str, Location]:
    places = [*_of_zones(), *_of_table()]
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


def _of_table() -> list[Location]:
    rows = [row.strip() for line in _MORE.strip().splitlines() for row in line.split(";")]
    return [
        Location(name, float(latitude), float(longitude))
        for name, latitude, longitude in (r.rsplit(None, 2) for r in rows)
    ]


def _key(words: str) -> str:
    flat = unicodedata.normalize("NFKD", words.replace("ø", "o").replace("ł", "l")).casefold()
    letters = "".join(c if c.isalnum() else " " for c in flat if not unicodedata.combining(c) and c not in ".'’")
    return " ".join(letters.split()).removeprefix("the ")
