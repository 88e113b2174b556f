"""Days and hours of the calendar, from words and into words, on the clocks of the house."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import MINYEAR, date, datetime, time, timedelta

from tools_server.calendars.events import Event, on_clocks, rule_of
from tools_server.sdk.toolkit import Call, ToolFailed
from tools_server.sdk.wording import spoken
from tools_server.times import moving, spans
from tools_server.times.spans import DaySpan
from tools_server.times.spoken_time import day_words
from tools_server.times.when import NotUnderstood, understand, understand_day
from tools_server.times.when_grammar import read_words
from tools_server.times.when_moment import REMINDING, Habit, Meaning
from tools_server.values.language import clock, noted
from tools_server.values.language import text as _

HOUR = timedelta(hours=1)  # how long an event is when nobody says
DAY = timedelta(days=1)
AFTERNOON = 15  # an hour from which on what goes on into the night begins
LAST_YEAR = 9_000  # dates end with the year 9999, and every day needs one after it
LONGEST = timedelta(days=370)  # that is looked at in one answer
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_ISO_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?!$| \D)")  # not "2026-12-24 at six"
_NUMBERS = {"": 1, "other": 2, "second": 2, "third": 3, "fourth": 4, "two": 2, "three": 3, "four": 4, "six": 6}
_EVERY = re.compile(rf"every (?:({'|'.join(filter(None, _NUMBERS))}|[1-9]\d?) )?(day|week|month|year)s?")
PART_NAMES = {
    "morning": noted("morning"),
    "lunchtime": noted("lunchtime"),
    "afternoon": noted("afternoon"),
    "evening": noted("evening"),
    "night": noted("night"),
}
_HALF = re.compile(r"\d{4}-\d\d|[ap]\.?m\b|morning|afternoon|evening|noon|night|\d:\d\d", re.IGNORECASE)  # of the day


def stretch(call: Call, day: str, to: str) -> tuple[datetime, datetime]:
    """Return where a day, a part of one, a week or a row of days begins and ends. Raises `ToolFailed`."""
    named = span(call, day)
    last = span(call, to) if to else named
    begin, end = on_day(call, named.first, named)[0], on_day(call, last.after - DAY, last)[1]
    if end <= begin:
        raise ToolFailed("invalid", _("That ends before it begins."))
    if end - begin > LONGEST:
        raise ToolFailed("invalid", _("That is too long a time to tell. Ask for a year at most."))
    return begin, end


def span(call: Call, words: str) -> DaySpan:
    """Return the days that are meant, and the part of them. Raises `ToolFailed`."""
    named = spans.span(words, call.now(), call.zone)
    _refuse_far(named.first)
    return named


def on_day(call: Call, day: date, named: DaySpan) -> tuple[datetime, datetime]:
    """Return the hours of a day that are meant: all of it, a part, or the hour that begins at a time."""
    if named.clock:
        at = on_clocks(datetime.combine(day, named.clock), call.zone)
        return at, at + HOUR
    first, last = named.hours
    until = datetime.combine(day + DAY if last == 24 else day, time(last % 24))
    return on_clocks(datetime.combine(day, time(first)), call.zone), on_clocks(until, call.zone)


def _refuse_far(day: date) -> None:
    if not MINYEAR < day.year <= LAST_YEAR:  # without a zone of its own, Python looks a day around a moment
        raise ToolFailed("invalid", _("The {day} is too far away.").format(day=day))


def _iso_day(text: str) -> date | None:
    if not _ISO.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ToolFailed("invalid", _("There is no {text}.").format(text=text)) from None


def begins(
    call: Call, start: str, end: str, minutes: int, habit: Habit = REMINDING
) -> tuple[datetime, datetime, bool, str]:
    """Return when an event begins and ends, whether it is of whole days, and the rule that its words held.

    Raises `ToolFailed`.
    """
    begin, all_day, rule = _moment(call, start, None, habit)
    if end:
        stop, of_days, _rule = _moment(call, end, begin)
        if not (all_day or of_days):
            begin, stop = _in_one_half(start, begin, end, stop)
            if habit.certain and stop <= begin and begin.hour >= AFTERNOON and _time(call, end):
                stop += DAY  # a night shift "from seven till seven"
        if all_day and of_days:
            stop += DAY  # the last day belongs to it
        elif all_day or of_days:
            raise ToolFailed("invalid", _("Give a time for its begin and its end, or for neither."))
    elif minutes:
        stop, all_day = begin + timedelta(minutes=minutes), False
    else:
        stop = on_clocks(begin.date() + DAY, call.zone) if all_day else begin + HOUR
    if stop <= begin:
        raise ToolFailed("invalid", _("That ends before it begins."))
    return begin, stop, all_day, rule


def _in_one_half(start: str, begin: datetime, end: str, stop: datetime) -> tuple[datetime, datetime]:
    """Return two times with the half of the day that only one of them said: "from 7 to 9 pm", "from six to seven"."""
    halved, half = (bool(_HALF.search(words)) for words in (start, end))
    noon = timedelta(hours=12)
    if half and not halved and begin.hour < 12 and stop - begin > noon:
        begin += noon
    if not half and stop.hour < 12 and stop <= begin < stop + noon:
        stop += noon
    return begin, stop


def moves(call: Call, start: str, minutes: int, event: Event) -> tuple[datetime, datetime, bool]:
    """Return when an event begins and ends that is moved, and whether it is of whole days: what is not said stays.

    Raises `ToolFailed`.
    """
    length = timedelta(minutes=minutes) if minutes else event.end - event.start
    if not start:
        return event.start, event.start + length, event.all_day and not minutes
    words = start.strip()
    before = event.start.replace(tzinfo=None)
    with _readable(words):
        if _ISO_MOMENT.match(words):
            at, timed = datetime.fromisoformat(words.replace(" ", "T", 1)), True
        else:
            meant = moving.moved(words, before, call.now(), call.zone)
            if meant.rule:
                raise ToolFailed("invalid", _("A series keeps its days. Remove it and add it anew on the other days."))
            if meant.at is None:
                raise ToolFailed("invalid", _("An event of the calendar needs a time."))
            at, timed = meant.at, moving.moves_time(words, call.local().date())
    _refuse_far(at.date())
    if event.all_day and not timed and not minutes:
        days_long = round(length / DAY)
        return on_clocks(at.date(), call.zone), on_clocks(at.date() + days_long * DAY, call.zone), True
    begin = on_clocks(at, call.zone)
    return begin, begin + (HOUR if event.all_day and not minutes else length), False


@contextmanager
def _readable(words: str) -> Iterator[None]:
    """Say how a time is written, where words are none."""
    try:
        yield
    except ValueError:
        sentence = _("{words} is no time. Write it as 2026-12-24T18:00.").format(words=spoken(words))
        raise ToolFailed("invalid", sentence) from None


def _moment(call: Call, text: str, on: datetime | None, habit: Habit = REMINDING) -> tuple[datetime, bool, str]:
    """Return a moment on the clocks of the house, whether it is a whole day, and an RRULE."""
    plain = text.strip()
    if not plain:
        raise ToolFailed("invalid", _("When is it?"))
    if day := _iso_day(plain):
        return _on_near_clocks(day, call), True, ""
    if _ISO_MOMENT.match(plain):
        with _readable(plain):
            at = datetime.fromisoformat(plain.replace(" ", "T", 1))
        return _on_near_clocks(at, call), False, ""
    if on is not None and (hour := _time(call, plain)) is not None:
        return _on_near_clocks(datetime.combine(on.date(), hour), call), False, ""
    try:
        day, timed = understand_day(plain, call.now(), call.zone)
        if not timed:
            return _on_near_clocks(day, call), True, ""
    except NotUnderstood:
        pass  # it may be a series, and else understand says what is wrong
    meant = understand(plain, call.now(), call.zone, habit)
    if meant.at is None:
        raise ToolFailed("invalid", _("An event of the calendar needs a time."))
    rule = meant.rule.text() if meant.rule else ""
    if rule and not _says_a_time(plain, call):
        return _on_near_clocks(meant.at.date(), call), True, rule
    return _on_near_clocks(meant.at, call), False, rule


def _on_near_clocks(at: date, call: Call) -> datetime:
    _refuse_far(at.date() if isinstance(at, datetime) else at)
    return on_clocks(at, call.zone)


def _says_a_time(text: str, call: Call) -> bool:
    """Whether words for a series name a time of day: a birthday is every year, and all day."""
    phrase = read_words(text, call.local().date())
    return bool(phrase.clocks or phrase.part or phrase.length)


def _time(call: Call, words: str) -> time | None:
    """Return a bare time of day: "5 PM", "17:30", "noon"; "at 5" is after noon. None for other words."""
    try:
        phrase = read_words(words.casefold().removeprefix("to "), call.local().date())
        if len(phrase.clocks) != 1 or phrase.day or phrase.length or phrase.recurs:
            return None
        return time(Meaning(phrase, call.now(), call.zone, REMINDING).hour() % 24, phrase.clocks[0].minute)
    except NotUnderstood:
        return None


def repeats(call: Call, words: str) -> str:
    """Return the RRULE of "every week" or of one written out; "" when there is none. Raises `ToolFailed`."""
    if not words.strip():
        return ""
    if "FREQ=" in words:
        try:
            rule_of(words.strip())
        except ValueError:
            raise ToolFailed(
                "invalid", _("I don't understand that rule. Say it in words, such as every week.")
            ) from None
        return words.strip().removeprefix("RRULE:")
    if plainly := _EVERY.fullmatch(words.strip().casefold()):  # from the day of the event on
        number = _NUMBERS.get(plainly[1] or "", 0) or int(plainly[1])
        unit = "DAILY" if plainly[2] == "day" else f"{plainly[2].upper()}LY"
        return f"FREQ={unit};INTERVAL={number}"
    how_often = _("How often? Say it as every day, every week or every month.")
    try:
        meant = understand(words, call.now(), call.zone)
    except NotUnderstood:  # whose sentence is about a moment, and offers "in two hours"
        raise ToolFailed("invalid", how_often) from None
    if meant.rule is None or meant.rule.passing:
        raise ToolFailed("invalid", how_often)
    return meant.rule.text()


# ── into words ─────────────────────────────────────────────────────────────────────────────────────

_OFTEN = {
    ("DAILY", ""): noted(", every day"),
    ("WEEKLY", ""): noted(", every week"),
    ("WEEKLY", "MO,TU,WE,TH,FR"): noted(", every weekday"),
    ("MONTHLY", ""): noted(", every month"),
    ("YEARLY", ""): noted(", every year"),
}


def how_often(rule: str) -> str:
    """Return ", every week" of a plain RRULE, whose day the event has told; of any other, that it is repeated."""
    parts = dict(part.partition("=")[::2] for part in rule.split(";"))
    single = {name for name in ("BYDAY", "BYMONTHDAY", "BYMONTH") if "," not in parts.get(name, "")}
    if parts.pop("INTERVAL", "1") != "1" or parts.keys() - single - {"FREQ", "BYDAY"}:
        return _(", repeated")
    return _(_OFTEN.get((parts["FREQ"], "" if "BYDAY" in single else parts["BYDAY"]), noted(", repeated")))


def event_text(event: Event, now: datetime, *, with_day: bool) -> str:
    """Return "dentist tomorrow at 9 AM, at Main Street"."""
    place = _(", at {place}").format(place=spoken(event.place)) if event.place else ""
    return f"{spoken(event.title)} {when(event.start, event.end, event.all_day, now, with_day=with_day)}{place}"


def when(start: datetime, end: datetime, all_day: bool, now: datetime, *, with_day: bool) -> str:
    """Return "tomorrow at 9 AM"; of several days also the last."""
    day = day_words(start.date(), now.date())
    if all_day:
        last = (end.astimezone(end.tzinfo) - timedelta(seconds=1)).date()
        until = _(" until {day_words}").format(day_words=day_words(last, now.date())) if last > start.date() else ""
        if with_day:
            return day + (until or _(", all day"))
        return _("all day{until}").format(until=until)
    return (
        _("{day} at {clock_words}").format(day=day, clock_words=clock(start))
        if with_day
        else _("at {clock_words}").format(clock_words=clock(start))
    )


def named_part(named: DaySpan, day: date, today: date) -> str:
    """Return "tomorrow afternoon", "this evening", or "tomorrow at 3 PM"; only the day when no part of it is meant."""
    words = day_words(day, today)
    if named.clock:
        return _("{day} at {time}").format(day=words, time=clock(named.clock))
    if not named.part:
        return words
    if named.part == "night" and day == today:
        return _("tonight")
    part = PART_NAMES[named.part]
    return _("this {part}").format(part=_(part)) if day == today else _("{day} {part}").format(day=words, part=_(part))


def days(begin: datetime, end: datetime, now: datetime) -> str:
    """Return "today" or "from today to Friday", for the end of a sentence."""
    last = (end - timedelta(seconds=1)).date()
    first = day_words(begin.date(), now.date())
    if last == begin.date():
        return first
    return _("from {first} to {day_words}").format(first=first, day_words=day_words(last, now.date()))
