"""Timers as people use them: named or not, in several rooms, over restarts and clocks that jump."""

from __future__ import annotations

from typing import Any

import pytest

KITCHEN = {"person": "Anna", "device": "kitchen-satellite", "role": "adult", "room": "kitchen"}
BEDROOM = {"person": "Tom", "device": "bedroom-satellite", "role": "adult", "room": "bedroom"}


async def test_a_timer_is_set_and_says_how_long_it_has_left(world: Any) -> None:
    assert await world.said("timers.start", seconds=600) == "Timer set for 10 minutes."
    world.pass_seconds(6)
    assert await world.said("timers.left") == "Your 10 minute timer has 9 minutes and 54 seconds left."


async def test_a_named_timer_is_called_by_its_name(world: Any) -> None:
    assert await world.said("timers.start", seconds=300, name="pizza") == "Pizza timer set for 5 minutes."
    assert await world.said("timers.left", name="pizza") == "Your pizza timer has 5 minutes left."


async def test_a_word_of_a_name_calls_the_only_timer_that_has_it(world: Any) -> None:
    await world.ok("timers.start", seconds=300, name="garlic bread")
    await world.ok("timers.start", seconds=600, name="pasta bake")
    assert await world.said("timers.cancel", name="bread") == "Garlic bread timer cancelled."
    await world.ok("timers.start", seconds=900, name="pasta sauce")
    assert "Garlic" not in await world.said("timers.left", name="sauce")
    assert (await world.refused("timers.cancel", name="pasta")).error == "not_found"  # of two nobody knows which


@pytest.mark.parametrize("name", ["Pizza", "my pizza timer", "the Pizza Timer", "  pizza  ", "pizzas"])
async def test_a_name_is_understood_however_it_is_said(world: Any, name: str) -> None:
    await world.ok("timers.start", seconds=300, name="pizza")
    await world.ok("timers.start", seconds=300, name="pasta")
    assert await world.said("timers.cancel", name=name) == "Pizza timer cancelled."


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "1 second"),
        (60, "1 minute"),
        (90, "1 minute and 30 seconds"),
        (5400, "1 hour and 30 minutes"),
        (90_061, "1 day, 1 hour, 1 minute and 1 second"),
        (604_800, "7 days"),
    ],
)
async def test_lengths_are_said_as_people_say_them(world: Any, seconds: int, text: str) -> None:
    assert await world.said("timers.start", seconds=seconds) == f"Timer set for {text}."


async def test_the_only_timer_needs_no_name(world: Any) -> None:
    await world.ok("timers.start", seconds=300, name="pizza")
    assert await world.said("timers.cancel") == "Pizza timer cancelled."
    assert await world.said("timers.list") == "There are no timers."


async def test_the_only_timer_is_known_by_what_it_is_for_though_it_was_set_without_a_name(world: Any) -> None:
    await world.ok("timers.start", seconds=720)
    assert (await world.ok("timers.left", name="noodles")).text == "Your 12 minute timer has 12 minutes left."
    await world.ok("timers.add", name="noodles", by_seconds=120)
    assert (await world.refused("timers.cancel", name="laundry")).error == "not_found"
    await world.ok("timers.start", seconds=300, name="egg")
    assert (await world.refused("timers.left", name="noodles")).error == "not_found"


async def test_several_timers_are_told_apart_by_their_original_length(world: Any) -> None:
    await world.ok("timers.start", seconds=300)
    await world.ok("timers.start", seconds=600)
    world.pass_seconds(60)
    assert await world.said("timers.left", seconds=600) == "Your 10 minute timer has 9 minutes left."
    assert await world.said("timers.cancel", seconds=300) == "5 minute timer cancelled."


