"""The calendar: what happens when, from iCalendar files in the agent's own folder and from calendar servers.

The files lie in calendar/ and may be edited and dropped there while the server runs; servers (CalDAV) are named in
atlas.toml, each with the agents whose it is:

    [[tools.calendar.servers]]
    name = "family calendar"
    url = "https://cloud.example/dav/"
    user = "anna"
    password_file = "/run/credentials/calendar"
    agents = ["family"]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tools_server.calendars import diary, events
from tools_server.calendars.calendar_words import (
    begins,
    days,
    event_text,
    how_often,
    moves,
    named_part,
    on_day,
    repeats,
    span,
    stretch,
    when,
)
from tools_server.calendars.diary import CalendarAccount, Diary
from tools_server.calendars.events import Change, Event
from tools_server.calendars.occurrences import Occurrence, unfolded
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, tool
from tools_server.sdk.wording import capital, choices, chosen, one_line, plain, spoken, told_problems
from tools_server.times.occasions import habit_of
from tools_server.times.spans import DaySpan
from tools_server.times.spoken_time import moment_words
from tools_server.values.language import clock, plural, series
from tools_server.values.language import text as _
from tools_server.values.shapes import PROBLEM

EVENT = {
    "id?": str,
    "title": str,
    "start": str,
    "end": str,
    "all_day": bool,
    "place": str,
    "series": bool,
    "calendar": str,
}
EVENTS = {"events": [EVENT], "problems": [PROBLEM], "remarks": [str]}

MIGRATIONS = diary.MIGRATIONS
YEAR = timedelta(days=366)  # how far ahead is looked for an event by its name
TOLD = 8  # events read out; the data has all
SHOWN = 200
WAKING = (time(8), time(22))  # when "free" is worth telling
FREE_DAYS = 9  # that are told in one answer
SHORTEST_GAP = timedelta(minutes=30)
LIMIT_SECONDS = 40  # two looks at a slow server, and the expansion of what is there

event_tool = partial(tool, root="*", limit_seconds=LIMIT_SECONDS, open_world=True)
Title = Annotated[str, Field(min_length=1, max_length=200, description="What the event is called")]
Meant = Annotated[str, Field(min_length=1, max_length=200, description="What the event is called, or its id")]
Day = Annotated[str, Field(max_length=60, description="A date or words such as tomorrow; empty is the next one")]
Start = Annotated[str, Field(max_length=80, description="2026-12-24T18:00, 2026-12-24 for all day, or words")]
Minutes = Annotated[int, Field(ge=0, le=525_600, description="How long; 0 is an hour, or as long as before")]
Place = Annotated[str, Field(max_length=200)]
Whole = Annotated[bool, Field(description="All of a series, not only this one")]


class Settings(BaseModel):
    """Which calendar servers there are."""

    model_config = ConfigDict(extra="forbid")

    servers: list[CalendarAccount] = Field(default_factory=list)
    add_to: str = ""  # the server that new events go to; "" is the files

    @model_validator(mode="after")
    def _named(self) -> Settings:
        names = [plain(server.name) for server in self.servers]
        if len(set(names)) < len(names):
            raise ValueError("two servers have the same name")
        if self.add_to and plain(self.add_to) not in names:
            raise ValueError(f"add_to is the name of a server, and {self.add_to!r} is none")
        return self


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@event_tool("calendar.list", data=EVENTS, risk="read")
async def list_events(
    call: Call,
    day: Annotated[str, Field(max_length=60, description="A date, or words such as tomorrow or next week")] = "today",
    to: Annotated[str, Field(max_length=60, description="The last day, when it is several")] = "",
) -> Result:
    """Tell what is in the calendar on a day, or from one day to another."""
    begin, end = stretch(call, day, to)
    occurrences, opened = await _between(call, begin, end)
    named = span(call, day)
    several = len(named.days) > 1 or bool(to)
    name = days(begin, end, call.local()) if several else named_part(named, named.first, call.local().date())
    if not occurrences:
        text = _("There is nothing in the calendar {name}.").format(name=name)
    else:
        parts = [event_text(occurrence.event, call.local(), with_day=several) for occurrence in occurrences[:TOLD]]
        if more := len(occurrences) - TOLD:
            parts += [_("{more} more").format(more=more)] if more > 0 else []
        text = _("You have {count} {name}: {series}.").format(
            count=plural("{count} event", "{count} events", len(occurrences)),
            name=name,
            series=series(parts, "and"),
        )
    return _answer(text, occurrences, opened)


_MINE = (["my"], ["mein"], ["meine"], ["meinen"])
_WHOSE = re.compile(
    r"(?P<who>[\w-]+?)(?P<s>s?)(?:['’]s?)? (?:\d+\S* )?(?:birthday|name day|geburtstag|namenstag)\b"
    r"|\b(?:birthday|name day|geburtstag|namenstag) (?:of|von) (?P<of>[\w-]+)",
    re.IGNORECASE,
)


def _is_of_another(title: str, person: str) -> bool:
    """Tell whether a day is somebody's who is not this person: Anna's birthday is not "mine" to Tom."""
    match = _WHOSE.search(title)
    named = {match["of"] or match["who"], f"{match['who']}{match['s']}"} if match else set()
    return bool(named) and not {one.casefold() for one in named} & {person.casefold(), "my", "mein", "meine"}


@event_tool("calendar.next", data=EVENTS, risk="read")
async def next_event(call: Call) -> Result:
    """Tell what comes next in the calendar."""
    now = call.local()
    occurrences, opened = await _between(call, now, now + YEAR)
    coming = [occurrence for occurrence in occurrences if occurrence.event.start >= now or occurrence.event.all_day]
    if not coming:
        return _answer(_("There is nothing in the calendar for the coming year."), [], opened)
    return _answer(
        _("Next is {told}.").format(told=event_text(coming[0].event, now, with_day=True)), coming[:1], opened
    )


@event_tool("calendar.find", data=EVENTS, risk="read")
async def find(
    call: Call, words: Annotated[str, Field(min_length=1, max_length=200, description="Words of its name or place")]
) -> Result:
    """Find events of the last month or the coming year by their name, place or description."""
    now = call.local()
    occurrences, opened = await _between(call, now - timedelta(days=31), now + YEAR)
    wanted = plain(words).split()
    if mine := wanted[:1] in _MINE:
        wanted, words = wanted[1:], one_line(words).partition(" ")[2]
    texts = (
        (occurrence, plain(f"{occurrence.event.title} {occurrence.event.place} {occurrence.event.text}"))
        for occurrence in occurrences
    )
    matches = [occurrence for occurrence, text in texts if all(word in text for word in wanted)]
    if mine and matches:
        matches = [one for one in matches if not _is_of_another(one.event.title, call.actor.person)]
        if not matches:
            return _answer(_("I find no {words} of yours in the calendar.").format(words=spoken(words)), [], opened)
    coming = [occurrence for occurrence in matches if occurrence.event.end > now] or matches[::-1]
    # Of a series the next one stands for all.
    once = [
        *{
            (occurrence.sheet.file, occurrence.event.uid, occurrence.event.title): occurrence
            for occurrence in reversed(coming)
        }.values()
    ][::-1]
    if not once:
        return _answer(_("I find no {one_line} in the calendar.").format(one_line=spoken(one_line(words))), [], opened)
    parts = [event_text(occurrence.event, now, with_day=True) for occurrence in once[:TOLD]]
    return _answer(_("I found {series}.").format(series=series(parts, "and")), once, opened)


@event_tool("calendar.free", data={**EVENTS, "free": [{"start": str, "end": str}]}, risk="read")
async def free(
    call: Call,
    day: Annotated[
        str, Field(max_length=60, description="A date, or words such as Friday afternoon, this weekend")
    ] = "today",
) -> Result:
    """Tell when nothing is in the calendar on a day or several, between eight in the morning and ten at night."""
    named = span(call, day)
    if len(named.days) > FREE_DAYS:
        raise ToolFailed("invalid", _("That is too long a time to look through. Ask for a week at most."))
    begin, end = stretch(call, day, "")
    occurrences, opened = await _between(call, begin, end)
    sentences, gaps = [], []
    for date in named.days:
        window = _awake(*on_day(call, date, named), exact=bool(named.clock))
        busy = [one.event for one in occurrences if not one.event.all_day and one.event.start < window[1]]
        here = _gaps([event for event in busy if event.end > window[0]], *window)
        sentences.append(_free_words(call, named_part(named, date, call.local().date()), window, here, named, busy))
        gaps += here
    if whole := [spoken(one.event.title) for one in occurrences if one.event.all_day]:
        sentences.append(_("All day there is {events}.").format(events=series(whole, "and")))
    answer = _answer(" ".join(sentences), occurrences, opened)
    data = {**answer.data, "free": [{"start": _iso(start), "end": _iso(stop)} for start, stop in gaps]}
    return replace(answer, data=data)


@event_tool("calendar.add", data={"event": EVENT}, risk="change")
async def add(
    call: Call,
    title: Title,
    start: Start,
    end: Annotated[str, Field(max_length=80, description="When it ends, or the last day; leave out for an hour")] = "",
    minutes: Minutes = 0,
    place: Place = "",
    repeat: Annotated[str, Field(max_length=200, description="Words such as every week, or an RRULE")] = "",
    calendar: Annotated[str, Field(max_length=60, description="Which calendar; leave out for the usual one")] = "",
) -> Result:
    """Put an event into the calendar."""
    name = one_line(title)
    if not name:
        raise ToolFailed("invalid", _("What is the event called?"))
    server = _server(call, calendar)
    begin, stop, all_day, rule = begins(call, start, end, minutes, habit_of(name))
    rule = repeats(call, repeat) or rule
    change = Change(name, begin, stop, all_day, one_line(place))
    uid, text = events.new(change, call.local(), call.zone, rule)
    after = await diary.add(call, server, text, name, begin)
    event = Event(name, begin, stop, all_day, one_line(place), "", uid, bool(rule), begin)
    often = how_often(rule) if rule else ""
    words = event_text(event, call.local(), with_day=True)
    if end and not all_day:
        last = clock(stop) if stop.date() == begin.date() else moment_words(stop, call.local())
        words += _(" until {day_words}").format(day_words=last)
    sentence = _("Added {told}{often}.").format(told=words, often=often)
    data = {"event": _shown(event, server.name if server else "")}
    return Result(sentence, data, call.receipt(sentence, before=None, after=after))


@event_tool("calendar.change", data={"event": EVENT}, risk="change")
async def change(
    call: Call,
    title: Meant,
    day: Day = "",
    new_title: Annotated[str, Field(max_length=200)] = "",
    start: Annotated[
        str, Field(max_length=80, description="Only what changes: Friday; half past four; an hour later")
    ] = "",
    minutes: Minutes = 0,
    place: Place = "",
    whole_series: Whole = False,
) -> Result:
    """Move an event, or change its name, length or place."""
    occurrence = await _meant(call, title, day, guess=True)
    event = occurrence.event
    if not (new_title or start or minutes or place):
        raise ToolFailed("invalid", _("What shall I change about {title}?").format(title=spoken(event.title)))
    begin, stop, all_day = moves(call, start, minutes, event)
    moved = bool(start or minutes)
    wanted = Change(
        title=one_line(new_title) or None,
        start=begin if moved else None,
        end=stop if moved else None,
        all_day=all_day,
        place=one_line(place) or None,
    )
    try:
        text = events.changed(occurrence.sheet.text, event, wanted, call.local(), call.zone, whole=whole_series)
    except ValueError:
        raise ToolFailed(
            "invalid", _("A series keeps its days. Remove it and add it anew on the other days.")
        ) from None
    title, place = wanted.title or event.title, wanted.place or event.place
    becomes = when(begin, stop, all_day, call.local(), with_day=True)
    if moved and not (wanted.title or wanted.place):
        whole = _("all of {title}").format(title=spoken(title)) if whole_series and event.series else spoken(title)
        sentence = capital(_("{title} is moved to {when}.").format(title=whole, when=becomes))
    else:
        at = _(", at {place}").format(place=spoken(place)) if wanted.place else ""
        which = _which(call, event, whole_series)
        now = _("{which} is now {title}, {when}{at}.").format(which=which, title=spoken(title), when=becomes, at=at)
        sentence = capital(now)
    changed = replace(event, title=title, start=begin, end=stop, all_day=all_day, place=place)
    return await _written(call, occurrence, text, changed, sentence)


def _which(call: Call, event: Event, whole_series: bool) -> str:
    if whole_series and event.series:
        return _("all of {title}").format(title=spoken(event.title))
    return event_text(event, call.local(), with_day=True)


async def _written(call: Call, occurrence: Occurrence, text: str | None, event: Event, sentence: str) -> Result:
    """Write the text that an event stands in anew, None for none, and tell of the event."""
    before, after = await diary.write(call, occurrence.sheet, text)
    data = {"event": _shown(event, occurrence.sheet.calendar, _id(occurrence))}
    receipt = call.receipt(sentence, before=before, after=after)
    return Result(sentence, data, receipt, untrusted=_of_others(occurrence))


async def _remove_question(call: Call, title: str, day: str, whole_series: bool) -> str:
    event = (await _meant(call, title, day, guess=False)).event
    at = when(event.start, event.end, event.all_day, call.local(), with_day=True)
    if event.series and whole_series:
        return _("Remove the whole series {title}, of which the next is {at}?").format(title=spoken(event.title), at=at)
    return _("Remove {title}, {at}{how}?").format(
        title=spoken(event.title), at=at, how=_(", and no other of its series") if event.series else ""
    )


@event_tool("calendar.remove", data={"event": EVENT}, risk="destructive", preview=_remove_question)
async def remove(call: Call, title: Meant, day: Day = "", whole_series: Whole = False) -> Result:
    """Take an event out of the calendar; of a series only the one on that day, unless it is to be all."""
    occurrence = await _meant(call, title, day, guess=False)
    event = occurrence.event
    text = events.without(occurrence.sheet.text, event, call.local(), call.zone, whole=whole_series)
    sentence = _("Removed {gone}.").format(gone=_which(call, event, whole_series))
    return await _written(call, occurrence, text, event, sentence)


async def undo(call: Call, receipt: StoredReceipt) -> Result:
    """Put the calendar back as it was, unless somebody has changed that event since."""
    return await diary.undo(call, _servers(call), receipt)


# ── which events ───────────────────────────────────────────────────────────────────────────────────


async def _between(call: Call, begin: datetime, end: datetime) -> tuple[list[Occurrence], Diary]:
    """Return what happens in a stretch of time, in order, and what could not be read."""
    opened = await diary.opened(call, _servers(call))
    occurrences, problems = await unfolded(opened.sheets, begin, end, call.zone)
    opened.problems += problems
    return occurrences, opened


async def _meant(call: Call, title: str, day: str, *, guess: bool) -> Occurrence:
    """Return the event that is meant: on a day, or the next of that name. Raises `ToolFailed`."""
    now = call.local()
    begin, end = stretch(call, day, "") if day else (now.replace(hour=0, minute=0, second=0, microsecond=0), now + YEAR)
    occurrences, opened = await _between(call, begin, end)
    try:
        return _named(call, occurrences, opened, title, f" {days(begin, end, now)}" if day else "", guess=guess)
    except ToolFailed as unclear:  # which names what is there instead
        unclear.untrusted = any(_of_others(occurrence) for occurrence in occurrences)
        raise


def _named(
    call: Call, occurrences: Sequence[Occurrence], opened: Diary, title: str, on: str, *, guess: bool
) -> Occurrence:
    now = call.local()
    same = [occurrence for occurrence in occurrences if _id(occurrence) == title]
    if not same:
        names = {plain(occurrence.event.title): occurrence for occurrence in reversed(occurrences)}
        meant = chosen(
            [*names.values()],
            title,
            named=lambda occurrence: occurrence.event.title,
            which=_("Which event"),
            missing=_("There is no {one_line} in the calendar{on}.").format(one_line=spoken(one_line(title)), on=on),
            rank=lambda occurrence: occurrence.event.start,
            guess=guess,
            remark=told_problems(opened.problems),
        )
        same = [occurrence for occurrence in occurrences if plain(occurrence.event.title) == plain(meant.event.title)]
    ahead = [occurrence for occurrence in same if occurrence.event.end > now] or same
    call.permit(title=ahead[0].event.title)
    others = {_id(occurrence): occurrence for occurrence in reversed(ahead)}
    if len(others) > 1:
        in_order = sorted(others.values(), key=lambda occurrence: occurrence.event.start)
        named, more = in_order[:TOLD], len(in_order[TOLD:])
        parts = [event_text(occurrence.event, now, with_day=True) for occurrence in named]
        raise ToolFailed(
            "invalid",
            _("Which one: {series}?").format(series=choices(parts, more)),
            several=parts,
            days=[occurrence.event.start.date().isoformat() for occurrence in named],
            ids=[_id(occurrence) for occurrence in named],
            more=more,
        )
    return ahead[0]


def _id(occurrence: Occurrence) -> str:
    """Return what an event or series goes by in place of its title. Who writes its UID does not choose it."""
    return f"event_{sha256(repr((occurrence.sheet.file, occurrence.event.uid)).encode()).hexdigest()[:16]}"


def _awake(begin: datetime, end: datetime, *, exact: bool) -> tuple[datetime, datetime]:
    """Return the part of a stretch in which people are up; all of it when that very time was asked about."""
    if exact:
        return begin, end
    first, last = (begin.replace(hour=clock.hour, minute=clock.minute) for clock in WAKING)
    return max(begin, first), min(end, last)


def _gaps(busy: Sequence[Event], at: datetime, last: datetime) -> list[tuple[datetime, datetime]]:
    """Return the free stretches of half an hour and more between two moments."""
    gaps = []
    for event in sorted(busy, key=lambda one_event: one_event.start):
        if event.start - at >= SHORTEST_GAP:
            gaps.append((at, min(event.start, last)))
        at = max(at, event.end)
        if at >= last:
            return gaps
    return [*gaps, (at, last)] if last - at >= SHORTEST_GAP else gaps


def _free_words(
    call: Call,
    name: str,
    window: tuple[datetime, datetime],
    gaps: Sequence[tuple[datetime, datetime]],
    named: DaySpan,
    busy: Sequence[Event],
) -> str:
    """Return what is said of one day, or of a part of one."""
    if list(gaps) == [window]:
        all_day = _("You are free all day {day}.") if not (named.part or named.clock) else _("You are free {day}.")
        return all_day.format(day=name)
    if gaps and not named.clock:
        parts = [_("from {start} to {end}").format(start=clock(start), end=clock(stop)) for start, stop in gaps]
        return _("You are free {day} {times}.").format(day=name, times=series(parts, "and"))
    there = [event_text(event, call.local(), with_day=False) for event in busy if event.end > window[0]]
    if not there or not (named.part or named.clock):
        return _("You are not free {day}.").format(day=name)
    return _("You are not free {day}: there is {events}.").format(day=name, events=series(there, "and"))


def _servers(call: Call) -> list[CalendarAccount]:
    assert isinstance(call.settings, Settings)
    return [server for server in call.settings.servers if call.agent.name in server.agents]


def _server(call: Call, wanted: str) -> CalendarAccount | None:
    """Return the server that new events go to; None is the files. Raises `ToolFailed` for a name that is none."""
    servers = {plain(server.name): server for server in _servers(call)}
    name = plain(wanted or call.settings.add_to)
    if wanted and name not in servers and name not in ("home", "local", "files", "calendar"):
        near = get_close_matches(name, servers, n=1)
        hint = _(" The nearest is {name}.").format(name=servers[near[0]].name) if near else ""
        text = _("There is no calendar called {one_line}.{hint}").format(one_line=spoken(one_line(wanted)), hint=hint)
        raise ToolFailed("not_found", text, nearest=near)
    return servers.get(name)


# ── what is answered ───────────────────────────────────────────────────────────────────────────────


def _answer(text: str, occurrences: Sequence[Occurrence], opened: Diary) -> Result:
    shown = [_shown(one.event, one.sheet.calendar, _id(one)) for one in occurrences[:SHOWN]]
    remarks = "".join(f" {remark}" for remark in opened.remarks)
    data = {"events": shown, "problems": opened.problems, "remarks": opened.remarks}
    words = text + told_problems(opened.problems) + remarks
    return Result(words, data, untrusted=any(_of_others(occurrence) for occurrence in occurrences))


def _of_others(occurrence: Occurrence) -> bool:
    """Whether somebody else may have written an event: whoever invites puts it onto the calendar's server unasked."""
    return occurrence.sheet.server is not None or "ORGANIZER" in occurrence.sheet.text


def _shown(event: Event, calendar: str, id: str = "") -> dict[str, Any]:
    return {
        **({"id": id} if id else {}),
        "title": event.title,
        "start": f"{event.start:%Y-%m-%d}" if event.all_day else _iso(event.start),
        "end": f"{event.end:%Y-%m-%d}" if event.all_day else _iso(event.end),
        "all_day": event.all_day,
        "place": event.place,
        "series": event.series,
        "calendar": calendar,
    }


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="minutes")
