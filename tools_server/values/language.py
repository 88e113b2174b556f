"""The language that a tool speaks: sentences from gettext catalogues, and times, numbers and lists as they are spoken.

A tool writes what it says in English, whole, with named places, and has it translated *before* the places are filled:

    from tools_server.values.language import plural
    from tools_server.values.language import text as _

    _("Timer set for {length}.").format(length=length(seconds))
    plural("{count} timer of {person}", "{count} timers of {person}", count, person=name)

`_(f"…")` would look for a sentence that nobody wrote. One message is one whole sentence wherever that can be: word
order, cases and genders differ, so pieces glued together in English stay glued as English. What stands in a module's
constant is marked there with `noted("Monday")`, which returns it as it is, and translated where it is spoken.
A word that means two things is told apart by `in_context("of a window", "open")`.

The catalogues lie in `locale/LANGUAGE/LC_MESSAGES/tools.po`, in the format of every translator's tools; a message that
is not there is spoken in English, and a test lists those. `scripts/messages.py` brings a catalogue up to date.
The gate says for each call which language it is spoken in: the caller's, else the house's, else English.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime, time
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from babel import Locale
from babel.dates import format_date
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from babel.units import format_unit

from wall import spoken_language

CATALOGUES = Path(__file__).parent.parent / "locale"
ENGLISH = "en"  # what the messages themselves are written in

# Of this call; everything inside `with speaking("de"):` is in another, and the threads that it starts.
current, speaking = spoken_language.language, spoken_language.speaking
_aloud: ContextVar[str] = ContextVar("aloud", default="")
_NAME = re.compile(r"[a-z]{2,3}")


def text(message: str) -> str:
    """Return a message in the language of this call; its places are still to be filled."""
    return _catalogue(current()).gettext(message)


def plural(one: str, many: str, number: float, /, **places: object) -> str:
    """Return a message in the form that goes with a number, which is its `count`; `places` are what else it holds."""
    form = _catalogue(current()).ngettext(one, many, int(number) if number == int(number) else 2)
    return form.format(**{"count": number, **places})


def in_context(context: str, message: str) -> str:
    """Return a message that means several things, in the meaning that `context` names."""
    return _catalogue(current()).pgettext(context, message)


def noted(message: str) -> str:
    """Return a message as it is, to be translated where it is spoken: for constants."""
    return message


# ── which language ─────────────────────────────────────────────────────────────────────────────────


def languages() -> tuple[str, ...]:
    """Return the languages that tools speak, English first."""
    return (ENGLISH, *sorted(folder.name for folder in CATALOGUES.iterdir() if (folder / "LC_MESSAGES").is_dir()))


def spoken_later() -> str:
    """Return the language in which the house says later what this call leaves behind, such as a timer's end."""
    return _aloud.get() or current()


def supported(wanted: Any, otherwise: str = ENGLISH) -> str:
    """Return the language that is meant by a name such as "de" or "de-AT"; `otherwise` for one nobody has written."""
    name = re.split(r"[-_]", wanted)[0].lower() if isinstance(wanted, str) else ""
    return name if _NAME.fullmatch(name) and name in languages() else otherwise


@contextmanager
def answering(language: str, spoken_languages: Sequence[str]) -> Iterator[None]:
    """Have a call answered in a language; what it leaves to be said later, in one of those that the house speaks.

    A page may speak another language than the rooms, which have voices for their own; the first is the usual one.
    """
    token = _aloud.set(language if language in spoken_languages else spoken_languages[0])
    try:
        with speaking(language):
            yield
    finally:
        _aloud.reset(token)


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    if language == ENGLISH:
        return gettext.NullTranslations()
    compiled = BytesIO()
    with (CATALOGUES / language / "LC_MESSAGES" / "tools.po").open("rb") as file:
        write_mo(compiled, read_po(file, language))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


@cache
def _locale(language: str) -> Locale:
    return Locale.parse(language)


# ── what is spoken alike by every tool ─────────────────────────────────────────────────────────────


def series(parts: Sequence[str], joined: str = "and") -> str:
    """Return "a, b and c"; `joined` is "and" or "or"."""
    if len(parts) == 1:
        return parts[0]
    both = text("{first} or {last}") if joined == "or" else text("{first} and {last}")
    return both.format(first=", ".join(parts[:-1]), last=parts[-1])


def noun(word: str) -> str:
    """Return a name that was stored in small letters as it is written within a sentence: "Pizza" in German."""
    return word[:1].upper() + word[1:] if current() == "de" else word


def number(value: float, digits: int = 1) -> str:
    """Return a number as it is written: "21.5", in German "21,5". What is whole has no digits behind."""
    pattern = "#,##0" + ("." + "#" * digits if digits else "")
    return format_decimal(round(value, digits), format=pattern, locale=_locale(current()))


def weekday(day: date) -> str:
    """Return "Tuesday"."""
    return format_date(day, "EEEE", locale=_locale(current()))


def month(day: date) -> str:
    """Return "December"."""
    return format_date(day, "LLLL", locale=_locale(current()))


def calendar_day(day: date, *, year: bool = False) -> str:
    """Return "Tuesday, December 1", in German "Dienstag, den 1. Dezember"; with its year when that is wanted."""
    form = text("{weekday}, {month} {day}, {year}") if year else text("{weekday}, {month} {day}")
    return form.format(weekday=weekday(day), month=month(day), day=day.day, year=day.year)


def clock(at: time | datetime) -> str:
    """Return "7 AM", "7:30 AM" or "noon"; in a language that counts to 24, "19 Uhr" or "7 Uhr 30"."""
    if (at.hour, at.minute) == (12, 0):
        return text("noon")
    half = "AM" if at.hour < 12 else "PM"
    form = text("{hour12}:{minute:02d} {half}") if at.minute else text("{hour12} {half}")
    return form.format(hour12=at.hour % 12 or 12, hour=at.hour, minute=at.minute, half=half)


def exact_clock(at: time | datetime) -> str:
    """Return "7:00 AM", which names the minute also when it is none: the answer to what time it is."""
    half = "AM" if at.hour < 12 else "PM"
    form = text("{hour12}:{minute:02d} {half}") if at.minute else in_context("exactly", "{hour12}:00 {half}")
    return form.format(hour12=at.hour % 12 or 12, hour=at.hour, minute=at.minute, half=half)


_UNITS = ((604_800, "week"), (86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def parts_of(seconds: float, *, weeks: bool = False) -> list[tuple[int, str]]:
    """Return a length of time in days, hours, minutes and seconds, those that are not none: [(1, "hour"), …]."""
    whole, parts = max(0, round(seconds)), []
    for size, unit in _UNITS if weeks else _UNITS[1:]:
        count, whole = divmod(whole, size)
        if count:
            parts.append((count, unit))
    return parts or [(0, "second")]


def length(seconds: float) -> str:
    """Return "9 minutes and 54 seconds"."""
    return series([counted(count, unit) for count, unit in parts_of(seconds)])


def ago(count: int, unit: str) -> str:
    """Return "3 days ago"; a case of its own in many languages, such as "vor 3 Tagen"."""
    match unit:
        case "day":
            return plural("{count} day ago", "{count} days ago", count)
        case "month":
            return plural("{count} month ago", "{count} months ago", count)
        case "year":
            return plural("{count} year ago", "{count} years ago", count)
    return text("{length} ago").format(length=counted(count, unit))


def counted(count: int, unit: str) -> str:
    """Return "1 hour" or "3 hours", for second, minute, hour, day, week, month and year."""
    return format_unit(count, f"duration-{unit}", format="0", locale=_locale(current()))
