"""iCalendar (RFC 5545) text ⇄ events: what happens when, and the text with one event more, changed or gone. Pure.

What is not understood is kept: other properties, alarms and components come out as they went in.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any

import icalendar
import recurring_ical_events  # type: ignore[import-untyped]  # ships no types

from tools_server.sdk.wording import one_line
from tools_server.values.language import text as _
from tools_server.writing.papers import Unreadable

TITLE_CHARACTERS = 500  # others write these, and there is no end to what they can write
MOST_EVENTS = 2_000  # of one file, in the time that was asked for
TOO_OFTEN = ("SECONDLY", "MINUTELY")  # such a series is a mistake, or an attempt to keep us busy
HOURS = 1_000  # of an hourly series, which must say how many
REPEATS = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
PRODUCT = "-//Atlas//calendar//EN"
_BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)
_OF_A_SERIES = ("RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID")


@dataclass(frozen=True, slots=True)
class Event:
    """One occurrence, on the clocks of the house. The end does not belong to it."""

    title: str
    start: datetime
    end: datetime
    all_day: bool
    place: str
    text: str
    uid: str
    series: bool  # whether it is one of several
    occurrence: date  # which of a series, as the file says it; a datetime unless the series is of days


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be different; None is as it was."""

    title: str | None = None
    start: datetime | None = None  # on the clocks of the house
    end: datetime | None = None
    all_day: bool = False  # with a start
    place: str | None = None


# ── reading ────────────────────────────────────────────────────────────────────────────────────────


def read(text: str) -> icalendar.Calendar:
    """Return a file's calendar. Raises `Unreadable`."""
    try:
        calendar = icalendar.Calendar.from_ical(text)
        if not isinstance(calendar, icalendar.Calendar):
            raise Unreadable(_("it is no calendar"))
        for event in calendar.walk("VEVENT"):
            if "RRULE" in event:
                _bearable(event["RRULE"])
    except _BROKEN:
        raise Unreadable(_("it is not iCalendar")) from None
    return calendar


_read = lru_cache(maxsize=4_096)(read)  # by content, so an edited file is read anew; nobody changes what it gives


def between(text: str, begin: datetime, end: datetime, zone: tzinfo | None) -> list[Event]:
    """Return what happens in a stretch of time, exceptions and repetitions worked out, in no order.

    `begin` and `end` are on the clocks of the house. Blocking: a long series takes a while. Raises `Unreadable`.
    """
    calendar = _read(text)
    series = {str(event.get("UID", "")) for event in calendar.walk("VEVENT") if "RRULE" in event or "RDATE" in event}
    events: list[Event] = []
    try:
        # A day more on both sides: what has no zone is read in that of the house afterwards.
        for item in recurring_ical_events.of(calendar, skip_bad_series=True).between(
            begin - timedelta(days=1), end + timedelta(days=1)
        ):
            if str(item.get("STATUS", "")).upper() == "CANCELLED":
                continue
            event = _event(item, series, zone)
            if (event.start < end and event.end > begin) or begin <= event.start < end:
                events.append(event)
            if len(events) >= MOST_EVENTS:
                break
    except _BROKEN:
        raise Unreadable(_("an event in it has times that are none")) from None
    return events


def _event(item: Any, series: set[str], zone: tzinfo | None) -> Event:
    begin, end = item["DTSTART"].dt, item["DTEND"].dt if "DTEND" in item else None
    if end is None:
        end = begin + (item["DURATION"].dt if "DURATION" in item else timedelta(0))
    all_day = not isinstance(begin, datetime)
    if all_day and end == begin:
        end = begin + timedelta(days=1)
    uid = str(item.get("UID", ""))
    return Event(
        title=one_line(str(item.get("SUMMARY", "")))[:TITLE_CHARACTERS] or _("an event without a name"),
        start=on_clocks(begin, zone),
        end=on_clocks(end, zone),
        all_day=all_day,
        place=one_line(str(item.get("LOCATION", "")))[:TITLE_CHARACTERS],
        text=str(item.get("DESCRIPTION", "")),
        uid=uid,
        series=uid in series,
        occurrence=item["RECURRENCE-ID"].dt if "RECURRENCE-ID" in item else begin,
    )


