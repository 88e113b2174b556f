"""On a disk that is really full what must ring rings, nothing else is done, and what the record is owed comes later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.conftest import SmallDisk
from tools_server.gate.record import UNWRITABLE
from tools_server.gate.signed_head import AUDIT_FILE
from wall.chain import verify


@pytest.fixture
def world(small_disk: SmallDisk, house: Any, opened_in: Any) -> Iterator[Any]:
    with opened_in(small_disk.folder) as opened:
        yield opened


def rows(world: Any, tool: str) -> list[str]:
    return [row["outcome"] for row in world.record if row["tool"] == tool]


async def filled(world: Any, small_disk: SmallDisk) -> None:
    """Fill the disk, and then what is left of the record's last block."""
    small_disk.fill()
    for _ in range(20):
        if UNWRITABLE in (await world.refused("timers.start", seconds=60)).text:
            return
    raise AssertionError("the record still takes rows")


async def test_a_timer_rings_and_its_row_is_written_when_there_is_room(world: Any, small_disk: SmallDisk) -> None:
    await world.ok("timers.start", seconds=60, name="tea")
    await world.ok("alarms.set", when="in two minutes", name="up")
    await world.ok("reminders.add", text="feed the cat", when="in two minutes")
    await filled(world, small_disk)
    assert rows(world, "timers.start").count("ok") == 1
    world.pass_seconds(180)
    due = await world.ok("timers.due", "house")
    (timer,) = due.data["timers"]
    assert timer["name"] == "tea"
    for kind in ("alarms", "reminders"):
        assert len((await world.ok(f"{kind}.due", "house")).data["due"]) == 1
    assert UNWRITABLE in (await world.refused("timers.announced", "house", ids=[timer["id"]])).text
    assert UNWRITABLE in (await world.refused("clock.time")).text
    small_disk.empty()
    await world.ok("timers.announced", "house", ids=[timer["id"]])
    assert not (await world.ok("timers.due", "house")).data["timers"]
    assert rows(world, "timers.announced") == ["ok"]
    assert verify(small_disk.folder / AUDIT_FILE).problems == ()


async def test_looking_whether_something_rings_writes_what_is_owed_as_soon_as_there_is_room(
    world: Any, small_disk: SmallDisk
) -> None:
    await filled(world, small_disk)
    before = len(rows(world, "timers.start"))
    small_disk.empty()
    await world.ok("timers.due", "house")
    assert rows(world, "timers.start")[before:] == ["failed"]


async def test_who_has_no_business_with_the_bell_does_not_come_past_a_full_disk(
    world: Any, small_disk: SmallDisk
) -> None:
    await filled(world, small_disk)
    for _ in range(5):
        refused = await world.refused("timers.due", "guest")
        assert UNWRITABLE in refused.text


async def look(world: Any) -> None:
    """Let what waits for its time be done, as the tool server does every second."""
    async with world.gate.engines():
        clock = world.gate._engines["later"]
        await clock.tick()
        while clock.busy:
            await anyio.lowlevel.checkpoint()


async def test_a_deed_whose_time_comes_on_a_full_disk_ends_nothing_and_is_done_when_there_is_room(
    world: Any, small_disk: SmallDisk
) -> None:
    await world.ok("later.do", tool="timers.start", seconds=300, arguments={"seconds": 60}, text="start it")
    await filled(world, small_disk)
    world.pass_seconds(300)
    for _ in range(3):
        await look(world)
    small_disk.empty()
    await look(world)
    assert len((await world.ok("timers.list")).data["timers"]) == 1
    await look(world)
    assert await world.said("later.list") == "Nothing is to be done later."
    assert rows(world, "timers.start")[-1] == "ok"


async def test_a_deed_that_filled_the_disk_is_not_done_again_to_write_down_that_it_was(
    world: Any, small_disk: SmallDisk
) -> None:
    await world.ok("later.do", tool="timers.start", seconds=300, arguments={"seconds": 60}, text="start it")
    spec, runs = world.gate._tools["timers.start"], []

    async def fills(call: Any, **arguments: Any) -> Any:
        runs.append(arguments)
        result = await spec.run(call, **arguments)
        small_disk.fill()
        return result

    world.gate._tools = {**world.gate._tools, "timers.start": replace(spec, run=fills)}
    world.pass_seconds(300)
    async with world.gate.engines():
        clock = world.gate._engines["later"]
        for number in range(4):
            if number == 3:
                small_disk.empty()
            await clock.tick()
    assert len(runs) == 1
    assert len((await world.ok("timers.list")).data["timers"]) == 1
    assert await world.said("later.list") == "Nothing is to be done later."


@pytest.mark.real
def test_a_tool_server_that_starts_on_a_full_disk_says_so(data: Path, small_disk: SmallDisk, wire: Any) -> None:
    import subprocess
    import sys

    agents = wire.write_agents(data)
    small_disk.fill()
    command = [sys.executable, "-m", "tools_server.server", "--data", str(small_disk.folder), "--port", "0"]
    ended = subprocess.run(
        [*command, "--policy", str(wire.policy), "--agents", str(agents)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "The tool server cannot start. The disk of" in ended.stderr
    assert "is full" in ended.stderr
