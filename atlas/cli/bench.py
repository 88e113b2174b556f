"""`atlas bench NAME`: measures this machine; a file of `atlas_bench/` with `async def measure(config)` each.

One that has `options(parser)` is given what it was told as a second argument, and may have `targets(given)` for it.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import platform
import signal
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio

from atlas.config import load as load_config
from atlas.errors import ConfigError


def main(arguments: Sequence[str]) -> int:
    """Measure and print; with `--json` exactly one object. The status is 1 when a target was missed."""
    parser = argparse.ArgumentParser(prog="atlas bench", description=__doc__)
    parser.add_argument("name", nargs="?", help="which; without it, they are listed")
    parser.add_argument("--json", action="store_true", help="print one object")
    known = names()
    given, others = parser.parse_known_args(arguments)
    if given.name is None:
        for name in known:
            print(f"atlas bench {name:10} {(import_module(f'atlas_bench.{name}').__doc__ or '').splitlines()[0]}")
        return 0
    if given.name not in known:
        raise ConfigError(f"there is no benchmark {given.name!r}", hint=f"there are {', '.join(known)}")
    measured = import_module(f"atlas_bench.{given.name}")
    options = getattr(measured, "options", None)
    if options:
        options(parser)
    if options or others:
        given = parser.parse_args(arguments)
    messages = (given,) if options else ()
    # Told to end, it ends what it started and takes its folders away, as at Ctrl-C, which a shell has background jobs
    # ignore.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    figures: dict[str, float] = anyio.run(measured.measure, load_config(os.environ), *messages)
    targets = measured.targets(given) if hasattr(measured, "targets") else measured.TARGETS
    report = judged(given.name, figures, targets)
    print(json.dumps(report) if given.json else table(report))
    return 0 if report["met"] else 1


def names() -> tuple[str, ...]:
    """Return the benchmarks there are."""
    import atlas_bench

    return tuple(
        module.name for module in pkgutil.iter_modules(atlas_bench.__path__) if not module.name.startswith("_")
    )


def judged(name: str, figures: Mapping[str, float], targets: Mapping[str, float]) -> dict[str, Any]:
    """Return the report: a target is the most that its figure may be, and a figure that is missing misses it."""
    met = all(figure in figures and figures[figure] <= most for figure, most in targets.items())
    return {"bench": name, "machine": machine(), "figures": dict(figures), "targets": dict(targets), "met": met}


def machine() -> dict[str, Any]:
    """Return what was measured on, and how busy it was with other things."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_1m": round(os.getloadavg()[0], 2),
    }


def table(report: Mapping[str, Any]) -> str:
    """Return a report as a person reads it."""
    on = report["machine"]
    lines = [f"{report['bench']} on {on['cores']} cores of {on['processor']}, load {on['load_1m']}"]
    for name, value in report["figures"].items():
        most = report["targets"].get(name)
        verdict = "" if most is None else f"  {'within' if value <= most else 'BEYOND'} {most:g}"
        lines.append(f"  {name:38} {value:9.{1 if abs(value) >= 10 else 3}f}{verdict}")
    return "\n".join([*lines, "all targets met" if report["met"] else "a target was missed"])
