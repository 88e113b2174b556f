"""What was said about a time: a table of phrases, read from left to right; nothing may be left over. Pure.

Each row is a pattern over regular words (`when_words.regular`) and what it notes in a `Said`. The first row that
matches a stretch of whole words takes it, so longer phrases stand above shorter ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from tools_server.language import noted
from tools_server.language import text as _
from tools_server.times.days import EASTER, FEASTS, Easter, MonthDay, Nth, OfMonth, On, Weekday, exists
from tools_server.times.recurrence import WEEKDAYS, Frequency
from tools_server.times.when_said import Clock, Half, NotUnderstood, Reader, Said
from tools_server.times.when_words import LENGTH, MONTH, ORDINAL, WEEKDAY, length, month, regular, weekday

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
        if found := re.fullmatch(pattern, words, re.IGNORECASE):
            name = found["name"]
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

Note = Callable[["Reader", re.Match[str]], None]
_TABLE: list[tuple[re.Pattern[str], Note]] = []


def _row(pattern: str) -> Callable[[Note], Note]:
    def add(note: Note) -> Note:
        _TABLE.append((re.compile(rf"(?:{pattern})(?=\s|$)"), note))
        return note

    return add


def read_words(text: str, today: date) -> Said:
    """Return what was said. Raises `NotUnderstood` naming the words that are no part of a time."""
    words = regular(text)
    reader, at = Reader(today), 0
    while at < len(words):
        for pattern, note in _TABLE:
            if found := pattern.match(words, at):
                note(reader, found)
                at = found.end()
                break
        else:
            raise NotUnderstood(
                _("I don't understand “{unknown}”. {examples}").format(
                    unknown=_unknown(words[at:]), examples=_(EXAMPLES)
                )
            )
        at += words[at : at + 1] == " "
    said = reader.said
    if said.bare:
        raise NotUnderstood(_("When? {examples}").format(examples=_(EXAMPLES)))
    for end in (said.starting, said.until):
        if end and end.bare:
            raise NotUnderstood(_("Until when, or from when? Name a day, such as until Friday."))
    return said


def _unknown(words: str) -> str:
    """Return the words up to the next one that is understood again."""
    starts = [found.start() for found in re.finditer(r"(?<=\s)\S", words)]
    known = (at for at in starts if any(pattern.match(words, at) for pattern, _reading in _TABLE))
    return words[: next(known, len(words))].strip()[:60]


# How often, first: "every first Monday of the month" must not be read as the first Monday of a month.


@_row(rf"(?:on )?(?P<every>(?:every|each) |the )?(?P<n>1st|2nd|3rd|4th|5th|last) (?P<day>{WEEKDAY})"
      rf"(?P<of> (?:of|in) (?:(?P<each>every|each) month|(?:the|a) month|(?P<month>{MONTH})))?")  # fmt: skip
def _nth_weekday(reader: Reader, found: re.Match[str]) -> None:
    nth, day = -1 if found["n"] == "last" else int(found["n"][0]), weekday(found["day"])
    every = (found["every"] or "").strip() in ("every", "each")
    if every and not found["of"] and nth == 2:
        reader.every("WEEKLY", 2, (day,))
        return
    if every and not found["of"] and nth > 2:
        name = found["day"].capitalize()
        raise NotUnderstood(
            _("Is that every {nth} weeks on {name}, or on the {n} {name} of every month?").format(
                nth=nth, name=name, n=found["n"]
            )
        )
    reader.day(Nth(nth, day, month(found["month"]) if found["month"] else 0))
    if every or found["each"]:
        reader.every("YEARLY" if found["month"] else "MONTHLY")


@_row(
    r"(?:on )?(?P<every>every |each |the )?last day"
    rf"(?: (?:of|in) (?:(?P<each>every|each) month|the month|(?P<month>{MONTH})))?"
)
def _last_day(reader: Reader, found: re.Match[str]) -> None:
    reader.day(OfMonth((-1,), month(found["month"]) if found["month"] else 0))
    if found["each"] or (found["every"] or "").strip() in ("every", "each"):
        reader.every("YEARLY" if found["month"] else "MONTHLY")


@_row(rf"(?:on )?(?:every|each) (?P<n>other |2nd )(?P<days>{WEEKDAY})")
def _other_weekday(reader: Reader, found: re.Match[str]) -> None:
    reader.every("WEEKLY", 2, (weekday(found["days"]),))


@_row(r"(?:on )?(?:every |each )?(?:weekdays|week days|workdays|working days)|(?:every|each) (?:weekday|workday)|"
      r"(?:every|each) working day|(?:every )?monday (?:to|through|thru|till|until) friday")  # fmt: skip
def _weekdays(reader: Reader, found: re.Match[str]) -> None:
    reader.every("WEEKLY", 1, WEEKDAYS)


@_row(r"(?:on |at )?(?:every |each )?weekends|(?:every|each) weekend")
def _weekends(reader: Reader, found: re.Match[str]) -> None:
    reader.every("WEEKLY", 1, (5, 6))


@_row(
    r"(?:every|each) (?P<n>other |2nd |\d{1,4} |\d{1,3}(?:st|nd|rd|th) )?"
    r"(?P<unit>minute|hour|day|week|month|year)s?(?! and a )"
)
def _every_unit(reader: Reader, found: re.Match[str]) -> None:
    number = (found["n"] or "1").strip()
    interval = 2 if number == "other" else int(re.sub(r"\D", "", number))
    frequencies: dict[str, Frequency] = {"minute": "MINUTELY", "hour": "HOURLY", "day": "DAILY"}
    frequencies |= {"week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
    reader.every(frequencies[found["unit"]], interval)


@_row(rf"(?:every|each) (?P<length>half hour|hour and a (?:half|quarter)|{LENGTH})")
def _every_length(reader: Reader, found: re.Match[str]) -> None:
    every = length(re.sub(r"^(half )?hour", r"\1an hour", found["length"]))
    if every is None or every.months or every.days or every.seconds % 60:
        raise NotUnderstood(_("Say how often in whole minutes, hours, days, weeks or months."))
    minutes = int(every.seconds // 60)
    reader.every(*(("HOURLY", minutes // 60) if minutes % 60 == 0 else ("MINUTELY", minutes)))


@_row(r"(?:every|each) (?P<part>morning|afternoon|evening|night)|(?P<nightly>nightly)")
def _every_part(reader: Reader, found: re.Match[str]) -> None:
    reader.every("DAILY")
    reader.part("night" if found["nightly"] else found["part"])


@_row(r"(?P<often>hourly|daily|weekly|monthly|yearly|annually)|once (?:a|every|per) (?P<unit>hour|day|week|month|year)")
def _adverb(reader: Reader, found: re.Match[str]) -> None:
    words: dict[str, Frequency] = {"hour": "HOURLY", "dail": "DAILY", "day": "DAILY", "week": "WEEKLY"}
    words |= {"mont": "MONTHLY", "year": "YEARLY", "annu": "YEARLY"}
    reader.every(words[(found["often"] or found["unit"])[:4]])


@_row(r"(?:twice|\d+ times) (?:a|every|per|each) (?:hour|day|week|month|year)")
def _several(reader: Reader, found: re.Match[str]) -> None:
    raise NotUnderstood(_("Say at which times: every day at 8 AM and 8 PM, for example."))


# How long.


@_row(r"(?P<n>\d{1,4}) times|(?P<once>once)|(?P<twice>twice)")
def _times(reader: Reader, found: re.Match[str]) -> None:
    reader.said.count = 1 if found["once"] else 2 if found["twice"] else int(found["n"])
    if not reader.said.count:
        raise NotUnderstood(_("How many times? Say at least one."))


@_row(rf"for (?:the next )?(?P<length>{LENGTH})")
def _span(reader: Reader, found: re.Match[str]) -> None:
    reader.said.span = length(found["length"])
    if reader.said.span is None:
        raise NotUnderstood(_("Say for how long in whole days, weeks or months."))


@_row(r"from now on|starting now|until further notice|forever")
def _always(reader: Reader, found: re.Match[str]) -> None:
    pass


@_row(r"(?:starting|beginning|from)(?: on| at| from| with)?")
def _starting(reader: Reader, found: re.Match[str]) -> None:
    reader.said.starting = reader.into = Said(reader.said.today)


@_row(r"(?:and )?(?:until|till|til|through)")
def _until(reader: Reader, found: re.Match[str]) -> None:
    reader.said.until = reader.into = Said(reader.said.today)


# How long from now.


@_row(rf"in (?P<in>{LENGTH})(?: time)?|(?P<later>{LENGTH}) (?:from now|later)|^(?P<alone>{LENGTH})$")
def _in_length(reader: Reader, found: re.Match[str]) -> None:
    later = length(found["in"] or found["later"] or found["alone"])
    if later is None:
        raise NotUnderstood(_("Say how long, such as in 2 hours and 10 minutes, or in 3 whole days."))
    if reader.into.length:
        raise NotUnderstood(_("I heard twice how long from now. Say it once."))
    reader.into.length = later


@_row(rf"(?P<length>{LENGTH})(?: (?:from|after|on)(?= )|(?= (?:today|tomorrow)\b))")
def _length_from(reader: Reader, found: re.Match[str]) -> None:
    later = length(found["length"])
    if later is None or later.seconds:
        raise NotUnderstood(_("Say how many days, weeks or months from that day."))
    reader.into.length = later


# Which day.


@_row(r"(?:at )?1st thing")
def _first_thing(reader: Reader, found: re.Match[str]) -> None:
    reader.clock(Clock(FIRST_THING, half="am"))


@_row(rf"(?:on )?(?P<day>{WEEKDAY}|today|tomorrow) (?P<length>week|fortnight)(?! (?:from|on|after|today|tomorrow))")
def _day_week(reader: Reader, found: re.Match[str]) -> None:
    today = reader.said.today
    named = {"today": today, "tomorrow": today + timedelta(days=1)}.get(found["day"])
    reader.day(On(named) if named else Weekday(weekday(found["day"])))
    reader.into.length = length(f"a {found['length']}")


@_row(r"(?:the )?day after tomorrow|overmorrow")
def _overmorrow(reader: Reader, found: re.Match[str]) -> None:
    reader.day(On(reader.said.today + timedelta(days=2)))


@_row(r"tomorrow|tmrw")
def _tomorrow(reader: Reader, found: re.Match[str]) -> None:
    reader.day(On(reader.said.today + timedelta(days=1)))


@_row(r"today")
def _today(reader: Reader, found: re.Match[str]) -> None:
    reader.day(On(reader.said.today))


@_row(r"yesterday|last (?:week|month|year|night)")
def _yesterday(reader: Reader, found: re.Match[str]) -> None:
    raise NotUnderstood(_("That is already past."))


@_row(r"tonight|this (?P<part>morning|lunchtime|afternoon|evening|night)")
def _tonight(reader: Reader, found: re.Match[str]) -> None:
    reader.day(On(reader.said.today))
    reader.part(found["part"] or "night")


@_row(r"(?:on )?(?P<date>\d{4}-\d\d-\d\d)(?:t(?P<time>\d\d:\d\d)(?::\d\d)?)?")
def _iso(reader: Reader, found: re.Match[str]) -> None:
    year, number, day = map(int, found["date"].split("-"))
    reader.day(_date(number, day, year))
    if found["time"]:
        hour, minute = map(int, found["time"].split(":"))
        reader.clock(Clock(hour, minute, "24"))


@_row(r"(?:on )?\d{1,2}/\d{1,2}(?:/\d{2,4})?")
def _slashes(reader: Reader, found: re.Match[str]) -> None:
    raise NotUnderstood(
        _("Some write the day first and some the month. Say, for example, December 24th or 2026-12-24.")
    )


@_row(rf"(?:on )?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{MONTH})(?: (?P<year>20\d\d))?|"
      rf"(?:on )?(?P<month2>{MONTH}) (?:the )?(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?: (?P<year2>20\d\d))?")  # fmt: skip
def _month_day(reader: Reader, found: re.Match[str]) -> None:
    number = month(found["month"] or found["month2"])
    reader.day(_date(number, int(found["day"] or found["day2"]), int(found["year"] or found["year2"] or 0)))


def _date(number: int, day: int, year: int) -> MonthDay:
    if not exists(year or 2000, number, day):  # 2000 had a February 29
        raise NotUnderstood(_("There is no such date."))
    return MonthDay(number, day, year)


_FEAST = "|".join(sorted({*FEASTS, *EASTER}, key=len, reverse=True))


@_row(rf"(?:on |at )?(?P<feast>{_FEAST})")
def _feast(reader: Reader, found: re.Match[str]) -> None:
    name = found["feast"]
    reader.day(MonthDay(*FEASTS[name]) if name in FEASTS else Easter(EASTER[name]))


@_row(rf"(?:on )?(?:the )?(?P<days>{ORDINAL}(?:(?: and)? (?:the )?{ORDINAL})*)"
      r"(?: of (?:(?P<each>every|each) month|(?:the|this) month))?")  # fmt: skip
def _of_month(reader: Reader, found: re.Match[str]) -> None:
    numbers = tuple(sorted({int(number) for number in re.findall(r"\d+", found["days"])}))
    if not 1 <= numbers[0] <= numbers[-1] <= 31:
        raise NotUnderstood(_("There is no such day of the month."))
    reader.day(OfMonth(numbers))
    if found["each"]:
        reader.every("MONTHLY")


@_row(r"(?:on |at |over )?(?:the |this )?(?:coming )?weekend")
def _weekend(reader: Reader, found: re.Match[str]) -> None:
    reader.day(Weekday(5))


@_row(r"(?:on |at )?(?:the )?next weekend")
def _next_weekend(reader: Reader, found: re.Match[str]) -> None:
    reader.day(Weekday(5, next_week=True))


@_row(r"next (?P<unit>week|month|year)")
def _next_unit(reader: Reader, found: re.Match[str]) -> None:
    unit = found["unit"]
    raise NotUnderstood(_("Which day of next {unit}? Say, for example, next Monday, or in a {unit}.").format(unit=unit))


_DAYS = rf"{WEEKDAY}(?:(?: and)? (?:on )?(?:(?:every|each) )?{WEEKDAY})*"


@_row(rf"(?:on )?(?P<which>every |each |next |this coming |this |coming )?(?P<days>{_DAYS})")
def _weekday_names(reader: Reader, found: re.Match[str]) -> None:
    names = re.findall(WEEKDAY, found["days"])
    numbers = tuple(sorted({weekday(name) for name in names}))
    which = (found["which"] or "").strip()
    plural = any(name.endswith("days") for name in names)
    if which in ("every", "each") or plural or (reader.said.frequency == "WEEKLY" and reader.into is reader.said):
        reader.every("WEEKLY", reader.said.interval if reader.said.frequency == "WEEKLY" else 1, numbers)
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
def _past_hour(reader: Reader, found: re.Match[str]) -> None:
    minute = {"half": 30, "quarter": 15}.get(found["minute"]) or int(found["minute"])
    named = {"noon": 12, "midday": 12, "midnight": 0}
    hour = named[found["hour"]] if found["hour"] in named else int(found["hour"])
    half: Half = _HALVES[found["half"]]  # type: ignore[assignment]
    if found["hour"] in named:
        half = "24"
    if minute > 59:
        raise NotUnderstood(_("There is no such time."))
    if found["side"] in ("to", "before", "of"):
        # A quarter to one is 12:45, and a quarter to 12 AM is 11:45 PM.
        crossed = half and hour % 12 == 0 and half != "24"
        half = {"am": "pm", "pm": "am"}[half] if crossed else half  # type: ignore[assignment]
        hour, minute = (hour - 1) % 24 or (0 if half == "24" else 12), 60 - minute
    reader.clock(Clock(hour, minute, half))


@_row(r"(?:at )?half (?P<hour>\d{1,2})(?: (?P<half>am|pm))?")
def _half_hour(reader: Reader, found: re.Match[str]) -> None:
    reader.clock(Clock(int(found["hour"]), 30, _HALVES[found["half"]]))  # type: ignore[arg-type]


@_row(r"(?:at )?(?P<hour>\d{1,2})(?:(?::|\.| oh | )(?P<minute>\d{1,2})(?::\d\d)?)?(?: oclock)? (?P<half>am|pm)")
def _twelve_hours(reader: Reader, found: re.Match[str]) -> None:
    if found["hour"] == "0":
        raise NotUnderstood(_("There is no such time."))
    reader.clock(Clock(int(found["hour"]), int(found["minute"] or 0), found["half"]))  # type: ignore[arg-type]


@_row(
    r"(?:at )?(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?::\d\d)?|"
    r"(?:at )?(?P<hour2>[01]\d|2[0-3])(?P<minute2>[0-5]\d)(?: hours)?"
)
def _digits(reader: Reader, found: re.Match[str]) -> None:
    hour, minute = found["hour"] or found["hour2"], found["minute"] or found["minute2"]
    reader.clock(Clock(int(hour), int(minute), "24" if found["hour2"] or hour.startswith("0") else ""))


@_row(r"(?:at )?(?:(?P<noon>noon|midday)|midnight)")
def _noon(reader: Reader, found: re.Match[str]) -> None:
    reader.clock(Clock(12, half="24") if found["noon"] else Clock(0, half="24", midnight=True))


@_row(r"at (?P<hour>\d{1,2})(?: (?:oh )?(?P<minute>\d{1,2})(?! times))?(?: oclock)?|(?P<clock>\d{1,2}) oclock")
def _spoken_clock(reader: Reader, found: re.Match[str]) -> None:
    reader.clock(Clock(int(found["hour"] or found["clock"]), int(found["minute"] or 0)))


@_row(r"(?:in the |at |during the |over |the )?(?P<part>morning|lunchtime|lunch|afternoon|evening|night)")
def _part(reader: Reader, found: re.Match[str]) -> None:
    reader.part("lunchtime" if found["part"].startswith("lunch") else found["part"])


@_row(r"(?:every|each)")
def _every(reader: Reader, found: re.Match[str]) -> None:
    reader.said.every = True


@_row(r"and|on|please|about|around|roughly|or so|exactly|sharp|precisely")
def _filler(reader: Reader, found: re.Match[str]) -> None:
    pass


@_row(r"(?P<hour>\d{1,2})(?: (?:oh )?(?P<minute>\d\d))?(?! (?:times|minute|hour|day|week|month|year))")
def _bare_clock(reader: Reader, found: re.Match[str]) -> None:
    reader.clock(Clock(int(found["hour"]), int(found["minute"] or 0)))
