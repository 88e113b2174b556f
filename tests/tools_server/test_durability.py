"""Whatever was acknowledged is there after kill -9, at whatever moment it comes."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from tools_server.audit import verify

pytestmark = pytest.mark.real
KILLS = 6
GONE = (MCPError, httpx2.HTTPError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError)


async def kill(process: Any, late: float) -> None:
    """Kill in the middle of one of the next calls: which, and where in it, is left to chance."""
    await anyio.sleep(late)
    process.send_signal(signal.SIGKILL)


@pytest.mark.timeout(240)
async def test_nothing_acknowledged_is_lost_and_nothing_is_half_written(data: Path, wire: Any) -> None:
    path, chance = data / "tools.sock", random.Random(7)
    timers: set[str] = set()
    tasks: set[str] = set()
    receipts: set[str] = set()
    number = 0
    for _ in range(KILLS):
        last, late = number + chance.randint(4, 14), chance.random() * 0.03
        async with wire.process(data, "--socket", str(path)) as (process, _), anyio.create_task_group() as group:
            try:
                async with wire.client(path, "owner-token") as client:
                    while True:
                        number += 1
                        if number == last:
                            group.start_soon(kill, process, late)
                        name, title = f"name {number}", f"Task {number}"
                        timer = await client.call_tool("timers.start", {"seconds": 86_400, "name": name})
                        timers.add(name)
                        task = await client.call_tool("tasks.add", {"title": title})
                        tasks.add(title)
                        moved = await client.call_tool("tasks.done", {"title": title})
                        for answer in (timer, task, moved):
                            assert not answer.is_error, answer.content[0].text
                            receipts.add(answer.meta["atlas.house/receipt"]["id"])
                        if number % 3 == 0:
                            await client.call_tool("timers.cancel", {"name": name})
                            timers.discard(name)
            except* GONE:
                pass
    async with wire.process(data, "--socket", str(path)), wire.client(path, "owner-token") as client:
        kept = {timer["name"] for timer in (await client.call_tool("timers.list", {})).structured_content["timers"]}
        assert timers <= kept
        board = (await client.call_tool("tasks.list", {"column": "done"})).structured_content
        todo = (await client.call_tool("tasks.list", {})).structured_content
        assert board["problems"] == []
        assert tasks <= {task["title"] for task in (*board["tasks"], *todo["tasks"])}
    assert len(tasks) > KILLS
    assert verify(data / "audit.jsonl").problems == ()
    recorded = {json.loads(line)["receipt"] for line in (data / "audit.jsonl").read_text().splitlines()}
    assert receipts <= recorded
