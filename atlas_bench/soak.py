"""A house that is talked to for half an hour, with lines that break: do memory, tasks, sockets and threads grow?"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import anyio
import httpx2

from atlas.audio import AudioChunk
from atlas.cli import door, memory
from atlas.cli.numbers import minutes
from atlas.config import Config
from atlas_bench._growth import Sample, grown, held
from atlas_bench._house import free_port, own_house
from atlas_bench._rooms import BenchRoom, BenchRooms, rooms_of
from atlas_bench._visitors import SECTION, AppVisitor, RealtimeVisitor, WyomingVisitor
from atlas_bench._voices import Samples, voices

MINUTES = 30.0
WARM_SHARE = 1 / 6  # of the minutes: what is loaded once and cached is no leak
SAMPLE_SECONDS = 60.0
IDLE_SECONDS = 60.0
STILL_SECONDS = 8.0  # nobody speaks, before a sample: what a turn leaves behind it is over by then
ANSWER_SECONDS = 60.0
PAUSE_SECONDS = 3.0  # between two turns of a visitor
CUT_EVERY_SENTENCES = 7  # every seventh sentence in a room is cut off: its satellite is killed, and comes back
SENTENCES = (
    *("what time is it?", "set a timer for ten minutes.", "how long is left on my timer?", "cancel my timer."),
    *("add milk to my shopping list.", "what is on my shopping list?", "take milk off my shopping list."),
    *("what day is it tomorrow?", "tell everyone dinner is ready.", "what can you do?", "why is the sky blue?"),
)
TARGETS = {
    "grown_mb": 40.0,
    "tasks_grown": 2.0,
    "sockets_grown": 2.0,
    "threads_grown": 2.0,
    "files_grown": 4.0,
    "turns_unanswered_percent": 10.0,
    "satellite_idle_cpu_percent": 1.0,
    "satellite_idle_mb": 60.0,
}


@dataclass(slots=True)
class Visitor:
    """Somebody who comes again and again; `quiet` is held during a turn, so that whoever holds all of them counts."""

    name: str
    turn: Callable[[], Awaitable[bool]]
    quiet: anyio.Lock = field(default_factory=anyio.Lock)
    turns: int = 0
    unanswered: int = 0

    async def come(self) -> None:
        """Have turns until cancelled."""
        while True:
            async with self.quiet:
                self.unanswered += not await self.turn()
                self.turns += 1
            await anyio.sleep(PAUSE_SECONDS)


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this bench can be told."""
    parser.add_argument("--minutes", type=minutes, default=MINUTES, help=f"of talk; {MINUTES:.0f} by default")


async def measure(config: Config, given: argparse.Namespace | None = None) -> dict[str, float]:
    """Return by how much what the processes of house and rooms hold has grown from the warm house to the end.

    That is the slope that is in the middle of those between any two samples (Theil and Sen), over that time.
    """
    say = voices(config)[0][1]
    spoken = [_sound(say(text)) for text in SENTENCES]
    woken = [_sound(say(f"Okay Nabu, {text}")) for text in SENTENCES]
    lasts = (given.minutes if given else MINUTES) * 60
    async with _visited(config, spoken, woken) as (house, rooms, visitors):
        idle = await _idle(rooms.rooms[0])
        async with anyio.create_task_group() as tasks:
            for visitor in visitors:
                tasks.start_soon(visitor.come)
            samples = await _samples(house, rooms, visitors, lasts)
            tasks.cancel_scope.cancel()
    warm = [sample for sample in samples if sample["seconds"] >= lasts * WARM_SHARE] or samples
    names = [name for name in warm[-1] if name != "seconds"]
    figures = {
        f"{name}_{when}": sample[name] for name in names for when, sample in (("warm", warm[0]), ("end", warm[-1]))
    }
    growth = {"grown_mb" if name == "mb" else f"{name}_grown": grown(warm, name) for name in names}
    turns, unanswered = sum(visitor.turns for visitor in visitors), sum(visitor.unanswered for visitor in visitors)
    by_visitor = {f"turns_{visitor.name}": visitor.turns for visitor in visitors}
    talk = {"turns": turns, **by_visitor, "turns_unanswered_percent": round(100 * unanswered / max(1, turns), 1)}
    return figures | growth | talk | idle


