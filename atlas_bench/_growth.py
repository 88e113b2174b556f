"""What processes hold now, and whether that grows: the middle one of the slopes between any two looks."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

Sample = Mapping[str, float]  # one look: "seconds" since the first, and figures


def held(pids: Iterable[int]) -> dict[str, float]:
    """Return the memory, sockets, open files and threads of all these processes; one that has ended holds nothing."""
    total = {"mb": 0.0, "sockets": 0.0, "files": 0.0, "threads": 0.0}
    for pid in pids:
        with suppress(OSError):  # a room's player ends while it is looked at
            memory = proportional_bytes(pid)
            links, threads = _links(pid), len(list(Path(f"/proc/{pid}/task").iterdir()))
            total["mb"] += memory / 1e6
            total["sockets"] += sum(link.startswith("socket:") for link in links)
            total["files"] += len(links)
            total["threads"] += threads
    return total | {"mb": round(total["mb"], 1)}


def proportional_bytes(pid: int) -> int:
    """Return the memory of a process, in which a page that n share counts for 1/n. Raises `OSError` if it has ended."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    return next((int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:")), 0)


def grown(samples: Sequence[Sample], name: str) -> float:
    """Return by how much a figure grew from the first look to the last, as Theil and Sen have it.

    What goes up and down, and one look at the wrong moment, change it little; a leak does.
    """
    points = [(sample["seconds"], sample[name]) for sample in samples if name in sample]
    slopes = [(later[1] - one[1]) / (later[0] - one[0]) for one, later in combinations(points, 2)]
    return round(statistics.median(slopes) * (points[-1][0] - points[0][0]), 1) if slopes else 0.0


def _links(pid: int) -> Sequence[str]:
    links = []
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it may be closed while it is looked at
            links.append(os.readlink(file))  # noqa: PTH115
    return links
