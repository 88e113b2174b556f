"""Make the words of a time regular: numbers are digits, "a.m." is "am", hyphens and commas are gone. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from tools_server.times.german import english, nth
from tools_server.values.language import current
from tools_server.values.number_words import ENGLISH

_NTHS = """
zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_TENS = {word: number for word, number in ENGLISH.items() if number >= 20}
_ORDINALS = _NTHS.split()
_ROUND = {"thirtieth": 30}
_SECOND_AFTER = ("the", "every", "each", "on")  # "the second of May", but "in a second"

WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|satur|sat|sun)(?:days?)?"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
ORDINAL = r"\d{1,2}(?:st|nd|rd|th)"
UNIT = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|fortnights?|months?|years?)"
_AMOUNT = r"(?:\d{1,6} and a half|\d{1,6}(?:\.\d{1,3})?|half an?|a half|(?:a |3 )?quarters? of an?|a couple of|an?)"
_LENGTH = rf"(?P<amount>{_AMOUNT}) (?P<unit>{UNIT})(?: and a (?P<more>half|quarter))?"
LENGTH = rf"{_AMOUNT} {UNIT}(?: and a (?:half|quarter))?(?:(?: and)? {_AMOUNT} {UNIT})*"

_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_YEAR = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def weekday(word: str) -> int:
    """Return the day of the week, Monday 0, that `WEEKDAY` matched."""
    return _WEEK.index(word[:3])


def month(word: str) -> int:
    """Return the month, 1…12, that `MONTH` matched."""
    return _YEAR.index(word[:3]) + 1


@dataclass(frozen=True, slots=True)
class Length:
    """How long: months and days of the calendar, and seconds that pass."""

    months: int = 0
    days: int = 0
    seconds: float = 0.0


_CALENDAR = {"day": (0, 1), "week": (0, 7), "fortnight": (0, 14), "month": (1, 0), "year": (12, 0)}
_PASSING = {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "hr": 3600}


def length(text: str) -> Length | None:
    """Return the length that `LENGTH` matched; None for half a day, which is none, and when a unit is said twice."""
    months, days, seconds = 0, 0, 0.0
    units: set[str] = set()
    for match in re.finditer(_LENGTH, text):
        unit = match["unit"].rstrip("s")
        if unit in units:
            return None
        units.add(unit)
        amount = _amount(match["amount"]) + {"half": 0.5, "quarter": 0.25}.get(match["more"] or "", 0)
        if unit in _PASSING:
            seconds += amount * _PASSING[unit]
        elif amount != int(amount):
            return None
        else:
            months += int(amount) * _CALENDAR[unit][0]
            days += int(amount) * _CALENDAR[unit][1]
    return Length(months, days, seconds)


def _amount(words: str) -> float:
    if words.endswith("and a half"):
        return int(words.split()[0]) + 0.5
    if "quarter" in words:
        return 0.75 if words.startswith("3") else 0.25
    if "half" in words:
        return 0.5
    return {"a": 1.0, "an": 1.0, "a couple of": 2.0}.get(words) or float(words)


def regular(text: str) -> str:
    """Return the words of a time as the grammar knows them: "At twenty-five past Six p.m." → "at 25 past 6 pm"."""
    text = english(text) if current() == "de" else text
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    plain = re.sub(r"\b([ap])\.? ?m\b\.?", r"\1m", plain)
    plain = plain.replace("o'clock", "oclock").replace("o clock", "oclock")
    plain = re.sub(r"(?<=\w)'s\b|(?<=s)'(?=\s)", lambda match: "s" if "s" in match[0] else "", plain)
    plain = re.sub(r"(?<=[^\W\d])-(?=[^\W\d])", " ", plain)  # twenty-five, half-past; not 2026-12-24
    plain = re.sub(r"[,;?!\u201c\u201d\"()]|\.(?=\s|$)", " ", plain)
    plain = re.sub(r"(?<=\d)(am|pm|h|min|mins)\b", r" \1", plain)
    plain = re.sub(r"\bh\b", "hours", plain)
    return " ".join(_numbers(plain.split()))


def _numbers(words: list[str]) -> list[str]:
    made: list[str] = []
    at = 0
    while at < len(words):
        word, following = words[at], words[at + 1] if at + 1 < len(words) else ""
        at += 1
        if word in _TENS and 0 < ENGLISH.get(following, 0) < 10:
            made.append(str(_TENS[word] + ENGLISH[following]))
            at += 1
        elif word in _TENS and following in _ORDINALS[1:10]:
            made.append(nth(_TENS[word] + _ORDINALS.index(following)))
            at += 1
        elif word in ENGLISH:
            made.append(str(ENGLISH[word]))
        elif word == "second" and not (made and (made[-1] in _SECOND_AFTER or re.fullmatch(MONTH, made[-1]))):
            made.append(word)
        elif word in _ORDINALS:
            made.append(nth(_ORDINALS.index(word)))
        elif word in _ROUND:
            made.append(nth(_ROUND[word]))
        else:
            made.append(word)
    return made
