"""The processes that a benchmark starts: they end with it, also when it is ended by SIGTERM or by kill -9."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from atlas.cli.tether import tethered

GRACE_SECONDS = 10.0  # from the polite signal to the last one: a house takes five at most


@asynccontextmanager
async def started(module: str, options: Sequence[str] = (), **given: Any) -> AsyncIterator[Process]:
    """Run `python -m module` inside the block; `given` goes on to `anyio.open_process`. Cancelling is safe."""
    process = await anyio.open_process(tethered(sys.executable, "-m", module, *options), **given)
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(GRACE_SECONDS):
                if process.returncode is None:
                    process.terminate()
                await process.wait()
            if process.returncode is None:
                process.kill()
            await process.aclose()


def family_of(ancestor: int) -> dict[int, str]:
    """Return a process and all that live below it, with their command lines."""
    parents = living()
    family = {ancestor}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    return {pid: _command(pid) for pid in family}


def living() -> dict[int, int]:
    """Return every process of this machine that is not dead, and its parent."""
    results = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # it may end while it is looked at
            if entry.name.isdigit():
                state, parent = (entry / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[:2]
                if state != "Z":
                    results[int(entry.name)] = int(parent)
    return results


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
