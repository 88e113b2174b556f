"""What every language reads alike, each in its own words: addresses, dialled digits, units and signs of sums. Pure.

The names of units are CLDR's, by Babel: "kilometers per hour", "Kilometer pro Stunde".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from babel.units import format_unit

Change = str | Callable[[re.Match[str]], str]
Rule = tuple[str, Change]

UNITS: Mapping[str, str] = {  # how it is written → what CLDR calls it
    "°C": "temperature-celsius",
    "°F": "temperature-fahrenheit",
    "°": "angle-degree",
    "km/h": "speed-kilometer-per-hour",
    "m/s": "speed-meter-per-second",
    "km²": "area-square-kilometer",
    "m²": "area-square-meter",
    "m³": "volume-cubic-meter",
    "km": "length-kilometer",
    "cm": "length-centimeter",
    "mm": "length-millimeter",
    "m": "length-meter",
    "kg": "mass-kilogram",
    "mg": "mass-milligram",
    "g": "mass-gram",
    "ml": "volume-milliliter",
    "l": "volume-liter",
    "L": "volume-liter",
    "h": "duration-hour",
    "min": "duration-minute",
    "s": "duration-second",
    "ms": "duration-millisecond",
    "kB": "digital-kilobyte",
    "KB": "digital-kilobyte",
    "MB": "digital-megabyte",
    "GB": "digital-gigabyte",
    "TB": "digital-terabyte",
    "Hz": "frequency-hertz",
    "kWh": "energy-kilowatt-hour",
    "kW": "power-kilowatt",
    "W": "power-watt",
    "V": "electric-volt",
    "%": "concentr-percent",
}


@cache
def _unit_name(unit: str, language: str, one: bool) -> str:
    count = 1 if one else 2
    return format_unit(count, unit, locale=language).removeprefix(str(count)).replace("-", " ").strip()


class UnitNames:
    """The names of units in a language: `UNITS` and `more`; `others` are (one, several) where CLDR differs."""

    def __init__(self, language: str, more: Mapping[str, str], others: Mapping[str, tuple[str, str]]) -> None:
        self._language, self._others = language, others
        self._units = {**UNITS, **more}

    def rule(self, number: str) -> Rule:
        """Return the rule that reads a number, of the pattern given, with its unit."""
        units = "|".join(re.escape(unit) for unit in sorted({*self._units, *self._others}, key=len, reverse=True))
        sign = r"(?<![\w.,])(?P<minus>(?:(?<=\s)|^)[-−])?"
        return rf"{sign}(?P<number>{number}) ?(?P<unit>{units})(?![\w/²³])", self._read

    def counted(self, number: str, unit: str) -> str:
        """Return so many of a unit, in words."""
        if unit in self._others:
            return f"{number} {self._others[unit][number != '1']}"
        return f"{number} {_unit_name(self._units[unit], self._language, number == '1')}"

    def _read(self, match: re.Match[str]) -> str:
        return ("minus " if match["minus"] else "") + self.counted(match["number"], match["unit"])


def addresses(dot: str, at: str, underscore: str, dash: str) -> Iterable[Rule]:
    """Yield the rules for links, mail addresses and those of machines. Of a link its host is said: where it leads."""

    def host(match: re.Match[str]) -> str:
        return match["host"].removeprefix("www.").replace(".", f" {dot} ")

    def mail(match: re.Match[str]) -> str:
        text = match.group()
        for mark, word in (("@", at), (".", dot), ("_", underscore), ("-", dash)):
            text = text.replace(mark, f" {word} ")
        return re.sub(r" +", " ", text)

    yield r"(?i)\bhttps?://(?P<host>[a-z0-9.-]+)(?::\d+)?(?:[/?#][^\s<>\"]*[^\s<>\".,;:!?)'])?/?", host
    yield r"(?i)\b(?P<host>www\.[a-z0-9-]+(?:\.[a-z0-9-]+)+)(?:/[^\s<>\"]*[^\s<>\".,;:!?)'])?", host
    yield r"\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}\b", mail
    yield r"\b(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\b", rf"\1 {dot} \2 {dot} \3 {dot} \4"


def signs(about: str, times: str, divided: str, plus_minus: str, most: str, least: str) -> Iterable[Rule]:
    """Yield the rules for the signs that stand at numbers."""
    yield r"(?:(?<=[\s(])|^)[-−](?=\d)", "minus "
    yield r"[~≈] ?(?=\d)", f"{about} "
    yield r"(?<=\d) ?[×x] ?(?=\d)", f" {times} "
    yield r"(?<=\d)x\b", f" {times}"
    for sign, words in (("÷", divided), ("±", plus_minus), ("≤", most), ("≥", least)):
        yield f" ?{sign} ?", f" {words} "


def digits(match: re.Match[str]) -> str:
    """Return a number that is dialled, digit by digit, with a pause between its groups."""
    return ", ".join(" ".join(group) for group in re.findall(r"\d+", match.group()))
