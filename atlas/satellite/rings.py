"""What will ring next, as the house said while it was there, and ringing it when the house is away. Pure.

Times are seconds on the clock of what was heard, never of the wall: a Pi without a battery starts in another year.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GRACE_SECONDS = 3.0  # the house, if it is there, has rung by then
AGAIN_SECONDS = 4.0
LONGEST_SECONDS = {"alarm": 600.0}  # as the house rings; a timer less long
LONGEST_OTHER_SECONDS = 180.0
MOST_RINGS = 64


@dataclass(frozen=True, slots=True)
class Ring:
    """A timer, an alarm or a reminder that is to ring here."""

    id: str
    kind: str  # a melody of the earcons: timer, alarm or announcement
    in_seconds: float


@dataclass(frozen=True, slots=True)
class _Due:
    ring: Ring
    at: float


class Rings:
    """The next ringings of one room."""

    def __init__(self) -> None:
        self.times = 0  # how often the present one has rung
        self._now = 0.0
        self._expected: dict[str, _Due] = {}
        self._rang: list[str] = []  # here, and stopped here; the house does not know yet
        self._rung_by_house: list[str] = []  # lately; until somebody stops it, the house tells that it rings on
        self._present: _Due | None = None
        self._next_at = 0.0

    @property
    def ringing(self) -> bool:
        """Whether something rings here without the house."""
        return self._present is not None

    @property
    def kind(self) -> str:
        """What rings."""
        return self._present.ring.kind if self._present else "timer"

    def expect(self, rings: Sequence[Ring]) -> None:
        """Take what will ring from now on, instead of what was said before."""
        self._expected = {ring.id: _Due(ring, self._now + ring.in_seconds) for ring in rings[:MOST_RINGS]}
        if self._present and self._present.ring.id not in self._expected:
            self._present = None

    def rung_by_house(self, identity: str) -> None:
        """Note that the house rings this one itself; should it go away before somebody stops it, it rings on here."""
        self._rung_by_house = [*self._rung_by_house, identity][-MOST_RINGS:]
        if self._present and self._present.ring.id == identity:
            self._present = None

    def due(self, now: float, *, house_is_there: bool) -> bool:
        """Return whether to ring now, once."""
        self._now = now
        if house_is_there:
            self._present = None
            return False
        if self._present is None:
            over = [due for due in self._expected.values() if due.at + GRACE_SECONDS <= now]
            if not over:
                return False
            self._present = min(over, key=lambda due: due.at)
            self.times, self._next_at = -1, now
        longest = LONGEST_SECONDS.get(self._present.ring.kind, LONGEST_OTHER_SECONDS)
        if now > self._present.at + GRACE_SECONDS + longest:  # nobody is there; the house tells it as missed
            del self._expected[self._present.ring.id]
            self._present = None
            return False
        if now < self._next_at:
            return False
        self.times, self._next_at = self.times + 1, now + AGAIN_SECONDS
        return True

    def stop(self) -> None:
        """Note that somebody stopped what rings, here or by the house; the house is told when it is there again."""
        if self._present:
            self._rang.append(self._present.ring.id)
            self._expected.pop(self._present.ring.id, None)
            self._present = None
        for identity in self._rung_by_house:
            self._expected.pop(identity, None)
        self._rung_by_house = []

    def rang(self) -> list[str]:
        """Return what rang and was stopped here, each once, for the house to know."""
        rang, self._rang = self._rang, []
        return rang