@asynccontextmanager
async def _visited(
    config: Config, spoken: Sequence[AudioChunk], woken: Sequence[AudioChunk]
) -> AsyncIterator[tuple[Config, BenchRooms, Sequence[Visitor]]]:
    """Run a house with all who come to it."""
    port = free_port()
    async with AsyncExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="atlas-bench-")))
        study = WyomingVisitor(spoken)
        await stack.enter_async_context(study.listening(port))
        house, _ = await stack.enter_async_context(own_house(config, data, SECTION.format(port=port)))
        rooms = await stack.enter_async_context(rooms_of(house, ("kitchen", "attic")))
        talkers = Talk(rooms, woken)
        visitors = [Visitor("rooms", talkers.turn), Visitor("wyoming", study.turn)]
        visitors += [Visitor("realtime", RealtimeVisitor(house, [*spoken[3:], *spoken[:3]]).turn)]
        yield house, rooms, [*visitors, Visitor("app", AppVisitor(house).turn)]


class Talk:
    """People who speak in one room after the other."""

    def __init__(self, rooms: BenchRooms, sentences: Sequence[AudioChunk]) -> None:
        self._rooms = rooms
        self._sentences = cycle(sentences)
        self._turns = 0

    async def turn(self) -> bool:
        """Say the next sentence in the next room; tell whether it was heard and answered."""
        self._turns += 1
        room = self._rooms.rooms[self._turns % len(self._rooms.rooms)]
        sound = next(self._sentences)
        if self._turns % CUT_EVERY_SENTENCES == 0:
            await self._rooms.cut_off(sound, room)
            return True
        await self._rooms.say(sound, room)
        return await room.until("heard", ANSWER_SECONDS) and await room.until("asleep", ANSWER_SECONDS)


async def _samples(house: Config, rooms: BenchRooms, visitors: Sequence[Visitor], lasts: float) -> Sequence[Sample]:
    """Look every minute, when nobody speaks, and print each look: half an hour is long to wait for it."""
    began, samples = anyio.current_time(), []
    while (seconds := anyio.current_time() - began) < lasts:
        await anyio.sleep(min(SAMPLE_SECONDS, max(0.0, lasts - seconds)))
        async with AsyncExitStack() as stack:
            for visitor in visitors:
                await stack.enter_async_context(visitor.quiet)
            await anyio.sleep(STILL_SECONDS)
            sample = {"seconds": round(anyio.current_time() - began, 1), **await _held(house, rooms)}
        samples.append(sample)
        turns = {visitor.name: f"{visitor.turns - visitor.unanswered}/{visitor.turns}" for visitor in visitors}
        print(sample, turns, file=sys.stderr, flush=True)
    return samples


async def _idle(room: BenchRoom) -> dict[str, float]:
    """Return what a satellite costs while nobody speaks: per cent of one core, and megabytes, its recorder included."""
    before = _cpu_seconds(memory.family(room.pid))
    await anyio.sleep(IDLE_SECONDS)
    seconds = _cpu_seconds(memory.family(room.pid)) - before
    return {
        "satellite_idle_cpu_percent": round(100 * seconds / IDLE_SECONDS, 2),
        "satellite_idle_mb": held(memory.family(room.pid))["mb"],
    }


async def _held(house: Config, rooms: BenchRooms) -> dict[str, float]:
    """Return what all processes of the house and its rooms hold now, and how large its databases are."""
    pids = [row.pid for row in memory.house(house)]
    for room in rooms.rooms:
        pids += memory.family(room.pid)
    async with httpx2.AsyncClient(base_url=door.address(house), trust_env=False, timeout=ANSWER_SECONDS) as client:
        tasks = (await client.get("/health")).json()["tasks"]
    by_process = {f"{row.name}_mb": round(row.rss / 1e6, 1) for row in memory.house(house)}
    sizes = {file.name: file.stat().st_size / 1e3 for file in house.data.rglob("*.db*")}
    by_database = {f"{name}_kb": round(size, 1) for name, size in sorted(sizes.items()) if name.endswith(".db")}
    return {
        **by_process,
        **by_database,
        "journals_kb": round(sum(sizes.values()) - sum(by_database.values()), 1),
        "tasks": tasks,
        **held(pids),
    }


def _cpu_seconds(pids: Iterable[int]) -> float:
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _sound(samples: Samples) -> AudioChunk:
    return AudioChunk((samples * 32767).astype("<i2").tobytes())
