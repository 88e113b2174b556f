"""Timers: many, named, by room. Rows with wall-clock deadlines: neither a restart nor a power cut ends one.

A timer runs (`deadline` is set), is paused (`left_seconds` is set), or has ended (its deadline is past) and waits to be
announced. Nothing fires here: the house asks `timers.due`, says it aloud, and then calls `timers.announced`.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import Field

from tools_server.state import Kept
from tools_server.toolkit import Call, Result, ToolFailed, tool

LONGEST_SECONDS = 604_800  # a week; what is further away is a reminder
MOST_TIMERS = 100  # a household has fewer; a model in a loop does not get more
REMEMBERED_SECONDS = 3600  # "when did the pizza timer end?" is asked within the hour

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
}

Name = Annotated[str, Field(max_length=60, description="The timer's name, such as pizza")]
Length = Annotated[int, Field(ge=0, le=LONGEST_SECONDS, description="The length it was started with; 0 if not said")]
Room = Annotated[str, Field(max_length=60, description="The timer's room, if one was said")]


@dataclass(frozen=True, slots=True)
class Timer:
    """One row."""

    id: str
    name: str
    room: str
    device: str
    person: str
    seconds: int
    deadline: float | None
    left_seconds: float | None
    set_at: float
    announced_at: float | None = None

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self.deadline is None

    def left(self, now: float) -> float:
        """Return the seconds left; negative when it has ended.

        A clock that was set back cannot make a timer longer than it ever was: what is left is at most what was left
        when its deadline was set.
        """
        if self.deadline is None:
            return self.left_seconds or 0.0
        return min(self.deadline - now, self.deadline - self.set_at)

    def ended(self, now: float) -> bool:
        """Whether it has run out."""
        return not self.paused and self.left(now) <= 0


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@tool("timers.start", risk="change", limit_seconds=10)
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
        room=" ".join(room.split()) or call.actor.room,
        device=call.actor.device,
        person=call.actor.person,
        seconds=seconds,
        deadline=now + seconds,
        left_seconds=None,
        set_at=now,
    )
    if len(_waiting(call)) >= MOST_TIMERS:
        raise ToolFailed("failed", f"There are already {MOST_TIMERS} timers. Cancel some of them first.")
    subject = f"{_capital(timer.name)} timer" if timer.name else "Timer"
    text = f"{subject} set for {duration(seconds)}."
    with call.state.transaction():
        _put(call, timer)
        receipt = call.receipt(text, before=None, after=asdict(timer))
    return Result(text, {"timer": _shown(timer, now)}, receipt)


@tool("timers.list", risk="read", limit_seconds=10)
async def list_timers(call: Call) -> Result:
    """Tell which timers there are and how long each has left."""
    now, timers = call.now(), _waiting(call)
    return Result(_told(timers, now), {"timers": [_shown(timer, now) for timer in timers]})


@tool("timers.left", risk="read", limit_seconds=10)
async def left(call: Call, name: Name = "", seconds: Length = 0, room: Room = "") -> Result:
    """Tell how long a timer has left."""
    now, timers = call.now(), _waiting(call)
    if not timers and (lately := _announced(call, name, seconds)):
        return Result(_ended_sentence(lately, _plain_label(lately), now), {"timers": [_shown(lately, now)]})
    found = _narrow(call, timers, name, seconds, room)
    text = _sentence(found[0], timers, now) if len(found) == 1 else _told(found, now)
    return Result(text, {"timers": [_shown(timer, now) for timer in found]})


@tool("timers.cancel", risk="change", limit_seconds=10)
async def cancel(call: Call, name: Name = "", seconds: Length = 0, room: Room = "") -> Result:
    """Cancel one timer."""
    timer, label = _one(call, name, seconds, room)
    text = f"{_capital(label)} cancelled."
    return _changed(call, timer, None, text)


@tool("timers.cancel_all", risk="change", idempotent=True, limit_seconds=10)
async def cancel_all(call: Call) -> Result:
    """Cancel every timer in the house."""
    timers = _waiting(call)
    if not timers:
        return Result("There are no timers to cancel.", {"timers": []})
    text = {1: "Timer cancelled.", 2: "Both timers cancelled."}.get(len(timers), f"All {len(timers)} timers cancelled.")
    with call.state.transaction():
        call.state.run("DELETE FROM timers WHERE announced_at IS NULL")
        receipt = call.receipt(text, before=[asdict(timer) for timer in timers], after=None)
    return Result(text, {"timers": [_shown(timer, call.now()) for timer in timers]}, receipt)


@tool("timers.pause", risk="change", idempotent=True, limit_seconds=10)
async def pause(call: Call, name: Name = "", seconds: Length = 0, room: Room = "") -> Result:
    """Pause one timer; what it has left is kept."""
    now = call.now()
    timer, label = _one(call, name, seconds, room)
    if timer.paused:
        return Result(f"Your {label} is already paused, with {duration(timer.left(now))} left.", _data(timer, now))
    _refuse_ended(timer, label, now)
    stopped = _with(timer, deadline=None, left_seconds=timer.left(now), set_at=now)
    return _changed(call, timer, stopped, f"{_capital(label)} paused with {duration(stopped.left(now))} left.")


@tool("timers.resume", risk="change", idempotent=True, limit_seconds=10)
async def resume(call: Call, name: Name = "", seconds: Length = 0, room: Room = "") -> Result:
    """Let a paused timer run on."""
    now = call.now()
    timer, label = _one(call, name, seconds, room, paused=True)
    if not timer.paused:
        _refuse_ended(timer, label, now)
        return Result(f"Your {label} is running, with {duration(timer.left(now))} left.", _data(timer, now))
    running = _with(timer, deadline=now + timer.left(now), left_seconds=None, set_at=now)
    return _changed(call, timer, running, f"{_capital(label)} resumed with {duration(running.left(now))} left.")


@tool("timers.add", risk="change", limit_seconds=10)
async def add(
    call: Call,
    by_seconds: Annotated[
        int, Field(ge=-LONGEST_SECONDS, le=LONGEST_SECONDS, description="Seconds to add; negative takes away")
    ],
    name: Name = "",
    seconds: Length = 0,
    room: Room = "",
) -> Result:
    """Make a timer longer or shorter by some seconds."""
    now = call.now()
    timer, label = _one(call, name, seconds, room)
    _refuse_ended(timer, label, now)
    remaining = timer.left(now) + by_seconds
    if by_seconds == 0:
        raise ToolFailed("invalid", "How much time should I add or take away?")
    if remaining <= 0:
        raise ToolFailed(
            "invalid", f"Your {label} only has {duration(timer.left(now))} left. You can cancel it instead."
        )
    if remaining > LONGEST_SECONDS:
        raise ToolFailed("invalid", f"A timer can run for {duration(LONGEST_SECONDS)} at most.")
    moved = (
        _with(timer, left_seconds=remaining, set_at=now)
        if timer.paused
        else _with(timer, deadline=now + remaining, set_at=now)
    )
    done = "added to" if by_seconds > 0 else "taken off"
    text = f"{_capital(duration(abs(by_seconds)))} {done} your {label}. It has {duration(remaining)} left."
    return _changed(call, timer, moved, text)


@tool("timers.due", risk="read", agents=("house",), routine=True, limit_seconds=10)
async def due(call: Call) -> Result:
    """Tell the house which timers have ended and were not announced, and when the next one will."""
    now, timers = call.now(), _waiting(call)
    ended = [timer for timer in timers if timer.ended(now)]
    coming = [timer.deadline for timer in timers if timer.deadline is not None and timer not in ended]
    shown = [
        {
            "id": timer.id,
            "name": timer.name,
            "room": timer.room,
            "device": timer.device,
            "person": timer.person,
            "seconds": timer.seconds,
            "ended_at": timer.deadline,
            "late_seconds": round(-timer.left(now), 3),
            "text": _ended_sentence(timer, _label(timer, timers), now),
        }
        for timer in ended
    ]
    text = " ".join(str(timer["text"]) for timer in shown) or "No timer has ended."
    return Result(text, {"timers": shown, "next_at": min(coming, default=None), "now": now})


@tool("timers.announced", risk="change", agents=("house",), idempotent=True, limit_seconds=10)
async def announced(
    call: Call, ids: Annotated[list[str], Field(max_length=MOST_TIMERS, description="Ids from timers.due")]
) -> Result:
    """Note that the house has said aloud that these timers ended."""
    now = call.now()
    ended = [timer for timer in _waiting(call) if timer.id in ids and timer.ended(now)]
    if not ended:
        return Result("Nothing was waiting to be announced.", {"ids": []})
    text = "1 timer announced." if len(ended) == 1 else f"{len(ended)} timers announced."
    with call.state.transaction():
        for timer in ended:
            call.state.run("UPDATE timers SET announced_at = ? WHERE id = ?", now, timer.id)
        call.state.run("DELETE FROM timers WHERE announced_at < ?", now - REMEMBERED_SECONDS)
        receipt = call.receipt(text, before=None, after=None)  # what was said aloud cannot be unsaid
    return Result(text, {"ids": [timer.id for timer in ended]}, receipt)


# ── taking it back ─────────────────────────────────────────────────────────────────────────────────


async def undo(call: Call, kept: Kept) -> Result:
    """Put timers back as they were, deadlines and all, or remove the one that was started.

    One that has ended meanwhile comes back as announced, for the answer says so.
    """
    now, before, after = call.now(), _kept_timers(kept.before), _kept_timers(kept.after)
    _refuse_changed(call, before, after)
    if len(_waiting(call)) + len(before) - len(after) > MOST_TIMERS:
        raise ToolFailed("failed", f"There are already {MOST_TIMERS} timers. Cancel some of them first.")
    back = [_with(timer, announced_at=now) if timer.ended(now) else timer for timer in before]
    text = _put_back_sentence(back, after, now)
    with call.state.transaction():
        for timer in after:
            call.state.run("DELETE FROM timers WHERE id = ?", timer.id)
        for timer in back:
            _put(call, timer)
        receipt = call.receipt(text, before=kept.after, after=[asdict(timer) for timer in back] or None)
    return Result(text, {"timers": [_shown(timer, now) for timer in back or after]}, receipt)


def _kept_timers(rows: Any) -> list[Timer]:
    """Return the timers of a receipt: one, several or none."""
    return [Timer(**row) for row in (rows if isinstance(rows, list) else [rows] if rows else [])]


def _refuse_changed(call: Call, before: Sequence[Timer], after: Sequence[Timer]) -> None:
    """Raise `ToolFailed` naming the timer that is not as it was left."""
    left = {timer.id: timer for timer in after}
    for timer in {timer.id: timer for timer in (*before, *after)}.values():
        here = next(map(_timer, call.state.rows("SELECT * FROM timers WHERE id = ?", timer.id)), None)
        if here != left.get(timer.id):
            what = "has ended" if here and here.announced_at else "was changed since" if here else "is gone"
            raise ToolFailed("failed", f"I can't take that back: your {_plain_label(timer)} {what}.")


def _put_back_sentence(back: Sequence[Timer], after: Sequence[Timer], now: float) -> str:
    if not back:
        return (
            f"{_capital(_plain_label(after[0]))} cancelled." if len(after) == 1 else f"{len(after)} timers cancelled."
        )
    if len(back) == 1:
        label = _plain_label(back[0])
        if back[0].ended(now):
            return f"Your {label} is back, but {_ended_sentence(back[0], 'it', now).removeprefix('Your ')}"
        how = "paused with" if back[0].paused else "with"
        return f"Your {label} is {'as it was' if after else 'back'}, {how} {duration(back[0].left(now))} left."
    sentences = [_ended_sentence(timer, _label(timer, back), now) for timer in back if timer.ended(now)]
    return " ".join([f"{len(back)} timers are back.", *sentences])


# ── which timer is meant ───────────────────────────────────────────────────────────────────────────


def _one(call: Call, name: str, seconds: int, room: str, *, paused: bool = False) -> tuple[Timer, str]:
    """Return the one timer that is meant and what to call it; raise `ToolFailed` with what to say otherwise.

    `paused` prefers paused timers where several would do: only they can be resumed.
    """
    timers = _waiting(call)
    found = _narrow(call, timers, name, seconds, room)
    if paused and len(found) > 1:
        found = [timer for timer in found if timer.paused] or found
    if len(found) > 1:
        now = call.now()
        which = _series([_full_label(timer, timers, now) for timer in found], "or")
        shown = [_shown(timer, now) for timer in found]
        raise ToolFailed("invalid", f"Which timer: {which}?", timers=shown)
    return found[0], _label(found[0], timers)


def _narrow(call: Call, timers: Sequence[Timer], name: str, seconds: int, room: str) -> list[Timer]:
    """Climb down the ladder name → original length → room; a rung that was said must hold."""
    if not timers:
        raise ToolFailed("not_found", "There are no timers.")
    found = list(timers)
    if wanted := plain_name(name):
        found = _named(found, wanted)
        if not found:
            raise ToolFailed("not_found", f"There is no {wanted} timer. {_what_there_is(timers)}", timers=[])
    if seconds:
        found = [timer for timer in found if timer.seconds == seconds]
        if not found:
            raise ToolFailed(
                "not_found", f"There is no {adjective(seconds)} timer. {_what_there_is(timers)}", timers=[]
            )
    if room := " ".join(room.split()):
        found = [timer for timer in found if timer.room.casefold() == room.casefold()]
        if not found:
            raise ToolFailed("not_found", f"There is no such timer in the {room}. {_what_there_is(timers)}", timers=[])
    elif len(found) > 1:
        # "Cancel the timer", with one in this room and one in another: this room's is meant.
        found = [timer for timer in found if call.actor.room and timer.room == call.actor.room] or found
    return found


def _named(timers: Sequence[Timer], wanted: str) -> list[Timer]:
    exact = [timer for timer in timers if timer.name == wanted]
    if exact:
        return exact
    near = get_close_matches(wanted, [timer.name for timer in timers if timer.name], n=1, cutoff=0.75)
    return [timer for timer in timers if near and timer.name == near[0]]


def plain_name(name: str) -> str:
    """Return a name as timers keep it: "my Pizza Timer" → "pizza"."""
    words = ["".join(c for c in word if c.isprintable()) for word in name.casefold().split()]
    while words and words[0] in ("a", "an", "the", "my", "our"):
        words = words[1:]
    while words and words[-1] in ("timer", "timers"):
        words = words[:-1]
    return " ".join(word for word in words if word)


# ── what is said ───────────────────────────────────────────────────────────────────────────────────

_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def _parts(seconds: float) -> list[tuple[int, str]]:
    whole = max(0, round(seconds))
    parts = []
    for size, unit in _UNITS:
        count, whole = divmod(whole, size)
        if count:
            parts.append((count, unit))
    return parts or [(0, "second")]


def duration(seconds: float) -> str:
    """Return "9 minutes and 54 seconds"."""
    return _series([f"{count} {unit}" if count == 1 else f"{count} {unit}s" for count, unit in _parts(seconds)], "and")


def adjective(seconds: float) -> str:
    """Return "1 hour 30 minute", as in "your 1 hour 30 minute timer"."""
    return " ".join(f"{count} {unit}" for count, unit in _parts(seconds))


def _label(timer: Timer, among: Sequence[Timer]) -> str:
    """Return "pizza timer"; with its room when another room has one that would be called the same."""
    plain = _plain_label(timer)
    rooms = {other.room for other in among if _plain_label(other) == plain}
    return f"{plain} in the {timer.room}" if len(rooms) > 1 and timer.room else plain


def _plain_label(timer: Timer) -> str:
    return f"{timer.name or adjective(timer.seconds)} timer"


def _full_label(timer: Timer, among: Sequence[Timer], now: float) -> str:
    label = _label(timer, among)
    alike = [other for other in among if _label(other, among) == label]
    return f"the {label} with {duration(timer.left(now))} left" if len(alike) > 1 else f"the {label}"


def _sentence(timer: Timer, among: Sequence[Timer], now: float) -> str:
    label = _label(timer, among)
    if timer.ended(now):
        return _ended_sentence(timer, label, now)
    if timer.paused:
        return f"Your {label} is paused with {duration(timer.left(now))} left."
    return f"Your {label} has {duration(timer.left(now))} left."


def _ended_sentence(timer: Timer, label: str, now: float) -> str:
    late = -timer.left(now)
    if late < 30:  # said a moment late, it is still now
        return f"Your {label} is done."
    return f"Your {label} ended {duration(late if late < 60 else late // 60 * 60)} ago."


def _told(timers: Sequence[Timer], now: float) -> str:
    if not timers:
        return "There are no timers."
    sentences = [_sentence(timer, timers, now) for timer in timers]
    return sentences[0] if len(timers) == 1 else f"There are {len(timers)} timers. " + " ".join(sentences)


def _what_there_is(timers: Sequence[Timer]) -> str:
    return f"There is {_series([_indefinite(_label(timer, timers)) for timer in timers], 'and')}."


def _indefinite(label: str) -> str:
    return f"{'an' if label[:1] in 'aeiou' or label.startswith(('8', '11 ', '18 ')) else 'a'} {label}"


def _series(parts: Sequence[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# ── rows ───────────────────────────────────────────────────────────────────────────────────────────


def _waiting(call: Call) -> list[Timer]:
    """Return every timer that runs, is paused, or ended and was not announced; the next to end first."""
    rows = call.state.rows("SELECT * FROM timers WHERE announced_at IS NULL")
    now = call.now()
    return sorted((_timer(row) for row in rows), key=lambda timer: (timer.left(now), timer.id))


def _announced(call: Call, name: str, seconds: int) -> Timer | None:
    """Return the timer that was announced last, of those that may be meant."""
    since = call.now() - REMEMBERED_SECONDS
    rows = call.state.rows("SELECT * FROM timers WHERE announced_at > ? ORDER BY announced_at DESC", since)
    wanted = plain_name(name)
    fitting = (t for t in map(_timer, rows) if wanted in ("", t.name) and seconds in (0, t.seconds))
    return next(fitting, None)


def _timer(row: sqlite3.Row) -> Timer:
    return Timer(**dict(row))


def _put(call: Call, timer: Timer) -> None:
    values = asdict(timer)
    call.state.run(
        f"INSERT OR REPLACE INTO timers ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",  # noqa: S608 — field names
        *values.values(),
    )


def _with(timer: Timer, **changes: Any) -> Timer:
    return Timer(**{**asdict(timer), **changes})


def _changed(call: Call, before: Timer, after: Timer | None, text: str) -> Result:
    with call.state.transaction():
        if after is None:
            call.state.run("DELETE FROM timers WHERE id = ?", before.id)
        else:
            _put(call, after)
        receipt = call.receipt(text, before=asdict(before), after=asdict(after) if after else None)
    return Result(text, _data(after or before, call.now()), receipt)


def _refuse_ended(timer: Timer, label: str, now: float) -> None:
    if timer.ended(now):
        raise ToolFailed("invalid", f"{_ended_sentence(timer, label, now)} You can start a new one.")


def _data(timer: Timer, now: float) -> dict[str, Any]:
    return {"timer": _shown(timer, now)}


def _shown(timer: Timer, now: float) -> dict[str, Any]:
    return {
        "id": timer.id,
        "name": timer.name,
        "room": timer.room,
        "seconds": timer.seconds,
        "left_seconds": round(max(0.0, timer.left(now)), 3),
        "state": "paused" if timer.paused else "ended" if timer.ended(now) else "running",
        "ends_at": timer.deadline,
    }