def on_clocks(at: date, zone: tzinfo | None) -> datetime:
    """Return a moment of a calendar on the clocks of the house; a day is its midnight."""
    moment = at if isinstance(at, datetime) else datetime.combine(at, time())
    if moment.tzinfo is None:  # "floating": the same time on the clocks of whoever looks
        return moment.replace(tzinfo=zone) if zone else moment.astimezone()
    return moment.astimezone(zone)


def _bearable(rules: Any) -> None:
    """Refuse a rule that would keep us busy. Raises `Unreadable`; ValueError for one that never ends to be computed."""
    for rule in rules if isinstance(rules, list) else [rules]:
        every, times = rule.get("FREQ", [""])[0], int(rule.get("COUNT", [HOURS + 1])[0])
        if every in TOO_OFTEN or (every == "HOURLY" and times > HOURS):
            raise Unreadable(_("an event in it repeats too often"))
        if any(len(rule.get(part, [])) > 1 for part in ("BYMINUTE", "BYSECOND")):
            raise Unreadable(_("an event in it repeats too often"))
        if int(rule.get("INTERVAL", [1])[0]) < 1:
            raise ValueError(rule)


# ── writing ────────────────────────────────────────────────────────────────────────────────────────


def rule_of(text: str) -> icalendar.vRecur:
    """Return an RRULE, read. Raises ValueError when it is none, or not one of days, weeks, months or years."""
    rule = icalendar.vRecur.from_ical(text.removeprefix("RRULE:"))
    if str(rule.get("FREQ", [""])[0]) not in REPEATS:
        raise ValueError(text)
    try:
        _bearable(rule)
    except Unreadable as wrong:
        raise ValueError(text) from wrong
    assert isinstance(rule, icalendar.vRecur)
    return rule


def new(event: Change, now: datetime, zone: tzinfo | None, repeat: str = "") -> tuple[str, str]:
    """Return the uid and the text of a calendar with one new event in it."""
    assert event.start and event.end
    calendar = _calendar()
    uid = f"{secrets.token_hex(16)}@atlas"
    made = icalendar.Event()
    made.add("UID", uid)
    made.add("CREATED", now.astimezone(UTC))
    _apply(made, event, now, zone)
    if repeat:
        made["RRULE"] = _until_in_utc(rule_of(repeat), event.start, event.all_day)
    calendar.add_component(made)
    return uid, _text(calendar)


def _calendar() -> icalendar.Calendar:
    calendar = icalendar.Calendar()
    calendar.add("VERSION", "2.0")
    calendar.add("PRODID", PRODUCT)
    return calendar


def changed(text: str, event: Event, change: Change, now: datetime, zone: tzinfo | None, *, whole: bool) -> str:
    """Return the text with one event changed: this occurrence of a series, or with `whole` all of it.

    Raises ValueError when a whole series is to be moved to other days: what that means its rule does not say.
    """
    calendar = read(text)
    single = next((item for item in _of(calendar, event) if _is(item, event.occurrence, zone)), None)
    master = next((item for item in _of(calendar, event) if "RECURRENCE-ID" not in item), single)
    if not event.series:
        _apply(master, change, now, zone)
    elif not whole:
        if single is None:
            assert master is not None
            single = deepcopy(master)
            for name in _OF_A_SERIES:
                single.pop(name, None)
            single.add("RECURRENCE-ID", event.occurrence)
            calendar.add_component(single)
        here = replace(change, start=change.start or event.start, end=change.end or event.end)
        _apply(single, replace(here, all_day=change.all_day if change.start else event.all_day), now, zone)
    else:
        _shift(calendar, event, change, now, zone)
    return _text(calendar)


