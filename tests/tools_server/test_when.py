"""What people say of times, and what is understood: a table, a property, and clocks that jump.

It is Tuesday, November 24, 2026, three in the afternoon in Paris.
"""

# ruff: noqa: DTZ001 — what clocks on a wall show has no zone

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.conftest import for_every
from tools_server.times.recurrence import Recurrence, RecurrenceRule, local, moment, read
from tools_server.times.spans import span
from tools_server.times.spoken_time import moment_words, rule_words
from tools_server.times.when import REMINDING, WAKING, NotUnderstood, understand, understand_day

PARIS = ZoneInfo("Europe/Paris")
WALL = datetime(2026, 11, 24, 15, 0)
NOW = moment(WALL, PARIS)

ONCE = {
    "at five": "11-24 17:00",
    "five": "11-24 17:00",
    "at 5": "11-24 17:00",
    "at 5 pm": "11-24 17:00",
    "5pm": "11-24 17:00",
    "at five o'clock": "11-24 17:00",
    "at 5 p.m.": "11-24 17:00",
    "At Five, please.": "11-24 17:00",
    "17:00": "11-24 17:00",
    "at 17:30": "11-24 17:30",
    "at two": "11-25 14:00",
    "at three": "11-25 15:00",
    "at 3:01": "11-24 15:01",
    "at six am": "11-25 06:00",
    "at 06:30": "11-25 06:30",
    "at half past six": "11-24 18:30",
    "half six": "11-24 18:30",
    "at six thirty": "11-24 18:30",
    "at seven oh five": "11-24 19:05",
    "at twenty-five past six": "11-24 18:25",
    "ten to eight": "11-24 19:50",
    "at a quarter past four": "11-24 16:15",
    "quarter to eight tomorrow": "11-25 07:45",
    "a quarter to one": "11-25 12:45",
    "quarter to twelve pm": "11-25 11:45",
    "ten to midnight": "11-24 23:50",
    "ten past noon": "11-25 12:10",
    "at noon": "11-25 12:00",
    "on Saturday the 5th at noon": "12-05 12:00",
    "on Tuesday the first at six am": "12-01 06:00",
    "at midnight": "11-25 00:00",
    "tonight at midnight": "11-25 00:00",
    "at twelve": "11-25 12:00",
    "in the morning": "11-25 09:00",
    "this evening": "11-24 18:00",
    "this evening at eight": "11-24 20:00",
    "tonight": "11-24 20:00",
    "tonight at nine": "11-24 21:00",
    "tonight at 2": "11-25 02:00",
    "tomorrow night at one": "11-26 01:00",
    "at seven in the morning": "11-25 07:00",
    "at seven in the evening": "11-24 19:00",
    "at nine at night": "11-24 21:00",
    "today at 4": "11-24 16:00",
    "today at seven": "11-24 19:00",
    "tomorrow": "11-25 09:00",
    "tomorrow morning": "11-25 09:00",
    "tomorrow afternoon": "11-25 15:00",
    "tomorrow evening at half past seven": "11-25 19:30",
    "tomorrow at seven": "11-25 07:00",
    "tomorrow at five": "11-25 17:00",
    "seven tomorrow": "11-25 07:00",
    "the day after tomorrow at noon": "11-26 12:00",
    "in two hours": "11-24 17:00",
    "in 90 minutes": "11-24 16:30",
    "in an hour and a half": "11-24 16:30",
    "in one and a half hours": "11-24 16:30",
    "in half an hour": "11-24 15:30",
    "in three quarters of an hour": "11-24 15:45",
    "in 2 hours and 10 minutes": "11-24 17:10",
    "in 1h 5 min": "11-24 16:05",
    "10 minutes": "11-24 15:10",
    "two hours from now": "11-24 17:00",
    "in two days": "11-26 15:00",
    "in two days at 9": "11-26 09:00",
    "in three weeks": "12-15 15:00",
    "in a month": "12-24 15:00",
    "in a fortnight at noon": "12-08 12:00",
    "in a couple of days": "11-26 15:00",
    "in a week's time": "12-01 15:00",
    "a week from Friday": "12-04 09:00",
    "two days after Christmas at noon": "12-27 12:00",
    "on Friday": "11-27 09:00",
    "on Friday at noon": "11-27 12:00",
    "Friday evening": "11-27 18:00",
    "fri at 6": "11-27 18:00",
    "on Tuesday at four": "11-24 16:00",
    "on Tuesday at two": "12-01 14:00",
    "next Tuesday": "12-01 09:00",
    "next Friday at ten": "12-04 10:00",
    "this Thursday at 8": "11-26 08:00",
    "this weekend": "11-28 09:00",
    "at the weekend at noon": "11-28 12:00",
    "next weekend": "12-05 09:00",
    "the 3rd of May": "2027-05-03 09:00",
    "on the third of May at five": "2027-05-03 17:00",
    "May 3rd at 9": "2027-05-03 09:00",
    "may the 3rd, 2028": "2028-05-03 09:00",
    "3 May at 18:00": "2027-05-03 18:00",
    "the 2nd of December": "12-02 09:00",
    "the 2nd of December next year": "2027-12-02 09:00",
    "December 2nd this year at noon": "12-02 12:00",
    "Christmas next year": "2027-12-25 09:00",
    "Easter Monday 2028": "2028-04-17 09:00",
    "on the 30th at four": "11-30 16:00",
    "the twenty-first": "12-21 09:00",
    "2026-12-24 18:00": "12-24 18:00",
    "2026-12-24T18:00": "12-24 18:00",
    "2026-12-24": "12-24 09:00",
    "Tuesday, December 1 at 9 AM": "12-01 09:00",
    "on Christmas Eve at six in the evening": "12-24 18:00",
    "on New Year's Eve at 11 pm": "12-31 23:00",
    "Easter Monday": "2027-03-29 09:00",
    "February 29": "2028-02-29 09:00",
    "the first Monday of June": "2027-06-07 09:00",
    "on the last day of the month": "11-30 09:00",
    "the last Friday of the month at 3": "11-27 15:00",
}