async def test_this_rooms_timer_is_meant_when_each_room_has_one(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    await world.ok("timers.start", actor=BEDROOM, seconds=600)
    assert await world.said("timers.cancel", actor=BEDROOM) == "10 minute timer in the bedroom cancelled."
    assert await world.said("timers.cancel", actor=BEDROOM) == "10 minute timer cancelled."  # the only one left


async def test_a_room_that_was_said_wins_over_the_room_one_is_in(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    await world.ok("timers.start", actor=BEDROOM, seconds=600)
    answer = await world.ok("timers.cancel", actor=BEDROOM, room="Kitchen")
    assert answer.text == "10 minute timer in the kitchen cancelled."


async def test_when_several_could_be_meant_it_asks_which_and_does_nothing(world: Any) -> None:
    await world.ok("timers.start", seconds=300, name="pizza")
    await world.ok("timers.start", seconds=600)
    answer = await world.refused("timers.cancel")
    assert answer.text == "Which timer: the pizza timer or the 10 minute timer?"
    assert [timer["name"] for timer in answer.data["timers"]] == ["pizza", ""]
    assert len((await world.ok("timers.list")).data["timers"]) == 2
    second = answer.data["timers"][1]["id"]
    assert await world.said("timers.cancel", name=second) == "10 minute timer cancelled."


async def test_only_timers_that_were_named_can_be_meant(world: Any) -> None:
    for minutes in range(1, 8):
        await world.ok("timers.start", seconds=60 * minutes)
    answer = await world.refused("timers.cancel")
    assert answer.text.endswith("the 5 minute timer or one of 2 more?")
    assert (len(answer.data["timers"]), answer.data["more"]) == (5, 2)


async def test_two_of_a_kind_are_told_apart_by_what_they_have_left(world: Any) -> None:
    await world.ok("timers.start", seconds=600)
    world.pass_seconds(60)
    await world.ok("timers.start", seconds=600)
    answer = await world.refused("timers.pause", seconds=600)
    assert answer.text == (
        "Which timer: the 10 minute timer with 9 minutes left or the 10 minute timer with 10 minutes left?"
    )


async def test_a_timer_that_is_not_there_is_answered_with_those_that_are(world: Any) -> None:
    assert (await world.refused("timers.cancel")).text == "There are no timers."
    await world.ok("timers.start", seconds=480)
    await world.ok("timers.start", seconds=300, name="egg")
    answer = await world.refused("timers.cancel", name="laundry")
    assert answer.error == "not_found"
    assert answer.text == "There is no laundry timer. There is an egg timer and an 8 minute timer."


async def test_how_long_is_left_tells_of_all_when_none_was_named(world: Any) -> None:
    await world.ok("timers.start", seconds=300, name="pizza")
    await world.ok("timers.start", seconds=600)
    assert await world.said("timers.left") == (
        "There are 2 timers. Your pizza timer has 5 minutes left. Your 10 minute timer has 10 minutes left."
    )


async def test_the_id_of_a_timer_that_is_over_is_not_said(world: Any) -> None:
    gone = (await world.ok("timers.start", seconds=300)).data["timer"]["id"]
    await world.ok("timers.start", seconds=1200)
    await world.ok("timers.cancel", name=gone)
    answer = await world.refused("timers.pause", name=gone)
    assert answer.text == "That timer is over. There is a 20 minute timer."


async def test_a_paused_timer_stands_still(world: Any) -> None:
    await world.ok("timers.start", seconds=600)
    world.pass_seconds(60)
    assert await world.said("timers.pause") == "10 minute timer paused with 9 minutes left."
    world.pass_seconds(3600)
    assert await world.said("timers.left") == "Your 10 minute timer is paused with 9 minutes left."
    assert (await world.ok("timers.pause")).receipt is None  # it already was
    assert await world.said("timers.resume") == "10 minute timer resumed with 9 minutes left."
    world.pass_seconds(60)
    assert await world.said("timers.left") == "Your 10 minute timer has 8 minutes left."


async def test_resume_means_the_paused_one_of_several(world: Any) -> None:
    await world.ok("timers.start", seconds=600)
    await world.ok("timers.start", seconds=300, name="pizza")
    await world.ok("timers.pause", name="pizza")
    assert await world.said("timers.resume") == "Pizza timer resumed with 5 minutes left."


async def test_time_is_added_and_taken_off(world: Any) -> None:
    await world.ok("timers.start", seconds=600)
    assert await world.said("timers.add", by_seconds=60) == (
        "1 minute added to your 10 minute timer. It has 11 minutes left."
    )
    assert await world.said("timers.add", by_seconds=-120) == (
        "2 minutes taken off your 10 minute timer. It has 9 minutes left."
    )
    assert (await world.refused("timers.add", by_seconds=-600)).error == "invalid"
    assert (await world.refused("timers.add", by_seconds=0)).error == "invalid"
    assert await world.said("timers.left") == "Your 10 minute timer has 9 minutes left."


async def test_a_timer_is_set_to_another_length_from_now_and_back_by_an_undo(world: Any) -> None:
    await world.ok("timers.start", seconds=300)
    world.pass_seconds(60)
    assert await world.said("timers.add", seconds=300, to_seconds=480) == "Your 8 minute timer now has 8 minutes left."
    await world.ok("history.undo")
    assert await world.said("timers.left") == "Your 5 minute timer has 4 minutes left."


async def test_time_is_added_to_a_paused_timer_without_waking_it(world: Any) -> None:
    await world.ok("timers.start", seconds=600)
    await world.ok("timers.pause")
    await world.ok("timers.add", by_seconds=60)
    world.pass_seconds(1000)
    assert await world.said("timers.left") == "Your 10 minute timer is paused with 11 minutes left."


async def test_an_ended_timer_is_due_until_it_was_announced(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=60, name="egg")
    due = await world.ok("timers.due", "house")
    assert due.data["timers"] == []
    assert due.data["next_at"] == world.clock[0] + 60
    world.pass_seconds(60)
    due = await world.ok("timers.due", "house")
    (egg,) = due.data["timers"]
    assert (egg["name"], egg["room"], egg["device"], egg["late_seconds"]) == ("egg", "kitchen", "kitchen-satellite", 0)
    assert egg["text"] == "Your egg timer is done."
    assert len((await world.ok("timers.due", "house")).data["timers"]) == 1  # asking is not announcing
    await world.ok("timers.announced", "house", ids=[egg["id"]])
    assert (await world.ok("timers.due", "house")).data["timers"] == []
    assert (await world.ok("timers.announced", "house", ids=[egg["id"]])).receipt is None


async def test_a_timer_that_was_announced_is_remembered_for_an_hour(world: Any) -> None:
    await world.ok("timers.start", seconds=60, name="pizza")
    world.pass_seconds(60)
    (pizza,) = (await world.ok("timers.due", "house")).data["timers"]
    await world.ok("timers.announced", "house", ids=[pizza["id"]])
    world.pass_seconds(600)
    assert await world.said("timers.left", name="pizza") == "Your pizza timer ended 10 minutes ago."
    assert await world.said("timers.left") == "Your pizza timer ended 10 minutes ago."
    assert (await world.refused("timers.left", name="egg")).error == "not_found"
    assert (await world.refused("timers.cancel")).text == "There are no timers."
    world.pass_seconds(3600)
    assert (await world.refused("timers.left", name="pizza")).error == "not_found"


async def test_a_timer_that_still_runs_cannot_be_announced_away(world: Any) -> None:
    answer = await world.ok("timers.start", seconds=60)
    await world.ok("timers.announced", "house", ids=[answer.data["timer"]["id"]])
    assert await world.said("timers.left") == "Your 1 minute timer has 1 minute left."


async def test_a_ringing_timer_can_be_cancelled_but_not_paused(world: Any) -> None:
    await world.ok("timers.start", seconds=60)
    world.pass_seconds(200)
    assert (await world.refused("timers.pause")).text.startswith("Your 1 minute timer ended 2 minutes ago.")
    assert await world.said("timers.cancel") == "Your 1 minute timer ended 2 minutes ago."
    assert (await world.ok("timers.due", "house")).data["timers"] == []


async def _rings(world: Any) -> None:
    ended = [timer["id"] for timer in (await world.ok("timers.due", "house")).data["timers"]]
    await world.ok("timers.announced", "house", ids=ended, ringing=True)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("alarms.stop", {}),
        ("timers.cancel", {}),
        ("timers.cancel", {"seconds": 8}),
        ("timers.cancel", {"seconds": 8, "silence": True}),
        ("timers.cancel", {"seconds": 600, "silence": True}),  # it was set last, and is not what rings
    ],
)
async def test_a_stop_ends_the_timer_that_rings_and_no_other(world: Any, tool: str, arguments: dict[str, Any]) -> None:
    for seconds in (8, 300, 600):
        await world.ok("timers.start", actor=KITCHEN, seconds=seconds)
    world.pass_seconds(9)
    await _rings(world)
    assert await world.said(tool, actor=KITCHEN, **arguments) == "8 second timer stopped."
    due = (await world.ok("timers.due", "house")).data
    assert (due["timers"], due["ringing"]) == ([], [])
    assert [timer["seconds"] for timer in due["waiting"]] == [300, 600]


