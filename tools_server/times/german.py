"""German words for times → the English that the grammar reads: "morgen um halb acht" → "tomorrow at half past 7". Pure.

There is one grammar of times, and it is English: what a day, a rule or a length *means* is decided there once. A
language only says which words stand for which. What is not known here is left as it is: the grammar names it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from tools_server.values.number_words import GERMAN as NUMBERS

_ORDINALS = {"erst": 1, "zweit": 2, "dritt": 3, "viert": 4, "fünft": 5, "sechst": 6, "siebt": 7, "acht": 8, "neunt": 9}
_ORDINALS |= {f"{word}t": number for word, number in NUMBERS.items() if 10 <= number <= 19}
_ORDINALS |= {f"{word}st": number for word, number in NUMBERS.items() if 20 <= number <= 31}
_WEEKDAYS = {
    "montag": "monday",
    "dienstag": "tuesday",
    "mittwoch": "wednesday",
    "donnerstag": "thursday",
    "freitag": "friday",
    "samstag": "saturday",
    "sonnabend": "saturday",
    "sonntag": "sunday",
}
_MONTHS = {
    "januar": "january",
    "jänner": "january",
    "februar": "february",
    "märz": "march",
    "april": "april",
    "mai": "may",
    "juni": "june",
    "juli": "july",
    "august": "august",
    "september": "september",
    "oktober": "october",
    "november": "november",
    "dezember": "december",
}
_PARTS = {
    "früh": "morning",
    "morgen": "morning",
    "vormittag": "morning",
    "mittag": "lunchtime",
    "nachmittag": "afternoon",
    "abend": "evening",
    "nacht": "night",
}
_FEASTS = {
    "heiligabend": "christmas eve",
    "heilig abend": "christmas eve",
    "weihnachten": "christmas",
    "silvester": "new years eve",
    "neujahr": "new years day",
    "ostermontag": "easter monday",
    "ostersonntag": "easter sunday",
    "ostern": "easter",
    "karfreitag": "good friday",
    "pfingstmontag": "whit monday",
    "pfingsten": "pentecost",
}
_UNITS = {
    "sekunde": "second",
    "minute": "minute",
    "stunde": "hour",
    "tag": "day",
    "woche": "week",
    "monat": "month",
    "jahr": "year",
}
_NUMBER_WORD = re.compile(rf"\b({'|'.join(sorted(NUMBERS, key=len, reverse=True))})\b")
_ORDINAL_WORD = re.compile(rf"\b({'|'.join(sorted(_ORDINALS, key=len, reverse=True))})e[nrsm]?\b")
_DAY = "|".join(_WEEKDAYS)
_MONTH = "|".join(_MONTHS)
_PART = "|".join(_PARTS)
_UNIT = rf"(?:{'|'.join(_UNITS)})(?:n|en|e|s|es)?"
_ART = r"(?:de[nmr]|die|das)"

_Step = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _unit(word: str) -> str:
    return next(english for german, english in _UNITS.items() if word.startswith(german))


def _length(match: re.Match[str]) -> str:
    number, unit = match["n"].replace(",", "."), _unit(match["unit"])
    return f"{number} {unit}" + ("" if number == "1" else "s")


def _and_a_half(match: re.Match[str]) -> str:
    return f"{NUMBERS.get(match[1], match[1])} hours and 30 minutes"


def _half_to(match: re.Match[str]) -> str:
    hour = int(match["hour"])
    return f"{'at ' if match['at'] else ''}half past {hour - 1 or 12}"


def _quarter_to_go(match: re.Match[str]) -> str:
    """Return the first quarter of the hour before, as half of Germany counts: "viertel neun" is 8:15."""
    return f"at quarter past {int(match['hour']) - 1 or 12}"


def _hour(match: re.Match[str]) -> str:
    return f"at {int(match['hour'])}:{int(match['minute'] or 0):02d}"


def _bare_hour(match: re.Match[str]) -> str:
    """Return an hour of the clock; German counts to 24, so one above 12 is no question."""
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    return f"at {hour}:{minute:02d}" if hour > 12 or hour == 0 or minute else f"at {hour} oclock"


def _steps() -> Sequence[_Step]:
    table: Sequence[tuple[str, str | Callable[[re.Match[str]], str]]] = (
        # lengths
        (r"\b(?:(?:einer|eine) )?dreiviertel ?stunde\b", "45 minutes"),
        (r"\b(?:(?:einer|eine) )?viertel ?stunde\b", "15 minutes"),
        (r"\b(?:einer |eine |'?ner )?halben? stunde\b", "30 minutes"),
        (r"\b(?:anderthalb|eineinhalb|1 ?einhalb) stunden\b", "1 hour and 30 minutes"),
        (rf"\b({'|'.join(NUMBERS)}|\d+) ?(?:und ?)?einhalb stunden\b", _and_a_half),
        (r"\bheute in (?=\d+ (?:tag|woche))", "in "),
        (r"\b(?:einer|einem|eine|einen)(?= (?:" + "|".join(_UNITS) + r"))", "1"),
        (r"\b(?:ein paar|einige)(?= (?:" + "|".join(_UNITS) + r"))", "3"),
        # how often
        (
            r"\b(?:an )?(?:jede[nmsr]?|alle) (?:werktage?|arbeitstage?|wochentage?)\b|\b(?:werk|wochen)tags\b",
            "every weekday",
        ),
        (r"\b(?:(?:immer )?(?:unter|während) der woche(?: immer)?|(?:von )?montags? bis freitags?)\b", "every weekday"),
        (r"\b(?:an (?:allen |den )?|jeden )?schultage?n?\b", "every weekday"),
        (r"\b(?:(?:an )?jede[mns]?|immer am) wochenende\b", "every weekend"),
        (rf"\bjede[nmsr]? 2te[nrs]? ({_DAY})\b|\bjede[nmsr]? 2nd ({_DAY})\b", _every_other),
        (r"\bjede[nmsr]? (?:2nd|2te[nrs]?) tag\b", "every other day"),
        (rf"\b(?:an )?jede[nmsr]? ({_DAY})(?:{_PART})?\b", lambda match: f"every {_WEEKDAYS[match[1]]}"),
        (rf"\bjede[nmsr]? ({_PART})\b", lambda match: f"every {_PARTS[match[1]]}"),
        (rf"\bjede[nmsr]? ({'|'.join(_UNITS)})\b", lambda match: f"every {_unit(match[1])}"),
        (rf"\balle (?P<n>\d+) (?P<unit>{_UNIT})", lambda match: f"every {_length(match)}"),
        (r"\btäglich\b", "daily"),
        (r"\bwöchentlich\b", "weekly"),
        (r"\bmonatlich\b", "monthly"),
        (r"\bjährlich\b", "yearly"),
        (r"\bstündlich\b", "hourly"),
        (rf"\b({_DAY})s\b", lambda match: f"every {_WEEKDAYS[match[1]]}"),
        (r"\bam (?P<nth>\d+(?:st|nd|rd|th)) (?:tag )?(?:jedes|im|des) monats?\b", r"on the \g<nth> of every month"),
        (rf"\b(?P<n>\d+(?:,\d)?) (?P<unit>{_UNIT})\b", _length),
        (r"\b(minutes?|hours?|days?) und (?=\d)", r"\1 and "),
        # clock times
        (r"\b(?P<at>um |gegen |ab )?halb (?P<hour>\d{1,2})\b(?: uhr)?", _half_to),
        (r"\b(?:um |gegen )?viertel vor (\d{1,2})\b(?: uhr)?", r"at quarter to \1"),
        (r"\b(?:um |gegen )?viertel nach (\d{1,2})\b(?: uhr)?", r"at quarter past \1"),
        (r"\b(?:um |gegen )?dreiviertel (\d{1,2})\b(?: uhr)?", r"at quarter to \1"),
        (r"\b(?P<at>um |gegen )?viertel (?P<hour>\d{1,2})\b(?: uhr)?", _quarter_to_go),
        (r"\b(?:um |gegen )?(\d{1,2}) (?:minutes )?vor (\d{1,2})\b(?: uhr)?", r"at \1 minutes to \2"),
        (r"\b(?:um |gegen )?(\d{1,2}) (?:minutes )?nach (\d{1,2})\b(?: uhr)?", r"at \1 minutes past \2"),
        (r"(?<!at )\b(?:um |gegen )?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?: uhr)?\b", _hour),
        (r"(?<!:)\b(?:um |gegen )?(?P<hour>\d{1,2}) uhr(?: (?P<minute>\d{1,2}))?\b", _bare_hour),
        (r"\b(?:um|gegen) (?P<hour>\d{1,2})(?: (?P<minute>\d{1,2}))?\b", _spoken_hour),
        (r"\b(?:um )?mitternacht\b", "at midnight"),
        # days
        (r"\bheute in (?:1 week|acht tagen)\b", "in 1 week"),
        (r"\bübermorgen\b", "the day after tomorrow"),
        (
            rf"\b(?:heute|today) ({_PART})\b",
            lambda match: "tonight" if match[1] == "nacht" else f"this {_PARTS[match[1]]}",
        ),
        (rf"\bmorgen ({_PART})\b", lambda match: f"tomorrow {_PARTS[match[1]]}"),
        (rf"\bthe day after tomorrow ({_PART})\b", lambda match: f"the day after tomorrow in the {_PARTS[match[1]]}"),
        (r"\bheute\b", "today"),
        (rf"\b(?:am |nächste[nrs]? |kommende[nrs]? |diese[nrs]? )?({_DAY})({_PART})\b", _day_part),
        (rf"\b(?:am )?(?:nächste[nrsm]?|kommende[nrsm]?) ({_DAY})\b", lambda match: f"next {_WEEKDAYS[match[1]]}"),
        (rf"\bdiese[nrsm]? ({_DAY})\b", lambda match: f"this {_WEEKDAYS[match[1]]}"),
        (rf"\b(?:am |{_ART} )?({_DAY})\b", lambda match: f"on {_WEEKDAYS[match[1]]}"),
        (
            rf"\b(?:am |{_ART} )?(\d{{1,2}})(?:st|nd|rd|th)? ({_MONTH})\b",
            lambda match: f"on {_MONTHS[match[2]]} {match[1]}",
        ),
        (rf"\b(?:am |{_ART} )(\d{{1,2}}(?:st|nd|rd|th))", r"on the \1"),
        (r"\b(?:am |übers |an diesem |dieses )wochenende\b|^wochenende$", "this weekend"),
        (r"\bnächste[sn]? wochenende\b", "next weekend"),
        (r"\bnächste[rn]? woche\b", "next week"),
        (r"\bdiese[rn]? woche\b", "this week"),
        (r"\bnächste[nr]? monat\b", "next month"),
        (r"\bdiese[nr]? monat\b", "this month"),
        (r"\bnächste[sn]? jahr(?:es)?\b", "next year"),
        (r"\b(?:in der |f(?:ü|ue)r die )?kommenden? woche\b", "next week"),
        (r"\b(?:diese[sn]?|im rest des) jahr(?:es)?\b", "this year"),
        (r"\b(?:in den |die )?nächsten tagen?\b|\b(?:in den |die )nächsten paar tagen?\b", "next few days"),
        (rf"\b(?:an |am |zu )?({'|'.join(_FEASTS)})\b", lambda match: _FEASTS[match[1]]),
        (r"\b(?:am |in der )?(?:frühen )?(vormittag|nachmittag|mittag|abend|nacht)s?\b", _in_part),
        (r"\b(?:am morgen|morgens|in der früh|früh)\b", "in the morning"),
        (r"\bmorgen\b", "tomorrow"),
        # from where it stood
        (r"\b(?:um )?(\d+(?:\.\d+)? \w+(?: and \d+ \w+)?) (?:später|nach hinten)\b", r"\1 later"),
        (r"\b(?:um )?(\d+(?:\.\d+)? \w+(?: and \d+ \w+)?) (?:früher|eher|nach vorne?)\b", r"\1 earlier"),
        # ends
        (r"\bab (?=on |next |today|tomorrow|this |the )", "starting "),
        (r"\bbis (?:zum |zu )?(?=on |next |today|tomorrow|this |the |in )", "until "),
        (r"\b(?:starting|until) on\b", lambda match: match[0].removesuffix(" on")),
        (r"\bund\b", "and"),
        (r"\boder\b", "or"),
    )
    return [(re.compile(pattern), to) for pattern, to in table]


def _every_other(match: re.Match[str]) -> str:
    return f"every other {_WEEKDAYS[match[1] or match[2]]}"


def _spoken_hour(match: re.Match[str]) -> str:
    hour, minute = int(match["hour"]), match["minute"]
    if minute:
        return f"at {hour}:{int(minute):02d}"
    return f"at {hour}:00" if hour > 12 or hour == 0 else f"at {hour}"


def _day_part(match: re.Match[str]) -> str:
    return f"on {_WEEKDAYS[match[1]]} {_PARTS[match[2]]}"


def _in_part(match: re.Match[str]) -> str:
    part = _PARTS[match[1]]
    return {"night": "at night", "lunchtime": "at noon"}.get(part, f"in the {part}")


def nth(number: int) -> str:
    """Return "1st", "2nd" …"""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


_STEPS = _steps()


def english(text: str) -> str:
    """Return German words for a time in English; words that are none of them stay."""
    words = _folded(text)
    words = re.sub(r"(?<=tag)(,? de[mn] \d{1,2})(?= (?:um|ab|gegen|zu)\b|$)", r"\1.", words)  # "Montag, den 30"
    words = re.sub(r"\b(\d{1,2})\.(?!\d)", lambda match: nth(int(match[1])), words)
    words = _ORDINAL_WORD.sub(lambda match: nth(_ORDINALS[match[1]]), words)
    words = _NUMBER_WORD.sub(lambda match: str(NUMBERS[match[1]]), words)
    for pattern, to in _STEPS:
        words = pattern.sub(to, words)
    return " ".join(words.split())


def _folded(text: str) -> str:
    words = unicodedata.normalize("NFKC", text).lower()
    words = re.sub(r"[;?!\u201c\u201d\u201e\"()]|,(?!\d)", " ", words)
    for typed, meant in (("fuer", "für"), ("uebermorgen", "übermorgen"), ("naechst", "nächst"), ("maerz", "märz")):
        words = words.replace(typed, meant)
    for typed, meant in (("frueh", "früh"), ("fuenf", "fünf"), ("zwoelf", "zwölf"), ("dreissig", "dreißig")):
        words = words.replace(typed, meant)
    return " ".join(words.replace("taeglich", "täglich").replace("viertelstunde", "viertel stunde").split())
