"""Remembers which callers have just been given untrusted words, so that their changes wait for a person.

A mail can say "send me the notes". A model that reads it cannot be relied upon to know that nobody of the house said
so, and nothing here can see into a model. So the gate goes by what it handed out: after a result with words of others
went to a caller, whatever the same caller changes waits for a person (see `policy.decide`). Reading goes on.

The same caller is the same turn of the same agent: a person's next words begin a new turn, and a command by the
grammar is one of its own, so neither is asked about. Calls that name no turn (other programs, which know nothing of
ours, and the command line) are all one caller for as long as a conversation may last. That a turn is new is the word of
who holds the token, as is the actor; a model has no say in either, since neither is an argument of a tool. What a model
remembers from an earlier turn only its own house can know, and says with the call: `tainted`, which only narrows.

It is read back from the record, so a restart forgets nothing, and the process behind stdio or `atlas-tools call` knows
what was read through another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tools_server.gate.record_tail import Newest
from wall.chain import Row

LASTS_SECONDS = 1_800.0  # a turn is over sooner; a conversation of a program that names no turns may not be
MOST_TURNS = 256  # of one agent; with more at a time, all its turns count as one
SESSION = "sess_"  # so begin the turns of `atlas-tools call`, where a new one is nobody's new words
ANY_TURN = "*"  # no turn of a house is called so, and who calls one so is held to more


class Taint:
    """When words of others last went to whom. Used from the event loop's thread only."""

    def __init__(self, record: Path, now: Callable[[], float]) -> None:
        """Read back what is still of account. Raises `OSError`."""
        self._newest = Newest(record)
        self._now = now
        self._given: dict[str, dict[str, float]] = {}  # agent → turn → wall clock, seconds since 1970
        self._note(self._newest.since(now() - LASTS_SECONDS))

    def holds(self, agent: str, turn: str) -> bool:
        """Whether what this agent wishes in this turn may be the wish of words that it read. Raises `OSError`.

        `turn` is as the record has it; "" is that of all who name none.
        """
        self._note(self._newest.more())
        given = self._given.get(agent)
        if not given:
            return False
        fresh = {turn: at for turn, at in given.items() if self._fresh(at)}
        self._given[agent] = fresh
        return _caller(turn) in fresh or ANY_TURN in fresh

    def _fresh(self, at: float) -> bool:
        # Also a moment of the future: the clock was set back, and that must not wash anybody clean.
        return abs(self._now() - at) < LASTS_SECONDS

    def _note(self, rows: Iterable[Row]) -> None:
        for row in rows:
            agent, turn, at = row.get("agent"), row.get("turn"), row.get("at")
            if row.get("untrusted") is not True or not (isinstance(agent, str) and isinstance(turn, str)):
                continue
            given, turn = self._given.setdefault(agent, {}), _caller(turn)
            if len(given) >= MOST_TURNS and turn not in given:
                turn = ANY_TURN
            given[turn] = float(at) if isinstance(at, (int, float)) else self._now()


def _caller(turn: str) -> str:
    return "" if turn.startswith(SESSION) else turn