async def test_a_stop_tells_of_a_timer_that_has_just_ended_and_rings_no_more(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=8)
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    world.pass_seconds(9)
    assert await world.said("alarms.stop", actor=KITCHEN) == "Your 8 second timer is done."
    assert await world.said("timers.cancel", actor=KITCHEN, seconds=8) == "Your 8 second timer is done."
    assert (await world.ok("timers.due", "house")).data["timers"] == [], "it has been told"


@pytest.mark.parametrize("arguments", [{"seconds": 600}, {"seconds": 300}])
async def test_a_timer_that_is_named_is_cancelled_though_another_rings(world: Any, arguments: dict[str, Any]) -> None:
    for seconds in (8, 300, 600):
        await world.ok("timers.start", actor=KITCHEN, seconds=seconds)
    world.pass_seconds(9)
    await _rings(world)
    assert (await world.said("timers.cancel", actor=KITCHEN, **arguments)).endswith("minute timer cancelled.")
    assert [timer["seconds"] for timer in (await world.ok("timers.due", "house")).data["ringing"]] == [8]


async def test_a_timer_set_after_another_ended_is_what_a_stop_means(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=8)
    world.pass_seconds(9)
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    said = await world.said("timers.cancel", actor=KITCHEN, seconds=600, silence=True)
    assert said == "10 minute timer cancelled."


