"""The processes that a benchmark starts: they end with it, also when it is ended by SIGTERM or by kill -9."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
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
