"""Find lengths of time in an English or German sentence: "an hour and a half", "10-minute", "ninety seconds". Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from atlas.understanding import german_durations
from atlas.understanding.digits_and_fractions import FRACTION, value_of
from atlas.understanding.patterns import beginnings

SECONDS_OF_UNIT = {
    "second": 1,
    "sec": 1,
    "minute": 60,
    "min": 60,
    "hour": 3600,
    "hr": 3600,
    "day": 86_400,
    "week": 604_800,
}
IN_MEMORY = 256  # texts: a turn asks for the same words in several ways
LONGEST_SECONDS = 366 * 86_400  # what is longer was misheard; it is left alone

_ONES = (
    "one two three four five six seven eight nine ten"
    " eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_VALUE = {word: value for value, word in enumerate(_ONES.split(), start=1)}
_VALUE |= {word: value for value, word in zip(range(20, 100, 10), _TENS.split(), strict=True)}
_VALUE |= {"fourty": 40}  # as people type it

_SMALL = "(?:" + "|".join(sorted(_ONES.split(), key=len, reverse=True)) + ")"
UP_TO_99 = rf"(?:(?:{'|'.join(_TENS.split())}|fourty)(?:[\s-]{_SMALL})?|{_SMALL})"
_WORDS = rf"(?:(?:an?|{_SMALL})\shundred(?:\s(?:and\s)?{UP_TO_99})?|{UP_TO_99})"
UNIT_WORDS = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|fortnights?|months?|years?)"
_UNIT = r"(?P<unit>seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?)\b"
_WAYS = rf"""(?:
      (?:an?[ ])?(?P<only>half|quarter|three[ ]quarters?)(?:[ ]of)?(?:[ -]an?)?[ -]{_UNIT}
    | (?:an?[ ])?(?:couple)[ ](?:of[ ])?(?:more[ ])?(?P<couple>){_UNIT.replace("<unit>", "<couple_unit>")}
    | (?P<amount>{FRACTION}|\d{{1,9}}(?:\.\d{{1,3}})?|{_WORDS}|an?)
      (?:[ -]and[ -](?:a[ -](?P<inner>half|quarter)|(?P<inner3>three[ -]quarters?)))?
      [ -]?(?:more[ ]|extra[ ]|additional[ ])?{_UNIT.replace("<unit>", "<own_unit>")}
      (?:[ ]and[ ](?:(?:an?[ ])?(?P<outer>half|quarter)|(?P<outer3>three[ ]quarters))
         (?![ ](?:an?[ ])?(?:of|hour|minute|second|day|week)))?
    )"""
_LOOSELY = re.VERBOSE | re.IGNORECASE
_PART = re.compile(rf"\b(?={beginnings(_WAYS, 3, _LOOSELY)}){_WAYS}", _LOOSELY)
_JOINT = re.compile(r",? and |, | ", re.IGNORECASE)
_BARE_MINUTES = re.compile(  # "an hour and ten"
    rf" and (?P<amount>\d\d?|{UP_TO_99})"
    r"(?=\s*(?:[,.;!?…]|$)|\s+(?:please|timer|isn't|on the|for|then|from|till|until|and)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time and where it stands: characters `start` up to `end` (not included)."""

    seconds: int
    start: int
    end: int


@lru_cache(IN_MEMORY)
def find(text: str) -> tuple[Duration, ...]:
    """Return the lengths of time in `text`, in order. "1 hour and 5 minutes" is one; so is "an hour and a half"."""
    durations: list[Duration] = []
    at = 0
    while part := _PART.search(text, at):
        at = part.end()
        seconds, unit = _seconds(part)
        while (joint := _JOINT.match(text, at)) and (more := _PART.match(text, joint.end())):
            further, smaller = _seconds(more)
            if smaller >= unit:  # "ten minutes, two hours" are two
                break
            seconds, unit, at = seconds + further, smaller, more.end()
        if unit == SECONDS_OF_UNIT["hour"] and (bare := _BARE_MINUTES.match(text, at)) and _number(bare["amount"]) < 60:
            seconds, at = seconds + 60 * _number(bare["amount"]), bare.end()
        if 1 <= round(seconds) <= LONGEST_SECONDS:
            durations.append(Duration(round(seconds), part.start(), at))
    return tuple(durations)


@lru_cache(IN_MEMORY)
def find_in_any_language(text: str) -> tuple[Duration, ...]:
    """Return the lengths of time in a text that is English or German, in order."""
    english = find(text)
    taken = {at for one in english for at in range(one.start, one.end)}
    german = (Duration(round(seconds), start, end) for seconds, start, end in german_durations.find(text))
    durations = [*english, *(one for one in german if one.start not in taken and 1 <= one.seconds <= LONGEST_SECONDS)]
    return tuple(sorted(durations, key=lambda one: one.start))


def _seconds(part: re.Match[str]) -> tuple[float, int]:
    """Return how long one part is, and its unit in seconds."""
    unit = SECONDS_OF_UNIT[(part["unit"] or part["couple_unit"] or part["own_unit"]).lower().rstrip("s")]
    if part["only"]:
        return _share(part["only"]) * unit, unit
    if part["couple_unit"]:
        return 2 * unit, unit
    shares = (_share(part[name]) for name in ("inner", "inner3", "outer", "outer3") if part[name])
    return (_number(part["amount"]) + sum(shares)) * unit, unit


def _share(word: str) -> float:
    return {"half": 0.5, "quarter": 0.25}.get(word.lower(), 0.75)


def number_of(words: str) -> int:
    """Return the number that `UP_TO_99` matched."""
    return round(_number(words))


def _number(text: str) -> float:
    words = text.lower().replace("-", " ").split()
    if words[0][0].isdigit():
        return value_of(" ".join(words))
    total = 0
    for word in words:
        total = max(total, 1) * 100 if word == "hundred" else total + _VALUE.get(word, 0)
    return total or 1  # "a", "an"