async def test_a_stop_in_another_room_by_somebody_else_stops_no_timer(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=8)
    world.pass_seconds(9)
    await _rings(world)
    assert await world.said("alarms.stop", actor=BEDROOM) == "Nothing is ringing."
    assert len((await world.ok("timers.due", "house")).data["ringing"]) == 1


async def test_a_timer_that_ended_is_told_once_and_to_who_set_it(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=60, name="egg")
    world.pass_seconds(120)
    assert await world.said("timers.list", actor=BEDROOM) == "There are no timers."
    assert await world.said("timers.list", actor=KITCHEN) == "Your egg timer ended 1 minute ago."
    assert await world.said("timers.list", actor=KITCHEN) == "There are no timers."
    assert (await world.ok("timers.due", "house")).data["timers"] == []


async def test_a_timer_that_ended_long_ago_is_not_listed(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=60, name="egg")
    world.pass_seconds(2 * 86_400)
    assert await world.said("timers.list", actor=KITCHEN) == "There are no timers."


async def test_a_device_with_the_name_of_another_has_none_of_its_timers(world: Any) -> None:
    first, second = ({"device": "tablet", "device_id": id, "role": "adult"} for id in ("device_1", "device_2"))
    await world.ok("timers.start", actor=first, seconds=60, name="pills")
    world.pass_seconds(90)
    assert await world.said("timers.list", actor=second) == "There are no timers."
    assert (await world.ok("timers.due", "house")).data["timers"][0]["device"] == "device_1"
    assert "pills" in await world.said("timers.list", actor={**first, "device": "renamed"})


