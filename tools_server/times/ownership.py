"""Whose is a timer, an alarm or a delayed deed: how many one may have, and what a guest may change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from tools_server.sdk.toolkit import Call, ToolFailed
from tools_server.times.alarm import Alarm
from tools_server.times.timer import Timer
from tools_server.values.language import noted
from tools_server.values.language import text as _
from tools_server.values.policy import CallActor
from wall.roles import NOBODY

MOST_OF_ONE = 40  # of the hundred that a house has: nobody alone, and no model in somebody's name, uses them up
MOST_OF_GUESTS = 10  # all together: nobody who is passing through does

# Translators: what there are too many of, in the three sentences below.
TIMERS, ALARMS, DEEDS = noted("timers"), noted("alarms"), noted("things to do later")
REMINDERS = noted("reminders")


Owned = Timer | Alarm | CallActor  # what somebody has set, or who has set it
_Row = TypeVar("_Row", bound=Owned)


def role_of(call: Call) -> str:
    """Return the role in which somebody calls."""
    return call.actor.role or call.agent.acts_as


def refuse_more(call: Call, rows: Sequence[Owned], kind: str) -> None:
    """Raise `ToolFailed` when whoever calls has as many of a kind as they may have."""
    if role_of(call) == NOBODY:
        count, most = sum(row.role == NOBODY for row in rows), MOST_OF_GUESTS
        words = _("Guests already have {count} {things}. Cancel some of them first.")
    else:
        count, most = sum(_is_of(call, row) for row in rows), MOST_OF_ONE
        words = _("You already have {count} {things}. Cancel some of them first.")
    if count >= most:
        raise ToolFailed("failed", words.format(count=most, things=_(kind)))


def refuse_over(most: int, count: int, kind: str) -> None:
    """Raise `ToolFailed` when the house would have more of a kind than it may."""
    if count > most:
        words = _("There are already {count} {things}. Cancel some of them first.")
        raise ToolFailed("failed", words.format(count=most, things=_(kind)))


def changeable(call: Call, rows: Iterable[_Row]) -> list[_Row]:
    """Return the rows that whoever calls may change: for a guest, those of guests. Raises `ToolFailed` for none."""
    every = list(rows)
    if role_of(call) != NOBODY:
        return every
    theirs = [row for row in every if row.role == NOBODY]
    if every and not theirs:
        raise ToolFailed("denied", _("Guests can only change what guests have set."))
    return theirs


def _is_of(call: Call, row: Owned) -> bool:
    return row.person == call.actor.person if call.actor.person else row.device == call.actor.device_key