OFTEN = {
    "every day at seven": ("11-25 07:00", "FREQ=DAILY"),
    "daily at 7": ("11-25 07:00", "FREQ=DAILY"),
    "every evening": ("11-24 18:00", "FREQ=DAILY"),
    "every morning at half past seven": ("11-25 07:30", "FREQ=DAILY"),
    "every night at ten": ("11-24 22:00", "FREQ=DAILY"),
    "every other day at noon": ("11-25 12:00", "FREQ=DAILY;INTERVAL=2"),
    "every 3 days at 8 AM": ("11-25 08:00", "FREQ=DAILY;INTERVAL=3"),
    "every day at 8 AM and 8 PM": ("11-24 20:00", "FREQ=DAILY;BYHOUR=8,20"),
    "every weekday at 6:30 AM": ("11-25 06:30", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
    "on weekdays at eight": ("11-25 08:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
    "Monday to Friday at eight": ("11-25 08:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
    "weekends at nine": ("11-28 09:00", "FREQ=WEEKLY;BYDAY=SA,SU"),
    "every Monday at 7 AM": ("11-30 07:00", "FREQ=WEEKLY;BYDAY=MO"),
    "Mondays and Thursdays at 8": ("11-26 08:00", "FREQ=WEEKLY;BYDAY=MO,TH"),
    "every Monday, Wednesday and Friday at 8": ("11-25 08:00", "FREQ=WEEKLY;BYDAY=MO,WE,FR"),
    "every Monday and every Thursday at 8": ("11-26 08:00", "FREQ=WEEKLY;BYDAY=MO,TH"),
    "every Tuesday afternoon": ("12-01 15:00", "FREQ=WEEKLY;BYDAY=TU"),
    "every week on Friday": ("11-27 09:00", "FREQ=WEEKLY;BYDAY=FR"),
    "weekly on Fridays at ten": ("11-27 10:00", "FREQ=WEEKLY;BYDAY=FR"),
    "every other Tuesday at seven": ("12-01 07:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU"),
    "every second Tuesday at seven": ("12-01 07:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU"),
    "every 2 weeks on Monday and Friday at 9": ("11-27 09:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR"),
    "every first Monday of the month": ("12-07 09:00", "FREQ=MONTHLY;BYDAY=1MO"),
    "the second Tuesday of every month at noon": ("12-08 12:00", "FREQ=MONTHLY;BYDAY=2TU"),
    "every last Friday of the month at 3 PM": ("11-27 15:00", "FREQ=MONTHLY;BYDAY=-1FR"),
    "on the last day of every month": ("11-30 09:00", "FREQ=MONTHLY;BYMONTHDAY=-1"),
    "the 15th of every month at noon": ("12-15 12:00", "FREQ=MONTHLY;BYMONTHDAY=15"),
    "every month on the 15th": ("12-15 09:00", "FREQ=MONTHLY;BYMONTHDAY=15"),
    "every 15th": ("12-15 09:00", "FREQ=MONTHLY;BYMONTHDAY=15"),
    "on the 1st and 15th of every month": ("12-01 09:00", "FREQ=MONTHLY;BYMONTHDAY=1,15"),
    "every 3 months on the first": ("12-01 09:00", "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1"),
    "every year on June 5th": ("2027-06-05 09:00", "FREQ=YEARLY;BYMONTH=6;BYMONTHDAY=5"),
    "every June 5th at noon": ("2027-06-05 12:00", "FREQ=YEARLY;BYMONTH=6;BYMONTHDAY=5"),
    "every Christmas": ("12-25 09:00", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25"),
    "every first Monday in May": ("2027-05-03 09:00", "FREQ=YEARLY;BYMONTH=5;BYDAY=1MO"),
    "every 3 hours": ("11-24 18:00", "FREQ=HOURLY;INTERVAL=3"),
    "every hour": ("11-24 16:00", "FREQ=HOURLY"),
    "every half hour": ("11-24 15:30", "FREQ=MINUTELY;INTERVAL=30"),
    "every hour and a half": ("11-24 16:30", "FREQ=MINUTELY;INTERVAL=90"),
    "every 3 hours starting at 9 PM": ("11-24 21:00", "FREQ=HOURLY;INTERVAL=3"),
    "every day at 8 starting on Monday": ("11-30 08:00", "FREQ=DAILY"),
    "every week starting next Tuesday at noon": ("12-01 12:00", "FREQ=WEEKLY;BYDAY=TU"),
    "every day at 8 until Christmas": ("11-25 08:00", "FREQ=DAILY;UNTIL=20261225T235959"),
    "every day until Friday at noon": ("11-25 12:00", "FREQ=DAILY;UNTIL=20261127T235959"),
    "every day at 7 for two weeks": ("11-25 07:00", "FREQ=DAILY;UNTIL=20261208T235959"),
    "every Monday at 7 for a month": ("11-30 07:00", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20261229T235959"),
    "every hour ten times": ("11-24 16:00", "FREQ=HOURLY;COUNT=10"),
    "every 10 minutes for two hours": ("11-24 15:10", "FREQ=MINUTELY;INTERVAL=10;UNTIL=20261124T171000"),
    "every hour until 8 PM": ("11-24 16:00", "FREQ=HOURLY;UNTIL=20261124T200000"),
}

REFUSED = {
    "purple": "“purple”",
    "at five purple": "“purple”",
    "every purple Tuesday": "“purple”",
    "the bins at five": "“the bins”",
    "sometime tomorrow": "“sometime”",
    "": "When?",
    "on": "When?",
    "every": "How often",
    "next week": "Which day of next week?",
    "every month": "On which day of the month?",
    "every week": "On which day of the week?",
    "every year": "On which day of the year?",
    "on the 31st of every month": "Not every month has a day 31",
    "every February 29th": "Not every year has a February 29th",
    "every Easter": "Easter moves",
    "every third Friday": "every 3 weeks on Friday, or on the 3rd Friday of every month?",
    "on Monday and Friday at 8": "Is that every Monday and Friday?",
    "twice a day": "at which times",
    "12/24": "Some write the day first",
    "Friday at midnight": "Midnight lies between two days",
    "Friday, December 1": "December 1 is a Tuesday",
    "February 30": "no such date",
    "2026-13-01": "no such date",
    "the 42nd": "no such day",
    "at 25:00": "no time 25:00",
    "at 13 pm": "no time 13:00 pm",
    "at 7 am in the evening": "in the evening, or at 7 AM?",
    "yesterday": "already past",
    "today at 2 PM": "already past",
    "2020-01-01": "already past",
    "at five and at six": "two times of day",
    "tomorrow on Friday at 9 on Monday": "which",
    "in 99999 years": "too far",
    "in 999999 weeks": "too far",
    "in half a day": "whole days",
    "in an hour and two hours": "such as in 2 hours",
    "every minute": "too often",
    "every day every week": "two ways of how often",
    "tomorrow for two weeks": "how often",
    "every day until yesterday": "already past",
    "when I get home": "until somebody is heard",
    "if it rains": "until somebody is heard",
}


def on_the_wall(text: str) -> datetime:
    return datetime.fromisoformat(text if text.startswith("20") else f"2026-{text}")


@for_every("words", ONCE)
def test_a_moment_is_understood(words: str) -> None:
    when = understand(words, NOW, PARIS)
    assert (when.at, when.rule) == (on_the_wall(ONCE[words]), None)


@for_every("words", OFTEN)
def test_a_recurrence_is_understood(words: str) -> None:
    start, rule = OFTEN[words]
    when = understand(words, NOW, PARIS)
    assert when.rule
    assert (when.at, when.rule.text()) == (on_the_wall(start), rule)
    assert read(rule) == when.rule


@for_every("words", REFUSED)
def test_what_is_not_understood_is_named(words: str) -> None:
    with pytest.raises(NotUnderstood) as refused:
        understand(words, NOW, PARIS)
    assert REFUSED[words].casefold() in str(refused.value).casefold()


@for_every("zone", [PARIS, None])
@for_every("words", ["0001-01-01", "0001-01-01T00:00", "9999-12-31T23:59"])
def test_the_first_and_the_last_day_of_calendars_are_refused_in_words(words: str, zone: ZoneInfo | None) -> None:
    with pytest.raises(NotUnderstood):
        understand(words, NOW, zone)
    with pytest.raises(NotUnderstood):
        span(f"{words[:10]} at 9 am", NOW, zone)


def test_there_are_enough_phrases_in_the_tables() -> None:
    assert len(ONCE) + len(OFTEN) >= 120


@for_every(
    ("words", "person"),
    [
        ("when Anna is next heard", "Anna"),
        ("When you next hear Anna", "Anna"),
        ("the next time you hear Mary Ann", "Mary Ann"),
        ("as soon as Tom speaks", "Tom"),
        ("when I am next heard", "me"),
    ],
)
def test_somebodys_voice_can_be_waited_for(words: str, person: str) -> None:
    assert understand(words, NOW, PARIS).heard == person


@for_every(
    ("words", "at"),
    [
        ("at seven", "11-25 07:00"),
        ("at five", "11-25 05:00"),
        ("at 5:45", "11-25 05:45"),
        ("at half past six", "11-25 06:30"),
        ("at seven in the evening", "11-24 19:00"),
        ("tomorrow at six", "11-25 06:00"),
        ("at two", "11-25 02:00"),
        ("at noon", "11-25 12:00"),
    ],
)
def test_an_alarm_at_seven_is_for_the_morning(words: str, at: str) -> None:
    assert understand(words, NOW, PARIS, WAKING).at == on_the_wall(at)


def test_an_alarm_needs_a_time_and_is_not_set_for_the_dead_of_night_by_a_guess() -> None:
    for words, text in (("tomorrow morning", "At what time?"), ("tomorrow at three", "Is that 3 AM or 3 PM?")):
        with pytest.raises(NotUnderstood, match=text.replace("?", r"\?")):
            understand(words, NOW, PARIS, WAKING)


@for_every(
    ("hour", "words", "text"),
    [
        (15, "at five", "today at 5 PM"),
        (22, "at five", "tomorrow at 5 PM"),  # nobody means five in the night, seven hours away
        (22, "at six", "tomorrow at 6 AM"),
        (22, "at one", "tomorrow at 1 AM"),  # still up
        (22, "at twelve", "tomorrow at 12 AM"),
        (8, "at seven", "today at 7 PM"),
        (6, "at seven", "today at 7 AM"),
        (1, "at two", "today at 2 AM"),
        (15, "at two", "tomorrow at 2 PM"),
    ],
)
def test_an_hour_without_am_or_pm_is_the_next_sensible_one(hour: int, words: str, text: str) -> None:
    wall = datetime(2026, 11, 24, hour, 0)
    at = understand(words, moment(wall, PARIS), PARIS).at
    assert at
    assert moment_words(at, wall) == text


# ── said back ──────────────────────────────────────────────────────────────────────────────────────

moments = st.datetimes(datetime(2026, 1, 1), datetime(2029, 12, 31))
hours = st.integers(0, 23)
intervals = st.sampled_from([1, 1, 2, 3, 5])


@st.composite
def rules(draw: st.DrawFn) -> RecurrenceRule:
    frequency = draw(st.sampled_from(["MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    rule = {"frequency": frequency, "interval": draw(intervals), "count": draw(st.sampled_from([0, 0, 1, 10]))}
    weekdays = st.integers(0, 6)
    nths = st.sampled_from([1, 2, 3, 4, 5, -1])
    match frequency:
        case "MINUTELY":
            rule["interval"] = draw(st.integers(5, 200).filter(lambda minutes: minutes % 60))
        case "WEEKLY":
            rule["days"] = tuple(sorted(draw(st.sets(weekdays, min_size=1))))
        case "MONTHLY" | "YEARLY":
            rule["month"] = draw(st.integers(1, 12)) if frequency == "YEARLY" else 0
            if draw(st.booleans()):
                rule |= {"nth": draw(nths), "days": (draw(weekdays),)}
            elif draw(st.booleans()):
                rule["month_days"] = (-1,)
            else:
                most = 1 if frequency == "YEARLY" else 3
                rule["month_days"] = tuple(sorted(draw(st.sets(st.integers(1, 28), min_size=1, max_size=most))))
    if frequency not in ("MINUTELY", "HOURLY") and draw(st.booleans()):
        rule["hours"] = tuple(sorted(draw(st.sets(hours, min_size=2, max_size=3))))
    return RecurrenceRule(**rule)


@given(
    rule=rules(),
    now=moments,
    hour=hours,
    minute=st.integers(0, 59),
    ends=st.none() | st.integers(0, 500),
)
def test_what_is_said_of_a_recurrence_means_that_recurrence(
    rule: RecurrenceRule, now: datetime, hour: int, minute: int, ends: int | None
) -> None:
    now = now.replace(microsecond=0)
    at, zone = moment(now, PARIS), PARIS
    now = local(at, zone)
    if rule.passing:
        start = local(at + rule.seconds, zone)
    else:
        hour = rule.hours[0] if rule.hours else hour
        start = rule.first(datetime.combine(now.date(), datetime.min.time().replace(hour, minute)), now)
    assume(moment(start, zone) > at and start - now < timedelta(days=5000))  # a fifth Monday in February is rare
    assume(local(moment(start, zone), zone) == start)  # not in the hour that summer time leaves out
    if ends is not None:
        until = (start + timedelta(days=ends)).replace(hour=23, minute=59, second=59)
        rule = RecurrenceRule(**{**{name: getattr(rule, name) for name in rule.__slots__}, "count": 0, "until": until})
    text = rule_words(rule, start, now)
    understood = understand(text, at, zone)
    assert (understood.rule, understood.at) == (rule, start), text
    assert understand(f"{text}.", at, zone, WAKING) == understood


@given(now=moments, minutes=st.integers(1, 5 * 366 * 24 * 60))
@example(now=datetime(2026, 11, 24, 12, 0), minutes=24 * 60)
def test_what_is_said_of_a_moment_means_that_moment(now: datetime, minutes: int) -> None:
    now = now.replace(second=0, microsecond=0)
    at = now + timedelta(minutes=minutes)
    assume(local(moment(at, PARIS), PARIS) == at and local(moment(now, PARIS), PARIS) == now)
    assert understand(moment_words(at, now), moment(now, PARIS), PARIS).at == at


SOME_WORDS = """
every the at on in 5 seven half past to quarter Monday mondays day days week of month May 3rd until for starting last
first other two hours an a and tomorrow tonight noon am pm next times midnight 2026-12-24 18:00 Christmas morning
evening purple year 31st 0 99
"""
WORDS = SOME_WORDS.split()


@given(
    st.lists(
        st.sampled_from(WORDS),
        max_size=9,
    ).map(" ".join)
    | st.text(max_size=30)
)  # fmt: skip
def test_whatever_is_said_is_understood_or_refused_in_a_sentence(words: str) -> None:
    for habit in (REMINDING, WAKING):
        try:
            when = understand(words, NOW, PARIS, habit)
        except NotUnderstood as refused:
            assert str(refused)[-1] in ".?"
        else:
            assert when.heard or (when.at and moment(when.at, PARIS) > NOW)


def test_a_day_can_be_meant_without_a_time() -> None:
    assert understand_day("Christmas", NOW, PARIS) == (datetime(2026, 12, 25).date(), False)
    assert understand_day("in three weeks", NOW, PARIS) == (datetime(2026, 12, 15).date(), False)
    assert understand_day("today", NOW, PARIS) == (WALL.date(), False)


# ── clocks that jump ───────────────────────────────────────────────────────────────────────────────


def test_seven_stays_seven_when_summer_time_comes_and_goes() -> None:
    daily = Recurrence(RecurrenceRule("DAILY"), datetime(2027, 3, 27, 7, 0))
    first = daily.next(moment(datetime(2027, 3, 26, 12, 0), PARIS), PARIS)
    assert first
    second = daily.next(first, PARIS)
    assert second
    assert (local(second, PARIS), second - first) == (datetime(2027, 3, 28, 7, 0), 23 * 3600)


def test_a_time_that_is_left_out_moves_forward_and_one_that_comes_twice_is_the_first() -> None:
    gap = Recurrence(RecurrenceRule("DAILY"), datetime(2027, 3, 27, 2, 30))
    at = gap.next(moment(datetime(2027, 3, 27, 12, 0), PARIS), PARIS)
    assert at
    assert local(at, PARIS) == datetime(2027, 3, 28, 3, 30)
    following = gap.next(at, PARIS)
    assert following
    assert local(following, PARIS) == datetime(2027, 3, 29, 2, 30)
    twice = Recurrence(RecurrenceRule("DAILY"), datetime(2027, 10, 30, 2, 30))
    at = twice.next(moment(datetime(2027, 10, 30, 12, 0), PARIS), PARIS)
    assert at
    assert (local(at, PARIS), local(at, PARIS).fold) == (datetime(2027, 10, 31, 2, 30), 0)
    following = twice.next(at, PARIS)
    assert following
    assert local(following, PARIS) == datetime(2027, 11, 1, 2, 30)


def test_every_eight_hours_is_eight_hours_also_when_summer_time_comes() -> None:
    doses = Recurrence(RecurrenceRule("HOURLY", 8), datetime(2027, 3, 27, 22, 0))
    at = doses.next(moment(datetime(2027, 3, 27, 22, 0), PARIS), PARIS)
    assert at
    assert local(at, PARIS) == datetime(2027, 3, 28, 7, 0)


def test_in_two_hours_is_two_hours_also_in_the_night_that_has_one_twice() -> None:
    now = moment(datetime(2027, 10, 31, 1, 30), PARIS)
    at = understand("in two hours", now, PARIS).at
    assert at
    assert (at.hour, at.fold, moment(at, PARIS) - now) == (2, 1, 7200)


@given(rule=rules(), begin=moments, after=st.integers(-1000, 400 * 86_400))
def test_every_occurrence_follows_the_one_before_and_none_is_told_twice(
    rule: RecurrenceRule, begin: datetime, after: int
) -> None:
    start = begin.replace(second=0, microsecond=0)
    start = start if rule.passing else rule.first(start, start - timedelta(seconds=1))
    recurrence = Recurrence(rule, start)
    since = moment(start, PARIS) + after
    seen = []
    at: float | None = since
    while (at := recurrence.next(at, PARIS)) is not None and len(seen) < 5:
        seen.append(at)
    assert seen == sorted(set(seen))
    assert all(at > since for at in seen)
    if seen and after < 0:
        assert seen[0] == moment(start, PARIS)


def test_ten_times_is_ten_times() -> None:
    for rule in (RecurrenceRule("HOURLY", count=10), RecurrenceRule("DAILY", count=10)):
        recurrence = Recurrence(rule, WALL)
        assert recurrence.passed(NOW - 1, NOW + 100 * 86_400, PARIS) == 10


def test_years_of_five_minutes_are_not_walked_through() -> None:
    often = Recurrence(RecurrenceRule("MINUTELY", 5), datetime(1990, 1, 1))
    assert often.next(NOW, PARIS) == NOW + 300
