"""Counts what has been spent: calls and units of each agent today, read back from the record.

Every call that ran is a row of the record with its `cost`, so what was spent outlives this process with the record, and
what other processes spend is counted, too.
"""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from tools_server.gate.record_tail import Newest
from tools_server.values.language import counted
from tools_server.values.language import text as _
from tools_server.values.policy import Action, AgentAccount, CallActor, Decision, Policy, RateLimit
from wall.chain import Row
from wall.patterns import fits_any
from wall.roles import NOBODY

GUESTS_PART = 10  # the part of an agent's budget that all guests together may spend, so that they spend nobody else's
ALONE_PART = 4  # the part that one child, teen or room alone may spend: a page of theirs may stand open all day
ROLES_WITH_A_SHARE = ("teen", "child", "satellite")
MOST_SHARES = 64  # of one agent are counted apart in a day; all further ones together are one
CALLERS = 8  # of one agent are counted apart at a time: an agent may name any person, and would never be held back


@dataclass(slots=True)
class Day:
    """One agent's day."""

    spent: int = 0
    spent_by_guests: int = 0  # of that
    spent_alone: dict[str, int] = field(default_factory=dict)  # of that, by who has a share
    calls: int = 0
    by_tool: dict[str, int] = field(default_factory=dict)  # calls

    def counted_name(self, caller: str) -> str:
        """Return the name under which what somebody with a share spends is counted."""
        return caller if caller in self.spent_alone or len(self.spent_alone) < MOST_SHARES else ""


@dataclass(frozen=True, slots=True)
class Spending:
    """One call that ran, whoever wrote it down."""

    at: float
    agent: str
    role: str
    caller: str  # the person, else the device
    tool: str
    risk: str
    cost: int


