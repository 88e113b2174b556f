"""Decides which of several rooms that heard one wake word answers: the one that heard it loudest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

WINDOW_SECONDS = 0.3  # from the first room's word to the decision: one word is heard in all rooms within that
MOST_CALLS = 64  # that were heard to their end; a line that broke is back long before there are as many new ones
LATE_SECONDS = 0.7  # a slow machine that tells of the same word by then has come too late, and does not answer too


@dataclass(slots=True)
class _Round:
    phrase: str
    over_at: float
    levels: dict[object, float] = field(default_factory=dict)

    @property
    def winner(self) -> object:
        return max(self.levels, key=lambda room: self.levels[room])  # of equals the first to tell


class WakeArbitration:
    """Decides between the rooms of one house. A room is any object; nothing is waited for where there is but one."""

    def __init__(self) -> None:
        self._rooms: list[object] = []
        self._round: _Round | None = None
        self._heard_calls: deque[str] = deque(maxlen=MOST_CALLS)

    def heard(self, call_id: str) -> None:
        """Note that what was said to one call was heard to its end."""
        self._heard_calls.append(call_id)

    def has_heard(self, call_id: str) -> bool:
        """Tell whether a call that is told again, for its line has broken, was heard to its end the first time."""
        return call_id in self._heard_calls

    @contextmanager
    def present(self, room: object) -> Iterator[None]:
        """Count a room as there inside the block."""
        self._rooms.append(room)
        try:
            yield
        finally:
            self._rooms.remove(room)

    async def answers(self, room: object, phrase: str, level_db: float) -> bool:
        """Return whether this room answers, which heard `phrase` so loud; takes `WINDOW_SECONDS` among several.

        Cancelling is safe.
        """
        if len(self._rooms) < 2 or not phrase or room not in self._rooms:
            return True  # and who is not counted takes no turn from those who are
        now, current = anyio.current_time(), self._round
        if current and current.phrase == phrase and now < current.over_at + LATE_SECONDS and room not in current.levels:
            if now >= current.over_at:
                return False
        elif current is None or now >= current.over_at or current.phrase != phrase:
            current = self._round = _Round(phrase, now + WINDOW_SECONDS)
        current.levels[room] = max(level_db, current.levels.get(room, level_db))
        await anyio.sleep_until(current.over_at)
        return current.winner is room
