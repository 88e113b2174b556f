"""Alarms: once or by a rule; they ring until somebody stops them, for ten minutes at most.

Nothing rings here: the house asks `alarms.due` and rings what is urgent, then calls `alarms.announced`; half a minute
later the alarm is due again, until it is stopped or snoozed. One whose time went by while the house was off does not
ring any more: it is told once, and stays in the list as one that was missed.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta, tzinfo
from typing import Annotated

from pydantic import Field

from tools_server.sdk import rows
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, house_look, tool
from tools_server.sdk.wording import NAMED, capital, choices, clauses, one_line, plain
from tools_server.times.alarm import Alarm
from tools_server.times.clock_steps import follow_clock
from tools_server.times.moving import moved, moved_rule
from tools_server.times.ownership import ALARMS as ALARMS_OF
from tools_server.times.ownership import changeable, refuse_more, refuse_over, role_of
from tools_server.times.recurrence import local, moment, read
from tools_server.times.rung_timers import rung_here, snooze_timers, stopped_first
from tools_server.times.spoken_time import day_words, moment_words, on_day
from tools_server.times.time_phrase import ClockTime
from tools_server.times.when import WAKING, NotUnderstood, When, day_in, understand, understand_day
from tools_server.times.when_grammar import read_words
from tools_server.values.language import counted, plural, series, spoken_later
from tools_server.values.language import text as _
from tools_server.values.shapes import COMING, DUE, IDS
from wall.roles import NOBODY

ALARM = {"id": str, "name": str, "person": str, "room": str, "rule": str, "at": float, "due_at": float | None}
ALARM |= {"missed_at": float | None, "iso": str, "silent": bool, "state": str, "when": str}
ALARMS = {"alarms": [ALARM]}
ALARMS_OR_ONE = {"alarms?": [ALARM], "alarm?": ALARM}

MOST_ALARMS = 100  # a household has fewer; a model in a loop does not get more
KEPT_SECONDS = 7 * 86_400  # one that was missed, so that it can be told
MOST_SKIPPED = 60  # days of one alarm; more is a holiday, for which it is turned off
FARTHEST_DAYS = 366  # a day that is skipped; rules are walked up to it
SNOOZE_MINUTES = 9  # as clocks have done since their gears allowed no ten

MIGRATIONS = {
    "alarms": """
        CREATE TABLE alarms (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            person TEXT NOT NULL,
            room TEXT NOT NULL,    -- where it rings,
            device TEXT NOT NULL,  -- and through what
            made_at REAL NOT NULL, -- wall clock, seconds since 1970
            rule TEXT NOT NULL,    -- RRULE; '' is once
            start TEXT NOT NULL,   -- of the rule: ISO, on the clocks of the house
            at REAL NOT NULL,      -- the occurrence it is about
            due_at REAL,           -- when it rings next; NULL when it is off
            ringing_since REAL,
            missed_at REAL         -- when it last rang to the end and nobody stopped it
        );
    """,
    "alarms skipped": """
        ALTER TABLE alarms ADD COLUMN skipped TEXT NOT NULL DEFAULT '';  -- ISO dates with a space between
    """,
    "alarms role": """
        ALTER TABLE alarms ADD COLUMN role TEXT NOT NULL DEFAULT '';  -- of who set it, as it was then
    """,
    "alarms language": """
        ALTER TABLE alarms ADD COLUMN language TEXT NOT NULL DEFAULT '';  -- in which it was set, and is said
    """,
    "alarms silent": """
        ALTER TABLE alarms ADD COLUMN silent INTEGER NOT NULL DEFAULT 0;  -- it was missed because it did not ring
    """,
}

_SUCH_DAYS = re.compile(
    r"(?:(?:the|at|on|am|vom|das|der) )*(?P<days>weekend|weekday|wochenende|wochentag|werktag)s?", re.IGNORECASE
)
Name = Annotated[str, Field(max_length=60, description="The alarm's name if it has one, or its id")]
At = Annotated[str, Field(max_length=60, description="Its time of day, such as 7 AM; empty if not said")]
Day = Annotated[str, Field(max_length=60, description="The day it is about, such as tomorrow; empty if not said")]


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@tool("alarms.set", data=ALARMS_OR_ONE, risk="change", idempotent=True, limit_seconds=10)
async def set_alarm(
    call: Call,
    when: Annotated[str, Field(max_length=200, description="When, as it was said: at seven; every weekday at 6:30")],
    name: Name = "",
    days: Annotated[str, Field(max_length=100, description="On which days, if not in when: weekdays")] = "",
    room: Annotated[str, Field(max_length=60, description="The room to ring in, if one was said")] = "",
) -> Result:
    """Set an alarm that rings until it is stopped, once or on certain days."""
    understood = _understood(call, f"{days} {when}")
    alarm = _new(call, understood, _name(name), one_line(room))
    every, now = _all(call), call.now()
    words = alarm.when_words(now, call.zone)
    subject = _("{name} alarm").format(name=capital(alarm.name)) if alarm.name else _("Alarm")
    for other in every:
        if _sets_the_same(other, alarm):
            text = _("{subject} is already set for {words}.").format(subject=subject, words=words)
            return Result(text, {"alarm": other.shown(now, call.zone)})
    refuse_over(MOST_ALARMS, len(every) + 1, ALARMS_OF)
    refuse_more(call, every, ALARMS_OF)
    if alarm.rule and not alarm.rule.startswith("FREQ=DAILY"):
        words += _(", starting {day_words}").format(
            day_words=day_words(local(alarm.at, call.zone).date(), local(now, call.zone).date())
        )
    return _changed(call, [], [alarm], _("{subject} set for {words}.").format(subject=subject, words=words))


@tool("alarms.list", data=ALARMS, risk="read", limit_seconds=10)
async def list_alarms(call: Call, day: Day = "") -> Result:
    """Tell which alarms there are, the next one first; when a day is named, those that ring then."""
    every, now = _visible(call), call.now()
    if wanted := day_in(day, now, call.zone):
        every = [alarm for alarm in every if alarm.on(wanted, call.zone) is not None]
    data = {"alarms": [alarm.shown(now, call.zone) for alarm in every]}
    if not every:
        on = on_day(wanted, call.local().date()) if wanted else ""
        return Result(_("There are no alarms {day}.").format(day=on) if on else _("There are no alarms."), data)
    text = plural(
        "There is {count} alarm: {alarms}.",
        "There are {count} alarms: {alarms}.",
        len(every),
        alarms=_listed(call, every),
    )
    return Result(text, data)


@tool("alarms.stop", data=ALARMS, risk="change", idempotent=True, limit_seconds=10)
async def stop(call: Call, name: Name = "") -> Result:
    """Stop the alarm that is ringing or snoozed, or else a timer. An alarm with a rule rings again at its next time."""
    if ringing := _ringing(call, name):
        return _stopped(call, ringing)
    if not name and (stopped := stopped_first(call)):
        return replace(stopped[0], data={"alarms": []})
    return Result(_("Nothing is ringing."), {"alarms": []})


def stop_what_rings(call: Call) -> Result | None:
    """Stop what rings aloud at this moment, where rules let this asker; `None` where nothing does."""
    call = replace(call, tool="alarms.stop", arguments={})
    if not call.gate.decide(call.tool, call.arguments).allowed:
        return None
    if ringing := [alarm for alarm in _ringing(call, "") if alarm.rings(call.now())]:
        return _stopped(call, ringing)
    if any(timer.ringing for timer in rung_here(call)) and (stopped := stopped_first(call)):
        return stopped[0]
    return None


def _stopped(call: Call, ringing: list[Alarm]) -> Result:
    after = [alarm.following(call.now(), call.zone) for alarm in ringing]
    return _changed(call, ringing, after, _("Alarm stopped.") if len(ringing) == 1 else _("Alarms stopped."))


@tool("alarms.snooze", data=ALARMS, risk="change", limit_seconds=10)
async def snooze(
    call: Call,
    minutes: Annotated[int, Field(ge=1, le=120, description="Minutes from now")] = SNOOZE_MINUTES,
    name: Name = "",
) -> Result:
    """Let the alarm that is ringing, or else the timer that has just rung here, ring again in some minutes."""
    ringing = _ringing(call, name)
    sentence = _("Snoozed for {count}.").format(count=counted(minutes, "minute"))
    if not ringing:
        follow_clock(call)
        with call.state.transaction():
            if name or not snooze_timers(call, minutes * 60):
                raise ToolFailed("not_found", _("Nothing is ringing."))
            receipt = call.receipt(sentence, before=None, after=None)  # it is cancelled like any other timer
        return Result(sentence, {"alarms": []}, receipt)
    later = call.now() + minutes * 60
    after = [replace(alarm, due_at=later, ringing_since=None) for alarm in ringing]
    return _changed(call, ringing, after, sentence)


@tool("alarms.skip", data=ALARMS, risk="change", limit_seconds=10)
async def skip(
    call: Call,
    name: Name = "",
    time: At = "",
    day: Day = "",
    every: Annotated[bool, Field(description="true where all alarms are to be left out once, or on that day")] = False,
) -> Result:
    """Leave out the next ring of an alarm that rings again and again, or its rings on a day."""
    time, wanted = _time_and_day(call, time, day)
    alarms = [alarm for alarm in _narrow(call, name, time, wanted) if not alarm.off]
    again = [alarm for alarm in alarms if alarm.rule]
    if every and (ringing := alarms if wanted else again):
        return _all_left_out(call, ringing, wanted)
    if not again:
        only_once = _(" The {label} rings only once: cancel it instead.")
        hint = only_once.format(label=alarms[0].label(call.zone)) if alarms else ""
        raise ToolFailed("invalid", _("There is no recurring alarm to skip.{hint}").format(hint=hint))
    return _left_out(call, _one(call, again) if wanted else again[0], wanted)


@tool("alarms.switch", data=ALARMS_OR_ONE, risk="change", idempotent=True, limit_seconds=10)
async def switch(
    call: Call, on: Annotated[bool, Field(description="true is on, false is off")], name: Name = "", time: At = ""
) -> Result:
    """Turn an alarm off without forgetting it, or on again."""
    time, wanted = _time_and_day(call, time, "")
    alarms = _narrow(call, name, time, None if on else wanted)  # what is off rings on no day
    fitting = [alarm for alarm in alarms if alarm.off == on]
    alarm = _one(call, fitting or alarms)
    if wanted and alarm.rule and not on:
        return _left_out(call, alarm, wanted)
    subject = capital(alarm.label(call.zone))
    if alarm.off != on:
        already = _("{subject} is on already.") if on else _("{subject} is off already.")
        return Result(already.format(subject=subject), {"alarm": alarm.shown(call.now(), call.zone)})
    if not on:
        text = _("{subject} is off.").format(subject=subject)
        return _changed(call, [alarm], [replace(alarm, due_at=None, ringing_since=None)], text)
    after = alarm.switched_on(call.now(), call.zone)
    if after is None:
        raise ToolFailed("invalid", _("{subject} has come to its end. Set a new one.").format(subject=subject))
    words = after.when_words(call.now(), call.zone)
    return _changed(
        call, [alarm], [after], _("{subject} is on: {when_words}.").format(subject=subject, when_words=words)
    )


@tool("alarms.cancel", data=ALARMS, risk="change", limit_seconds=10)
async def cancel(call: Call, name: Name = "", time: At = "", day: Day = "") -> Result:
    """Cancel an alarm for good; when a day is named, one that rings again and again only for that day."""
    if (such := _SUCH_DAYS.fullmatch(day.strip())) and _on_days(call, _visible(call), such["days"]):
        name, day = such["days"], ""  # "the weekend one" is an alarm, and no day
    time, wanted = _time_and_day(call, time, day)
    alarm = _one(call, _narrow(call, name, time, wanted))
    return _left_out(call, alarm, wanted) if wanted and alarm.rule else _cancelled(call, alarm)


@tool("alarms.cancel_all", data=ALARMS, risk="change", idempotent=True, limit_seconds=10)
async def cancel_all(call: Call) -> Result:
    """Cancel every alarm for good, also those that ring again and again."""
    alarms = changeable(call, _visible(call))
    if not alarms:
        return Result(_("There are no alarms to cancel."), {"alarms": []})
    form = {1: _("Alarm cancelled: {alarms}."), 2: _("Both alarms cancelled: {alarms}.")}.get(
        len(alarms), _("All {count} alarms cancelled: {alarms}.")
    )
    return _changed(call, alarms, [], form.format(count=len(alarms), alarms=_listed(call, alarms)))


@tool("alarms.change", data=ALARMS, risk="change", limit_seconds=10)
async def change(
    call: Call,
    when: Annotated[
        str, Field(min_length=1, max_length=200, description="Only what changes: half past six; Friday; an hour later")
    ],
    name: Name = "",
    time: At = "",
    day: Day = "",
) -> Result:
    """Move an alarm to another time or day; one that rings again and again goes on doing so."""
    time, wanted = _time_and_day(call, time, day)
    alarm = _one(call, _narrow(call, name, time, wanted))
    before = local(alarm.at, call.zone)
    meant = moved(when, before, call.now(), call.zone, WAKING)
    if meant.at is None:
        raise ToolFailed("invalid", _("An alarm needs a time, such as tomorrow at 7 AM."))
    rule = meant.rule or (moved_rule(read(alarm.rule), before, meant.at) if alarm.rule else None)
    if alarm.rule and rule is None:
        raise ToolFailed(
            "invalid", _("It rings again and again. Say on which days it shall ring instead: every weekday at 7.")
        )
    timed = _new(call, When(meant.at, rule), alarm.name, alarm.room)
    after = replace(alarm, rule=timed.rule, start=timed.start, at=timed.at, due_at=timed.at, ringing_since=None)
    text = _("The {alarm} is now set for {when}.").format(
        alarm=alarm.label(call.zone), when=after.when_words(call.now(), call.zone)
    )
    return _changed(call, [alarm], [replace(after, missed_at=None, skipped="")], text)


@house_look("alarms.due", data={"due": [DUE], "coming": [COMING], "next_at": float | None, "now": float})
async def due(call: Call) -> Result:
    """Tell the house which alarms ring now or went by unheard, and when the next one is."""
    now, every = call.now(), _all(call)
    ready = [alarm for alarm in every if alarm.due_at is not None and alarm.due_at <= now]
    coming = [(alarm.due_at, alarm) for alarm in every if alarm.due_at is not None and alarm.due_at > now]
    places = [
        {"id": alarm.id, "device": alarm.device, "room": alarm.room, "in_seconds": round(at - now, 3)}
        for at, alarm in coming
    ]
    sayings = [alarm.saying(now, call.zone) for alarm in ready]
    text = _("{count} to ring.").format(count=plural("{count} alarm", "{count} alarms", len(ready)))
    return Result(
        text,
        {"due": sayings, "coming": places, "next_at": min((at for at, _alarm in coming), default=None), "now": now},
    )


@tool("alarms.announced", data=IDS, risk="change", agents=("house",), idempotent=True, limit_seconds=10)
async def announced(
    call: Call, ids: Annotated[list[str], Field(max_length=MOST_ALARMS, description="Ids from alarms.due")]
) -> Result:
    """Note that the house has rung these alarms, or told that they went by."""
    now = call.now()
    rung = [alarm for alarm in _all(call) if alarm.id in ids and alarm.due_at is not None and alarm.due_at <= now]
    after = [alarm.after_ring(now, call.zone) for alarm in rung]
    text = _("{count} rang.").format(count=plural("{count} alarm", "{count} alarms", len(rung)))
    with call.state.transaction():
        call.state.run("DELETE FROM alarms WHERE rule = '' AND due_at IS NULL AND missed_at < ?", now - KEPT_SECONDS)
        return rows.note_said(call, "alarms", rung, after, text, _("None of them was ringing."))


async def undo(call: Call, stored_receipt: StoredReceipt) -> Result:
    """Put alarms back as they were, unless they have changed since."""
    return rows.put_back(call, "alarms", stored_receipt)


# ── which alarm is meant ───────────────────────────────────────────────────────────────────────────


def _understood(call: Call, when: str) -> When:
    understood = understand(when, call.now(), call.zone, WAKING)
    if understood.at is None:
        raise ToolFailed(
            "invalid", _("An alarm needs a time, such as tomorrow at 7 AM. A reminder can wait for a voice.")
        )
    return understood


def _new(call: Call, when: When, name: str, room: str) -> Alarm:
    assert when.at
    at = moment(when.at, call.zone)
    return Alarm(
        id=f"alarm_{secrets.token_hex(8)}",
        name=name,
        person=call.actor.person,
        room=room or call.actor.room,
        device="" if room else call.actor.device_key,
        made_at=call.now(),
        rule=when.rule.text() if when.rule else "",
        start=when.at.isoformat() if when.rule else "",
        at=at,
        due_at=at,
        role=role_of(call),
        language=spoken_later(),
    )


def _name(name: str) -> str:
    words = plain(name).split()
    while words and words[0] in ("a", "an", "the", "my", "our"):
        words = words[1:]
    return " ".join(words[:-1] if words and words[-1] in ("alarm", "alarms") else words)


def _ringing(call: Call, name: str) -> list[Alarm]:
    wanted, now = _name(name), call.now()
    return [alarm for alarm in _visible(call) if alarm.began(now) and wanted in ("", alarm.name, alarm.id)]


def _sets_the_same(other: Alarm, alarm: Alarm) -> bool:
    """Tell whether one alarm would do for another; one of a guest, who may cancel it, does for guests alone."""
    one, two = ((item.name, item.room, item.rule, item.due_at, item.role == NOBODY) for item in (other, alarm))
    return one == two


def _day(call: Call, words: str) -> date | None:
    """Return the day that is meant; None when none was said. Raises `ToolFailed`."""
    if not words.strip():
        return None
    day, clocked = understand_day(words, call.now(), call.zone)
    part = read_words(words, call.local().date()).part
    if clocked or part:  # the evening's would go with "tomorrow morning"
        raise ToolFailed("invalid", _("Say the day alone, and the alarm's time beside it."))
    week = timedelta(days=7)
    names_weekday = understand_day(words, call.now() + 86_400, call.zone)[0] == day + week
    if names_weekday and not any(alarm.on(day, call.zone) for alarm in _all(call)):
        day += week  # "the Sunday one", on a Sunday whose alarms have rung
    if (day - call.local().date()).days > FARTHEST_DAYS:
        raise ToolFailed("invalid", _("I can leave out days of the coming year only."))
    return day


def _time_and_day(call: Call, time: str, day: str) -> tuple[str, date | None]:
    """Return the time of day and the day that are meant: "tomorrow at seven", and "tomorrow" itself, say a day too."""
    if day.strip() or not time.strip():
        return time, _day(call, day)
    phrase = read_words(time, call.local().date())
    if phrase.day is None or phrase.recurs:
        return time, None
    return (time, understand_day(time, call.now(), call.zone)[0]) if phrase.clocks else ("", _day(call, time))


def _listed(call: Call, alarms: Sequence[Alarm]) -> str:
    return clauses([alarm.listed(call.now(), call.zone) for alarm in alarms[:NAMED]], len(alarms[NAMED:]))


def _cancelled(call: Call, alarm: Alarm) -> Result:
    text = _("Alarm cancelled: {listed}.").format(listed=alarm.listed(call.now(), call.zone))
    return _changed(call, [alarm], [None], text)


def _all_left_out(call: Call, alarms: list[Alarm], day: date | None) -> Result:
    """Leave out the rings of several alarms on a day, on which one that rings once ends, or the next ring of each."""
    if len(alarms) == 1:
        return _left_out(call, alarms[0], day) if alarms[0].rule else _cancelled(call, alarms[0])
    form = _("Skipping the next ring of {count} alarms: {alarms}.")
    form = _("{count} alarms will not ring {day}: {alarms}.") if day else form
    on = on_day(day, call.local().date()) if day else ""
    text = form.format(count=len(alarms), day=on, alarms=_listed(call, alarms))
    return _changed(call, alarms, [_without(call, alarm, day) for alarm in alarms], text)


def _without(call: Call, alarm: Alarm, day: date | None) -> Alarm | None:
    """Return an alarm without its rings on a day, or its next one; None when it never rings again."""
    now = call.now()
    after = alarm.without(day, now, call.zone) if day and alarm.rule else alarm.following(now, call.zone)
    if after and len(after.skipped.split()) > MOST_SKIPPED:
        full = _("The {label} leaves out {most_skipped} days already. Turn it off.")
        raise ToolFailed("failed", full.format(label=alarm.label(call.zone), most_skipped=MOST_SKIPPED))
    return after


def _left_out(call: Call, alarm: Alarm, day: date | None) -> Result:
    """Leave out the rings of an alarm on a day that it rings on, or without a day its next one."""
    now, wall = call.now(), call.local()
    at = alarm.on(day, call.zone) if day else alarm.at
    assert at is not None, "it was chosen because it rings on that day"
    after = _without(call, alarm, day)
    # Where it is called by its time, that need not be said again.
    words = moment_words(local(at, call.zone), wall) if alarm.name else on_day(local(at, call.zone).date(), wall.date())
    text = _("Skipping the {label} {left_out_words}.").format(label=alarm.label(call.zone), left_out_words=words)
    coming = after if after is None or after.at > now else after.following(now, call.zone)
    if coming:
        text += _(" The next is {moment_words}.").format(moment_words=moment_words(local(coming.at, call.zone), wall))
    return _changed(call, [alarm], [after], text)


def _narrow(call: Call, name: str, time: str, day: date | None = None) -> list[Alarm]:
    """Return the alarms to be changed: of a name and a time of day, "" for any, that ring on a day.

    Raises `ToolFailed` when there is none, or whoever calls may change none of them.
    """
    every = _visible(call)
    if not every:
        raise ToolFailed("not_found", _("There are no alarms."))
    alarms, wanted = every, _name(name)
    if wanted:
        alarms = [alarm for alarm in alarms if wanted in (alarm.name, alarm.id)] or _on_days(call, every, wanted)
    if time.strip():
        clock = _clock(call, time)
        alarms = [alarm for alarm in alarms if _rings_at(alarm, clock, call.zone)]
    if day:
        alarms = [alarm for alarm in alarms if alarm.on(day, call.zone) is not None]
    if not alarms:
        request = _("{wanted} alarm").format(wanted=wanted) if wanted else _("alarm")
        at = _(" at {time}").format(time=one_line(time).removeprefix("at ")) if time.strip() else ""
        at += f" {day_words(day, call.local().date())}" if day else ""
        there = series([alarm.listed(call.now(), call.zone) for alarm in every[:NAMED]], "and")
        none = _("There is no {asked}{at}. There is: {there}.")
        raise ToolFailed("not_found", none.format(asked=request, at=at, there=there))
    return changeable(call, alarms)


def _on_days(call: Call, alarms: list[Alarm], name: str) -> list[Alarm]:
    """Return the alarms whose rule is named: the "weekday" alarm, the "Saturday" one."""
    try:
        phrase = read_words(f"every {name}", call.local().date())
    except NotUnderstood:
        return []
    rules = [(alarm, alarm.recurrence.rule) for alarm in alarms if alarm.recurrence]
    rules = [(alarm, rule) for alarm, rule in rules if rule.days and rule.frequency == phrase.frequency]
    exactly = [alarm for alarm, rule in rules if rule.days == phrase.days]
    return exactly or [alarm for alarm, rule in rules if {*rule.days} <= {*phrase.days}]


def _one(call: Call, matching_alarms: list[Alarm]) -> Alarm:
    if len(matching_alarms) > 1:
        named, more = matching_alarms[:NAMED], len(matching_alarms[NAMED:])
        messages = [alarm.listed(call.now(), call.zone) for alarm in named]
        alarms = [alarm.shown(call.now(), call.zone) for alarm in named]  # nobody can mean one that was not named
        sentence = _("Which alarm: {series}?").format(series=choices(messages, more))
        raise ToolFailed("invalid", sentence, alarms=alarms, more=more)
    return matching_alarms[0]


def _clock(call: Call, time: str) -> ClockTime:
    clocks = read_words(time, local(call.now(), call.zone).date()).clocks
    if len(clocks) != 1:
        raise ToolFailed("invalid", _("At what time does it ring? Say, for example, 7 AM."))
    return clocks[0]


def _rings_at(alarm: Alarm, clock: ClockTime, zone: tzinfo | None) -> bool:
    at = local(alarm.at, zone)
    if clock.half == "24":
        return (at.hour, at.minute) == (clock.hour, clock.minute)
    half = {"am": at.hour < 12, "pm": at.hour >= 12, "": True}[clock.half]
    return half and (at.hour % 12, at.minute) == (clock.hour % 12, clock.minute)


# ── rows ───────────────────────────────────────────────────────────────────────────────────────────


def _visible(call: Call) -> list[Alarm]:
    """Return the alarms that are the asker's business: to a guest those of guests, and what rings where they hear it.

    When the household gets up, and what for, is private: what a guest does not see is to them not there.
    """
    every = _all(call)
    if role_of(call) != NOBODY:
        return every
    return [alarm for alarm in every if alarm.role == NOBODY or _is_heard(call, alarm)]


def _is_heard(call: Call, alarm: Alarm) -> bool:
    """Tell whether an alarm rings where somebody is."""
    places = {alarm.device, alarm.room} - {""}
    is_here = not places or not places.isdisjoint({call.actor.device_key, call.actor.room})
    return is_here and alarm.rings(call.now())


def _all(call: Call) -> list[Alarm]:
    """Return every alarm, the next one first and those that are off last."""
    alarms = (Alarm(**dict(row)) for row in call.state.rows("SELECT * FROM alarms"))
    return sorted(alarms, key=lambda alarm: (alarm.off, alarm.due_at or alarm.at, alarm.id))


def _changed(call: Call, before: list[Alarm], after: Sequence[Alarm | None], text: str) -> Result:
    """Write alarms in the place of others, None for one that is gone, with a receipt."""
    receipt = rows.changed(call, "alarms", before, after, text)
    data = {"alarms": [alarm.shown(call.now(), call.zone) for alarm in filter(None, after) or before]}
    return Result(text, data, receipt)
