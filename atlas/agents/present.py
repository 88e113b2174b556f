"""Does a sentence say what time or day it is now, and is that so by the house's clock? Pure.

A language says how that is told (`time_is`, `day_is` of its file in honesty/). "It's 8 PM" is said of much else, so
after another question it is only read as the present when it says "now".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from atlas.agents.tongues import Tongue
from atlas.agents.wanted import Request
from atlas.understanding.durations import UP_TO_99, number_of

NEAR_MINUTES = 10  # "almost half past eleven" is so at 11:24
_OFFSETS = {"half_past": 30, "quarter_past": 15, "quarter_to": -15, "half_to": -30}
_ENGLISH = re.compile(UP_TO_99, re.IGNORECASE)
_PIECE = re.compile(r"(?P<iso>\d{4}-\d\d-\d\d)|(?P<number>\d+)(?:st|nd|rd|th)?\b|(?P<word>[^\W\d_]+(?:'s)?)")


def contradicts_clock(words: str, asked: Request, now: datetime, tongue: Tongue) -> bool:
    """Tell whether `words` say in this language a present time or day that is not that of `now`."""
    if asked.wants_text or tongue.has(words, "not_a_claim"):
        return False
    return any(not _is_time(said, now, tongue) for said in _told(words, "time_is", asked, tongue)) or any(
        not _is_day(said["said"], now, tongue) for said in _told(words, "day_is", asked, tongue)
    )


def _told(words: str, form: str, asked: Request, tongue: Tongue) -> Iterator[re.Match[str]]:
    asks_about = asked.asks or any(map(str.isdigit, asked.words))  # or has a time converted
    of_something_else = asks_about and not tongue.has(asked.words, "asks_the_present")
    return (said for said in tongue[form].finditer(words) if not (of_something_else and said.groupdict().get("bare")))


def _is_time(said: re.Match[str], now: datetime, tongue: Tongue) -> bool:
    """Tell whether a time is near enough to `now`; what is no time is."""
    told = said.groupdict()
    hour = _number(told["hour"], tongue)
    if hour is None or hour > 24:
        return True
    half = (told.get("half") or "").lower()
    cycle = 12 * 60 if hour <= 12 and not half else 24 * 60
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    minutes = int(told["minute"] or told.get("minutes") or 0)
    minutes += sum(by for how, by in _OFFSETS.items() if told.get(how))
    apart = ((hour - now.hour) * 60 + minutes - now.minute) % cycle
    return min(apart, cycle - apart) <= NEAR_MINUTES


def _is_day(said: str, now: datetime, tongue: Tongue) -> bool:
    """Tell whether a date that `said` begins with is today; what begins otherwise is."""
    weekdays, months = tongue.weekdays, tongue.months
    numbers: list[int] = []
    month = 0
    for piece in _PIECE.finditer(said):
        word = (piece["word"] or "").lower()
        if piece["iso"]:
            return piece["iso"] == f"{now:%Y-%m-%d}"
        if piece["number"]:
            numbers.append(int(piece["number"]))
        elif word in weekdays:
            if weekdays.index(word) != now.weekday():
                return False
        elif word in months:
            month = months.index(word) + 1
        elif word not in tongue.words["articles"]:
            break
    years = [number for number in numbers if number > 31]
    days = [number for number in numbers if number <= 31]
    if not month:  # a year, or "the 5th"; any other number counts something
        of_days = said.split()[0].lower() in tongue.words["articles"]
        return years[:1] in ([], [now.year]) if said.strip().isdigit() else not of_days or days[:1] in ([], [now.day])
    return month == now.month and days[:1] in ([], [now.day]) and years[:1] in ([], [now.year])


def _number(said: str, tongue: Tongue) -> int | None:
    if said.isdigit():
        return int(said)
    return tongue.numbers.get(said.lower()) or (number_of(said) if _ENGLISH.fullmatch(said) else None)
