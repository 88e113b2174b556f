"""Makes a rule and its start of what was said of a recurrence: how often, from when, until when. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta

from tools_server.times import days
from tools_server.times.recurrence import Frequency, RecurrenceRule, local, moment
from tools_server.times.time_phrase import NotUnderstood
from tools_server.times.when_moment import Meaning
from tools_server.values.language import text as _

END_OF_DAY = time(23, 59, 59)
SHORTEST_MINUTES = 5  # what comes more often is a timer's business
EVERY_MONTH_HAS = 28


def recurring(meaning: Meaning) -> tuple[RecurrenceRule, datetime]:
    """Return the rule that was said, and the first moment it names. Raises `NotUnderstood`."""
    phrase = meaning.phrase
    begin = Meaning(phrase.starting, meaning.now, meaning.zone, meaning.habit) if phrase.starting else None
    if begin and not (phrase.clocks or phrase.part):
        phrase.clocks, phrase.part = begin.phrase.clocks, begin.phrase.part
    rule = RecurrenceRule(phrase.frequency or _frequency(phrase.day), phrase.interval)
    if rule.passing:
        start = _start_passing(meaning, begin, rule)
    else:
        rule = _on_days(meaning, begin, rule)
        start, rule = _start(meaning, begin, rule)
    rule = _ended(meaning, rule, start)
    if rule.until and rule.until < start:
        raise NotUnderstood(_("It would end before it begins."))
    return rule, start


def _frequency(day: days.Day | None) -> Frequency:
    match day:
        case days.MonthDay():
            return "YEARLY"
        case days.OfMonth(month=month) | days.Nth(month=month):
            return "YEARLY" if month else "MONTHLY"
        case days.Easter():
            raise NotUnderstood(_("Easter moves every year. Say a date."))
    raise NotUnderstood(_("How often is that? Say, for example, every day at 7 AM."))


def _on_days(meaning: Meaning, begin: Meaning | None, rule: RecurrenceRule) -> RecurrenceRule:
    """Return the rule with the days it is about; where none was said, those of its beginning."""
    day = meaning.phrase.day
    begun = begin.day() if begin and (begin.phrase.day or begin.phrase.length) else None
    match rule.frequency, day:
        case "DAILY", None:
            return rule
        case "WEEKLY", None if meaning.phrase.days:
            return replace(rule, days=meaning.phrase.days)
        case "WEEKLY", days.Weekday(day=number):
            return replace(rule, days=(number,))
        case "MONTHLY", days.OfMonth(month=0, days=numbers):
            return replace(rule, month_days=_in_every_month(numbers))
        case "MONTHLY", days.Nth(month=0, nth=nth, day=number):
            return replace(rule, nth=nth, days=(number,))
        case "YEARLY", days.MonthDay(month=month, day=number, year=0):
            return replace(rule, month=month, month_days=_in_every_year(month, number))
        case "YEARLY", days.OfMonth(month=month, days=numbers) if month:
            return replace(rule, month=month, month_days=numbers)
        case "YEARLY", days.Nth(month=month, nth=nth, day=number) if month:
            return replace(rule, month=month, nth=nth, days=(number,))
        case _, None if begun:
            return _on_day_of(begun, rule)
        case _, None:
            unit = {"WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}[rule.frequency]
            example = {
                "week": _("every week on Monday"),
                "month": _("every month on the 1st"),
                "year": _("every June 5th"),
            }[unit]
            raise NotUnderstood(
                _("On which day of the {unit}? Say, for example, {example}.").format(unit=unit, example=example)
            )
    raise NotUnderstood(_("How often and on which day do not fit together. Say, for example, every Monday at 7 AM."))


def _on_day_of(begun: date, rule: RecurrenceRule) -> RecurrenceRule:
    match rule.frequency:
        case "WEEKLY":
            return replace(rule, days=(begun.weekday(),))
        case "MONTHLY":
            return replace(rule, month_days=_in_every_month((begun.day,)))
    return replace(rule, month=begun.month, month_days=_in_every_year(begun.month, begun.day))


def _in_every_month(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if max(numbers) > EVERY_MONTH_HAS:
        raise NotUnderstood(
            _("Not every month has a day {max}. Say the last day of every month, for example.").format(max=max(numbers))
        )
    return numbers


def _in_every_year(month: int, number: int) -> tuple[int, ...]:
    if (month, number) == (2, 29):
        raise NotUnderstood(_("Not every year has a February 29th. Say the last day of February, for example."))
    return (number,)


def _start(meaning: Meaning, begin: Meaning | None, rule: RecurrenceRule) -> tuple[datetime, RecurrenceRule]:
    """Return the first moment, and the rule with its hours when there are several a day."""
    hour, minute = meaning.hour() % 24, meaning.clock.minute if meaning.clock else 0
    clocks = meaning.phrase.clocks
    if len(clocks) > 1:
        if len({clock.minute for clock in clocks}) > 1:
            raise NotUnderstood(_("Those times differ in their minutes. Make one for each of them."))
        hours = tuple(sorted({meaning.hour_of(clock) % 24 for clock in clocks}))
        rule, hour = replace(rule, hours=hours if len(hours) > 1 else ()), hours[0]
    earliest = begin.day() if begin else meaning.today
    return rule.first(datetime.combine(earliest, time(hour, minute)), meaning.wall), rule


def _start_passing(meaning: Meaning, begin: Meaning | None, rule: RecurrenceRule) -> datetime:
    phrase = meaning.phrase
    if rule.frequency == "MINUTELY" and rule.interval < SHORTEST_MINUTES:
        raise NotUnderstood(
            _("That is too often: at most every {shortest_minutes} minutes.").format(shortest_minutes=SHORTEST_MINUTES)
        )
    if phrase.day or phrase.days or ((phrase.clocks or phrase.part) and not begin):
        raise NotUnderstood(_("Say from when with the word starting: every 3 hours, starting at 9 AM."))
    if begin:
        return begin.moment()
    return local(meaning.now + rule.seconds, meaning.zone).replace(microsecond=0)


def _ended(meaning: Meaning, rule: RecurrenceRule, start: datetime) -> RecurrenceRule:
    phrase = meaning.phrase
    if (phrase.count > 0) + (phrase.span is not None) + (phrase.until is not None) > 1:
        raise NotUnderstood(_("I heard two ends. Say one of them."))
    if phrase.span and rule.passing and not phrase.span.days and not phrase.span.months:
        return replace(rule, until=local(moment(start, meaning.zone) + phrase.span.seconds, meaning.zone))
    if phrase.span:
        if phrase.span.seconds:
            raise NotUnderstood(_("Say for how many days, weeks or months."))
        past = days.add_months(start.date(), phrase.span.months) + timedelta(days=phrase.span.days)
        return replace(rule, until=datetime.combine(past - timedelta(days=1), END_OF_DAY))
    if phrase.until:
        from_start = Meaning(phrase.until, moment(start, meaning.zone), meaning.zone, meaning.habit)
        if phrase.until.clocks or phrase.until.part or (phrase.until.length and phrase.until.length.seconds):
            return replace(rule, until=from_start.moment())
        return replace(rule, until=datetime.combine(from_start.day(), END_OF_DAY))
    return replace(rule, count=phrase.count)
