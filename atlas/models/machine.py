"""What this machine has for a model: its cards and their memory, its RAM, and how fast each can be read."""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from atlas.models.fit import MemoryPlace

QUERY_SECONDS = 10.0
PROBE_BYTES = 64 << 20  # a thread; far more than any cache
PROBE_ROUNDS = 3
MIB = 1024**2
GIGA = 1e9

# Bytes a second on the label, by what the driver calls the card; the longest name that fits counts.
BANDWIDTHS = {
    "GTX 1050": 112, "GTX 1060": 192, "GTX 1070": 256, "GTX 1080": 320, "GTX 1080 Ti": 484,
    "GTX 1650": 128, "GTX 1660": 192, "RTX 2060": 336, "RTX 2070": 448, "RTX 2080": 448, "RTX 2080 Ti": 616,
    "RTX 3050": 224, "RTX 3060": 360, "RTX 3060 Ti": 448, "RTX 3070": 448, "RTX 3080": 760, "RTX 3090": 936,
    "RTX 4060": 272, "RTX 4060 Ti": 288, "RTX 4070": 504, "RTX 4070 Ti": 504, "RTX 4070 Ti SUPER": 672,
    "RTX 4080": 717, "RTX 4080 SUPER": 736, "RTX 4090": 1008,
    "RTX 5060 Ti": 448, "RTX 5070": 672, "RTX 5070 Ti": 896, "RTX 5080": 960, "RTX 5090": 1792,
    "RTX A4000": 448, "RTX A5000": 768, "RTX A6000": 768, "RTX 6000 Ada": 960, "RTX PRO 6000": 1792,
    "Tesla P40": 347, "Tesla T4": 320, "L4": 300, "L40": 864, "A10": 600, "A100": 1935, "H100": 3350, "H200": 4800,
}  # fmt: skip


def gpus() -> list[MemoryPlace]:
    """Return NVIDIA's cards as their driver tells of them; none when there is no driver."""
    command = ["nvidia-smi", "--query-gpu=name,memory.free", "--format=csv,noheader,nounits"]
    try:
        message = subprocess.run(command, capture_output=True, text=True, timeout=QUERY_SECONDS, check=True).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return []
    cards = []
    for line in message.splitlines():
        name, _, free = line.rpartition(",")
        if name and free.strip().isdecimal():
            cards.append(MemoryPlace(name.strip(), int(free) * MIB, bandwidth(name.strip())))
    return cards


def bandwidth(card: str) -> float:
    """Return a card's bytes a second; 0 for one that is not known here."""
    fitting = [name for name in BANDWIDTHS if f" {name.casefold()} " in f" {card.casefold()} "]
    return BANDWIDTHS[max(fitting, key=len)] * GIGA if fitting else 0.0


def ram(*, measured: bool = True) -> MemoryPlace:
    """Return the RAM that is available, and how fast every core together reads it (about a second to measure)."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    return MemoryPlace("RAM", available, _measured() if measured else 0.0)


def _measured() -> float:
    cores = len(os.sched_getaffinity(0))
    blocks = [np.ones(PROBE_BYTES // 8, dtype=np.float64) for _ in range(cores)]
    with ThreadPoolExecutor(cores) as threads:
        list(threads.map(np.sum, blocks))
        began = time.perf_counter()
        for _ in range(PROBE_ROUNDS):
            list(threads.map(np.sum, blocks))
    return PROBE_ROUNDS * cores * PROBE_BYTES / (time.perf_counter() - began)
