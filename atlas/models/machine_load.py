"""Samples how busy this machine is: processor, memory, graphics cards, and how fast its models speak.

A sample every two seconds, for the last five minutes, in memory alone. Reading them costs a few microseconds of
/proc; cards are asked by their driver's program, which takes a tenth of a second, and only while somebody looks.
"""

from __future__ import annotations

import math
import os
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

EVERY_SECONDS = 2.0
MOST_SAMPLES = 150
WATCHED_SECONDS = 30.0  # since somebody looked last; then cards are not asked any more
QUERY_SECONDS = 5.0
MOST_CARDS = 16
MIB = 1024**2
QUERY = ("nvidia-smi", "--query-gpu=name,utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits")
BUSY_FIELDS, IDLE_FIELDS = 8, (3, 4)  # of /proc/stat's first line: what comes after them is counted in them already


@dataclass(frozen=True, slots=True)
class CardLoad:
    """How busy one graphics card is."""

    name: str
    busy: float | None  # share of the time, 0 to 1; None where the driver does not tell
    used_bytes: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class LoadSample:
    """How busy the machine was in the two seconds before a moment."""

    at: float  # wall clock, seconds since 1970
    processor: float  # share of all cores, 0 to 1
    used_bytes: int
    cards: Sequence[CardLoad]
    tokens_per_second: Mapping[str, float]  # by model, while it spoke; 0 where it did not


class MachineLoad:
    """The latest samples. `speeds` tell, by model, how fast it spoke since they were asked last."""

    def __init__(self, speeds: Mapping[str, Callable[[], float]], proc: Path = Path("/proc")) -> None:
        self._speeds = speeds
        self._proc = proc
        self._samples: deque[LoadSample] = deque(maxlen=MOST_SAMPLES)
        self._looked_at = -math.inf
        self._has_cards = True
        self.cores = os.cpu_count() or 1
        self.memory_bytes = self._memory()["MemTotal"]

    def since(self, moment: float) -> Sequence[LoadSample]:
        """Return the samples after a moment, the oldest first. Whoever asks is looking."""
        self._looked_at = anyio.current_time()
        return [sample for sample in self._samples if sample.at > moment]

    async def watch(self) -> None:
        """Take samples, until cancelled."""
        before = self._ticks()
        while True:
            await anyio.sleep(EVERY_SECONDS)
            now = self._ticks()
            busy, whole = (after - earlier for after, earlier in zip(now, before, strict=True))
            before = now
            memory = self._memory()
            sample = LoadSample(
                time.time(),
                min(1.0, max(0.0, busy / whole)) if whole > 0 else 0.0,
                memory["MemTotal"] - memory["MemAvailable"],
                await self._cards(),
                {name: speed() for name, speed in self._speeds.items()},
            )
            self._samples.append(sample)

    def _ticks(self) -> tuple[int, int]:
        """Return how long all cores together were busy, and how long they were there."""
        line = (self._proc / "stat").read_text(encoding="ascii").split("\n", 1)[0]
        fields = [int(field) for field in line.split()[1 : 1 + BUSY_FIELDS]]
        whole = sum(fields)
        return whole - sum(fields[at] for at in IDLE_FIELDS), whole

    def _memory(self) -> Mapping[str, int]:
        lines = (self._proc / "meminfo").read_text(encoding="ascii").splitlines()
        pairs = (line.split(":") for line in lines if line.startswith(("MemTotal:", "MemAvailable:")))
        return {name: int(size.split()[0]) * 1024 for name, size in pairs}

    async def _cards(self) -> Sequence[CardLoad]:
        if not self._has_cards or anyio.current_time() - self._looked_at > WATCHED_SECONDS:
            return ()
        try:
            with anyio.fail_after(QUERY_SECONDS):
                done = await anyio.run_process(QUERY, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            self._has_cards = False
            return ()
        except (OSError, subprocess.SubprocessError, TimeoutError):
            return ()
        return read_cards(done.stdout.decode("utf-8", "replace"))


def read_cards(text: str) -> Sequence[CardLoad]:
    """Return what the driver's program tells of each card; what is no such line is passed over."""
    cards = []
    for line in text.splitlines()[:MOST_CARDS]:
        name, *rest = (part.strip() for part in line.rsplit(",", 3))
        if len(rest) == 3 and rest[1].isdecimal() and rest[2].isdecimal():
            busy = int(rest[0]) / 100 if rest[0].isdecimal() else None
            cards.append(CardLoad(name, busy, int(rest[1]) * MIB, int(rest[2]) * MIB))
    return cards
