"""Turns: how long each stage of an answer took, and percentiles of that over days. No words of anybody."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field

from atlas.gateway.api.caller import Caller, OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Since
from atlas.router import spoken_reason
from atlas.store.turns import SpeechReadings, TurnRecord

MOST_COUNTED = 20_000  # turns of one percentile page; a busy house has some hundreds a day
DAY_SECONDS = 86_400
router = resource("turns", asks=False)


class HeardMargin(ApiReply):
    """How surely a spoken turn was heard."""

    doubtful: bool = Field(description="Whether the recogniser hardly believed the words")
    rivals: int = Field(description="How many other readings and commands there were")
    questions: int = Field(description="How many commands it may have been and was asked about")
    margin: float | None = Field(
        description="By how many nats a token the likeliest of those was less likely than what was read best"
    )


class TurnItem(ApiReply):
    """One turn: who was answered by whom and why, and how long it took."""

    id: str
    agent: str
    reason: str
    path: str
    device: str
    spoken: bool
    began: float = Field(description="Seconds since 1970")
    ended: float
    end: str
    error: str
    timings: dict[str, int] = Field(description="Milliseconds: NAME_ms by stage, NAME_at_ms by mark")
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    heard: HeardMargin | None = Field(description="Null when it was typed")


class TurnsReply(ApiReply):
    """Turns, the latest first."""

    turns: list[TurnItem]


class StagePercentiles(ApiReply):
    """How long a stage took on one day, in milliseconds."""

    stage: str
    count: int
    p50: int
    p95: int
    p99: int


class TurnDay(ApiReply):
    """One day of the house."""

    day: str = Field(description="A date of ISO 8601, on the house's clocks")
    turns: int
    failed: int
    stages: list[StagePercentiles]


class TurnDaysReply(ApiReply):
    """The days on which somebody was answered, the latest first."""

    days: list[TurnDay]


@router.get("")
async def list_turns(
    caller: OwnerCaller, limit: Annotated[int, Query(ge=1, le=200)] = 50, before: Since = None
) -> TurnsReply:
    """List the latest turns of all agents, or those before a moment."""
    records = await _records(caller, limit, 0.0, math.inf if before is None else before)
    return TurnsReply(turns=[_item(one) for one in records[:limit]])


@router.get("/percentiles")
async def turn_percentiles(caller: OwnerCaller, days: Annotated[int, Query(ge=1, le=90)] = 7) -> TurnDaysReply:
    """Count, for each of the last days, how long every stage took."""
    now = time.time()
    by_day: dict[str, list[TurnRecord]] = defaultdict(list)
    for one in await _records(caller, MOST_COUNTED, now - days * DAY_SECONDS, math.inf):
        by_day[datetime.fromtimestamp(one.began, caller.house.zone).date().isoformat()].append(one)
    return TurnDaysReply(days=[_day(day, by_day[day]) for day in sorted(by_day, reverse=True)])


async def _records(caller: Caller, count: int, since: float, before: float) -> list[TurnRecord]:
    records: list[TurnRecord] = []
    for agent in caller.house.agents():
        memory, _ = caller.house.memory_of(agent, caller.actor)
        records += await memory.turns(count, since, before)
    return sorted(records, key=lambda one: one.began, reverse=True)


def _item(one: TurnRecord) -> TurnItem:
    names = ("id", "agent", "path", "device", "spoken", "began", "ended", "end", "error")
    return TurnItem(
        **{name: getattr(one, name) for name in names},
        reason=spoken_reason(one.reason),
        timings=dict(one.timings),
        prompt_tokens=one.usage.prompt,
        cached_tokens=one.usage.cached,
        completion_tokens=one.usage.completion,
        heard=_heard(one.readings) if one.readings else None,
    )


def _heard(readings: SpeechReadings) -> HeardMargin:
    rivals = dict.fromkeys([*readings.others, *readings.possible])
    margins = [margin for text, margin in readings.margins if text in rivals]
    return HeardMargin(
        doubtful=readings.doubtful,
        rivals=len(rivals),
        questions=len(readings.possible),
        margin=min(margins, default=None),
    )


def _day(day: str, records: Iterable[TurnRecord]) -> TurnDay:
    turns = list(records)
    stages: Mapping[str, list[int]] = defaultdict(list)
    for one in turns:
        for name, milliseconds in one.timings.items():
            stages[name].append(milliseconds)
        stages["whole"].append(round((one.ended - one.began) * 1000))
    percentiles = [
        StagePercentiles(stage=name, count=len(values), **{f"p{p}": nearest_rank(values, p) for p in (50, 95, 99)})
        for name, values in sorted(stages.items())
    ]
    failed = sum(one.end == "failed" for one in turns)
    return TurnDay(day=day, turns=len(turns), failed=failed, stages=percentiles)


def nearest_rank(values: Iterable[int], percent: int) -> int:
    """Return the smallest value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
