"""Timers: many, named, by room. Rows with wall-clock deadlines: neither a restart nor a power cut ends one.

A timer runs (`deadline` is set), is paused (`left_seconds` is set), or has ended (its deadline is past) and waits to be
announced. Nothing fires here: the house asks `timers.due`, says it aloud, and then calls `timers.announced`: first that
it rings on, then that somebody stopped it. A house that dies in between rings what still rang.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import Field

from tools_server.sdk import rows
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, house_look, tool
from tools_server.sdk.wording import NAMED, capital
from tools_server.times import clock_steps
from tools_server.times.clock_steps import follow_clock, note_clock
from tools_server.times.ownership import TIMERS, changeable, refuse_more, refuse_over, role_of
from tools_server.times.rung_timers import rung_here, stop_rung, stopped_first
from tools_server.times.timer import (
    Timer,
    adjective,
    back_text,
    labels,
    plain_name,
    plain_room,
    timers_text,
    what_there_is,
    which,
)
from tools_server.values.language import length, noun, spoken_later
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import place
from tools_server.values.shapes import DUE, IDS

TIMER: dict[str, Any] = {"id": str, "name": str, "room": str, "seconds": int, "left_seconds": float, "state": str}
TIMER |= {"ends_at": float | None, "set_at": float}

_ID = re.compile(r"timer_[0-9a-f]{16}")  # which is never said aloud
LONGEST_SECONDS = 604_800  # a week; what is further away is a reminder
MOST_TIMERS = 100  # a household has fewer; a model in a loop does not get more
NEWS_SECONDS = 86_400  # after a day nobody waits to hear that one has ended
REMEMBERED_SECONDS = 3600  # "when did the pizza timer end?" is asked within the hour
KEPT_SECONDS = 7 * 86_400  # one that did not ring when it ended, for who wants to know what they have missed

MIGRATIONS = {
    "timers": """
        CREATE TABLE timers (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            room TEXT NOT NULL,
            device TEXT NOT NULL,      -- where it was asked for, and so where it is announced
            person TEXT NOT NULL,
            seconds INTEGER NOT NULL,  -- the length it was given, which people call it by
            deadline REAL,             -- wall clock, seconds since 1970; NULL while paused
            left_seconds REAL,         -- while paused
            set_at REAL NOT NULL,      -- wall clock when the deadline was last set
            announced_at REAL
        );
    """,
    "timers role": """
        ALTER TABLE timers ADD COLUMN role TEXT NOT NULL DEFAULT '';  -- of who set it, as it was then
    """,
    "timers ringing": """
        ALTER TABLE timers ADD COLUMN ringing INTEGER NOT NULL DEFAULT 0;  -- announced, and not stopped yet
    """,
    "timers language": """
        ALTER TABLE timers ADD COLUMN language TEXT NOT NULL DEFAULT '';  -- in which it was set, and is said
    """,
    **clock_steps.MIGRATIONS,
}

Name = Annotated[str, Field(max_length=60, description="The timer's name, such as pizza")]
Length = Annotated[int, Field(ge=0, le=LONGEST_SECONDS, description="The length it was started with; 0 if not said")]
Room = Annotated[str, Field(max_length=60, description="The timer's room, if one was said")]


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@tool("timers.start", data={"timer": TIMER}, risk="change", limit_seconds=10)
async def start(
    call: Call,
    seconds: Annotated[int, Field(ge=1, le=LONGEST_SECONDS, description="How long, in seconds")],
    name: Name = "",
    room: Room = "",
) -> Result:
    """Start a timer that runs for some seconds. Give it a name when the user does, such as pizza."""
    now = call.now()
    timer = Timer(
        id=f"timer_{secrets.token_hex(8)}",
        name=plain_name(name),
        room=plain_room(room) or call.actor.room,
        device=call.actor.device_key,
        person=call.actor.person,
        seconds=seconds,
        deadline=now + seconds,
        left_seconds=None,
        set_at=now,
        role=role_of(call),
        language=spoken_later(),
    )
    waiting = _waiting(call)
    refuse_over(MOST_TIMERS, len(waiting) + 1, TIMERS)
    refuse_more(call, waiting, TIMERS)
    subject = _("{name} timer").format(name=capital(timer.name)) if timer.name else _("Timer")
    text = _("{subject} set for {duration}.").format(subject=subject, duration=length(seconds))
    return _changed(call, None, timer, text)


@tool("timers.list", data={"timers": [TIMER]}, risk="read", limit_seconds=10)
async def list_timers(call: Call) -> Result:
    """Tell which timers there are and how long each has left."""
    now, timers = call.now(), _to_tell(call)
    _note_told(call, timers)
    return Result(timers_text(timers, now), {"timers": [timer.shown(now) for timer in timers]})


@tool("timers.left", data={"timers": [TIMER]}, risk="read", limit_seconds=10)
async def left(call: Call, name: Name = "", seconds: Length = 0, room: Room = "") -> Result:
    """Tell how long a timer has left."""
    now, timers = call.now(), _to_tell(call)
    lately = None if room or _any_fits(timers, name, seconds) else _announced(call, name, seconds)
    if lately:
        return Result(lately.ended_sentence(lately.label, now), {"timers": [lately.shown(now)]})
    matching_timers = _narrow(call, timers, _name_among(timers, name), seconds, room)
    _note_told(call, matching_timers)
    first, *others = matching_timers
    text = timers_text(matching_timers, now) if others else first.sentence(labels(timers)[first.id], now)
    return Result(text, {"timers": [timer.shown(now) for timer in matching_timers]})


@tool("timers.cancel", data={"timer": TIMER}, risk="change", limit_seconds=10)
async def cancel(
    call: Call,
    name: Name = "",
    seconds: Length = 0,
    room: Room = "",
    silence: Annotated[bool, Field(description="Only stop was said: what rings or has just rung goes first")] = False,
) -> Result:
    """Cancel one timer, or stop it where it rings."""
    waiting = [timer for timer in _waiting(call) if not timer.ended(call.now())]
    lately = None if room or _any_fits(waiting, name, seconds) else _ended_lately(call, name, seconds)
    if lately:
        is_heard = lately.id in {timer.id for timer in rung_here(call)}
        return _told_stopped(call, stop_rung(call, [lately] if is_heard else changeable(call, [lately])))
    if silence or not (name or seconds or room):
        meant = [timer for timer in waiting if _any_fits([timer], name, seconds)]
        since = max((timer.set_at for timer in meant), default=0.0)
        ringing = any(timer.ringing for timer in rung_here(call))
        if (silence or ringing) and (stopped := stopped_first(call, since)):
            return _told_stopped(call, stopped)
    timer, label = _one(call, name, seconds, room)
    text = _("{label} cancelled.").format(label=capital(label))
    return _changed(call, timer, None, text)


@tool("timers.cancel_all", data={"timers": [TIMER]}, risk="change", idempotent=True, limit_seconds=10)
async def cancel_all(call: Call, room: Room = "") -> Result:
    """Cancel every timer in the house, or of one room."""
    timers = changeable(call, _narrow(call, _waiting(call), "", 0, room) if room else _waiting(call))
    if not timers:
        return Result(_("There are no timers to cancel."), {"timers": []})
    text = {1: _("Timer cancelled."), 2: _("Both timers cancelled.")}.get(
        len(timers), _("All {count} timers cancelled.").format(count=len(timers))
    )
    data = {"timers": [timer.shown(call.now()) for timer in timers]}
    return Result(text, data, rows.changed(call, "timers", timers, (), text))


@tool("timers.pause", data={"timer": TIMER}, risk="change", idempotent=True, limit_seconds=10)
async def pause(call: Call, name: Name = "", seconds: Length = 0, room: Room = "") -> Result:
    """Pause one timer; what it has left is kept."""
    now = call.now()
    timer, label = _one(call, name, seconds, room)
    if timer.paused:
        return Result(
            _("Your {label} is already paused, with {duration} left.").format(
                label=label, duration=length(timer.left(now))
            ),
            _data(timer, now),
        )
    _refuse_ended(timer, label, now)
    stopped = replace(timer, deadline=None, left_seconds=timer.left(now), set_at=now)
    return _changed(
        call,
        timer,
        stopped,
        _("{label} paused with {duration} left.").format(label=capital(label), duration=length(stopped.left(now))),
    )


@tool("timers.resume", data={"timer": TIMER}, risk="change", idempotent=True, limit_seconds=10)
async def resume(call: Call, name: Name = "", seconds: Length = 0, room: Room = "") -> Result:
    """Let a paused timer run on."""
    now = call.now()
    timer, label = _one(call, name, seconds, room, paused=True)
    if not timer.paused:
        _refuse_ended(timer, label, now)
        return Result(
            _("Your {label} is running, with {duration} left.").format(label=label, duration=length(timer.left(now))),
            _data(timer, now),
        )
    running = replace(timer, deadline=now + timer.left(now), left_seconds=None, set_at=now)
    return _changed(
        call,
        timer,
        running,
        _("{label} resumed with {duration} left.").format(label=capital(label), duration=length(running.left(now))),
    )


@tool("timers.add", data={"timer": TIMER}, risk="change", limit_seconds=10)
async def add(
    call: Call,
    by_seconds: Annotated[
        int, Field(ge=-LONGEST_SECONDS, le=LONGEST_SECONDS, description="Seconds to add; negative takes away")
    ] = 0,
    name: Name = "",
    seconds: Length = 0,
    room: Room = "",
    to_seconds: Annotated[
        int, Field(ge=0, le=LONGEST_SECONDS, description="Seconds it shall run from now instead, if that was said")
    ] = 0,
) -> Result:
    """Make a timer longer or shorter by some seconds, or let it run for so many from now."""
    now = call.now()
    timer, label = _one(call, _name_among(_waiting(call), name), seconds, room)
    _refuse_ended(timer, label, now)
    if to_seconds:
        anew = replace(timer, seconds=to_seconds, set_at=now)
        anew = replace(anew, left_seconds=to_seconds) if timer.paused else replace(anew, deadline=now + to_seconds)
        text = _("Your {timer} now has {left} left.").format(timer=anew.label, left=length(to_seconds))
        return _changed(call, timer, anew, text)
    remaining = timer.left(now) + by_seconds
    if by_seconds == 0:
        raise ToolFailed("invalid", _("How much time should I add or take away?"))
    if remaining <= 0:
        raise ToolFailed(
            "invalid",
            _("Your {label} only has {duration} left. You can cancel it instead.").format(
                label=label, duration=length(timer.left(now))
            ),
        )
    if remaining > LONGEST_SECONDS:
        raise ToolFailed(
            "invalid", _("A timer can run for {duration} at most.").format(duration=length(LONGEST_SECONDS))
        )
    moved = (
        replace(timer, left_seconds=remaining, set_at=now)
        if timer.paused
        else replace(timer, deadline=now + remaining, set_at=now)
    )
    form = _("{length} added to your {timer}. It has {left} left.")
    form = form if by_seconds > 0 else _("{length} taken off your {timer}. It has {left} left.")
    text = form.format(length=capital(length(abs(by_seconds))), timer=label, left=length(remaining))
    return _changed(call, timer, moved, text)


@house_look(
    "timers.due",
    data={
        **{"timers": [DUE], "ringing": [DUE], "waiting": [TIMER | {"device": str}]},
        **{"missed?": [TIMER | {"person": str, "device": str}], "next_at": float | None, "now": float},
    },
)
async def due(
    call: Call, missed: Annotated[bool, Field(description="Tell also which did not ring when they ended")] = False
) -> Result:
    """Tell the house which timers have ended and were not announced, which ring, how all stand, and what comes next."""
    timers = _waiting(call)
    now = call.now()
    ended = [timer for timer in timers if timer.ended(now)]
    coming = [timer.deadline for timer in timers if timer.deadline is not None and not timer.ended(now)]
    shown = [timer.saying(timers, now) for timer in ended]
    ringing = _ringing(call)
    text = " ".join(str(timer["text"]) for timer in shown) or _("No timer has ended.")
    waiting = [timer.shown(now) | {"device": timer.device} for timer in timers]
    rings = [timer.saying(ringing, now) for timer in ringing]
    data = {"timers": shown, "ringing": rings, "waiting": waiting, "next_at": min(coming, default=None), "now": now}
    if missed:
        owner = [(timer, {"person": timer.person, "device": timer.device}) for timer in _missed(call)]
        data["missed"] = [timer.shown(now) | whose for timer, whose in owner]
    return Result(text, data)


@tool("timers.announced", data=IDS, risk="change", agents=("house",), idempotent=True, limit_seconds=10)
async def announced(
    call: Call,
    ids: Annotated[list[str], Field(max_length=MOST_TIMERS, description="Ids from timers.due")],
    ringing: Annotated[bool, Field(description="They ring on, until they are announced without it")] = False,
) -> Result:
    """Note that the house has said aloud that these timers ended, and whether they ring on or were stopped."""
    now = call.now()
    ended = [timer for timer in _waiting(call) if timer.id in ids and timer.ended(now)]
    ended += [timer for timer in _ringing(call) if timer.id in ids and not ringing]
    after = [timer.announced(now, ringing=ringing) for timer in ended]
    text = _("1 timer announced.") if len(ended) == 1 else _("{count} timers announced.").format(count=len(ended))
    with call.state.transaction():
        result = rows.note_said(call, "timers", ended, after, text, _("Nothing was waiting to be announced."))
        _forget(call)
    return result


# ── taking it back ─────────────────────────────────────────────────────────────────────────────────


async def undo(call: Call, stored_receipt: StoredReceipt) -> Result:
    """Put timers back as they were, deadlines and all, or remove the one that was started.

    One that has ended meanwhile comes back as announced, for the answer says so.
    """
    now = call.now()
    before, after = (
        [Timer(**row) for row in rows.listed(half)] for half in (stored_receipt.before, stored_receipt.after)
    )
    _refuse_changed(call, before, after)
    refuse_over(MOST_TIMERS, len(_waiting(call)) + len(before) - len(after), TIMERS)
    back = [replace(timer, announced_at=now) if timer.ended(now) else timer for timer in before]
    text = back_text(back, after, now)
    with call.state.transaction():
        note_clock(call)
        receipt = rows.changed(call, "timers", after, back, text)
    return Result(text, {"timers": [timer.shown(now) for timer in back or after]}, receipt)


def _refuse_changed(call: Call, before: Sequence[Timer], after: Sequence[Timer]) -> None:
    """Raise `ToolFailed` naming the timer that is not as it was left."""
    left = {timer.id: timer for timer in after}
    for timer in {timer.id: timer for timer in (*before, *after)}.values():
        here = next(map(_timer, call.state.rows("SELECT * FROM timers WHERE id = ?", timer.id)), None)
        if here != left.get(timer.id):
            form = _("I can't take that back: your {timer} is gone.")
            if here:
                form = _("I can't take that back: your {timer} was changed since.")
            if here and here.announced_at:
                form = _("I can't take that back: your {timer} has ended.")
            raise ToolFailed("failed", form.format(timer=timer.label))


# ── which timer is meant ───────────────────────────────────────────────────────────────────────────


def _one(call: Call, name: str, seconds: int, room: str, *, paused: bool = False) -> tuple[Timer, str]:
    """Return the one timer that is meant and what to call it; raise `ToolFailed` with what to say otherwise.

    `paused` prefers paused timers where several would do: only they can be resumed.
    """
    timers = _waiting(call)
    matching_timers = changeable(call, _narrow(call, timers, name, seconds, room))
    if paused and len(matching_timers) > 1:
        matching_timers = [timer for timer in matching_timers if timer.paused] or matching_timers
    if len(matching_timers) > 1:
        now = call.now()
        shown = [timer.shown(now) for timer in matching_timers[:NAMED]]  # nobody can mean one that was not named
        raise ToolFailed(
            "invalid", which(matching_timers, timers, now), timers=shown, more=len(matching_timers[NAMED:])
        )
    return matching_timers[0], labels(timers)[matching_timers[0].id]


def timer_meant(call: Call, name: str) -> Timer:
    """Return the one timer that has not rung yet and is called so; "timer" is the only one. Raises `ToolFailed`."""
    return _one(call, name, 0, "")[0]


def _narrow(call: Call, timers: Sequence[Timer], name: str, seconds: int, room: str) -> list[Timer]:
    """Climb down the ladder name → original length → room; a rung that was said must hold."""
    if not timers:
        raise ToolFailed("not_found", _("There are no timers."))
    matching_timers = list(timers)
    if wanted := plain_name(name):
        matching_timers = _named(matching_timers, wanted)
        is_over = _ID.fullmatch(wanted)
        form = _("That timer is over. {what_there_is}") if is_over else _("There is no {wanted} timer. {what_there_is}")
        _refuse_none(matching_timers, timers, form, wanted=noun(wanted))
    if seconds:
        matching_timers = [timer for timer in matching_timers if timer.seconds == seconds]
        form = _("There is no {adjective} timer. {what_there_is}")
        _refuse_none(matching_timers, timers, form, adjective=adjective(seconds))
    if room := plain_room(room):
        matching_timers = [timer for timer in matching_timers if timer.room.casefold() == room.casefold()]
        form = _("There is no such timer in {room:the}. {what_there_is}")
        _refuse_none(matching_timers, timers, form, room=place(noun(room)))
    elif len(matching_timers) > 1:
        # "Cancel the timer", with one in this room and one in another: this room's is meant.
        matching_timers = [
            timer for timer in matching_timers if call.actor.room and timer.room == call.actor.room
        ] or matching_timers
    return matching_timers


def _refuse_none(matching_timers: Sequence[Timer], timers: Sequence[Timer], form: str, **values: object) -> None:
    if not matching_timers:
        raise ToolFailed("not_found", form.format(what_there_is=what_there_is(timers), **values), timers=[])


def _named(timers: Sequence[Timer], wanted: str) -> list[Timer]:
    exact = [timer for timer in timers if wanted in (timer.name, timer.id)]
    if exact:
        return exact
    words = {*wanted.split()}
    partly = [timer for timer in timers if words < {*timer.name.split()}]
    if len(partly) == 1:  # "the bread", of garlic bread
        return partly
    near = get_close_matches(wanted, [timer.name for timer in timers if timer.name], n=1, cutoff=0.75)
    return [timer for timer in timers if near and timer.name == near[0]]


def _name_among(timers: Sequence[Timer], name: str) -> str:
    """Return "" for a name of what the only timer, which has none, is for: "how long for the noodles?"."""
    wanted, names = plain_name(name), [timer.name for timer in timers]
    return name if names != [""] or _ID.fullmatch(wanted) else ""


def _any_fits(timers: Sequence[Timer], name: str, seconds: int) -> bool:
    matching_timers = _named(timers, wanted) if (wanted := plain_name(name)) else list(timers)
    return any(seconds in (0, timer.seconds) for timer in matching_timers)


# ── rows ───────────────────────────────────────────────────────────────────────────────────────────


def _waiting(call: Call) -> list[Timer]:
    """Return every timer that runs, is paused, or ended and was not announced; the next to end first."""
    follow_clock(call)
    timers = map(_timer, call.state.rows("SELECT * FROM timers WHERE announced_at IS NULL"))
    now = call.now()
    return sorted(timers, key=lambda timer: (timer.left(now), timer.id))


def _ringing(call: Call) -> list[Timer]:
    """Return the timers that were announced lately and that nobody has stopped, as far as the house knows."""
    since = call.now() - REMEMBERED_SECONDS
    return [_timer(row) for row in call.state.rows("SELECT * FROM timers WHERE ringing AND announced_at > ?", since)]


def _missed(call: Call) -> list[Timer]:
    """Return the timers of the last week that were told long after they had ended, the latest first."""
    announced = "SELECT * FROM timers WHERE announced_at > ? ORDER BY announced_at DESC, id"
    return [timer for timer in map(_timer, call.state.rows(announced, call.now() - KEPT_SECONDS)) if timer.missed]


def _forget(call: Call) -> None:
    """Delete the timers that ended so long ago that nobody asks for them, nor wants to know of them."""
    old = map(_timer, call.state.rows("SELECT * FROM timers WHERE announced_at < ?", call.now() - REMEMBERED_SECONDS))
    missed = {timer.id for timer in _missed(call)[:MOST_TIMERS]}
    for timer in old:
        if timer.id not in missed:
            rows.drop(call, "timers", timer.id)


def _to_tell(call: Call) -> list[Timer]:
    """Return the timers that go on, and those that ended lately and whoever asks has set: each is told once."""
    now = call.now()
    return [timer for timer in _waiting(call) if not timer.ended(now) or _is_news(call, timer)]


def _is_news(call: Call, timer: Timer) -> bool:
    """Tell whether it ended lately, and whoever asks has set it: that person, or a voice nobody knows at its device."""
    mine = timer.person == call.actor.person if call.actor.person else timer.device == call.actor.device_key
    return mine and -timer.left(call.now()) < NEWS_SECONDS


def _note_told(call: Call, timers: Sequence[Timer]) -> None:
    """Note that whoever set these timers has heard that they ended: the house need not say it as well."""
    now = call.now()
    with call.state.transaction():
        for timer in timers:
            if timer.ended(now):
                call.state.run("UPDATE timers SET announced_at = ? WHERE id = ?", now, timer.id)


def _announced(call: Call, name: str, seconds: int) -> Timer | None:
    """Return the timer that was announced last, of those that may be meant."""
    since = call.now() - REMEMBERED_SECONDS
    rows = call.state.rows("SELECT * FROM timers WHERE announced_at > ? ORDER BY announced_at DESC", since)
    wanted = plain_name(name)
    fitting = (t for t in map(_timer, rows) if wanted in ("", t.name) and seconds in (0, t.seconds))
    return next(fitting, None)


def _told_stopped(call: Call, stopped: tuple[Result, Timer]) -> Result:
    result, timer = stopped
    return replace(result, data=_data(timer, call.now()))


def _ended_lately(call: Call, name: str, seconds: int) -> Timer | None:
    """Return the timer that ended last, of those that may be meant, whether or not the house has said so."""
    if not (name or seconds):
        return next(iter(rung_here(call)), None)
    now = call.now()
    unsaid = [timer for timer in _waiting(call) if timer.ended(now) and _any_fits([timer], name, seconds)]
    return unsaid[-1] if unsaid else _announced(call, name, seconds)


def _timer(row: sqlite3.Row) -> Timer:
    return Timer(**dict(row))


def _changed(call: Call, before: Timer | None, after: Timer | None, text: str) -> Result:
    """Write a timer in the place of another, None for one that is not there, with a receipt."""
    now, subject = call.now(), after or before
    assert subject
    with call.state.transaction():
        if after:
            note_clock(call)
        receipt = rows.changed(call, "timers", [before], [after], text)
    return Result(text, _data(subject, now), receipt)


def _refuse_ended(timer: Timer, label: str, now: float) -> None:
    if timer.ended(now):
        raise ToolFailed(
            "invalid",
            _("{ended_sentence} You can start a new one.").format(ended_sentence=timer.ended_sentence(label, now)),
        )


def _data(timer: Timer, now: float) -> dict[str, Any]:
    return {"timer": timer.shown(now)}
