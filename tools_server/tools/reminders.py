"""Reminders: at a time, again and again, or when somebody is next heard; for a person, a room, or whoever asked.

A reminder waits for its moment (`due_at`) or for a voice (`heard`). Nothing speaks here: the house asks
`reminders.due`, says it, and calls `reminders.announced`. What nobody acknowledges is said again, the last time
everywhere; then it stays in the list as unanswered. What a recurring one missed while the house was off is told once,
and it stays in the list as missed until somebody acknowledges it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Annotated, Any

from pydantic import Field

from tools_server.sdk import rows
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, house_look, tool
from tools_server.sdk.wording import NAMED, clauses, one_line, spoken
from tools_server.times.moving import moved, moved_rule
from tools_server.times.occasions import habit_of
from tools_server.times.ownership import REMINDERS, refuse_over, role_of
from tools_server.times.recurrence import local, moment, read
from tools_server.times.reminder import AGAIN_SECONDS, EVERYONE, MOST_SAYINGS, Reminder, holding, same, told_apart
from tools_server.times.spoken_time import moment_words, on_day
from tools_server.times.when import When, day_in, understand
from tools_server.times.when_grammar import read_event
from tools_server.values.language import counted, plural, spoken_later
from tools_server.values.language import text as _
from tools_server.values.shapes import DUE, IDS
from wall.roles import NOBODY

REMINDER: dict[str, Any] = {"id": str, "text": str, "person": str, "room": str, "rule": str, "heard": str}
REMINDER |= dict.fromkeys(("at", "due_at", "missed_at"), float | None) | dict.fromkeys(("iso", "state", "when"), str)

MOST_REMINDERS = 300  # a household has fewer; a model in a loop does not get more
LATELY_SECONDS = 900  # after that nobody who was there answers what was said to another
UNANSWERED_SECONDS = 7 * 86_400  # then nobody asks about it any more

MIGRATIONS = {
    "reminders": """
        CREATE TABLE reminders (
            id TEXT PRIMARY KEY,
            text TEXT NOT NULL,
            person TEXT NOT NULL,    -- whom it is for; '' is whoever is there
            room TEXT NOT NULL,      -- where it is said,
            device TEXT NOT NULL,    -- and through what; both '' is everywhere
            made_by TEXT NOT NULL,
            made_at REAL NOT NULL,   -- wall clock, seconds since 1970
            rule TEXT NOT NULL,      -- RRULE; '' is once
            start TEXT NOT NULL,     -- of the rule: ISO, on the clocks of the house
            heard TEXT NOT NULL,     -- it waits until this person is heard; '' when it waits for a time
            at REAL,                 -- the occurrence it is about
            due_at REAL,             -- when it is said next; NULL while it waits for a voice, or said in vain
            said INTEGER NOT NULL    -- how often, about this occurrence
        );
    """,
    "reminders language": """
        ALTER TABLE reminders ADD COLUMN language TEXT NOT NULL DEFAULT '';  -- in which it was set, and is said
    """,
    "reminders missed": """
        ALTER TABLE reminders ADD COLUMN missed_at REAL;  -- when it was said long after its moment
    """,
}

Text = Annotated[str, Field(min_length=1, max_length=300, description="What to be reminded of: take the bins out")]
Whenever = Annotated[
    str, Field(max_length=200, description="When, as it was said: tomorrow at 7; when Anna is next heard")
]
About = Annotated[
    str, Field(max_length=300, description="Words of the reminder, or its id; empty when there is only one")
]
Person = Annotated[str, Field(max_length=60, description="Whom to remind, or everyone; empty is whoever asks")]
Room = Annotated[str, Field(max_length=60, description="The room to say it in, if one was said")]
Minutes = Annotated[int, Field(ge=1, le=10_080, description="Minutes from now")]


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@tool("reminders.add", data={"reminder": REMINDER}, risk="change", limit_seconds=10)
async def add(
    call: Call,
    text: Text,
    when: Whenever,
    person: Person = "",
    room: Room = "",
    repeat: Annotated[str, Field(max_length=100, description="How often, if not in when: every day")] = "",
) -> Result:
    """Remind somebody of something, once or again and again. Say back what was understood."""
    what = _what(text)
    refuse_over(MOST_REMINDERS, len(_all(call)) + 1, REMINDERS)
    understood = understand(f"{repeat} {when}", call.now(), call.zone, habit_of(what))
    # What waits for somebody's voice is for that person, unless it was said for whom it is.
    id, (whom, where, device) = f"reminder_{secrets.token_hex(8)}", _addressed(call, person or understood.heard, room)
    reminder = Reminder(
        id, what, whom, where, device, made_by=call.actor.person, made_at=call.now(), language=spoken_later()
    )
    reminder = _timed(call, reminder, understood)
    sentence = f"{reminder.promise(*_seen_by(call))}: {spoken(what)}."
    return _changed(call, None, reminder, sentence)


@tool("reminders.list", data={"reminders": [REMINDER]}, risk="read", limit_seconds=10)
async def list_reminders(
    call: Call,
    person: Person = "",
    day: Annotated[str, Field(max_length=60, description="Only those of this day, such as tomorrow")] = "",
) -> Result:
    """Tell which reminders there are, the next one first; when a day is named, those of that day."""
    reminders = _visible(call)
    if on := day_in(day, call.now(), call.zone):
        reminders = [reminder for reminder in reminders if reminder.on(on, call.zone) is not None]
    if wanted := _whom(call, person) if person else "":
        reminders = [reminder for reminder in reminders if same(reminder.person, wanted)]
    data = {"reminders": [reminder.shown(call.now(), call.zone) for reminder in reminders]}
    if not reminders:
        form = _("There are no reminders for {person}.") if wanted else _("There are no reminders.")
        if on:
            form = _("There are no reminders {day}.")
        return Result(form.format(person=wanted, day=on_day(on, call.local().date()) if on else ""), data)
    words = clauses([reminder.listed(*_seen_by(call)) for reminder in reminders[:NAMED]], len(reminders[NAMED:]))
    text = plural(
        "There is {count} reminder: {reminders}.",
        "There are {count} reminders: {reminders}.",
        len(reminders),
        reminders=words,
    )
    return Result(text, data)


@tool("reminders.change", data={"reminder": REMINDER}, risk="change", limit_seconds=10)
async def change(
    call: Call,
    about: About = "",
    when: Whenever = "",
    person: Person = "",
    room: Room = "",
    new_text: Annotated[str, Field(max_length=300, description="What to be reminded of instead")] = "",
) -> Result:
    """Move a reminder to another time, person or room, or change what it says."""
    reminder = _found(call, about)
    if not (when.strip() or person or room or new_text.strip()):
        raise ToolFailed("invalid", _("What should be different: the time, the person, the room or the words?"))
    after = replace(reminder, text=_what(new_text)) if new_text.strip() else reminder
    if person or room:
        whom, where, device = _addressed(call, person or reminder.person, room)
        after = replace(after, person=whom, room=where, device=device)
    if when.strip():
        after = _retimed(call, after, when)
    return _changed(
        call,
        reminder,
        after,
        _("Changed. {promise}: {text}.").format(promise=after.promise(*_seen_by(call)), text=spoken(after.text)),
    )


@tool("reminders.snooze", data={"reminder": REMINDER}, risk="change", limit_seconds=10)
async def snooze(call: Call, minutes: Minutes = 10, about: About = "") -> Result:
    """Say a reminder again some minutes from now."""
    reminder = _found(call, about, prefers_aloud=True)
    later = replace(reminder, due_at=call.now() + minutes * 60, heard="", said=0, at=reminder.at or call.now())
    text = _("I'll say it again in {count}: {text}.").format(
        count=counted(minutes, "minute"), text=spoken(reminder.text)
    )
    return _changed(call, reminder, later, text)


@tool("reminders.done", data={"reminder": REMINDER}, risk="change", limit_seconds=10)
async def done(call: Call, about: About = "") -> Result:
    """Acknowledge a reminder: it was heard, or the thing is done. A recurring one goes on with its next time."""
    reminder = _found(call, about, prefers_aloud=True)
    after = replace(reminder, missed_at=None).following(call.now(), call.zone)
    text = _("Done: {text}.").format(text=spoken(reminder.text))
    if after and after.at is not None:
        text += _(" The next time is {moment_words}.").format(
            moment_words=moment_words(local(after.at, call.zone), local(call.now(), call.zone))
        )
    return _changed(call, reminder, after, text)


@tool("reminders.cancel", data={"reminder": REMINDER}, risk="change", limit_seconds=10)
async def cancel(call: Call, about: About = "") -> Result:
    """Cancel a reminder for good, with all its times to come."""
    reminder = _found(call, about)
    return _changed(call, reminder, None, _("Reminder cancelled: {text}.").format(text=spoken(reminder.text)))


@house_look("reminders.due", data={"due": [DUE], "next_at": float | None, "now": float, "waiting_for": [str]})
async def due(call: Call) -> Result:
    """Tell the house which reminders are to be said now, when the next one is, and whose voices are waited for."""
    now, every = call.now(), _all(call)
    ready = [reminder for reminder in every if reminder.due_at is not None and reminder.due_at <= now]
    coming = [reminder.due_at for reminder in every if reminder.due_at is not None and reminder.due_at > now]
    waiting_for = sorted({reminder.heard for reminder in every if reminder.heard})
    waits = {"next_at": min(coming, default=None), "now": now, "waiting_for": waiting_for}
    return Result(_to_be_said(ready), _sayings(call, ready) | waits)


def _to_be_said(reminders: Sequence[Reminder]) -> str:
    return _("{count} to be said.").format(count=plural("{count} reminder", "{count} reminders", len(reminders)))


def _sayings(call: Call, reminders: Sequence[Reminder]) -> dict[str, Any]:
    return {"due": [reminder.saying(call.now(), call.zone) for reminder in reminders]}


Ids = Annotated[list[str], Field(max_length=MOST_REMINDERS, description="Ids from reminders.due")]


@tool("reminders.announced", data=IDS, risk="change", agents=("house",), idempotent=True, limit_seconds=10)
async def announced(call: Call, ids: Ids) -> Result:
    """Note that the house has said these reminders. Until somebody acknowledges one, it is said again."""
    now = call.now()
    reminders = [r for r in _all(call) if r.id in ids and r.due_at is not None and r.due_at <= now]
    after = [reminder.after_saying(now, call.zone) for reminder in reminders]
    text = _("{count} said.").format(count=plural("{count} reminder", "{count} reminders", len(reminders)))
    with call.state.transaction():
        result = rows.note_said(call, "reminders", reminders, after, text, _("None of them was to be said."))
        old = "due_at IS NULL AND heard = '' AND coalesce(missed_at, at) < ?"
        call.state.run(f"DELETE FROM reminders WHERE {old}", now - UNANSWERED_SECONDS)  # noqa: S608  # no value in it
    return result


@tool("reminders.heard", data={"due": [DUE]}, risk="change", agents=("house",), idempotent=True, limit_seconds=10)
async def heard(
    call: Call,
    person: Annotated[str, Field(min_length=1, max_length=60, description="Who was heard")],
    room: Annotated[str, Field(max_length=60, description="Where")] = "",
    device: Annotated[str, Field(max_length=100, description="Through what")] = "",
) -> Result:
    """Note that a person was heard. What waited for that is to be said there and now, and is returned."""
    now = call.now()
    waiting = [reminder for reminder in _all(call) if reminder.heard and same(reminder.heard, person)]
    if not waiting:
        return Result(_("Nothing waits for that."), {"due": []})
    ready = [replace(r, heard="", at=now, due_at=now, room=one_line(room), device=one_line(device)) for r in waiting]
    was_heard = _("{one_line} was heard.").format(one_line=one_line(person))
    receipt = rows.changed(call, "reminders", waiting, ready, was_heard, undo=False)
    return Result(_to_be_said(ready), _sayings(call, ready), receipt)


async def undo(call: Call, stored_receipt: StoredReceipt) -> Result:
    """Put a reminder back as it was, unless it has changed since."""
    return rows.put_back(call, "reminders", stored_receipt)


# ── who and when ───────────────────────────────────────────────────────────────────────────────────


def _what(text: str) -> str:
    what = one_line(text).rstrip(".!? ")
    for opening in ("to ", "that ", "about "):
        what = what.removeprefix(opening)
    if not what:
        raise ToolFailed("invalid", _("What should I remind you of?"))
    return what


def _whom(call: Call, person: str) -> str:
    name = one_line(person)
    if name.casefold() in ("", "me", "myself", "i"):
        return call.actor.person
    return EVERYONE if name.casefold() in (EVERYONE, "everybody", "all", "all of us", "us", "the family") else name


def _addressed(call: Call, person: str, room: str) -> tuple[str, str, str]:
    """Return person, room and device: a room that was named; else, for the asker, where the asker is; else anywhere."""
    whom, where = _whom(call, person), one_line(room)
    if where or not same(whom, call.actor.person):
        return whom, where, ""
    return whom, call.actor.room, call.actor.device_key


def _retimed(call: Call, reminder: Reminder, when: str) -> Reminder:
    """Return a reminder at another time: what is not said of it stays, and so does how often. Raises `ToolFailed`."""
    if reminder.at is None or read_event(when):
        return _timed(call, reminder, understand(when, call.now(), call.zone))
    before = local(reminder.at, call.zone)
    meant = moved(when, before, call.now(), call.zone)
    if not reminder.rule or meant.rule or meant.at is None:
        return _timed(call, reminder, meant)
    if (rule := moved_rule(read(reminder.rule), before, meant.at)) is None:
        raise ToolFailed("invalid", _("It comes again and again. Say how often it shall come instead: every Thursday."))
    return _timed(call, reminder, When(meant.at, rule))


def _timed(call: Call, reminder: Reminder, when: When) -> Reminder:
    if when.heard:
        person = _whom(call, when.heard)
        if not person:
            raise ToolFailed("invalid", _("I don't know who you are. Say whom I should wait for."))
        return replace(reminder, heard=person, rule="", start="", at=None, due_at=None, said=0)
    assert when.at
    at = moment(when.at, call.zone)
    rule, start = (when.rule.text(), when.at.isoformat()) if when.rule else ("", "")
    return replace(reminder, heard="", rule=rule, start=start, at=at, due_at=at, said=0)


# ── rows ───────────────────────────────────────────────────────────────────────────────────────────


def _found(call: Call, words: str, *, prefers_aloud: bool = False) -> Reminder:
    """Return the one reminder that is meant; with `prefers_aloud` one just said comes before those that wait.

    What was said aloud lately may be answered by anybody, as by a voice in the room that nobody knows.
    """
    mine, now = _visible(call), call.now()
    aloud = [reminder for reminder in _all(call) if prefers_aloud and _was_said(reminder, now)]
    every = mine + [reminder for reminder in aloud if reminder not in mine and _was_said_lately(reminder, now)]
    aloud = [reminder for reminder in aloud if reminder in every]
    if not every:
        raise ToolFailed("not_found", _("There are no reminders."))
    what = one_line(words)
    reminders, nearest = holding(every, what) if what else (every, None)
    reminders = [reminder for reminder in every if reminder.id == what] or reminders
    if just_said := [reminder for reminder in reminders if reminder in aloud]:
        return max(just_said, key=lambda reminder: (reminder in mine, reminder.due_at or 0.0, reminder.made_at))
    if not reminders:
        hint = _(" The nearest is {text}.").format(text=spoken(nearest.text)) if nearest else ""
        raise ToolFailed(
            "not_found",
            _("There is no reminder about {what}.{hint}").format(what=spoken(what), hint=hint),
            nearest=[nearest.text] if nearest else [],
        )
    apart = dict(zip(reversed(told_apart(reminders, *_seen_by(call))), reversed(reminders), strict=True))
    if len(apart) > 1:
        named, more = [*reversed(apart)][:NAMED], len(apart) - NAMED  # the next one first, as they were found
        *others, last = [*named, _("one of {more} more").format(more=more)] if more > 0 else named
        rows = [apart[label].shown(call.now(), call.zone) for label in named]
        request = _("Which reminder: {join}, or {last}?").format(join=", ".join(others), last=last)
        raise ToolFailed("invalid", request, reminders=rows, more=max(more, 0))
    return reminders[0]


def _telling(reminder: Reminder) -> Reminder:
    """Return it without what no person tells reminders apart by."""
    return replace(reminder, id="", device="", made_by="", made_at=0.0, said=0, missed_at=None)


def _was_said(reminder: Reminder, now: float) -> bool:
    return reminder.said > 0 or (reminder.due_at is not None and reminder.due_at <= now)


def _was_said_lately(reminder: Reminder, now: float) -> bool:
    """Tell whether a reminder that was said was said so lately that somebody in the room may answer it."""
    last_at = max(reminder.at or 0.0, reminder.missed_at or 0.0) + (MOST_SAYINGS - 1) * AGAIN_SECONDS
    return now - (last_at if reminder.due_at is None else reminder.due_at) < LATELY_SECONDS


def _seen_by(call: Call) -> tuple[str, float, tzinfo | None]:
    return call.actor.person, call.now(), call.zone


def _visible(call: Call) -> list[Reminder]:
    """Return the reminders that are the asker's business: for them, for everybody, or made by them.

    A guest is not of the household: to them only what is for them by name, not what is for whoever is there.
    """
    me = call.actor.person
    if role_of(call) == NOBODY:
        return [r for r in _all(call) if me and same(r.person, me)]
    return [r for r in _all(call) if r.person in ("", EVERYONE) or same(r.person, me) or same(r.made_by, me)]


def _all(call: Call) -> list[Reminder]:
    """Return every reminder, the next one first."""
    reminders = (Reminder(**dict(row)) for row in call.state.rows("SELECT * FROM reminders"))
    return sorted(reminders, key=lambda reminder: (reminder.due_at is None, reminder.due_at or reminder.made_at))


def _changed(call: Call, before: Reminder | None, after: Reminder | None, text: str) -> Result:
    receipt = rows.changed(call, "reminders", [before], [after], text)
    subject = after or before
    if before and any(
        _telling(reminder) == _telling(before) for reminder in _visible(call) if reminder.id != before.id
    ):
        text += _(" There is another one like it, which stays.")
    return Result(text, {"reminder": subject.shown(call.now(), call.zone)} if subject else {}, receipt)
