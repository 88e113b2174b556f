"""Normalizes written text for a voice: numbers, times, units, money, markdown, addresses are written out. Pure.

The written text stays what is shown and remembered; this is only for the ear. Digits are left to the voice wherever it
reads them right ("10", "3.14", "1,000,000", "1st"); what it gets wrong ("9:05", "$3.50", "5 km") is written out.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from atlas.own_words import language as house_language
from atlas.own_words import own
from atlas.speech import normalize_german
from atlas.speech.normalize_shared import Change, Rule, UnitNames, addresses, digits, signs

CODE = "I've left out the code."

_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_MONTH = "|".join([*_MONTHS, *(f"{month[:3]}\\b\\.?" for month in _MONTHS), "Sept\\b\\.?"])

# ── money, units, fractions ────────────────────────────────────────────────────────────────────────

_MONEY = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"),
    "¥": ("yen", "yen", "", ""),
}
_MANY = {"k": "thousand", "K": "thousand", "m": "million", "M": "million", "bn": "billion", "B": "billion"}
_UNITS = UnitNames(
    "en",
    {
        "kph": "speed-kilometer-per-hour",
        "mph": "speed-mile-per-hour",
        "mi": "length-mile",
        "ft": "length-foot",
        "yd": "length-yard",
        "lbs": "mass-pound",
        "lb": "mass-pound",
        "oz": "mass-ounce",
        "mL": "volume-milliliter",
        "tbsp": "volume-tablespoon",
        "tsp": "volume-teaspoon",
        "hrs": "duration-hour",
        "hr": "duration-hour",
        "mins": "duration-minute",
        "secs": "duration-second",
        "sec": "duration-second",
        "kHz": "frequency-kilohertz",
        "MHz": "frequency-megahertz",
        "GHz": "frequency-gigahertz",
    },
    {"Mbps": ("megabit per second", "megabits per second")},
)
_FRACTIONS = {
    "1/2": ("one half", "a half"),
    "1/3": ("one third", "a third"),
    "2/3": ("two thirds", "two thirds"),
    "1/4": ("one quarter", "a quarter"),
    "3/4": ("three quarters", "three quarters"),
    "1/5": ("one fifth", "a fifth"),
    "1/8": ("one eighth", "an eighth"),
}
_ONE_CHARACTER = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅛": "1/8"}
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"


def _money(match: re.Match[str]) -> str:
    one, several, small, smalls = _MONEY[match["sign"]]
    whole, part, many = match["whole"], match["part"] or "", match["many"] or match["word"] or ""
    if many:
        return f"{whole}{part} {_MANY.get(many, many)} {several}"
    amount = int(part[1:].ljust(2, "0")) if part else 0
    if part and (not small or len(part) > 3):
        return f"{whole}{part} {several}"
    cents = f"{amount} {small if amount == 1 else smalls}" if amount else ""
    if whole == "0" and cents:
        return cents
    return " and ".join(filter(None, [f"{whole} {one if whole == '1' else several}", cents]))


def _hours(match: re.Match[str]) -> str:
    return f"{_UNITS.counted(match['h'], 'h')} {_UNITS.counted(match['m'], 'min')}"


def _fraction(match: re.Match[str]) -> str:
    whole, fraction = match["whole"], match["fraction"]
    if fraction in _FRACTIONS:
        return f"{whole.strip()} and {_FRACTIONS[fraction][1]}" if whole else _FRACTIONS[fraction][0]
    return match.group()


# ── times and dates ────────────────────────────────────────────────────────────────────────────────


def _clock(match: re.Match[str]) -> str:
    hour, minute, half = int(match["hour"]), int(match["minute"]), (match["half"] or "").upper().replace(".", "")
    if hour > 24 or minute > 59:
        return match.group()
    if not half and (hour > 12 or match["hour"] in ("0", "00")):
        half = "PM" if 12 < hour < 24 else "AM"
    hour = (hour - 1) % 12 + 1
    if minute == 0:
        return f"{hour} {half}" if half else f"{hour} o'clock"
    return f"{hour} {minute if minute > 9 else f'oh {minute}'} {half}".rstrip()


def _year(text: str) -> str:
    century, rest = divmod(int(text), 100)
    if not 11 <= century <= 20 or (century == 20 and rest < 10):
        return text
    return f"{century} {rest if rest > 9 else f'oh {rest}' if rest else 'hundred'}"


def _ordinal(day: int) -> str:
    ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def _iso_date(match: re.Match[str]) -> str:
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return match.group()
    return f"{_MONTHS[month - 1]} {_ordinal(day)}, {_year(str(year))}"


def _slash_date(match: re.Match[str]) -> str:
    """Read 21/11/2026 and 11/21/2026; of 5/6/2026 nobody knows which is the month, so the numbers are said."""
    first, second, year = int(match[1]), int(match[2]), match[3]
    if first > 12 >= second >= 1 and first <= 31:
        return f"{_MONTHS[second - 1]} {_ordinal(first)}, {_year(year)}"
    if second > 12 >= first >= 1 and second <= 31:
        return f"{_MONTHS[first - 1]} {_ordinal(second)}, {_year(year)}"
    return f"{first}, {second}, {_year(year)}"


def _named_date(match: re.Match[str]) -> str:
    month = next(month for month in _MONTHS if month.startswith(match["month"].rstrip(".")[:3]))
    year = f", {_year(match['year'])}" if match["year"] else ""
    return f"{month} {_ordinal(int(match['day']))}{year}"


# ── the changes, in order ──────────────────────────────────────────────────────────────────────────

_MARKDOWN: list[Rule] = [
    (r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*|\Z)", lambda _: f"\n{own(CODE)}\n"),
    (r"(?m)^[ \t]*(?:[-*_][ \t]*){3,}$", ""),  # a line across
    (r"(?m)^[ \t|:-]*-{2,}[ \t|:-]*$", ""),  # under the head of a table
    (r"(?m)^[ \t]*\|(.*?)\|?[ \t]*$", lambda m: m[1].strip().replace("|", ",")),
    (r"(?m)^[ \t]*#{1,6}[ \t]+", ""),
    (r"(?m)^[ \t]*(?:>[ \t]?)+", ""),
    (r"(?m)^[ \t]*[-*+•‣▪][ \t]+(?:\[[ xX]\][ \t]+)?", ""),
    (r"!?\[([^\]\n]{0,500})\]\([^)\s]{0,2000}(?:[ \t]+\"[^\"\n]{0,200}\")?\)", r"\1"),
    (r"\[\^?\d{1,3}\]", ""),  # a note's number
    (r"</?[a-zA-Z][^<>\n]{0,200}>", ""),
    (r"(\*\*\*|\*\*|__|~~)(?=\S)(.{1,500}?)(?<=\S)\1", r"\2"),
    (r"(?<![\w*])([*_])(?=\S)([^*_\n]{1,500})(?<=\S)\1(?![\w*])", r"\2"),
    (r"`([^`\n]{1,500})`", r"\1"),
]
_WORDS: list[Rule] = [
    *addresses("dot", "at", "underscore", "dash"),
    (r"\bMr\.", "Mister"),
    (r"\bMrs\.", "Missus"),
    (r"\bMs\.", "Miz"),
    (r"\bDr\.(?= [A-Z])", "Doctor"),
    (r"\bSt\.(?= [A-Z])", "Saint"),
    (r"\bProf\.", "Professor"),
    (r"\bvs\.?(?=\s)", "versus"),
    (r"\be\.g\.,?", "for example"),
    (r"\bi\.e\.,?", "that is"),
    (r"\betc\.(?=\s+[^A-Z\s])", "et cetera"),
    (r"\betc\.", "et cetera."),
    (r"\bapprox\.", "approximately"),
    (r"\bw/o\b", "without"),
    (r"\bw/(?=\s)", "with"),
    (r"\bC#", "C sharp"),
    (r"\bNo\. ?(?=\d)", "number "),
    (r"(?<!\w)#(?=\d)", "number "),
    (r"\b([A-Za-z]{2,})/([A-Za-z]{2,})\b", r"\1 \2"),
]
_NUMBERS: list[Rule] = [
    (r"\b(\d{4})-(\d{2})-(\d{2})\b", _iso_date),
    (r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b", _slash_date),
    (
        rf"\b(?P<month>{_MONTH}) (?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?\b(?![:.]\d)(?:,? (?P<year>\d{{4}})\b)?",
        _named_date,
    ),
    (
        rf"\b((?:{_MONTH}),?|[Ii]n|[Ss]ince|[Uu]ntil|[Yy]ear) (1[1-9]\d\d|20\d\d)\b(?![.,]?\d| ?%)",
        lambda m: f"{m[1]} {_year(m[2])}",
    ),
    (
        r"\b(?P<hour>\d{1,2})[:.](?P<minute>\d\d) ?(?P<half>[AaPp]\.?[Mm]\b\.?(?=\s+[a-z\d]|[,;:?!)])|[AaPp]\.?[Mm]\b)",
        _clock,
    ),
    (r"(?<![\w:.,])(?P<hour>\d{1,2}):(?P<minute>\d\d)\b(?!:)(?P<half>)", _clock),
    (r"\b(\d{1,2}) ?([AaPp])\.[Mm]\.(?=\s+[a-z\d]|[,;:?!)])", lambda m: f"{m[1]} {m[2].upper()}M"),
    (r"\b(\d{1,2}) ?([AaPp])\.?[Mm]\b", lambda m: f"{m[1]} {m[2].upper()}M"),
    (r"(?<![\w.])\+?\d{0,3}[ -]?\(\d{3}\)[ -]?\d{3}[ -]\d{4}\b", digits),
    (r"(?<![\w.-])(?:\+?\d{1,3}[ -])?\d{3}[ -]\d{3}[ -]\d{4}\b|(?<![\w.-])\d{3}-\d{4}\b(?!-)", digits),
    (
        r"(?P<sign>[$£€¥]) ?(?P<whole>\d+(?:,\d{3})*)(?P<part>\.\d+)?"
        r"(?:(?P<many>bn|[kKmMB])\b| (?P<word>thousand|million|billion|trillion)\b)?",
        _money,
    ),
    (r"[½⅓⅔¼¾⅕⅛]", lambda m: f" {_ONE_CHARACTER[m.group()]}"),
    (r"(?<![\d/.,])(?P<whole>\d{1,4} +)?(?P<fraction>[1-3]/[2-8])(?![\d/])", _fraction),
    (r"\b24/7\b", "24 7"),
    (r"\b(\d+)/(\d+)\b", r"\1 over \2"),
    (r"\b(\d{1,3})' ?(\d{1,2})(?:\"|'')", r"\1 feet \2 inches"),
    (r"\b(?P<h>\d{1,3}) ?h(?:rs?)? ?(?P<m>\d{1,2}) ?m(?:ins?)?\b", _hours),
    (rf"(?<![\w.,-])({_NUMBER})(?: ?(%|°[CF]?))? ?[-–—] ?({_NUMBER})(?![\w]*-\d)", r"\1 to \3"),
    _UNITS.rule(_NUMBER),
    *signs("about", "times", "divided by", "plus or minus", "at most", "at least"),
    (r"(?<=\s)<(?=\s)", "less than"),
    (r"(?<=\s)>(?=\s)", "greater than"),
]
_LEFT_OVER: list[Rule] = [
    (r"[*_`~|^\\{}\[\]<>#]+", " "),
    (r"(?<![.!?,;:…\s])\s*\n\s*", ". "),  # a line's end is a pause
    (r"\s+", " "),
    (r" +(?=[.,;:!?])", ""),
    (r"^[ .,;:]+", ""),
]
_LANGUAGES = {
    "en": (_WORDS, _NUMBERS),
    "de": (normalize_german.WORDS, normalize_german.NUMBERS),
}  # others are read as English


@cache
def _compiled(language: str) -> list[list[tuple[re.Pattern[str], Change]]]:
    words, numbers = _LANGUAGES.get(language, _LANGUAGES["en"])
    every = (_MARKDOWN, words, numbers, _LEFT_OVER)
    return [[(re.compile(pattern), change) for pattern, change in changes] for changes in every]


def spoken(text: str, language: str = "") -> str:
    """Return `text` as it should be read aloud, in the house's language; "" when there is nothing to say."""
    markdown, words, numbers, left_over = _compiled(language or house_language())
    for changes in (markdown, words):
        text = _changed(text, changes)
    text = "".join(_heard(c) for c in text)
    for changes in (numbers, left_over):
        text = _changed(text, changes)
    return text.strip() if any(c.isalnum() for c in text) else ""


def _changed(text: str, changes: list[tuple[re.Pattern[str], Change]]) -> str:
    for pattern, change in changes:
        text = pattern.sub(change, text)
    return text


def _heard(c: str) -> str:
    """Return a character that has a sound; pictures, arrows and marks that only steer the display have none."""
    category = unicodedata.category(c)
    if c in "°\n" or c.isascii():
        return c if c == "\n" or c.isprintable() else " "
    return " " if category in ("So", "Sk", "Cf", "Cc", "Cs", "Co", "Cn") or c in "←↑→↓️" else c
