"""How long this machine has been up, on a clock that nobody can set."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Uptime:
    """How long the machine has been up, and since which start."""

    boot: str
    seconds: float


def since_boot() -> Uptime:
    """Return how long this machine has been up; time that it slept counts."""
    return Uptime(_BOOT, time.clock_gettime(time.CLOCK_BOOTTIME))


def _boot() -> str:
    with suppress(OSError):  # a machine that does not tell is taken for one that has been up all the time
        return BOOT_ID.read_text().strip()
    return ""


_BOOT = _boot()  # read before the walls are up, behind which there is no /proc