async def test_guests_leave_timers_for_the_household(world: Any) -> None:
    guest = {"device": "hall-satellite", "role": "guest", "room": "hall"}
    for number in range(10):
        await world.ok("timers.start", actor=guest, seconds=600 + number)
    refused = await world.refused("timers.start", actor=guest, seconds=60)
    assert refused.text == "Guests already have 10 timers. Cancel some of them first."
    assert await world.said("timers.start", actor=KITCHEN, seconds=60) == "Timer set for 1 minute."


GUEST = {"device": "phone of a guest", "role": "guest", "room": "kitchen"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("timers.cancel", {"name": "pizza"}),
        ("timers.cancel", {}),
        ("timers.pause", {"name": "pizza"}),
        ("timers.resume", {"name": "pizza"}),
        ("timers.add", {"name": "pizza", "by_seconds": -60}),
        ("timers.cancel_all", {}),
        ("timers.cancel_all", {"room": "kitchen"}),
    ],
)
async def test_a_guest_changes_no_timer_of_the_household(world: Any, tool: str, arguments: dict[str, Any]) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600, name="pizza")
    refused = await world.refused(tool, actor=GUEST, **arguments)
    assert (refused.error, refused.text) == ("denied", "Guests can only change what guests have set.")
    assert await world.said("timers.left", actor=KITCHEN) == "Your pizza timer has 10 minutes left."


async def test_a_guest_elsewhere_ends_no_timer_of_the_household_that_has_just_ended(world: Any) -> None:
    elsewhere = {"device": "phone of a guest", "role": "guest", "room": "hall"}
    await world.ok("timers.start", actor=KITCHEN, seconds=60, name="pizza")
    world.pass_seconds(61)
    for wanted in ({"name": "pizza"}, {"seconds": 60}):
        refused = await world.refused("timers.cancel", actor=elsewhere, **wanted)
        assert (refused.error, refused.text) == ("denied", "Guests can only change what guests have set.")
    assert [timer["name"] for timer in (await world.ok("timers.due", "house")).data["timers"]] == ["pizza"]


