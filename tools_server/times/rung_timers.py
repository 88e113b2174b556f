"""Timers that ring or have just rung, for who says "stop" or "snooze" to them where they are heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tools_server.sdk import rows
from tools_server.sdk.toolkit import Call, Result, ToolFailed
from tools_server.sdk.wording import capital
from tools_server.times.clock_steps import note_clock
from tools_server.times.timer import JUST_SECONDS, Timer, labels
from tools_server.values.language import text as _
from tools_server.values.policy import STRICTNESS

JUST_RUNG_SECONDS = 180.0  # a timer rings for two minutes; after that nobody means it by "stop" or "snooze"


def rung_here(call: Call) -> list[Timer]:
    """Return the timers that have ended in the last minutes where somebody asks, or that they set; the latest first."""
    now = call.now()
    rung = call.state.rows(
        "SELECT * FROM timers WHERE deadline <= ? AND coalesce(announced_at, deadline) > ?"
        " AND (device = ? OR (room != '' AND room = ?) OR (person != '' AND person = ?))"
        " ORDER BY coalesce(announced_at, deadline) DESC, id",
        *(now, now - JUST_RUNG_SECONDS, call.actor.device_key, call.actor.room, call.actor.person),
    )
    return [timer for timer in (Timer(**dict(row)) for row in rung) if timer.ended(now)]


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
        text = first.ended_sentence(called[first.id], now)
    waiting = [timer for timer in timers if timer.ringing or timer.announced_at is None]
    if not waiting:
        return Result(text), first
    after = [timer.announced(now) for timer in waiting]
    return Result(text, receipt=rows.changed(call, "timers", waiting, after, text, undo=False)), first


def snooze_timers(call: Call, seconds: float) -> int:
    """Let the timers of `rung_here` run again, in a transaction; return how many."""
    now, rung = call.now(), rung_here(call)
    _refuse_by_rules(call, "timers.add", rung)
    for timer in rung:
        again = replace(timer, announced_at=None, ringing=0, deadline=now + seconds, set_at=now)
        rows.put(call, "timers", again)
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
