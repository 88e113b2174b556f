"""Tells how long to wait before what failed is tried again: twice as long each time, up to a longest wait."""

from __future__ import annotations


class Backoff:
    """The waits of one connection, or one program, that is kept up for ever."""

    def __init__(self, first_seconds: float, longest_seconds: float) -> None:
        self._first, self._longest = first_seconds, longest_seconds
        self._next = first_seconds

    def wait_seconds(self, *, worked: bool) -> float:
        """Return the next wait: the first one again where it `worked` before it was lost."""
        wait = self._first if worked else self._next
        self._next = min(2 * wait, self._longest)
        return wait
