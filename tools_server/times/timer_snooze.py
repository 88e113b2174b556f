"""Timers that have just rung run again for some minutes, for who says "snooze" to them."""

from __future__ import annotations

from tools_server.sdk.toolkit import Call
from tools_server.times.clock_steps import note_clock

JUST_RUNG_SECONDS = 180.0  # a timer rings for two minutes; after that nobody means it by "snooze"


def snooze_timers(call: Call, seconds: float) -> int:
    """Let the timers that have just rung where somebody asks run again, in a transaction; return how many."""
    now = call.now()
    rung = call.state.rows(
        "SELECT id FROM timers WHERE announced_at > ? AND (device = ? OR (room != '' AND room = ?))",
        *(now - JUST_RUNG_SECONDS, call.actor.device, call.actor.room),
    )
    for row in rung:
        call.state.run(
            "UPDATE timers SET announced_at = NULL, ringing = 0, deadline = ?, set_at = ? WHERE id = ?",
            *(now + seconds, now, row["id"]),
        )
    if rung:
        note_clock(call)
    return len(rung)
