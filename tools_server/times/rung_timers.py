"""Timers that ring or have just rung, for who says "stop" or "snooze" to them where they are heard."""

from __future__ import annotations

from collections.abc import Sequence

from tools_server.sdk.toolkit import Call, Result, ToolFailed
from tools_server.sdk.wording import capital
from tools_server.times.clock_steps import note_clock
from tools_server.times.timer import JUST_SECONDS, Timer, ended_sentence, labels
from tools_server.values.language import text as _
from tools_server.values.policy import STRICTNESS

JUST_RUNG_SECONDS = 180.0  # a timer rings for two minutes; after that nobody means it by "stop" or "snooze"


def rung_here(call: Call) -> list[Timer]:
    """Return the timers that have ended in the last minutes where somebody asks, or that they set; the latest first."""
    now = call.now()
    rows = call.state.rows(
        "SELECT * FROM timers WHERE deadline <= ? AND coalesce(announced_at, deadline) > ?"
        " AND (device = ? OR (room != '' AND room = ?) OR (person != '' AND person = ?))"
        " ORDER BY coalesce(announced_at, deadline) DESC, id",
        *(now, now - JUST_RUNG_SECONDS, call.actor.device_key, call.actor.room, call.actor.person),
    )
    return [timer for timer in (Timer(**dict(row)) for row in rows) if timer.ended(now)]


def stopped_first(call: Call, since: float = 0.0) -> tuple[Result, Timer] | None:
    """Stop what rings here; else tell what has just ended, where it did so after `since`. `None`: there is neither."""
    rung = rung_here(call)
    if ringing := [timer for timer in rung if timer.ringing]:
        return stop_rung(call, ringing)
    latest = max(rung, key=lambda timer: timer.deadline or 0.0, default=None)
    if latest is None or (latest.deadline or 0.0) <= since or (since and -latest.left(call.now()) >= JUST_SECONDS):
        return None
    return stop_rung(call, [latest])


def stop_rung(call: Call, timers: Sequence[Timer]) -> tuple[Result, Timer]:
    """Stop what rings of timers that have ended, and tell that they have; return the first of them, too."""
    _refuse_by_rules(call, "timers.cancel", timers)
    now, called = call.now(), labels(timers)
    first = timers[0]
    if len(timers) > 1:
        text = _("{count} timers stopped.").format(count=len(timers))
    elif first.ringing:
        text = _("{label} stopped.").format(label=capital(called[first.id]))
    else:
        text = ended_sentence(first, called[first.id], now)
    waiting = [timer for timer in timers if timer.ringing or timer.announced_at is None]
    if not waiting:
        return Result(text), first
    with call.state.transaction():
        for timer in waiting:
            announced_at = now if timer.announced_at is None else timer.announced_at
            call.state.run("UPDATE timers SET announced_at = ?, ringing = 0 WHERE id = ?", announced_at, timer.id)
        receipt = call.receipt(text, before=None, after=None)  # what has rung cannot be rung again
    return Result(text, receipt=receipt), first


def snooze_timers(call: Call, seconds: float) -> int:
    """Let the timers of `rung_here` run again, in a transaction; return how many."""
    now, rung = call.now(), rung_here(call)
    _refuse_by_rules(call, "timers.add", rung)
    for timer in rung:
        call.state.run(
            "UPDATE timers SET announced_at = NULL, ringing = 0, deadline = ?, set_at = ? WHERE id = ?",
            *(now + seconds, now, timer.id),
        )
    if rung:
        note_clock(call)
    return len(rung)


def _refuse_by_rules(call: Call, tool: str, timers: Sequence[Timer]) -> None:
    """Raise `ToolFailed` where the rules say more of a tool for one of these timers than of the tool that is called.

    "Stop" reaches timers by a tool of alarms and without a name; a rule about timers holds for it all the same.
    """
    general = call.gate.decide(call.tool, call.arguments)
    for timer in timers:
        itself = call.gate.decide(tool, {"name": timer.name, "room": timer.room})
        if STRICTNESS[itself.verdict] > STRICTNESS[general.verdict]:
            hint = "" if itself.verdict == "deny" else _(" Ask for it by its own name.")
            raise ToolFailed("denied", itself.reason + hint, rule=itself.rule)
