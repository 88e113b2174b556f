"""On a disk that is really full what must ring rings, nothing else is done, and what the record is owed comes later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SmallDisk
from tools_server.audit import AUDIT_FILE
from tools_server.record import UNWRITABLE
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
