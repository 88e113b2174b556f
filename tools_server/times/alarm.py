"""One alarm: when it rings, for how long, and what is said of it. Pure; times in seconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from tools_server.times.recurrence import Recurring, local, moment
from tools_server.times.spoken_time import ago_words, day_words, moment_words, rule_words
from tools_server.values.language import clock, current, series, speaking
from tools_server.values.language import text as _

DAY = 86_400.0
RING_SECONDS = 600  # who is not awake by then is not at home
AGAIN_SECONDS = 30  # between two rings


@dataclass(frozen=True, slots=True)
class Alarm(Recurring):
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

    def following(self, after: float, zone: tzinfo | None) -> Alarm | None:
        """Return it waiting for its next occurrence after a moment; None when there is none."""
        at = self.next(max(after, self.at), zone)
        return replace(self, at=at, due_at=at, ringing_since=None, missed_at=None) if at is not None else None

    def without(self, day: date, now: float, zone: tzinfo | None) -> Alarm | None:
        """Return one with a rule so that it does not ring on a day; None when it then never rings again."""
        ahead = {item for item in self.skipped.split() if item >= local(now, zone).date().isoformat()}
        left = replace(self, skipped=" ".join(sorted({*ahead, day.isoformat()})))
        return left.following(now, zone) if local(self.at, zone).date() == day else left

    def after_ring(self, now: float, zone: tzinfo | None) -> Alarm:
        """Return it after the house rang it, or told that it did not ring: to ring again, or at its end for today.

        One that was missed stays, so that it can be told.
        """
        silent = self.missed(now)
        since = self.ringing_since if self.ringing_since is not None else now
        if not silent and now - since < RING_SECONDS:
            return replace(self, ringing_since=since, due_at=now + AGAIN_SECONDS)
        over = self.following(now, zone) or replace(self, due_at=None, ringing_since=None)
        return replace(over, missed_at=now, silent=int(silent))

    def switched_on(self, now: float, zone: tzinfo | None) -> Alarm | None:
        """Return it ringing again at its time of day, or by its rule; None when its rule has ended."""
        if self.rule:
            at = self.next(now, zone)
            return replace(self, at=at, due_at=at, missed_at=None) if at is not None else None
        wall = datetime.combine(local(now, zone).date(), local(self.at, zone).time())
        at = next(t for t in (moment(wall + timedelta(days=more), zone) for more in (0, 1, 2)) if t > now)
        return replace(self, at=at, due_at=at, missed_at=None)

    def label(self, zone: tzinfo | None) -> str:
        """Return "gym alarm" or "7 AM alarm"."""
        return _("{name} alarm").format(name=self.name or clock(local(self.at, zone)))

    def when_words(self, now: float, zone: tzinfo | None) -> str:
        """Return "tomorrow at 7 AM" or "every weekday at 6:30 AM"; what is past, "7 AM yesterday"."""
        wall, at = local(now, zone), local(self.at, zone)
        if recurrence := self.recurrence:
            return rule_words(recurrence.rule, recurrence.start, wall)
        return moment_words(at, wall) if self.at > now else ago_words(at, wall)

    def listed(self, now: float, zone: tzinfo | None) -> str:
        """Return "gym, every weekday at 6:30 AM, which is off"."""
        text = f"{self.name}, {self.when_words(now, zone)}" if self.name else self.when_words(now, zone)
        if self.missed_at is not None and now - self.missed_at < DAY and self.silent:
            text += _(", which did not ring last time") if self.rule else _(", which did not ring")
        elif self.missed_at is not None and now - self.missed_at < DAY:
            text += _(", which nobody stopped at {ago_words}").format(
                ago_words=ago_words(local(self.missed_at, zone), local(now, zone))
            )
        elif self.off:
            text += _(", which is off")
        elif self.ringing_since is not None:
            text += _(", which is ringing")
        elif self.due_at is not None and self.due_at > self.at:
            text += _(", snoozed until {clock_words}").format(clock_words=clock(local(self.due_at, zone)))
        usual = self.recurrence.next(now, zone) if self.recurrence else None
        if usual is not None and not self.off and self.at > usual:
            text += _(", next {moment_words}").format(moment_words=moment_words(local(self.at, zone), local(now, zone)))
        days = [date.fromisoformat(item) for item in self.skipped.split()]
        if later := [day_words(day, local(now, zone).date()) for day in days if day > local(self.at, zone).date()]:
            text += _(", but not {series}").format(series=series(later, "or"))
        return text

    def saying(self, now: float, zone: tzinfo | None) -> dict[str, Any]:
        """Return one that is due as the house rings it, or tells that it did not ring, in its language."""
        assert self.due_at is not None
        at, wall, missed = local(self.at, zone), local(now, zone), self.missed(now)
        with speaking(self.language):
            name, language = _("{name} alarm").format(name=self.name) if self.name else _("alarm"), current()
            text = _("It's {clock_words}. This is your {name}.").format(clock_words=clock(wall), name=name)
            if missed:
                text = _("Your {name} for {ago_words} did not ring.").format(name=name, ago_words=ago_words(at, wall))
        return {
            **{key: getattr(self, key) for key in ("id", "name", "device", "room", "person")},
            **{"text": text, "language": language, "late_seconds": round(now - self.due_at, 3), "urgent": not missed},
        }

    def shown(self, now: float, zone: tzinfo | None) -> dict[str, Any]:
        """Return it as data."""
        state = "off" if self.off else "ringing" if self.ringing_since is not None else "on"
        fields = {
            key: getattr(self, key) for key in ("id", "name", "person", "room", "rule", "at", "due_at", "missed_at")
        }
        iso = f"{local(self.at, zone):%Y-%m-%dT%H:%M}"
        return {**fields, "iso": iso, "silent": bool(self.silent), "state": state, "when": self.when_words(now, zone)}