async def test_a_guest_changes_what_a_guest_has_set_and_so_does_the_household(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    await world.ok("timers.start", actor=GUEST, seconds=300)
    assert await world.said("timers.pause", actor=GUEST) == "5 minute timer paused with 5 minutes left."
    assert await world.said("timers.cancel_all", actor=GUEST) == "Timer cancelled."
    assert await world.said("timers.list", actor=GUEST) == "Your 10 minute timer has 10 minutes left."
    await world.ok("timers.start", actor=GUEST, seconds=300)
    assert await world.said("timers.cancel_all", actor=KITCHEN) == "Both timers cancelled."


async def test_nobody_alone_uses_up_the_timers_of_the_house(world: Any) -> None:
    for number in range(40):
        await world.ok("timers.start", actor=KITCHEN, seconds=600 + number)
    refused = await world.refused("timers.start", actor=KITCHEN, seconds=60)
    assert refused.text == "You already have 40 timers. Cancel some of them first."
    assert await world.said("timers.start", actor=BEDROOM, seconds=60) == "Timer set for 1 minute."


async def test_timers_survive_a_restart_and_those_that_ended_meanwhile_say_how_late_they_are(reopened: Any) -> None:
    with reopened(1_800_000_000.0) as before:
        await before.ok("timers.start", seconds=600, name="pizza")
        await before.ok("timers.start", seconds=7200, name="roast")
    with reopened(1_800_000_000.0 + 900) as after:
        (pizza,) = (await after.ok("timers.due", "house")).data["timers"]
        assert (pizza["name"], pizza["late_seconds"]) == ("pizza", 300)
        assert pizza["text"] == "Your pizza timer ended 5 minutes ago."
        assert await after.said("timers.left", name="roast") == "Your roast timer has 1 hour and 45 minutes left."


async def test_one_that_did_not_ring_when_it_ended_is_known_for_a_week(reopened: Any) -> None:
    with reopened(1_800_000_000.0) as before:
        await before.ok("timers.start", actor=KITCHEN, seconds=600, name="pizza")
        await before.ok("timers.start", actor=KITCHEN, seconds=890, name="tea")
    with reopened(1_800_000_000.0 + 900) as after:
        ids = [timer["id"] for timer in (await after.ok("timers.due", "house")).data["timers"]]
        await after.ok("timers.announced", "house", ids=ids)

        async def missed() -> list[tuple[str, float]]:
            timers = (await after.ok("timers.due", "house", missed=True)).data["missed"]
            return [(timer["name"], timer["ends_at"]) for timer in timers]

        assert await missed() == [("pizza", 1_800_000_600)], "ten seconds late is still now"
        assert await after.said("timers.list") == "There are no timers."
        after.pass_seconds(7 * 86_400)
        assert await missed() == []
        await after.ok("timers.start", seconds=1, name="egg")
        after.pass_seconds(1)
        (egg,) = (await after.ok("timers.due", "house")).data["timers"]
        await after.ok("timers.announced", "house", ids=[egg["id"]])
        assert [row["name"] for row in after.gate._state.rows("SELECT name FROM timers")] == ["egg"]


async def test_a_machine_that_starts_in_the_past_makes_no_timer_longer_than_it_was(world: Any, reopened: Any) -> None:
    await world.ok("timers.start", seconds=600)
    with reopened(world.clock[0] - 86_400, boot="second") as again:
        assert await again.said("timers.left") == "Your 10 minute timer has 10 minutes left."


async def test_a_clock_that_is_set_changes_nothing_about_timers_that_run(
    world: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    await world.ok("timers.start", seconds=600, name="pizza")
    for step in (86_400, -86_400, -86_400):
        world.set_clock(step)
        world.pass_seconds(60)
        assert (await world.ok("timers.due", "house")).data["timers"] == []
    assert await world.said("timers.left") == "Your pizza timer has 7 minutes left."
    world.pass_seconds(421)
    (pizza,) = (await world.ok("timers.due", "house")).data["timers"]
    assert pizza["late_seconds"] == 1
    assert "The clock was set forward by 86400 s" in capsys.readouterr().err


async def test_a_clock_that_was_set_while_the_tool_server_was_down_is_noticed(world: Any, reopened: Any) -> None:
    await world.ok("timers.start", seconds=600)
    world.pass_seconds(100)
    with reopened(world.clock[0]) as again:
        again.set_clock(7200)
        assert await again.said("timers.left") == "Your 10 minute timer has 8 minutes and 20 seconds left."


async def test_a_paused_timer_and_one_that_has_ended_stay_as_they_are_when_the_clock_is_set(world: Any) -> None:
    await world.ok("timers.start", seconds=600, name="pizza")
    await world.ok("timers.pause")
    await world.ok("timers.start", seconds=60, name="egg")
    world.pass_seconds(61)
    world.set_clock(-7200)
    (egg,) = (await world.ok("timers.due", "house")).data["timers"]
    assert (egg["name"], egg["late_seconds"]) == ("egg", 1)
    assert await world.said("timers.left", name="pizza") == "Your pizza timer is paused with 10 minutes left."


async def test_a_timer_rings_on_over_a_restart_until_somebody_stopped_it(world: Any, reopened: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=60, name="egg")
    world.pass_seconds(60)
    (egg,) = (await world.ok("timers.due", "house")).data["timers"]
    await world.ok("timers.announced", "house", ids=[egg["id"]], ringing=True)
    with reopened(world.clock[0] + 30) as again:
        due = (await again.ok("timers.due", "house")).data
        assert (due["timers"], [timer["name"] for timer in due["ringing"]]) == ([], ["egg"])
        await again.ok("timers.announced", "house", ids=[egg["id"]])
        assert (await again.ok("timers.due", "house")).data["ringing"] == []
        assert await again.said("timers.left", name="egg") == "Your egg timer ended 30 seconds ago."


async def test_while_the_machine_was_off_the_clock_of_the_wall_is_believed(world: Any, reopened: Any) -> None:
    await world.ok("timers.start", seconds=600)
    with reopened(world.clock[0] + 86_400, boot="second") as again:
        assert await again.said("timers.list") == "Your 10 minute timer ended 23 hours and 50 minutes ago."


async def test_cancel_all_cancels_all(world: Any) -> None:
    assert await world.said("timers.cancel_all") == "There are no timers to cancel."
    for seconds in (60, 120, 180):
        await world.ok("timers.start", seconds=seconds)
    assert await world.said("timers.cancel_all") == "All 3 timers cancelled."
    assert await world.said("timers.list") == "There are no timers."


async def test_every_change_has_a_receipt_with_enough_to_undo_it(world: Any) -> None:
    import json

    started = await world.ok("timers.start", actor=KITCHEN, seconds=600)
    cancelled = await world.ok("timers.cancel")
    rows = world.gate._state.rows("SELECT * FROM receipts ORDER BY rowid")
    assert [row["id"] for row in rows] == [started.receipt.id, cancelled.receipt.id]
    assert [row["changed"] for row in rows] == ["Timer set for 10 minutes.", "10 minute timer cancelled."]
    assert json.loads(rows[0]["before"]) is None
    assert json.loads(rows[0]["after"]) == json.loads(rows[1]["before"])
    assert json.loads(rows[0]["actor"]) == KITCHEN | {"device_id": ""}


async def test_there_is_an_end_to_how_many_timers_there_may_be(world: Any) -> None:
    for number in range(100):
        await world.ok("timers.start", actor={**KITCHEN, "person": f"Anna {number // 40}"}, seconds=60)
    refused = await world.refused("timers.start", actor=BEDROOM, seconds=60)
    assert refused.text == "There are already 100 timers. Cancel some of them first."


@pytest.mark.parametrize("name", ["'; DROP TABLE timers; --", "piz\x00za", "🍕", "../../etc", "{name}", "%s", "a" * 60])
async def test_odd_names_are_only_names(world: Any, name: str) -> None:
    await world.ok("timers.start", seconds=300, name=name)
    await world.ok("timers.start", seconds=60)
    await world.ok("timers.cancel", name=name)
    assert await world.said("timers.left") == "Your 1 minute timer has 1 minute left."


async def test_timers_of_one_name_are_told_apart_by_their_length(world: Any) -> None:
    await world.ok("timers.start", seconds=300, name="pizza")
    await world.ok("timers.start", seconds=600, name="pizza")
    assert (await world.refused("timers.cancel", name="pizza")).text == (
        "Which timer: the 5 minute pizza timer or the 10 minute pizza timer?"
    )
    assert await world.said("timers.cancel", name="pizza", seconds=600) == "10 minute pizza timer cancelled."
    assert await world.said("timers.cancel", name="pizza") == "Pizza timer cancelled."


async def test_a_long_list_is_summarised(world: Any) -> None:
    for number in range(1, 10):
        await world.ok("timers.start", seconds=60 * number)
    answer = await world.ok("timers.list")
    assert answer.text.startswith("There are 9 timers. Your 1 minute timer has 1 minute left.")
    assert answer.text.endswith("Your 5 minute timer has 5 minutes left. And 4 more.")
    assert len(answer.data["timers"]) == 9
    assert (await world.refused("timers.cancel")).text.endswith("the 5 minute timer or one of 4 more?")
    assert (await world.refused("timers.cancel", name="egg")).text.endswith("a 5 minute timer and 4 more.")


async def test_one_that_was_announced_is_remembered_while_others_run(world: Any) -> None:
    await world.ok("timers.start", seconds=60, name="pizza")
    await world.ok("timers.start", seconds=7200, name="roast")
    world.pass_seconds(60)
    (pizza,) = (await world.ok("timers.due", "house")).data["timers"]
    await world.ok("timers.announced", "house", ids=[pizza["id"]])
    world.pass_seconds(600)
    assert await world.said("timers.left", name="pizza") == "Your pizza timer ended 10 minutes ago."
    assert await world.said("timers.left") == "Your roast timer has 1 hour and 49 minutes left."


async def test_a_german_compound_names_the_timer_that_its_first_part_does(world: Any) -> None:
    await world.ok("timers.start", seconds=600, name="Nudel")
    assert await world.said("timers.pause", name="Nudeltimer") == "Nudel timer paused with 10 minutes left."


async def test_a_room_may_be_said_with_its_article(world: Any) -> None:
    await world.ok("timers.start", seconds=600, room="the kitchen")
    await world.ok("timers.start", seconds=600, room="study")
    assert await world.said("timers.cancel", room="the Kitchen") == "10 minute timer in the kitchen cancelled."


async def test_a_timer_that_has_just_rung_here_is_snoozed_and_one_of_another_room_is_not(world: Any) -> None:
    for actor, name in ((KITCHEN, "egg"), (BEDROOM, "tea")):
        await world.ok("timers.start", actor=actor, seconds=60, name=name)
    world.pass_seconds(60)
    ids = [timer["id"] for timer in (await world.ok("timers.due", "house")).data["timers"]]
    await world.ok("timers.announced", "house", ids=ids, ringing=True)
    world.pass_seconds(20)
    assert await world.said("alarms.snooze", actor=KITCHEN, minutes=5) == "Snoozed for 5 minutes."
    assert [timer["name"] for timer in (await world.ok("timers.due", "house")).data["ringing"]] == ["tea"]
    assert await world.said("timers.left", name="egg") == "Your egg timer has 5 minutes left."
    world.pass_seconds(300)
    assert [timer["name"] for timer in (await world.ok("timers.due", "house")).data["timers"]] == ["egg"]
    await world.ok("timers.announced", "house", ids=ids)
    world.pass_seconds(240)
    assert (await world.refused("alarms.snooze", actor=KITCHEN)).text == "Nothing is ringing."


async def test_a_timer_that_has_ended_and_was_not_announced_yet_is_snoozed_too(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=60, name="egg")
    world.pass_seconds(61)
    assert await world.said("alarms.snooze", actor=KITCHEN, minutes=5) == "Snoozed for 5 minutes."
    assert await world.said("timers.left", actor=KITCHEN, name="egg") == "Your egg timer has 5 minutes left."


async def test_a_page_of_another_language_is_answered_in_it_and_the_timer_rings_in_one_of_the_house(world):
    world.speak_aloud("en")
    world.language = "de"
    assert await world.said("timers.start", seconds=60, name="pizza") == "Pizza-Timer gestellt auf 1 Minute."
    world.pass_seconds(60)
    world.language = None
    due = (await world.ok("timers.due", "house")).data["timers"]
    assert (due[0]["language"], due[0]["text"]) == ("en", "Your pizza timer is done.")


async def test_snoozing_one_timer_right_after_the_clock_was_set_moves_no_other(world: Any) -> None:
    kitchen = {"device": "kitchen", "room": "kitchen", "role": "adult"}
    await world.ok("timers.start", actor=kitchen, seconds=60, name="egg")
    await world.ok("timers.start", actor=kitchen, seconds=1200, name="pizza")
    world.pass_seconds(60)
    await world.ok("timers.announced", "house", ids=[(await world.ok("timers.due", "house")).data["timers"][0]["id"]])
    world.set_clock(100)
    await world.ok("alarms.snooze", actor=kitchen)
    assert await world.said("timers.left", name="pizza") == "Your pizza timer has 19 minutes left."
