"""A running house to measure: the one that runs already, else one of its own that ends with the measurement."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2

from atlas.cli import door
from atlas.cli.lock import running_process
from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import EngineError
from bench._process import started

START_SECONDS = 120.0


@asynccontextmanager
async def running_house(config: Config) -> AsyncIterator[Config]:
    """Yield the settings by which a house can be reached. Its own gets an empty data directory and a free port."""
    if running_process(config) is not None:
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as data:
        async with own_house(config, Path(data)) as (own_config, _):
            yield own_config


@asynccontextmanager
async def own_house(config: Config, data: Path) -> AsyncIterator[tuple[Config, int]]:
    """Run a house on a data directory inside the block; yield its settings and the id of its first process."""
    environment = {**os.environ, "ATLAS_DATA": str(data), "ATLAS_GATEWAY_PORT": str(_free_port())}
    own_config = load_config(environment, config.file)
    with (data / "log").open("wb") as log:
        async with started("atlas.cli.main", ["run"], env=environment, stdout=log, stderr=log) as process:
            await _until_healthy(own_config, process)
            yield own_config, process.pid


async def _until_healthy(config: Config, process: anyio.abc.Process) -> None:
    with anyio.move_on_after(START_SECONDS):
        async with httpx2.AsyncClient(base_url=door.address(config), trust_env=False) as client:
            while process.returncode is None:
                try:
                    if (await client.get("/health")).status_code == httpx2.codes.OK:
                        return
                except httpx2.TransportError:
                    pass  # still warming up
                await anyio.sleep(0.2)
    last = (config.data / "log").read_text(encoding="utf-8", errors="replace")[-500:]
    raise EngineError("the house did not start", hint=f"its last words: {last}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
