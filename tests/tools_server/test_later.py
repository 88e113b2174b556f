"""What is to be done later is done at its time, for who set it, by the rules of then, and does not fail in silence."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest


async def pass_seconds(world: Any, seconds: float) -> None:
    """Let time go by, and what is due be done."""
    world.pass_seconds(seconds)
    async with world.gate.engines():
        clock = world.gate._engines["later"]
        await clock.tick()
        while clock.busy:
            await anyio.lowlevel.checkpoint()


async def test_a_deed_waits_for_its_time_and_is_then_done_for_who_set_it(world: Any) -> None:
    anna = {"person": "Anna", "role": "adult", "room": "Kitchen"}
    text = await world.said(
        "later.do", actor=anna, tool="timers.start", seconds=300, arguments={"seconds": 60}, text="start the egg timer"
    )
    assert text == "In 5 minutes: start the egg timer."
    assert await world.said("later.list") == "In 5 minutes: start the egg timer."
    await pass_seconds(world, 299)
    assert await world.said("timers.list") == "There are no timers."
    await pass_seconds(world, 1)
    timers = (await world.ok("timers.list")).data["timers"]
    assert [(timer["room"], timer["seconds"]) for timer in timers] == [("Kitchen", 60)]
    assert await world.said("later.list") == "Nothing is to be done later."
    [row] = [row for row in world.record if row["tool"] == "timers.start"]
    assert (row["actor"]["person"], row["route"], row["outcome"]) == ("Anna", "later", "ok")
    assert row["turn"].startswith("later_")


async def test_a_time_may_be_said_in_words(world: Any) -> None:
    text = await world.said("later.do", tool="tasks.add", when="tomorrow at ten", arguments={"title": "Buy milk"})
    assert text == "Tomorrow at 10 AM: tasks add: Buy milk."
    for when in ("", "every ten minutes", "blue"):
        assert (
            await world.refused("later.do", tool="tasks.add", when=when, arguments={"title": "x"})
        ).error == "invalid"


async def test_it_is_cancelled_by_its_words_and_the_cancelling_taken_back(world: Any) -> None:
    for title in ("milk", "bread"):
        await world.ok("later.do", tool="tasks.add", seconds=60, arguments={"title": title}, text=f"buy {title}")
    assert (await world.refused("later.cancel")).text.startswith("Which one")
    cancelled = await world.ok("later.cancel", about="bread")
    assert cancelled.text == "That will not be done: buy bread."
    await world.ok("history.undo", receipt=cancelled.receipt.id)
    await world.ok("later.cancel", about="milk")
    assert await world.said("later.list") == "In 1 minute: buy bread."


async def test_a_guest_cancels_no_deed_of_the_household_and_leaves_room_for_its_own(world: Any) -> None:
    guest = {"role": "guest", "device": "phone of a guest"}
    start: dict[str, Any] = {"tool": "timers.start", "seconds": 60, "arguments": {"seconds": 60}}
    await world.ok("later.do", text="start the egg timer", **start)
    refused = await world.refused("later.cancel", actor=guest, about="egg")
    assert (refused.error, refused.text) == ("not_found", "Nothing is to be done later."), "what waits is private"
    assert await world.said("later.list", actor=guest) == "Nothing is to be done later."
    for number in range(10):
        await world.ok("later.do", actor=guest, text=f"start number {number}", **start)
    refused = await world.refused("later.do", actor=guest, text="start one more", **start)
    assert refused.text == "Guests already have 10 things to do later. Cancel some of them first."
    assert {deed["text"][:12] for deed in (await world.ok("later.list", actor=guest)).data["deeds"]} == {"start number"}
    assert len((await world.ok("later.list")).data["deeds"]) == 11
    await world.ok("later.cancel", actor=guest, about="number 3")
    await world.ok("later.cancel", about="number 4")


async def test_what_needs_a_yes_cannot_wait_and_nor_can_what_may_not_be_done(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    refused = await world.refused("later.do", tool="tasks.remove", seconds=60, arguments={"title": "Buy milk"})
    assert (refused.error, refused.text) == ("denied", "That needs a yes; ask me when it is time.")
    unlock = await world.refused("later.do", tool="home.unlock", seconds=60, arguments={"device": "door"})
    assert unlock.text == "That needs a yes; ask me when it is time."
    guest = {"role": "guest"}
    denied = await world.refused("later.do", actor=guest, tool="tasks.add", seconds=60, arguments={"title": "x"})
    assert (denied.error, denied.text) == ("denied", "Guests can't change the household's lists.")
    for tool in ("clock.time", "later.do", "timers.announced"):
        assert (await world.refused("later.do", tool=tool, seconds=60)).error == "invalid"
    wrong = await world.refused("later.do", tool="tasks.add", seconds=60, arguments={"colour": "red"})
    assert wrong.error == "invalid"
    assert await world.said("later.list") == "Nothing is to be done later."


async def test_a_deed_that_fails_is_told_where_it_was_set(world: Any) -> None:
    await world.ok("timers.start", seconds=600, name="pizza")
    kitchen = {"role": "adult", "room": "Kitchen", "device": "speaker"}
    await world.ok(
        "later.do", actor=kitchen, tool="timers.pause", seconds=60, arguments={"name": "pizza"}, text="pause the pizza"
    )
    await world.ok("timers.cancel", name="pizza")
    await pass_seconds(world, 60)
    [due] = (await world.ok("later.due", agent="house")).data["due"]
    assert due["text"].startswith("This was to be done, and was not: pause the pizza. ")
    assert (due["room"], due["device"]) == ("Kitchen", "speaker")
    await pass_seconds(world, 60)
    assert len((await world.ok("later.due", agent="house")).data["due"]) == 1  # and is not tried again
    await world.ok("later.announced", agent="house", ids=[due["id"]])
    assert (await world.ok("later.due", agent="house")).data["due"] == []


async def test_what_a_restart_interrupts_is_done_after_it_unless_twice_would_be_wrong_or_it_is_too_late(
    world: Any, reopened: Any
) -> None:
    state = world.gate._state
    await world.ok("timers.start", seconds=9000, name="pizza")
    for tool, name, seconds in (("timers.pause", "pizza", 60), ("timers.start", "egg", 60), ("tasks.add", "late", 5)):
        arguments = {"title": name} if tool == "tasks.add" else {"name": name}
        arguments |= {"seconds": 90} if tool == "timers.start" else {}
        await world.ok("later.do", tool=tool, seconds=seconds, arguments=arguments, text=name)
    state.run("UPDATE later SET begun_at = 1.0 WHERE text != 'late'")
    with reopened(world.clock[0] + 3604) as again:
        await pass_seconds(again, 2)
        timers = {timer["name"]: timer["state"] for timer in (await again.ok("timers.list")).data["timers"]}
        assert timers == {"pizza": "paused"}
        texts = sorted(due["text"] for due in (await again.ok("later.due", agent="house")).data["due"])
    assert texts == [
        "I was interrupted, so I don't know whether this was done: egg.",
        "I was not there when it was time, so this was not done: late.",
    ]


async def test_the_rules_of_the_moment_decide_and_not_those_of_the_day_it_was_set(world: Any, reopened: Any) -> None:
    child = {"role": "child", "person": "Ben"}
    await world.ok("later.do", actor=child, tool="timers.start", seconds=60, arguments={"seconds": 90})
    agents = world.data / "agents.toml"
    agents.write_text(agents.read_text().replace('tools = ["*"]', 'tools = ["later.*"]'))
    world.gate._agents = {
        token: type(agent)(agent.name, ("later.*",), agent.roots, agent.roles, agent.acts_as)
        for token, agent in world.gate._agents.items()
    }
    await pass_seconds(world, 61)
    rows = world.gate._state.rows("SELECT failed FROM later")
    assert [row["failed"] for row in rows] == [
        "This was to be done, and was not: timers start. The family agent may not use timers.start."
    ]


@pytest.mark.parametrize("step", [3600, -3600, 7 * 86_400])
async def test_a_deed_in_five_minutes_is_done_in_five_minutes_however_the_clock_is_set(world: Any, step: int) -> None:
    await world.ok(
        "later.do", tool="timers.start", seconds=300, arguments={"seconds": 9000}, text="start the egg timer"
    )
    world.set_clock(step)
    assert await world.said("later.list") == "In 5 minutes: start the egg timer."
    await pass_seconds(world, 299)
    assert await world.said("timers.list") == "There are no timers."
    world.set_clock(-step)
    await pass_seconds(world, 1)
    assert "2 hours and 30 minutes" in await world.said("timers.list")
    assert (await world.ok("later.due", agent="house")).data["due"] == []


async def test_a_deed_in_five_minutes_that_is_put_back_after_the_clock_was_set_is_done_in_its_time(world: Any) -> None:
    await world.ok(
        "later.do", tool="timers.start", seconds=300, arguments={"seconds": 9000}, text="start the egg timer"
    )
    await world.ok("later.cancel")
    world.set_clock(3600)
    await world.ok("history.undo")
    assert await world.said("later.list") == "In 5 minutes: start the egg timer."


async def test_a_deed_is_taken_back_and_wanted_again_also_after_the_clock_was_set(world: Any) -> None:
    await world.ok(
        "later.do", tool="timers.start", seconds=300, arguments={"seconds": 9000}, text="start the egg timer"
    )
    world.set_clock(3600)
    undone = await world.ok("history.undo")
    assert await world.said("later.list") == "Nothing is to be done later."
    world.set_clock(3600)
    await world.ok("history.undo", receipt=undone.receipt.id)
    assert await world.said("later.list") == "In 5 minutes: start the egg timer."


async def test_a_deed_at_a_time_goes_by_the_clock_of_the_wall(world: Any) -> None:
    text = "start the egg timer"
    await world.ok("later.do", tool="timers.start", when="at ten", arguments={"seconds": 9000}, text=text)
    world.set_clock(1800)
    assert await world.said("later.list") == "In 30 minutes: start the egg timer."


async def test_a_step_of_the_clock_before_a_start_of_the_machine_is_not_forgotten(world: Any, reopened: Any) -> None:
    await world.ok("later.do", tool="timers.start", seconds=7200, arguments={"seconds": 90}, text="start the egg timer")
    world.set_clock(3600)
    await pass_seconds(world, 60)
    with reopened(world.clock[0] + 60, "second") as again:
        assert await again.said("later.list") == "In 1 hour and 58 minutes: start the egg timer."


async def test_a_deed_by_a_rule_is_done_each_time_until_it_is_cancelled(world: Any) -> None:
    start = {"tool": "timers.start", "arguments": {"seconds": 60}, "text": "start the egg timer"}
    assert await world.said("later.do", when="every hour", **start) == "Every hour: start the egg timer."
    for _ in range(3):
        await pass_seconds(world, 3600)
        assert len((await world.ok("timers.list")).data["timers"]) == 1
        await world.ok("timers.cancel_all")
    assert await world.said("later.list") == "Every hour: start the egg timer."
    assert (await world.ok("later.list")).data["deeds"][0]["rule"] == "FREQ=HOURLY"
    cancelled = await world.ok("later.cancel", about="egg")
    await world.ok("history.undo", receipt=cancelled.receipt.id)
    assert await world.said("later.list") == "Every hour: start the egg timer."
    await world.ok("later.cancel")
    await pass_seconds(world, 7200)
    assert await world.said("timers.list") == "There are no timers."


async def test_a_deed_by_a_rule_is_taken_back_also_after_it_was_done(world: Any) -> None:
    start = {"tool": "timers.start", "arguments": {"seconds": 60}, "text": "start the egg timer"}
    set_up = await world.ok("later.do", when="every hour", **start)
    await pass_seconds(world, 3600)
    await world.ok("history.undo", receipt=set_up.receipt.id)
    assert await world.said("later.list") == "Nothing is to be done later."


async def test_each_time_of_a_rule_the_rules_of_the_moment_decide_and_the_next_time_is_tried_again(world: Any) -> None:
    pause = {"tool": "timers.pause", "arguments": {"name": "pizza"}, "text": "pause the pizza"}
    await world.ok("later.do", when="every day at ten", **pause)
    [deed] = (await world.ok("later.list")).data["deeds"]
    await pass_seconds(world, deed["at"] - world.clock[0])
    [due] = (await world.ok("later.due", agent="house")).data["due"]
    assert due["text"].startswith("This was to be done, and was not: pause the pizza. ")
    await world.ok("later.announced", agent="house", ids=[due["id"]])
    assert await world.said("later.list") == "Every day at 10 AM: pause the pizza."
    await world.ok("timers.start", seconds=200_000, name="pizza")
    await pass_seconds(world, 86_400)
    assert (await world.ok("timers.list")).data["timers"][0]["state"] == "paused"
    assert (await world.ok("later.due", agent="house")).data["due"] == []


async def test_what_was_missed_while_the_house_was_off_is_told_once_and_done_the_next_time(
    world: Any, reopened: Any
) -> None:
    start = {"tool": "timers.start", "arguments": {"seconds": 60}, "text": "start the egg timer"}
    await world.ok("later.do", when="every day at ten", **start)
    with reopened(world.clock[0] + 5 * 86_400) as again:
        await pass_seconds(again, 1)
        [due] = (await again.ok("later.due", agent="house")).data["due"]
        assert due["text"] == "I was not there when it was time, so this was not done: start the egg timer."
        assert await again.said("later.list") == "Every day at 10 AM: start the egg timer."
        assert await again.said("timers.list") == "There are no timers."


async def test_a_deed_by_a_rule_goes_by_the_clock_of_the_wall(world: Any) -> None:
    await world.ok("later.do", when="every day at ten", tool="timers.start", arguments={"seconds": 90}, text="egg")
    at = (await world.ok("later.list")).data["deeds"][0]["at"]
    world.set_clock(1800)
    assert (await world.ok("later.list")).data["deeds"][0]["at"] == at


async def test_a_deed_at_the_end_of_a_timer_moves_with_it(world: Any) -> None:
    pause = {"tool": "tasks.add", "arguments": {"title": "Drain the pasta"}, "text": "note the pasta"}
    missing = await world.refused("later.do", timer="pasta", **pause)
    assert (missing.error, missing.text) == ("not_found", "There are no timers.")
    await world.ok("timers.start", seconds=600, name="pasta")
    assert await world.said("later.do", timer="pasta", **pause) == "In 10 minutes: note the pasta."
    await world.ok("timers.add", name="pasta", by_seconds=300)
    assert await world.said("later.list") == "In 15 minutes: note the pasta."
    await world.ok("timers.pause", name="pasta")
    await pass_seconds(world, 3000)
    assert await world.said("later.list") == "In 15 minutes: note the pasta."
    await world.ok("timers.resume", name="pasta")
    await pass_seconds(world, 899)
    assert await world.said("tasks.list") == "There are no tasks."
    await pass_seconds(world, 2)
    assert [task["title"] for task in (await world.ok("tasks.list")).data["tasks"]] == ["Drain the pasta"]


async def test_the_only_timer_need_not_be_named_and_of_two_it_is_asked_which(world: Any) -> None:
    await world.ok("timers.start", seconds=600)
    deed = {"tool": "tasks.add", "arguments": {"title": "Rest"}, "text": "rest"}
    assert await world.said("later.do", timer="timer", **deed) == "In 10 minutes: rest."
    await world.ok("timers.start", seconds=900, name="egg")
    assert (await world.refused("later.do", timer="timer", **deed)).error == "invalid"


async def test_going_back_when_nothing_was_changed_is_refused(world: Any) -> None:
    refused = await world.refused("later.do", tool="history.undo", seconds=60)
    assert refused.text == "Nothing was changed, so nothing is put back then."


@pytest.mark.real
async def test_a_deed_outlives_the_process_that_took_it(data: Path, wire: Any, house: Any) -> None:
    socket = data / "tools.sock"
    async with wire.process(data, "--socket", str(socket)) as (process, _):
        async with wire.client(socket, "owner-token") as client:
            arguments = {"tool": "timers.start", "seconds": 2, "arguments": {"seconds": 500, "name": "egg"}}
            taken = await client.call_tool("later_do", arguments)
            assert not taken.is_error, taken
        process.send_signal(signal.SIGKILL)
        await process.wait()
    async with wire.process(data, "--socket", str(socket)), wire.client(socket, "owner-token") as client:
        with anyio.fail_after(30):
            while "egg" not in json.dumps((await client.call_tool("timers_list", {})).structured_content):
                await anyio.lowlevel.checkpoint()
