"""How German says how long: "anderthalb Stunden", "eine Viertelstunde". For `durations.py`. Pure."""

from __future__ import annotations

import re

from atlas.understanding.digits_and_fractions import FRACTION, value_of
from atlas.understanding.patterns import beginnings

_ONES = {"ein": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9}
_TEENS = {"zehn": 10, "elf": 11, "zwölf": 12, "sechzehn": 16, "siebzehn": 17}
_TEENS |= {f"{one}zehn": 10 + value for one, value in _ONES.items() if value in (3, 4, 5, 8, 9)}
_TENS = {"zwanzig": 20, "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70, "achtzig": 80}
_TENS |= {"neunzig": 90}
_NUMBERS = {"eine": 1, "einen": 1, "einer": 1, "ner": 1, "ne": 1, "zwo": 2, **_ONES, **_TEENS, **_TENS}
_NUMBERS |= {f"{one}und{ten}": more + value for one, value in _ONES.items() for ten, more in _TENS.items()}
_NUMBERS |= {word.replace("ü", "ue").replace("ö", "oe").replace("ß", "ss"): n for word, n in _NUMBERS.items()}
_WORDS = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_SECONDS = {"s": 1, "m": 60, "h": 3600, "t": 86_400, "w": 604_800}
_UNIT = "sekunden?|sek|minuten?|min|stunden?|std|tagen?|tage?|wochen?"
_WAYS = rf"""(?:
      (?:(?:einer?|ner?)[ ])?(?P<share>dreiviertel|viertel|halbe[nr]?)[ ]?stunde
    | (?P<minute>(?:(?:einer?|ner?)[ ])?halben?[ ]minute)
    | (?P<half>anderthalb|(?:{_WORDS})(?=einhalb))(?:einhalb)?[ ](?P<half_unit>stunden?|minuten?)
    | (?P<amount>{FRACTION}|\d{{1,4}}(?:[.,]\d)?|{_WORDS})[ -]?(?P<unit>{_UNIT})
    )\b(?P<more>[ ]und[ ](?:(?:eine?|ne)[ ])?halbe?[ns]?\b(?!\s*(?:so\b|stunde|minute|[a-zäöü]+(?:liter|pfund))))?"""
_LOOSELY = re.VERBOSE | re.IGNORECASE
_PART = re.compile(rf"\b(?={beginnings(_WAYS, 3, _LOOSELY)}){_WAYS}", _LOOSELY)


def find(text: str) -> list[tuple[float, int, int]]:
    """Return the lengths of time in a German text: seconds, and characters from where up to where."""
    spans: list[tuple[float, int, int]] = []
    for part in _PART.finditer(text):
        seconds, start = _seconds(part), part.start()
        if spans and text[spans[-1][2] : start].lower() in (" ", " und ") and spans[-1][0] > seconds:
            before, start, _ = spans.pop()  # "eine Stunde und zehn Minuten"
            seconds += before
        spans.append((seconds, start, part.end()))
    return spans


def _seconds(part: re.Match[str]) -> float:
    if part["share"]:
        return {"d": 2700, "v": 900}.get(part["share"][0].lower(), 1800)
    if part["minute"]:
        return 30
    if part["half"]:
        whole = 1 if part["half"].lower() == "anderthalb" else _NUMBERS[part["half"].lower()]
        return (whole + 0.5) * _unit(part["half_unit"])
    amount = part["amount"].lower().replace(",", ".")
    halves = 0.5 if part["more"] else 0.0  # "eine Stunde und halb"
    number = _NUMBERS[amount] if amount in _NUMBERS else value_of(amount)
    return (number + halves) * _unit(part["unit"])


def _unit(word: str) -> int:
    word = word.lower()
    return _SECONDS["h" if word.startswith("st") else word[0]]