class Ledger:
    """Counts what runs, and says when enough is enough. Used from the event loop's thread only."""

    def __init__(self, policy: Policy, record: Path, now: Callable[[], float], zone: tzinfo | None = None) -> None:
        """Read back what was spent since midnight, and within the longest limit. Raises `OSError`."""
        self.process = secrets.token_hex(4)  # our own rows carry it, and are not counted twice
        self._policy = policy
        self._newest = Newest(record)
        self._now = now
        self._zone = zone
        self._midnight = self._start_of_day(now())
        self._days: dict[str, Day] = {}
        # By limit, agent and caller; None is everybody for whom no more are counted apart.
        self._lately: dict[tuple[str, str, str | None], deque[float]] = {}
        longest = max((limit.per_seconds for limit in policy.limits), default=0.0)
        since = min(self._midnight, now() - longest)
        for row in self._newest.since(since):
            if spending := _spending(row):
                self._note(spending)

    def refusal(self, agent: AgentAccount, actor: CallActor, action: Action) -> Decision | None:
        """Return why a call may not run now: a limit or a budget is spent; None when it may."""
        self._catch_up()
        now = self._now()
        self._forget(now)
        spending = Spending(now, agent.name, actor.role, actor.person or actor.device, action.tool, action.risk, 0)
        for limit in self._policy.limits:
            if _concerns(limit, spending) and (wait := self._wait(limit, spending, now)) > 0:
                times = _("once") if limit.at_most == 1 else _("{at_most} times").format(at_most=limit.at_most)
                reason = _("That may be done {times} in {length}. Try again in {length2}.").format(
                    times=times, length=_length(limit.per_seconds), length2=_length(wait)
                )
                return Decision("deny", limit.id, reason if limit.at_most else _("That may not be done at all."))
        day, cost = self._day(agent.name), self._cost(action)
        for budget in self._policy.budgets:
            if not fits_any(budget.agents, agent.name):
                continue
            if day.spent + cost > budget.units_per_day:
                reason = _("The {name} agent has spent what it may spend in a day. Tomorrow it can go on.").format(
                    name=agent.name
                )
                return Decision("deny", budget.id, reason)
            if actor.role == NOBODY and day.spent_by_guests + cost > budget.units_per_day // GUESTS_PART:
                reason = _("Guests have spent what they may ask for in a day. Tomorrow it can go on.")
                return Decision("deny", budget.id, reason)
            alone = day.spent_alone.get(day.counted_name(spending.caller), 0) if actor.role in ROLES_WITH_A_SHARE else 0
            if alone and alone + cost > budget.units_per_day // ALONE_PART:
                reason = _("You have spent what you alone may ask for in a day. Tomorrow it can go on.")
                return Decision("deny", budget.id, reason)
        return None

    def spent(self, agent: AgentAccount, actor: CallActor, action: Action) -> int:
        """Count a call that is about to run; return its cost, to be written into its row."""
        cost = self._cost(action)
        caller = actor.person or actor.device
        self._note(Spending(self._now(), agent.name, actor.role, caller, action.tool, action.risk, cost))
        return cost

    def usage(self, agent: str) -> Mapping[str, Any]:
        """Return what an agent has spent today: units, calls, calls by tool, and what is left of its budget."""
        self._catch_up()
        day = self._day(agent)
        budget = min(
            (one_budget.units_per_day for one_budget in self._policy.budgets if fits_any(one_budget.agents, agent)),
            default=None,
        )
        return {
            "agent": agent,
            "since": self._midnight,
            "spent": day.spent,
            "budget": budget,
            "left": None if budget is None else max(0, budget - day.spent),
            "calls": day.calls,
            "by_tool": dict(sorted(day.by_tool.items(), key=lambda item: (-item[1], item[0]))),
        }

    def _cost(self, action: Action) -> int:
        return self._policy.costs[action.risk]

    def _wait(self, limit: RateLimit, spending: Spending, now: float) -> float:
        """Return the seconds until one more call fits under a limit; 0 when it fits now."""
        if not limit.at_most:
            return limit.per_seconds
        times = self._lately.get(self._key(limit, spending), ())
        recent = [at for at in times if now - limit.per_seconds < at <= now]  # a clock set back forgives
        return recent[-limit.at_most] + limit.per_seconds - now if len(recent) >= limit.at_most else 0.0

    def _note(self, spending: Spending) -> None:
        for limit in self._policy.limits:
            if limit.at_most and _concerns(limit, spending):
                key = self._key(limit, spending)
                self._lately.setdefault(key, deque(maxlen=limit.at_most)).append(spending.at)
        self._turn_page()
        self._enter(spending)

    def _key(self, limit: RateLimit, call: Spending) -> tuple[str, str, str | None]:
        own_values = (limit.id, call.agent, call.caller)
        apart = sum(key[:2] == own_values[:2] and key[2] is not None for key in self._lately)
        return own_values if own_values in self._lately or apart < CALLERS else (limit.id, call.agent, None)

    def _forget(self, now: float) -> None:
        """Drop the callers whose calls no limit looks at any more, so that others can be counted apart."""
        seconds = {limit.id: limit.per_seconds for limit in self._policy.limits}
        self._lately = {
            key: times for key, times in self._lately.items() if any(now - seconds[key[0]] < at <= now for at in times)
        }

    def _enter(self, spending: Spending) -> None:
        if spending.at >= self._midnight:
            day = self._days.setdefault(spending.agent, Day())
            day.spent += spending.cost
            day.spent_by_guests += spending.cost if spending.role == NOBODY else 0
            if spending.role in ROLES_WITH_A_SHARE:
                name = day.counted_name(spending.caller)
                day.spent_alone[name] = day.spent_alone.get(name, 0) + spending.cost
            day.calls += 1
            day.by_tool[spending.tool] = day.by_tool.get(spending.tool, 0) + 1

    def _day(self, agent: str) -> Day:
        self._turn_page()
        return self._days.setdefault(agent, Day())

    def _turn_page(self) -> None:
        """Begin another day when it is one. A clock that had run ahead comes back to a day that was begun already."""
        midnight, before = self._start_of_day(self._now()), self._midnight
        if midnight == before:
            return
        self._midnight = midnight
        self._days.clear()
        if midnight < before:
            for row in self._newest.since(midnight):
                if spending := _spending(row):
                    self._enter(spending)

    def _start_of_day(self, at: float) -> float:
        here = datetime.fromtimestamp(at, self._zone).astimezone(self._zone)
        return here.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()

    def _catch_up(self) -> None:
        """Count what other processes have written since we looked."""
        for row in self._newest.more():
            if spending := _spending(row, besides=self.process):
                self._note(spending)


def _spending(row: Row, besides: str = "") -> Spending | None:
    """Return what a row says was spent; None when its call did not run, or ran in the process `besides`."""
    try:
        actor = row["actor"]
        if besides and row["process"] == besides:
            return None
        return Spending(
            float(row["at"]),
            str(row["agent"]),
            str(actor["role"]),
            str(actor["person"] or actor["device"]),
            str(row["tool"]),
            str(row["risk"]),
            int(row["cost"]),  # null when it did not run
        )
    except (ValueError, TypeError, KeyError):
        return None


def _concerns(limit: RateLimit, call: Spending) -> bool:
    return (
        fits_any(limit.agents, call.agent)
        and fits_any(limit.roles, call.role)
        and fits_any(limit.tools, call.tool)
        and fits_any(limit.risks, call.risk)
    )


def _length(seconds: float) -> str:
    """Return how long to wait, in one unit, rounded up: "2 minutes"."""
    size, unit = next((pair for pair in ((3600, "hour"), (60, "minute")) if seconds >= pair[0]), (1, "second"))
    return counted(max(1, math.ceil(seconds / size)), unit)