def _shift(calendar: icalendar.Calendar, event: Event, change: Change, now: datetime, zone: tzinfo | None) -> None:
    start, end = change.start or event.start, change.end or event.end
    if start.date() != event.start.date() or (change.start and change.all_day != event.all_day):
        raise ValueError("a series stays on its days")
    by, length = start.replace(tzinfo=None) - event.start.replace(tzinfo=None), end - start
    for entry in _of(calendar, event):
        _apply(entry, Change(title=change.title, place=change.place), now, zone)
        if by or length != event.end - event.start:
            begin = entry["DTSTART"].dt + by
            _put(entry, "DTSTART", begin)
            entry.pop("DURATION", None)
            _put(entry, "DTEND", begin + length)
        if by:
            if "RECURRENCE-ID" in entry:
                _put(entry, "RECURRENCE-ID", entry["RECURRENCE-ID"].dt + by)
            if "EXDATE" in entry:
                days = [item.dt + by for part in _listed(entry["EXDATE"]) for item in part.dts]
                entry.pop("EXDATE")
                entry.add("EXDATE", days)


def without(text: str, event: Event, now: datetime, zone: tzinfo | None, *, whole: bool) -> str | None:
    """Return the text without an event: this occurrence of a series, or with `whole` all. None when none is left."""
    calendar = read(text)
    if event.series and not whole:
        for item in [item for item in _of(calendar, event) if _is(item, event.occurrence, zone)]:
            if "RECURRENCE-ID" in item:
                calendar.subcomponents.remove(item)
        master = next(item for item in _of(calendar, event) if "RECURRENCE-ID" not in item)
        master.add("EXDATE", event.occurrence)
        _stamped(master, now)
    else:
        for item in list(_of(calendar, event)):
            calendar.subcomponents.remove(item)
    return _text(calendar) if any(True for _event in calendar.walk("VEVENT")) else None


def _of(calendar: icalendar.Calendar, event: Event) -> Iterator[Any]:
    """Give the components of an event; one that has no uid, as all should, is known by its start."""
    every: list[Any] = calendar.subcomponents
    return (
        item
        for item in every
        if item.name == "VEVENT"
        and str(item.get("UID", "")) == event.uid
        and (event.uid or item["DTSTART"].dt == event.occurrence)
    )


def _is(item: Any, occurrence: date, zone: tzinfo | None) -> bool:
    return "RECURRENCE-ID" in item and on_clocks(item["RECURRENCE-ID"].dt, zone) == on_clocks(occurrence, zone)


def _apply(event: Any, change: Change, now: datetime, zone: tzinfo | None) -> None:
    if change.title is not None:
        _put(event, "SUMMARY", change.title)
    if change.place is not None:
        event.pop("LOCATION", None)
        if change.place:
            event.add("LOCATION", change.place)
    if change.start is not None:
        assert change.end, "who says when it begins says when it ends"
        event.pop("DURATION", None)
        _put(event, "DTSTART", _written(change.start, change.all_day, zone))
        _put(event, "DTEND", _written(change.end, change.all_day, zone))
    _stamped(event, now)


def _stamped(event: Any, now: datetime) -> None:
    """Say when it was written, and that it is newer than other copies (RFC 5545, 3.8.7.4)."""
    for name in ("DTSTAMP", "LAST-MODIFIED"):
        _put(event, name, now.astimezone(UTC).replace(microsecond=0))
    _put(event, "SEQUENCE", int(event.get("SEQUENCE", -1)) + 1)


def _put(event: Any, name: str, value: Any) -> None:
    event.pop(name, None)
    event.add(name, value)


def _written(at: datetime, all_day: bool, zone: tzinfo | None) -> date:
    """Return a moment as it is written: a day, a time in the zone of the house, or without a zone one on its clocks."""
    if all_day:
        return at.date()
    return at if zone else at.replace(tzinfo=None)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _until_in_utc(rule: Any, start: datetime, all_day: bool) -> Any:
    """UNTIL is a day where the start is one, and else in UTC (RFC 5545, 3.3.10)."""
    if until := _listed(rule.get("UNTIL", []))[:1]:
        last = on_clocks(until[0], start.tzinfo)
        if not isinstance(until[0], datetime):
            last = last.replace(hour=23, minute=59, second=59)
        rule["UNTIL"] = [last.date() if all_day else last.astimezone(UTC)]
    return rule


def _text(calendar: icalendar.Calendar) -> str:
    calendar.add_missing_timezones()
    return str(calendar.to_ical().decode())
