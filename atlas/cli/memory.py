"""How much memory the running house takes: every process of it, counted once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atlas.cli.lock import running_process
from atlas.config import Config
from atlas.errors import ConfigError

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """One process. `pss` counts a page that n processes share as 1/n; `rss` counts it whole. Bytes."""

    pid: int
    name: str
    pss: int
    rss: int


def show(config: Config, *, as_json: bool) -> int:
    """Print a line per process and the sum. Raises `ConfigError` when Atlas does not run."""
    rows = house(config)
    total = sum(row.pss for row in rows)
    if as_json:
        processes = [{"pid": row.pid, "name": row.name, "pss": row.pss, "rss": row.rss} for row in rows]
        print(json.dumps({"pss_bytes": total, "processes": processes}))
        return 0
    for row in rows:
        print(f"{row.pss / 1e6:8.0f} MB  {row.name}  (process {row.pid}, resident {row.rss / 1e6:.0f} MB)")
    print(f"{total / 1e6:8.0f} MB  together")
    return 0


def house(config: Config) -> list[ProcessMemory]:
    """Return what each process of the running house takes. Raises `ConfigError` when Atlas does not run."""
    pid = running_process(config)
    if pid is None:
        raise ConfigError(f"Atlas does not run on {config.data}", hint="start it with ./up")
    return [taken for taken in map(_taken, family(pid)) if taken]


def family(pid: int) -> Iterator[int]:
    """Yield a process and everything it started, and what that started."""
    yield pid
    for task in (PROC / str(pid) / "task").glob("*/children"):
        try:
            children = task.read_text(encoding="ascii").split()
        except OSError:
            continue  # it ended while we looked
        for child in children:
            yield from family(int(child))


def _taken(pid: int) -> ProcessMemory | None:
    try:
        rollup = (PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii")
        words = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in rollup.splitlines()[1:]}
    # Python's own name tells nothing: the module after -m, or the script, does.
    texts = [word.decode("utf-8", "replace") for word in words]
    name = texts[texts.index("-m") + 1] if "-m" in texts[:-1] else " ".join(texts[1:3]).replace(str(Path.cwd()), ".")
    return ProcessMemory(pid, name, sizes.get("Pss", 0), sizes.get("Rss", 0))
