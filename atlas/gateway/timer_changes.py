"""Tells how timers changed between two looks, for devices that show them by lights or on a screen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import anyio

Timers = Mapping[str, Mapping[str, Any]]  # as `timers.due` tells of them, by id
SAME_SECONDS = 1.0  # an end that moved by less has not been moved: clocks are read one after the other
FRESH_SECONDS = 3.0  # a timer that has lost less than this was set just now, and is told with the length it was given


class TimerTransition(NamedTuple):
    """What became of one timer, and how it stands."""

    kind: Literal["started", "updated", "cancelled", "finished"]
    id: str
    name: str
    seconds: int  # how long it was set for; what was left of it, for one that was not set just now
    left_seconds: int
    is_running: bool


class TimerFeed:
    """The timers that one device was told of, and what has become of them since."""

    def __init__(self) -> None:
        self._timers: Timers = {}
        self._news = anyio.Event()

    def take(self, timers: Sequence[Mapping[str, Any]]) -> None:
        """Take how the timers stand now."""
        self._timers = {str(one["id"]): one for one in timers}
        self._news.set()

    async def changes(self) -> AsyncIterator[TimerTransition]:
        """Yield what changes, for as long as it is asked. Looks that nobody waited for count as one."""
        shown: Timers = {}
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            before, shown = shown, self._timers
            for change in timer_changes(before, shown):
                yield change


def timer_changes(before: Timers, now: Timers) -> Iterator[TimerTransition]:
    """Yield what has happened between two looks. With nothing before, every timer is told of as it stands."""
    for gone in before.keys() - now.keys():
        if before[gone]["state"] != "ended":  # one that has ended goes when it was announced
            yield _change("cancelled", gone, before[gone])
    for id, one in now.items():
        known = before.get(id)
        if known is None and one["state"] != "ended":
            yield _change("started", id, one)
        if one["state"] == "ended":
            if known and known["state"] != "ended":
                yield _change("finished", id, one)
        elif (known is None and one["state"] == "paused") or (known is not None and _changed(known, one)):
            yield _change("updated", id, one)


def _change(
    kind: Literal["started", "updated", "cancelled", "finished"], id: str, timer: Mapping[str, Any]
) -> TimerTransition:
    fresh = timer["seconds"] - timer["left_seconds"] < FRESH_SECONDS
    seconds: float = timer["seconds"] if fresh else timer["left_seconds"]
    running = timer["state"] == "running" and kind in ("started", "updated")
    left = 0 if kind == "finished" else round(timer["left_seconds"])
    return TimerTransition(kind, id, timer["name"] or "", round(seconds), left, running)


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if before["state"] != now["state"]:
        return True
    ends = [one["ends_at"] if one["state"] == "running" else one["left_seconds"] for one in (before, now)]
    return bool(abs(ends[0] - ends[1]) > SAME_SECONDS)
