"""What the gate costs: `tools/call` through it, beside a bare server of the official SDK in the same run."""

from __future__ import annotations

import hashlib
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from atlas.config import Config
from atlas_bench._process import started

WARM_UP = 50
CALLS = 500  # of each; taken in turns, so that whatever else the machine does hits all of them
TOKEN = "a token of the benchmark"
AGENTS = '[bench]\ntoken_sha256 = "{token}"\ntools = ["*"]\nacts_as = "owner"\n'
START_SECONDS = 60.0

# A read through identify, decide, run and record may cost half as much again as no guard at all.
TARGETS = {"read_median_ratio": 1.5}


async def measure(config: Config) -> Mapping[str, float]:
    """Return milliseconds: medians and 99th percentiles of a read through each server, and of a change (fsynced)."""
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        # The rules as the house has them, without the limits that a benchmark is meant to run into.
        data = Path(folder)
        rules = config.tools.policy.read_text(encoding="utf-8").split("# ── how much")[0]
        (data / "policy.toml").write_text(rules, encoding="utf-8")
        (data / "agents.toml").write_text(AGENTS.format(token=hashlib.sha256(TOKEN.encode()).hexdigest()))
        gate = ["--data", folder, "--policy", f"{data}/policy.toml"]
        gate += ["--agents", f"{data}/agents.toml", "--socket", f"{data}/gate.sock"]
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(_server("tools_server.server", gate, data / "gate.sock"))
            await stack.enter_async_context(
                _server("atlas_bench._bare_server", [f"{data}/bare.sock"], data / "bare.sock")
            )
            guarded = await stack.enter_async_context(_client(data / "gate.sock"))
            bare = await stack.enter_async_context(_client(data / "bare.sock"))
            return await _compare(
                {
                    "bare": lambda: bare.call_tool("clock_time", {}),
                    "read": lambda: guarded.call_tool("clock_time", {}),
                    "change": lambda: guarded.call_tool("timers_pause", {}),
                },
                lambda: guarded.call_tool("timers_start", {"seconds": 86_400}),
                lambda: guarded.call_tool("timers_resume", {}),
            )


async def _compare(
    calls: Mapping[str, Callable[[], Awaitable[Any]]],
    before: Callable[[], Awaitable[Any]],
    after: Callable[[], Awaitable[Any]],
) -> dict[str, float]:
    await before()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(WARM_UP + CALLS):
        for name, call in calls.items():
            began = time.perf_counter()
            answer = await call()
            if number >= WARM_UP:
                taken[name].append((time.perf_counter() - began) * 1000)
            assert not answer.is_error, answer.content[0].text
        await after()
    figures: dict[str, float] = {}
    for name, milliseconds in taken.items():
        figures[f"{name}_median_ms"] = round(statistics.median(milliseconds), 2)
        figures[f"{name}_p99_ms"] = round(statistics.quantiles(milliseconds, n=100)[98], 2)
    figures["read_median_ratio"] = round(figures["read_median_ms"] / figures["bare_median_ms"], 2)
    return figures


@asynccontextmanager
async def _server(module: str, options: list[str], socket: Path) -> AsyncIterator[None]:
    async with started(module, options, stdin=None, stderr=DEVNULL):
        with anyio.fail_after(START_SECONDS):
            await _listening(socket)
        yield


async def _listening(socket: Path) -> None:
    while True:
        try:
            await (await anyio.connect_unix(socket)).aclose()
        except OSError:
            await anyio.sleep(0.05)  # still starting
        else:
            return


@asynccontextmanager
async def _client(socket: Path) -> AsyncIterator[Client]:
    transport = httpx2.AsyncHTTPTransport(uds=str(socket))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, trust_env=False) as http,
        Client(streamable_http_client("http://tools/mcp", http_client=http), mode="2026-07-28", cache=None) as client,
    ):
        yield client


if __name__ == "__main__":
    from atlas.config import load

    print(anyio.run(measure, load(os.environ)))
