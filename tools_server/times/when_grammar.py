"""What was said about a time: a table of phrases, read from left to right; nothing may be left over. Pure.

Each row is a pattern over regular words (`when_words.regular`) and what it notes in a `TimePhrase`. The first row that
matches a stretch of whole words takes it, so longer phrases stand above shorter ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from tools_server.times.days import EASTER, FEASTS, Easter, MonthDay, Nth, OfMonth, On, Weekday, exists
from tools_server.times.recurrence import WEEKDAYS, Frequency
from tools_server.times.time_phrase import ClockTime, Half, NotUnderstood, TimePhrase, TimeReader
from tools_server.times.when_words import LENGTH, MONTH, ORDINAL, WEEKDAY, length, month, regular, weekday
from tools_server.values.language import noted
from tools_server.values.language import text as _

FIRST_THING = 8  # the hour
EXAMPLES = noted("You can say, for example, tomorrow at 5 PM, in two hours, or every Monday at 7 AM.")
# ── events ─────────────────────────────────────────────────────────────────────────────────────────

_NAME = r"(?P<name>[^\W\d][\w'-]*(?: [^\W\d][\w'-]*)?)"
_NEXT = r"(?:when|once|as soon as|the next time|next time|whenever)"
_EVENTS = (
    rf"{_NEXT} you (?:next )?hear (?:from )?{_NAME}(?: next| again)?",
    rf"{_NEXT} {_NAME} (?:is|am|gets) (?:next )?heard(?: next| again)?",
    rf"{_NEXT} {_NAME} (?:next )?(?:speaks?|talks?)(?: to you)?(?: next| again)?",
)


def read_event(text: str) -> str:
    """Return whom it waits to hear ("me" for the speaker); "" when it is no such event. Raises `NotUnderstood`."""
    words = " ".join(text.replace("\u2019", "'").split()).rstrip(".?!")
    for pattern in _EVENTS:
        if match := re.fullmatch(pattern, words, re.IGNORECASE):
            name = match["name"]
            return "me" if name.casefold() in ("i", "me", "i am", "i'm") else name
    if re.match(r"(?:when|whenever|once|as soon as|(?:the )?next time|if)\b", words, re.IGNORECASE):
        raise NotUnderstood(
            _(
                "I can't tell when that happens. I can wait for a time, or until somebody is heard: when Anna is next "
                "heard, for example."
            )
        )
    return ""


# ── the table ──────────────────────────────────────────────────────────────────────────────────────

Note = Callable[["TimeReader", re.Match[str]], None]
_TABLE: list[tuple[re.Pattern[str], Note]] = []


def _row(pattern: str) -> Callable[[Note], Note]:
    def add(note: Note) -> Note:
        _TABLE.append((re.compile(rf"(?:{pattern})(?=\s|$)"), note))
        return note

    return add


def read_words(text: str, today: date) -> TimePhrase:
    """Return what was said. Raises `NotUnderstood` naming the words that are no part of a time."""
    words = regular(text)
    reader, at = TimeReader(today), 0
    while at < len(words):
        for pattern, note in _TABLE:
            if match := pattern.match(words, at):
                note(reader, match)
                at = match.end()
                break
        else:
            raise NotUnderstood(
                _("I don't understand “{unknown}”. {examples}").format(
                    unknown=_unknown(words[at:]), examples=_(EXAMPLES)
                )
            )
        at += words[at : at + 1] == " "
    phrase = reader.phrase
    if phrase.bare:
        raise NotUnderstood(_("When? {examples}").format(examples=_(EXAMPLES)))
    for end in (phrase.starting, phrase.until):
        if end and end.bare:
            raise NotUnderstood(_("Until when, or from when? Name a day, such as until Friday."))
    return phrase


def _unknown(words: str) -> str:
    """Return the words up to the next one that is understood again."""
    starts = [match.start() for match in re.finditer(r"(?<=\s)\S", words)]
    known = (at for at in starts if any(pattern.match(words, at) for pattern, _reading in _TABLE))
    return words[: next(known, len(words))].strip()[:60]


# How often, first: "every first Monday of the month" must not be read as the first Monday of a month.


@_row(rf"(?:on )?(?P<every>(?:every|each) |the )?(?P<n>1st|2nd|3rd|4th|5th|last) (?P<day>{WEEKDAY})"
      rf"(?P<of> (?:of|in) (?:(?P<each>every|each) month|(?:the|a) month|(?P<month>{MONTH})))?")  # fmt: skip
def _nth_weekday(reader: TimeReader, match: re.Match[str]) -> None:
    nth, day = -1 if match["n"] == "last" else int(match["n"][0]), weekday(match["day"])
    every = (match["every"] or "").strip() in ("every", "each")
    if every and not match["of"] and nth == 2:
        reader.every("WEEKLY", 2, (day,))
        return
    if every and not match["of"] and nth > 2:
        name = match["day"].capitalize()
        raise NotUnderstood(
            _("Is that every {nth} weeks on {name}, or on the {n} {name} of every month?").format(
                nth=nth, name=name, n=match["n"]
            )
        )
    reader.day(Nth(nth, day, month(match["month"]) if match["month"] else 0))
    if every or match["each"]:
        reader.every("YEARLY" if match["month"] else "MONTHLY")


@_row(
    r"(?:on )?(?P<every>every |each |the )?last day"
    rf"(?: (?:of|in) (?:(?P<each>every|each) month|the month|(?P<month>{MONTH})))?"
)
def _last_day(reader: TimeReader, match: re.Match[str]) -> None:
    reader.day(OfMonth((-1,), month(match["month"]) if match["month"] else 0))
    if match["each"] or (match["every"] or "").strip() in ("every", "each"):
        reader.every("YEARLY" if match["month"] else "MONTHLY")


@_row(rf"(?:on )?(?:every|each) (?P<n>other |2nd )(?P<days>{WEEKDAY})")
def _other_weekday(reader: TimeReader, match: re.Match[str]) -> None:
    reader.every("WEEKLY", 2, (weekday(match["days"]),))


@_row(r"(?:on )?(?:every |each )?(?:weekdays|week days|workdays|working days|school days)|"
      r"(?:every|each) (?:weekday|workday|school day)|"
      r"(?:every|each) working day|(?:every )?monday (?:to|through|thru|till|until) friday")  # fmt: skip
def _weekdays(reader: TimeReader, match: re.Match[str]) -> None:
    reader.every("WEEKLY", 1, WEEKDAYS)


@_row(r"(?:on |at )?(?:every |each )?weekends|(?:every|each) weekend")
def _weekends(reader: TimeReader, match: re.Match[str]) -> None:
    reader.every("WEEKLY", 1, (5, 6))


@_row(
    r"(?:every|each) (?P<n>other |2nd |\d{1,4} |\d{1,3}(?:st|nd|rd|th) )?"
    r"(?P<unit>minute|hour|day|week|month|year)s?(?! and a )"
)
def _every_unit(reader: TimeReader, match: re.Match[str]) -> None:
    number = (match["n"] or "1").strip()
    interval = 2 if number == "other" else int(re.sub(r"\D", "", number))
    frequencies: dict[str, Frequency] = {"minute": "MINUTELY", "hour": "HOURLY", "day": "DAILY"}
    frequencies |= {"week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
    reader.every(frequencies[match["unit"]], interval)


@_row(rf"(?:every|each) (?P<length>half hour|hour and a (?:half|quarter)|{LENGTH})")
def _every_length(reader: TimeReader, match: re.Match[str]) -> None:
    every = length(re.sub(r"^(half )?hour", r"\1an hour", match["length"]))
    if every is None or every.months or every.days or every.seconds % 60:
        raise NotUnderstood(_("Say how often in whole minutes, hours, days, weeks or months."))
    minutes = int(every.seconds // 60)
    reader.every(*(("HOURLY", minutes // 60) if minutes % 60 == 0 else ("MINUTELY", minutes)))


@_row(r"(?:every|each) (?P<part>morning|afternoon|evening|night)|(?P<nightly>nightly)")
def _every_part(reader: TimeReader, match: re.Match[str]) -> None:
    reader.every("DAILY")
    reader.part("night" if match["nightly"] else match["part"])


@_row(r"(?P<often>hourly|daily|weekly|monthly|yearly|annually)|once (?:a|every|per) (?P<unit>hour|day|week|month|year)")
def _adverb(reader: TimeReader, match: re.Match[str]) -> None:
    words: dict[str, Frequency] = {"hour": "HOURLY", "dail": "DAILY", "day": "DAILY", "week": "WEEKLY"}
    words |= {"mont": "MONTHLY", "year": "YEARLY", "annu": "YEARLY"}
    reader.every(words[(match["often"] or match["unit"])[:4]])


@_row(r"(?:twice|\d+ times) (?:a|every|per|each) (?:hour|day|week|month|year)")
def _several(reader: TimeReader, match: re.Match[str]) -> None:
    raise NotUnderstood(_("Say at which times: every day at 8 AM and 8 PM, for example."))


# How long.


@_row(r"(?P<n>\d{1,4}) times|(?P<once>once)|(?P<twice>twice)")
def _times(reader: TimeReader, match: re.Match[str]) -> None:
    reader.phrase.count = 1 if match["once"] else 2 if match["twice"] else int(match["n"])
    if not reader.phrase.count:
        raise NotUnderstood(_("How many times? Say at least one."))


@_row(rf"for (?:the next )?(?P<length>{LENGTH})")
def _span(reader: TimeReader, match: re.Match[str]) -> None:
    reader.phrase.span = length(match["length"])
    if reader.phrase.span is None:
        raise NotUnderstood(_("Say for how long in whole days, weeks or months."))


@_row(r"from now on|starting now|until further notice|forever|this year")
def _always(reader: TimeReader, match: re.Match[str]) -> None:
    """Take "the first Monday of June this year" for the next one; a date or a feast is of the year that is named."""


@_row(r"(?:starting|beginning|from)(?: on| at| from| with)?")
def _starting(reader: TimeReader, match: re.Match[str]) -> None:
    reader.phrase.starting = reader.into = TimePhrase(reader.phrase.today)


@_row(r"(?:and )?(?:until|till|til|through)")
def _until(reader: TimeReader, match: re.Match[str]) -> None:
    reader.phrase.until = reader.into = TimePhrase(reader.phrase.today)


# How long from now.


@_row(rf"in (?P<in>{LENGTH})(?: time)?|(?P<later>{LENGTH}) (?:from now|later)|^(?P<alone>{LENGTH})$")
def _in_length(reader: TimeReader, match: re.Match[str]) -> None:
    later = length(match["in"] or match["later"] or match["alone"])
    if later is None:
        raise NotUnderstood(_("Say how long, such as in 2 hours and 10 minutes, or in 3 whole days."))
    if reader.into.length:
        raise NotUnderstood(_("I heard twice how long from now. Say it once."))
    reader.into.length = later


@_row(rf"(?P<length>{LENGTH})(?: (?:from|after|on)(?= )|(?= (?:today|tomorrow)\b))")
def _length_from(reader: TimeReader, match: re.Match[str]) -> None:
    later = length(match["length"])
    if later is None or later.seconds:
        raise NotUnderstood(_("Say how many days, weeks or months from that day."))
    reader.into.length = later


# Which day.


@_row(r"(?:at )?1st thing")
def _first_thing(reader: TimeReader, match: re.Match[str]) -> None:
    reader.clock(ClockTime(FIRST_THING, half="am"))


@_row(rf"(?:on )?(?P<day>{WEEKDAY}|today|tomorrow) (?P<length>week|fortnight)(?! (?:from|on|after|today|tomorrow))")
def _day_week(reader: TimeReader, match: re.Match[str]) -> None:
    today = reader.phrase.today
    named = {"today": today, "tomorrow": today + timedelta(days=1)}.get(match["day"])
    reader.day(On(named) if named else Weekday(weekday(match["day"])))
    reader.into.length = length(f"a {match['length']}")


@_row(r"(?P<after>(?:the )?day after tomorrow|overmorrow)|(?P<next>tomorrow|tmrw)|today")
def _near_day(reader: TimeReader, match: re.Match[str]) -> None:
    reader.day(On(reader.phrase.today + timedelta(days=2 if match["after"] else 1 if match["next"] else 0)))


@_row(r"yesterday|last (?:week|month|year|night)")
def _yesterday(reader: TimeReader, match: re.Match[str]) -> None:
    raise NotUnderstood(_("That is already past."))


@_row(r"tonight|this (?P<part>morning|lunchtime|afternoon|evening|night)")
def _tonight(reader: TimeReader, match: re.Match[str]) -> None:
    reader.day(On(reader.phrase.today))
    reader.part(match["part"] or "night")


@_row(r"(?:on )?(?P<date>\d{4}-\d\d-\d\d)(?:t(?P<time>\d\d:\d\d)(?::\d\d)?)?")
def _iso(reader: TimeReader, match: re.Match[str]) -> None:
    year, number, day = map(int, match["date"].split("-"))
    reader.day(_date(number, day, year))
    if match["time"]:
        hour, minute = map(int, match["time"].split(":"))
        reader.clock(ClockTime(hour, minute, "24"))


@_row(r"(?:on )?\d{1,2}/\d{1,2}(?:/\d{2,4})?")
def _slashes(reader: TimeReader, match: re.Match[str]) -> None:
    raise NotUnderstood(
        _("Some write the day first and some the month. Say, for example, December 24th or 2026-12-24.")
    )


_YEAR = r"(?:,? (?:in |of )?(?P<year>20\d\d|(?:this|next) year))?"


@_row(rf"(?:on )?(?:(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{MONTH})|"
      rf"(?P<month2>{MONTH}) (?:the )?(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?){_YEAR}")  # fmt: skip
def _month_day(reader: TimeReader, match: re.Match[str]) -> None:
    number = month(match["month"] or match["month2"])
    reader.day(_date(number, int(match["day"] or match["day2"]), _year(reader, match["year"])))


def _year(reader: TimeReader, words: str | None) -> int:
    """Return the year that is named; 0 where none is."""
    if not words or words.isdigit():
        return int(words or 0)
    return reader.phrase.today.year + (words == "next year")


def _date(number: int, day: int, year: int) -> MonthDay:
    if not exists(year or 2000, number, day):  # 2000 had a February 29
        raise NotUnderstood(_("There is no such date."))
    return MonthDay(number, day, year)


_FEAST = "|".join(sorted({*FEASTS, *EASTER}, key=len, reverse=True))


@_row(rf"(?:on |at )?(?P<feast>{_FEAST}){_YEAR}")
def _feast(reader: TimeReader, match: re.Match[str]) -> None:
    name, year = match["feast"], _year(reader, match["year"])
    reader.day(MonthDay(*FEASTS[name], year) if name in FEASTS else Easter(EASTER[name], year))


@_row(rf"(?:on )?(?:the )?(?P<days>{ORDINAL}(?:(?: and)? (?:the )?{ORDINAL})*)"
      r"(?: of (?:(?P<each>every|each) month|(?:the|this) month))?")  # fmt: skip
def _of_month(reader: TimeReader, match: re.Match[str]) -> None:
    numbers = tuple(sorted({int(number) for number in re.findall(r"\d+", match["days"])}))
    if not 1 <= numbers[0] <= numbers[-1] <= 31:
        raise NotUnderstood(_("There is no such day of the month."))
    reader.day(OfMonth(numbers))
    if match["each"]:
        reader.every("MONTHLY")


@_row(r"(?:on |at |over )?(?:the |this )?(?:coming )?weekend|(?:on |at )?(?:the )?(?P<next>next) weekend")
def _weekend(reader: TimeReader, match: re.Match[str]) -> None:
    reader.day(Weekday(5, next_week=match["next"] is not None))


@_row(r"next (?P<unit>week|month|year)")
def _next_unit(reader: TimeReader, match: re.Match[str]) -> None:
    unit = match["unit"]
    raise NotUnderstood(_("Which day of next {unit}? Say, for example, next Monday, or in a {unit}.").format(unit=unit))


_DAYS = rf"{WEEKDAY}(?:(?: and)? (?:on )?(?:(?:every|each) )?{WEEKDAY})*"


@_row(rf"(?:on )?(?P<which>every |each |next |this coming |this |coming )?(?P<days>{_DAYS})")
def _weekday_names(reader: TimeReader, match: re.Match[str]) -> None:
    names = re.findall(WEEKDAY, match["days"])
    numbers = tuple(sorted({weekday(name) for name in names}))
    which = (match["which"] or "").strip()
    plural = any(name.endswith("days") for name in names)
    if which in ("every", "each") or plural or (reader.phrase.frequency == "WEEKLY" and reader.into is reader.phrase):
        reader.every("WEEKLY", reader.phrase.interval if reader.phrase.frequency == "WEEKLY" else 1, numbers)
    elif len(numbers) > 1:
        raise NotUnderstood(
            _("Is that every {join}? Then say every.").format(join=_(" and ").join(name.capitalize() for name in names))
        )
    else:
        reader.day(Weekday(numbers[0], which == "next"))


# What time.

_HALVES = {"am": "am", "pm": "pm", None: ""}


@_row(r"(?:at )?(?:a )?(?P<minute>half|quarter|\d{1,2})(?: minutes?)? (?P<side>past|after|to|before|of) "
      r"(?P<hour>\d{1,2}|noon|midday|midnight)(?: oclock)?(?: (?P<half>am|pm))?")  # fmt: skip
def _past_hour(reader: TimeReader, match: re.Match[str]) -> None:
    minute = {"half": 30, "quarter": 15}.get(match["minute"]) or int(match["minute"])
    named = {"noon": 12, "midday": 12, "midnight": 0}
    hour = named[match["hour"]] if match["hour"] in named else int(match["hour"])
    half: Half = _HALVES[match["half"]]  # type: ignore[assignment]
    if match["hour"] in named:
        half = "24"
    if minute > 59:
        raise NotUnderstood(_("There is no such time."))
    if match["side"] in ("to", "before", "of"):
        # A quarter to one is 12:45, and a quarter to 12 AM is 11:45 PM.
        crossed = half and hour % 12 == 0 and half != "24"
        half = {"am": "pm", "pm": "am"}[half] if crossed else half  # type: ignore[assignment]
        hour, minute = (hour - 1) % 24 or (0 if half == "24" else 12), 60 - minute
    reader.clock(ClockTime(hour, minute, half))


@_row(r"(?:at )?half (?P<hour>\d{1,2})(?: (?P<half>am|pm))?")
def _half_hour(reader: TimeReader, match: re.Match[str]) -> None:
    reader.clock(ClockTime(int(match["hour"]), 30, _HALVES[match["half"]]))  # type: ignore[arg-type]


@_row(r"(?:at )?(?P<hour>\d{1,2})(?:(?::|\.| oh | )(?P<minute>\d{1,2})(?::\d\d)?)?(?: oclock)? (?P<half>am|pm)")
def _twelve_hours(reader: TimeReader, match: re.Match[str]) -> None:
    if match["hour"] == "0":
        raise NotUnderstood(_("There is no such time."))
    reader.clock(ClockTime(int(match["hour"]), int(match["minute"] or 0), match["half"]))  # type: ignore[arg-type]


@_row(
    r"(?:at )?(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?::\d\d)?|"
    r"(?:at )?(?P<hour2>[01]\d|2[0-3])(?P<minute2>[0-5]\d)(?: hours)?"
)
def _digits(reader: TimeReader, match: re.Match[str]) -> None:
    hour, minute = match["hour"] or match["hour2"], match["minute"] or match["minute2"]
    reader.clock(ClockTime(int(hour), int(minute), "24" if match["hour2"] or hour.startswith("0") else ""))


@_row(r"(?:at )?(?:(?P<noon>noon|midday)|midnight)")
def _noon(reader: TimeReader, match: re.Match[str]) -> None:
    reader.clock(ClockTime(12, half="24") if match["noon"] else ClockTime(0, half="24", midnight=True))


@_row(r"at (?P<hour>\d{1,2})(?: (?:oh )?(?P<minute>\d{1,2})(?! times))?(?: oclock)?|(?P<clock>\d{1,2}) oclock")
def _spoken_clock(reader: TimeReader, match: re.Match[str]) -> None:
    reader.clock(ClockTime(int(match["hour"] or match["clock"]), int(match["minute"] or 0)))


@_row(r"(?:in the |at |during the |over |the )?(?P<part>morning|lunchtime|lunch|afternoon|evening|night)")
def _part(reader: TimeReader, match: re.Match[str]) -> None:
    reader.part("lunchtime" if match["part"].startswith("lunch") else match["part"])


@_row(r"(?:every|each)")
def _every(reader: TimeReader, match: re.Match[str]) -> None:
    reader.phrase.every = True


@_row(r"and|on|please|about|around|roughly|or so|exactly|sharp|precisely")
def _filler(reader: TimeReader, match: re.Match[str]) -> None:
    pass


@_row(r"(?P<hour>\d{1,2})(?: (?:oh )?(?P<minute>\d\d))?(?! (?:times|minute|hour|day|week|month|year))")
def _bare_clock(reader: TimeReader, match: re.Match[str]) -> None:
    reader.clock(ClockTime(int(match["hour"]), int(match["minute"] or 0)))
