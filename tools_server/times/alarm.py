"""One alarm: when it rings, for how long, and what is said of it. Pure; times in seconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

from tools_server.times.recurrence import Recurrence, local, moment, read
from tools_server.times.spoken_time import ago_words, day_words, moment_words, rule_words
from tools_server.values.language import clock, current, series, speaking
from tools_server.values.language import text as _

DAY = 86_400.0
RING_SECONDS = 600  # who is not awake by then is not at home
AGAIN_SECONDS = 30  # between two rings


@dataclass(frozen=True, slots=True)
class Alarm:
    """One row."""

    id: str
    name: str
    person: str
    room: str
    device: str  # its `device_key`, for another may get its name
    made_at: float
    rule: str  # RRULE; "" is once
    start: str  # of the rule: ISO, on the clocks of the house
    at: float  # the occurrence it is about
    due_at: float | None  # when it rings next; None when it is off
    ringing_since: float | None = None
    # When it last rang to its end and nobody stopped it, or it was told that it did not ring.
    missed_at: float | None = None
    skipped: str = ""  # days on which its rule does not hold: ISO dates with a space between
    role: str = ""  # of who set it, as it was then
    language: str = ""  # in which it was set, and rings
    silent: int = 0  # it was missed because it did not ring: the house was off, or nothing there could ring

    @property
    def recurrence(self) -> Recurrence | None:
        """Return its rule with its start."""
        return Recurrence(read(self.rule), datetime.fromisoformat(self.start)) if self.rule else None

    @property
    def off(self) -> bool:
        """Whether it rings no more."""
        return self.due_at is None

    def next(self, after: float, zone: tzinfo | None) -> float | None:
        """Return when it rings first after a moment, by its rule and its skipped days; None when it has ended."""
        recurrence, skipped = self.recurrence, self.skipped.split()
        at = recurrence.next(after, zone) if recurrence else None
        while at is not None and recurrence and local(at, zone).date().isoformat() in skipped:
            at = recurrence.next(at, zone)
        return at

    def on(self, day: date, zone: tzinfo | None) -> float | None:
        """Return when it rings first on a day that is not over; None when it does not."""
        if self.off:
            return None
        midnight = moment(datetime.combine(day, time()), zone)
        at = self.at if local(self.at, zone).date() == day else self.next(max(self.at, midnight - 1), zone)
        return at if at is not None and local(at, zone).date() == day else None

    def began(self, now: float) -> bool:
        """Whether it rings, is snoozed, or should have rung: what "the alarm" means to somebody just woken."""
        return self.due_at is not None and (
            self.ringing_since is not None or self.due_at <= now or self.due_at > self.at
        )

    def rings(self, now: float) -> bool:
        """Whether it rings just now."""
        is_due = self.due_at is not None and self.due_at <= now and not self.missed(now)
        return is_due or self.ringing_since is not None

    def missed(self, now: float) -> bool:
        """Whether its moment went by unheard, so long ago that ringing would help nobody."""
        return self.due_at is not None and now - self.due_at > RING_SECONDS


def following(alarm: Alarm, after: float, zone: tzinfo | None) -> Alarm | None:
    """Return it waiting for its next occurrence after a moment; None when there is none."""
    at = alarm.next(max(after, alarm.at), zone)
    return replace(alarm, at=at, due_at=at, ringing_since=None, missed_at=None) if at is not None else None


def without(alarm: Alarm, day: date, now: float, zone: tzinfo | None) -> Alarm | None:
    """Return one with a rule so that it does not ring on a day; None when it then never rings again."""
    ahead = {item for item in alarm.skipped.split() if item >= local(now, zone).date().isoformat()}
    left = replace(alarm, skipped=" ".join(sorted({*ahead, day.isoformat()})))
    return following(left, now, zone) if local(alarm.at, zone).date() == day else left


def after_ring(alarm: Alarm, now: float, zone: tzinfo | None) -> Alarm:
    """Return it after the house rang it, or told that it did not ring: to ring again, or at its end for today.

    One that was missed stays, so that it can be told.
    """
    silent = alarm.missed(now)
    since = alarm.ringing_since if alarm.ringing_since is not None else now
    if not silent and now - since < RING_SECONDS:
        return replace(alarm, ringing_since=since, due_at=now + AGAIN_SECONDS)
    over = following(alarm, now, zone) or replace(alarm, due_at=None, ringing_since=None)
    return replace(over, missed_at=now, silent=int(silent))


def switched_on(alarm: Alarm, now: float, zone: tzinfo | None) -> Alarm | None:
    """Return it ringing again at its time of day, or by its rule; None when its rule has ended."""
    if alarm.rule:
        at = alarm.next(now, zone)
        return replace(alarm, at=at, due_at=at, missed_at=None) if at is not None else None
    wall = datetime.combine(local(now, zone).date(), local(alarm.at, zone).time())
    at = next(t for t in (moment(wall + timedelta(days=more), zone) for more in (0, 1, 2)) if t > now)
    return replace(alarm, at=at, due_at=at, missed_at=None)


def label(alarm: Alarm, zone: tzinfo | None) -> str:
    """Return "gym alarm" or "7 AM alarm"."""
    return _("{name} alarm").format(name=alarm.name or clock(local(alarm.at, zone)))


def when_words(alarm: Alarm, now: float, zone: tzinfo | None) -> str:
    """Return "tomorrow at 7 AM" or "every weekday at 6:30 AM"; what is past, "7 AM yesterday"."""
    wall, at = local(now, zone), local(alarm.at, zone)
    if recurrence := alarm.recurrence:
        return rule_words(recurrence.rule, recurrence.start, wall)
    return moment_words(at, wall) if alarm.at > now else ago_words(at, wall)


def listed(alarm: Alarm, now: float, zone: tzinfo | None) -> str:
    """Return "gym, every weekday at 6:30 AM, which is off"."""
    text = f"{alarm.name}, {when_words(alarm, now, zone)}" if alarm.name else when_words(alarm, now, zone)
    if alarm.missed_at is not None and now - alarm.missed_at < DAY and alarm.silent:
        text += _(", which did not ring last time") if alarm.rule else _(", which did not ring")
    elif alarm.missed_at is not None and now - alarm.missed_at < DAY:
        text += _(", which nobody stopped at {ago_words}").format(
            ago_words=ago_words(local(alarm.missed_at, zone), local(now, zone))
        )
    elif alarm.off:
        text += _(", which is off")
    elif alarm.ringing_since is not None:
        text += _(", which is ringing")
    elif alarm.due_at is not None and alarm.due_at > alarm.at:
        text += _(", snoozed until {clock_words}").format(clock_words=clock(local(alarm.due_at, zone)))
    recurrence = alarm.recurrence
    usual = recurrence.next(now, zone) if recurrence else None
    if usual is not None and not alarm.off and alarm.at > usual:
        text += _(", next {moment_words}").format(moment_words=moment_words(local(alarm.at, zone), local(now, zone)))
    days = [date.fromisoformat(item) for item in alarm.skipped.split()]
    if later := [day_words(day, local(now, zone).date()) for day in days if day > local(alarm.at, zone).date()]:
        text += _(", but not {series}").format(series=series(later, "or"))
    return text


def saying(alarm: Alarm, now: float, zone: tzinfo | None) -> dict[str, Any]:
    """Return one that is due as the house rings it, or tells that it did not ring, in the language it was set in."""
    with speaking(alarm.language):
        return _saying(alarm, now, zone)


def _saying(alarm: Alarm, now: float, zone: tzinfo | None) -> dict[str, Any]:
    assert alarm.due_at is not None
    at, wall, missed = local(alarm.at, zone), local(now, zone), alarm.missed(now)
    name = _("{name} alarm").format(name=alarm.name) if alarm.name else _("alarm")
    rings = _("It's {clock_words}. This is your {name}.").format(clock_words=clock(wall), name=name)
    return {
        "id": alarm.id,
        "text": _("Your {name} for {ago_words} did not ring.").format(name=name, ago_words=ago_words(at, wall))
        if missed
        else rings,
        "name": alarm.name,
        "device": alarm.device,
        "room": alarm.room,
        "person": alarm.person,
        "language": current(),
        "late_seconds": round(now - alarm.due_at, 3),
        "urgent": not missed,
    }


def shown(alarm: Alarm, now: float, zone: tzinfo | None) -> dict[str, Any]:
    """Return an alarm as data."""
    state = "off" if alarm.off else "ringing" if alarm.ringing_since is not None else "on"
    fields = {key: getattr(alarm, key) for key in ("id", "name", "person", "room", "rule", "at", "due_at", "missed_at")}
    iso = f"{local(alarm.at, zone):%Y-%m-%dT%H:%M}"
    return {**fields, "iso": iso, "silent": bool(alarm.silent), "state": state, "when": when_words(alarm, now, zone)}
