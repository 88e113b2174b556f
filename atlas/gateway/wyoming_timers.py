"""How timers stand → what a Wyoming satellite is told of them, for its lights and its screen. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wyoming import timer
from wyoming.event import Event

Timers = Mapping[str, Mapping[str, Any]]  # as `timers.due` tells of them, by id
SAME_SECONDS = 1.0  # an end that moved by less has not been moved: clocks are read one after the other
FRESH_SECONDS = 3.0  # a timer that has lost less than this was set just now, and is told with the length it was given


def by_id(timers: Sequence[Mapping[str, Any]]) -> Timers:
    """Return timers by their ids."""
    return {str(one["id"]): one for one in timers}


def timer_events(before: Timers, now: Timers) -> Iterator[Event]:
    """Yield what has happened between two looks. With nothing before, every timer is told of as it stands."""
    for gone in before.keys() - now.keys():
        if before[gone]["state"] != "ended":  # one that has ended goes when it was announced
            yield timer.TimerCancelled(gone).event()
    for id, one in now.items():
        known = before.get(id)
        if known is None and one["state"] != "ended":
            yield timer.TimerStarted(id, _length(one), one["name"] or None).event()
        if one["state"] == "ended":
            if known and known["state"] != "ended":
                yield timer.TimerFinished(id).event()
        elif (known is None and one["state"] == "paused") or (known is not None and _changed(known, one)):
            yield timer.TimerUpdated(id, one["state"] == "running", round(one["left_seconds"])).event()


def _length(one: Mapping[str, Any]) -> int:
    fresh = one["seconds"] - one["left_seconds"] < FRESH_SECONDS
    seconds: float = one["seconds"] if fresh else one["left_seconds"]
    return round(seconds)


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if before["state"] != now["state"]:
        return True
    ends = [one["ends_at"] if one["state"] == "running" else one["left_seconds"] for one in (before, now)]
    return bool(abs(ends[0] - ends[1]) > SAME_SECONDS)
