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
from atlas_bench._process import started

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
async def own_house(config: Config, data: Path, more: str = "") -> AsyncIterator[tuple[Config, int]]:
    """Run a house on a data directory inside the block; yield its settings and the id of its first process.

    `more` is TOML behind the settings that there are; such a house serves https too, on this machine alone.
    """
    environment = {
        **os.environ,
        "ATLAS_DATA": str(data),
        "ATLAS_GATEWAY_PORT": str(free_port()),
        "ATLAS_GATEWAY_HTTPS_HOST": "127.0.0.1" if more else "",
        "ATLAS_GATEWAY_HTTPS_PORT": str(free_port()),
    }
    if more:
        environment["ATLAS_CONFIG"] = str(_settings_with(more, config, data))
        environment["ATLAS_MODELS_FOLDER"] = str(config.speech.models)
    own_config = load_config(environment, None if more else config.file)
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


def _settings_with(more: str, config: Config, data: Path) -> Path:
    """Write the settings that there are, and more, into a data directory, with the rules that lie beside them."""
    file, rules = data / "atlas.toml", config.file.parent / "policy.toml" if config.file else None
    file.write_text((config.file.read_text(encoding="utf-8") if config.file else "") + more, encoding="utf-8")
    if rules and rules.exists():
        (data / "policy.toml").write_bytes(rules.read_bytes())
    return file


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
