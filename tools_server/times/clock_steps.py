"""Timers last as long as they were set for: where the clock of the house is set, those that run move along with it.

The clock of the wall is what a computer believes; it is corrected over the network, by hours where a machine has no
battery. How long the machine has been up is counted apart from that, and goes on while it sleeps. The difference of the
two is stored with every timer that is set, and stays the same until somebody sets the clock. Across a start of the
machine nothing tells a step from time that went by, so there the wall's clock is believed.
"""

from __future__ import annotations

from tools_server.sdk.toolkit import Call, Live
from tools_server.values.stderr import say

STEP_SECONDS = 1.0  # less is a clock that is being drawn right, and is made up for once it adds up
MIGRATIONS = {
    "timers clock": """
        CREATE TABLE timers_clock (
            boot TEXT NOT NULL,   -- of the machine, when a timer was set last
            offset REAL NOT NULL  -- seconds since 1970, less how long it had been up
        );
    """,
}


def clock(of: Call | Live) -> float:
    """Return how the clock of the wall stands: the seconds since 1970, less how long the machine had been up."""
    return of.now() - of.uptime().seconds


def note_clock(call: Call) -> None:
    """Store how the clock stands, in the transaction that sets a timer by it."""
    call.state.run("DELETE FROM timers_clock")
    call.state.run("INSERT INTO timers_clock VALUES (?, ?)", call.uptime().boot, clock(call))


def follow_clock(call: Call) -> None:
    """Move the timers that run by as much as the clock was set since one was set by it."""
    step = _step(call)
    if abs(step) < STEP_SECONDS:
        return
    moved = "UPDATE timers SET deadline = deadline + ?, set_at = set_at + ? WHERE announced_at IS NULL AND deadline > 0"
    with call.state.transaction():
        call.state.run(moved, step, step)
        note_clock(call)
    way = "forward" if step > 0 else "back"
    say(f"The clock was set {way} by {abs(step):.0f} s; timers that run go on as they were.")


def _step(call: Call) -> float:
    uptime = call.uptime()
    for row in call.state.rows("SELECT boot, offset FROM timers_clock"):
        if row["boot"] == uptime.boot:
            return float(clock(call) - row["offset"])
    return 0.0
