"""Alarms that must wake people. It is Friday, January 15, 2027, nine in the morning in Paris."""

from __future__ import annotations

from typing import Any

import pytest

ANNA = {"person": "Anna", "device": "bedroom-satellite", "role": "adult", "room": "bedroom"}
HOUR, DAY = 3600, 86_400
MORNING = 1_800_000_000.0


async def due(world: Any) -> list[dict[str, Any]]:
    return list((await world.ok("alarms.due", "house")).data["due"])


async def ring(world: Any) -> list[dict[str, Any]]:
    """What the house does: ring what is due, and note that it did."""
    rung = await due(world)
    await world.ok("alarms.announced", "house", ids=[alarm["id"] for alarm in rung])
    return rung


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"when": "at seven"}, "Alarm set for tomorrow at 7 AM."),
        ({"when": "seven in the evening"}, "Alarm set for today at 7 PM."),
        ({"when": "in 20 minutes"}, "Alarm set for today at 9:20 AM."),
        ({"when": "every weekday at 6:30"}, "Alarm set for every weekday at 6:30 AM, starting Monday."),
        ({"when": "6:30", "days": "weekdays"}, "Alarm set for every weekday at 6:30 AM, starting Monday."),
        ({"when": "on school days at 6:30"}, "Alarm set for every weekday at 6:30 AM, starting Monday."),
        ({"when": "every school day at 6:30"}, "Alarm set for every weekday at 6:30 AM, starting Monday."),
        ({"when": "at eight", "name": "my gym alarm"}, "Gym alarm set for tomorrow at 8 AM."),
        ({"when": "weekends at nine"}, "Alarm set for every Saturday and Sunday at 9 AM, starting tomorrow."),
    ],
)
async def test_what_was_understood_is_said_back(world: Any, arguments: dict[str, str], text: str) -> None:
    assert await world.said("alarms.set", **arguments) == text


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("tomorrow", "At what time?"),
        ("tomorrow at three", "Is that 3 AM or 3 PM?"),
        ("when Anna is next heard", "An alarm needs a time"),
        ("early", "I don't understand “early”."),
    ],
)
async def test_what_is_not_understood_sets_no_alarm(world: Any, when: str, text: str) -> None:
    assert (await world.refused("alarms.set", when=when)).text.startswith(text)
    assert await world.said("alarms.list") == "There are no alarms."


GUEST = {"device": "phone of a guest", "role": "guest", "room": "bedroom"}


GUESTS_DEEDS: list[tuple[str, dict[str, Any]]] = [
    ("alarms.set", {"when": "every day at seven in the morning"}),
    ("alarms.set", {"when": "every day at seven in the morning", "name": "therapy"}),
    ("alarms.cancel", {}),
    ("alarms.cancel", {"name": "therapy"}),
    ("alarms.cancel", {"time": "7 AM"}),
    ("alarms.cancel", {"day": "tomorrow"}),
    ("alarms.cancel_all", {}),
    ("alarms.change", {"when": "half past nine"}),
    ("alarms.skip", {}),
    ("alarms.switch", {"on": False}),
    ("alarms.list", {}),
    ("alarms.list", {"day": "tomorrow"}),
    ("alarms.stop", {}),
    ("alarms.snooze", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), GUESTS_DEEDS)
@pytest.mark.parametrize("state", ["set", "ringing elsewhere", "snoozed"])
async def test_to_a_guest_an_alarm_that_is_none_of_theirs_is_as_if_it_were_not_there(
    reopened: Any, tool: str, arguments: dict[str, Any], state: str
) -> None:
    with reopened(MORNING) as house:
        set_at = "every day at seven in the morning" if state == "set" else "in ten minutes"
        await house.ok("alarms.set", actor=ANNA, when=set_at, name="therapy")
        if state != "set":
            house.pass_seconds(600)
            await ring(house)
        if state == "snoozed":
            await house.ok("alarms.snooze", actor=ANNA)
        guest = {**GUEST, "room": "hall"} if state == "ringing elsewhere" else GUEST
        before = (await house.ok("alarms.list", actor=ANNA)).data["alarms"]
        answers = [await house.call(tool, actor=guest, **arguments)]
        assert [
            alarm for alarm in (await house.ok("alarms.list", actor=ANNA)).data["alarms"] if alarm in before
        ] == before
        await house.ok("alarms.cancel_all", actor=ANNA)
        answers.append(await house.call(tool, actor=guest, **arguments))
    there, gone = ((answer.error, answer.text) for answer in answers)
    assert there == gone


async def test_a_guest_may_end_what_rings_where_they_hear_it_and_change_nothing_of_it(world: Any) -> None:
    await world.ok("alarms.set", actor=ANNA, when="every day at seven in the morning")
    world.pass_seconds(22 * HOUR)
    await ring(world)
    for tool, arguments in (("alarms.cancel", {}), ("alarms.switch", {"on": False}), ("alarms.cancel_all", {})):
        refused = await world.refused(tool, actor=GUEST, **arguments)
        assert (refused.error, refused.text) == ("denied", "Guests can only change what guests have set.")
    assert await world.said("alarms.stop", actor=GUEST) == "Alarm stopped."
    assert (await world.refused("alarms.cancel", actor=GUEST)).text == "There are no alarms."


@pytest.mark.parametrize("role", ["owner", "adult", "teen", "child", "satellite"])
async def test_who_lives_here_is_told_what_there_is_and_changes_it(world: Any, role: str) -> None:
    await world.ok("alarms.set", actor=ANNA, when="at seven")
    ben = {"person": "Ben", "device": "tablet", "role": role}
    refused = await world.refused("alarms.cancel", actor=ben, time="8 PM")
    assert refused.text == "There is no alarm at 8 PM. There is: tomorrow at 7 AM."
    assert await world.said("alarms.set", actor=ben | {"room": "bedroom"}, when="at seven") == (
        "Alarm is already set for tomorrow at 7 AM."
    )
    assert await world.said("alarms.cancel", actor=ben) == "Alarm cancelled: tomorrow at 7 AM."


async def test_an_alarm_of_a_guest_stands_for_none_of_the_household(world: Any) -> None:
    await world.ok("alarms.set", actor=GUEST, when="at seven")
    await world.ok("alarms.set", actor=ANNA, when="at seven")
    await world.ok("alarms.cancel_all", actor=GUEST)
    assert await world.said("alarms.list") == "There is 1 alarm: tomorrow at 7 AM."


async def test_guests_leave_alarms_for_the_household_and_nobody_alone_uses_them_up(world: Any) -> None:
    for number in range(10, 20):
        await world.ok("alarms.set", actor=GUEST, when=f"at 8:{number} PM")
    refused = await world.refused("alarms.set", actor=GUEST, when="at 9 PM")
    assert refused.text == "Guests already have 10 alarms. Cancel some of them first."
    assert await world.said("alarms.cancel", actor=GUEST, time="8:10 PM") == "Alarm cancelled: today at 8:10 PM."
    for number in range(10, 50):
        await world.ok("alarms.set", actor=ANNA, when=f"at 7:{number} AM")
    refused = await world.refused("alarms.set", actor=ANNA, when="at 9 AM")
    assert refused.text == "You already have 40 alarms. Cancel some of them first."


async def test_who_owns_an_alarm_takes_back_what_a_guest_did_to_it(world: Any) -> None:
    await world.ok("alarms.set", actor=ANNA, when="in ten minutes", name="gym")
    world.pass_seconds(600)
    await ring(world)
    assert await world.said("alarms.stop", actor=GUEST) == "Alarm stopped.", "who hears it ring may end that"
    world.pass_seconds(60)
    assert "Alarm stopped" in await world.said("history.last", actor=ANNA)
    back = await world.ok("history.undo", actor=ANNA)
    assert back.receipt
    assert [alarm["name"] for alarm in (await world.ok("alarms.list")).data["alarms"]] == ["gym"]


async def test_who_has_nothing_to_do_with_an_alarm_takes_nothing_back_of_it(world: Any) -> None:
    await world.ok("alarms.set", actor=ANNA, when="at seven", name="gym")
    await world.ok("alarms.cancel", actor={"person": "Ben", "device": "tablet", "role": "adult"})
    for other in (GUEST, {"person": "Carla", "device": "phone", "role": "adult"}):
        assert "I haven't changed anything for you" in (await world.refused("history.undo", actor=other)).text
    await world.ok("timers.start", actor=GUEST, seconds=60)
    await world.ok("timers.cancel_all", actor=ANNA)
    assert "is gone" in (await world.refused("history.undo", actor=GUEST)).text, "a guest overrules nobody"


async def test_setting_the_same_alarm_twice_makes_one(world: Any) -> None:
    await world.ok("alarms.set", when="at seven")
    again = await world.ok("alarms.set", when="at 7 AM")
    assert (again.text, again.receipt) == ("Alarm is already set for tomorrow at 7 AM.", None)
    assert len((await world.ok("alarms.list")).data["alarms"]) == 1


async def test_it_rings_every_half_minute_until_it_is_stopped(world: Any) -> None:
    await world.ok("alarms.set", actor=ANNA, when="at seven")
    assert (await world.ok("alarms.due", "house")).data["next_at"] == MORNING + 22 * HOUR
    world.pass_seconds(22 * HOUR)
    for _ in range(3):
        (alarm,) = await ring(world)
        assert (alarm["device"], alarm["room"], alarm["urgent"]) == ("bedroom-satellite", "bedroom", True)
        assert await due(world) == []
        world.pass_seconds(30)
    assert alarm["text"] == "It's 7:01 AM. This is your alarm."
    assert await world.said("alarms.stop") == "Alarm stopped."
    world.pass_seconds(60)
    assert await due(world) == []
    assert await world.said("alarms.list") == "There are no alarms."
    assert (await world.ok("alarms.stop")).receipt is None


async def test_after_ten_minutes_it_gives_up_and_the_list_says_so(world: Any) -> None:
    await world.ok("alarms.set", when="at seven")
    world.pass_seconds(22 * HOUR)
    rings = 0
    while await ring(world):
        rings += 1
        world.pass_seconds(30)
    assert rings == 21
    assert await world.said("alarms.list") == "There is 1 alarm: 7 AM, which nobody stopped at 7:10 AM."
    assert (await world.ok("alarms.list")).data["alarms"][0]["missed_at"] == world.clock[0] - 30


@pytest.mark.parametrize("tool", ["alarms.stop", "alarms.snooze"])
async def test_a_page_silences_the_one_that_rings_by_its_id(world: Any, tool: str) -> None:
    await world.ok("alarms.set", when="at seven")
    world.pass_seconds(22 * HOUR)
    (alarm,) = await ring(world)
    await world.ok(tool, name=alarm["id"])
    world.pass_seconds(30)
    assert await due(world) == []


async def test_that_nobody_stopped_it_is_old_news_a_day_later(world: Any) -> None:
    await world.ok("alarms.set", when="every day at seven")
    world.pass_seconds(22 * HOUR)
    while await ring(world):
        world.pass_seconds(30)
    assert "which nobody stopped at 7:10 AM" in await world.said("alarms.list")
    world.pass_seconds(DAY - 60)
    await ring(world)
    await world.ok("alarms.stop")
    assert await world.said("alarms.list") == "There is 1 alarm: every day at 7 AM."


async def test_snoozed_it_rings_again_nine_minutes_later(world: Any) -> None:
    await world.ok("alarms.set", when="at seven")
    assert (await world.refused("alarms.snooze")).text == "Nothing is ringing."
    world.pass_seconds(22 * HOUR)
    await ring(world)
    assert await world.said("alarms.snooze") == "Snoozed for 9 minutes."
    assert await world.said("alarms.list") == "There is 1 alarm: 7 AM, snoozed until 7:09 AM."
    world.pass_seconds(539)
    assert await due(world) == []
    world.pass_seconds(1)
    assert [alarm["text"] for alarm in await ring(world)] == ["It's 7:09 AM. This is your alarm."]
    assert await world.said("alarms.stop") == "Alarm stopped."


async def test_a_snoozed_alarm_can_be_stopped_before_it_rings_again(world: Any) -> None:
    await world.ok("alarms.set", when="at seven")
    world.pass_seconds(22 * HOUR)
    await ring(world)
    await world.ok("alarms.snooze")
    assert await world.said("alarms.stop") == "Alarm stopped."
    world.pass_seconds(HOUR)
    assert await due(world) == []


async def test_stopping_a_recurring_alarm_leaves_tomorrows(world: Any) -> None:
    await world.ok("alarms.set", when="every day at seven")
    world.pass_seconds(22 * HOUR)
    await ring(world)
    await world.ok("alarms.stop")
    assert (await world.ok("alarms.due", "house")).data["next_at"] == world.clock[0] + DAY


async def test_one_whose_time_went_by_while_the_house_was_off_is_told_and_does_not_ring(reopened: Any) -> None:
    with reopened(MORNING) as before:
        await before.ok("alarms.set", actor=ANNA, when="at seven")
    with reopened(MORNING + 24 * HOUR) as after:
        (missed,) = await ring(after)
        assert (missed["urgent"], missed["late_seconds"]) == (False, 2 * HOUR)
        assert missed["text"] == "Your alarm for 7 AM did not ring."
        assert await due(after) == []
        assert await after.said("alarms.list") == "There is 1 alarm: 7 AM, which did not ring."
        (alarm,) = (await after.ok("alarms.list")).data["alarms"]
        assert (alarm["missed_at"], alarm["silent"], alarm["state"]) == (after.clock[0], True, "off")


async def test_one_that_did_not_ring_is_known_for_a_week_also_after_a_long_journey(reopened: Any) -> None:
    with reopened(MORNING) as before:
        await before.ok("alarms.set", when="at seven")
        await before.ok("alarms.set", when="every day at eight")
    with reopened(MORNING + 30 * DAY) as after:
        assert len(await ring(after)) == 2
        assert [alarm["silent"] for alarm in (await after.ok("alarms.list")).data["alarms"]] == [True, True]
        assert ", which did not ring last time" in await after.said("alarms.list")
        after.pass_seconds(23 * HOUR)
        await ring(after)
        await after.ok("alarms.stop")
        assert [alarm["missed_at"] for alarm in (await after.ok("alarms.list")).data["alarms"] if alarm["rule"]] == [
            None
        ]
        after.pass_seconds(7 * DAY)
        await ring(after)
        assert [alarm["rule"] for alarm in (await after.ok("alarms.list")).data["alarms"]] == ["FREQ=DAILY"]


async def test_a_house_that_comes_back_within_ten_minutes_still_rings(reopened: Any) -> None:
    with reopened(MORNING) as before:
        await before.ok("alarms.set", when="at seven")
    with reopened(MORNING + 22 * HOUR + 300) as after:
        (late,) = await due(after)
        assert (late["urgent"], late["text"]) == (True, "It's 7:05 AM. This is your alarm.")


async def test_a_week_off_tells_a_recurring_alarm_once(reopened: Any) -> None:
    with reopened(MORNING) as before:
        await before.ok("alarms.set", when="every day at seven")
    with reopened(MORNING + 7 * DAY) as after:
        assert len(await ring(after)) == 1
        answer = await after.ok("alarms.due", "house")
        assert (answer.data["due"], answer.data["next_at"]) == ([], MORNING + 7 * DAY + 22 * HOUR)


async def test_tomorrows_can_be_skipped(world: Any) -> None:
    await world.ok("alarms.set", when="every day at seven")
    assert await world.said("alarms.skip") == "Skipping the 7 AM alarm tomorrow. The next is Sunday at 7 AM."
    assert await world.said("alarms.list") == "There is 1 alarm: every day at 7 AM, next Sunday at 7 AM."
    world.pass_seconds(22 * HOUR)
    assert await due(world) == []
    world.pass_seconds(DAY)
    assert len(await due(world)) == 1


async def test_skipping_tomorrows_leaves_todays(world: Any) -> None:
    await world.ok("alarms.set", when="every day at ten pm")
    text = "Skipping the 10 PM alarm tomorrow. The next is today at 10 PM."
    assert await world.said("alarms.skip", day="tomorrow") == text
    assert await world.said("alarms.list") == "There is 1 alarm: every day at 10 PM, but not tomorrow."
    world.pass_seconds(13 * HOUR)
    assert len(await ring(world)) == 1
    await world.ok("alarms.stop")
    assert (await world.ok("alarms.due", "house")).data["next_at"] == world.clock[0] + 2 * DAY


async def test_a_day_that_is_skipped_stays_so_while_it_rings_is_switched_and_is_undone(world: Any) -> None:
    await world.ok("alarms.set", actor=ANNA, when="every day at seven")
    world.pass_seconds(22 * HOUR)
    await ring(world)
    text = "Skipping the 7 AM alarm tomorrow. The next is Monday at 7 AM."
    assert await world.said("alarms.skip", actor=ANNA, day="tomorrow") == text
    world.pass_seconds(30)
    assert len(await due(world)) == 1, "what rings now is today's"
    await world.ok("alarms.stop")
    await world.ok("alarms.switch", on=False)
    await world.ok("alarms.switch", on=True)
    monday = MORNING + 22 * HOUR + 2 * DAY
    assert (await world.ok("alarms.due", "house")).data["next_at"] == monday
    assert await world.said("alarms.skip", actor=ANNA, day="Wednesday") == (
        "Skipping the 7 AM alarm on Wednesday. The next is Monday at 7 AM."
    )
    await world.ok("history.undo", actor=ANNA)
    assert await world.said("alarms.list") == "There is 1 alarm: every day at 7 AM, next Monday at 7 AM."


@pytest.mark.parametrize(
    ("day", "text"),
    [
        ("Monday", "There is no alarm Monday. There is: every Saturday and Sunday at 9 AM."),
        ("every Sunday", "Name one day, such as Christmas or June 5th."),
        ("in two years", "I can leave out days of the coming year only."),
        ("tomorrow at nine", "Say the day alone, and the alarm's time beside it."),
        ("tomorrow morning", "Say the day alone, and the alarm's time beside it."),
        ("tonight", "Say the day alone, and the alarm's time beside it."),
        ("this week", "I don't understand “this week”."),
        ("soonish", "I don't understand “soonish”."),
    ],
)
@pytest.mark.parametrize("deed", ["skip", "cancel"])
async def test_a_day_on_which_nothing_rings_changes_nothing(world: Any, deed: str, day: str, text: str) -> None:
    await world.ok("alarms.set", when="weekends at nine")
    before = (await world.ok("alarms.list")).data
    assert (await world.refused(f"alarms.{deed}", day=day)).text.startswith(text)
    assert (await world.ok("alarms.list")).data == before


@pytest.mark.parametrize("when", ["weekends at nine", "every Saturday at nine"])
async def test_the_weekend_one_is_an_alarm_and_no_day(world: Any, when: str) -> None:
    await world.ok("alarms.set", when="weekdays at seven")
    await world.ok("alarms.set", when=when)
    assert (await world.said("alarms.cancel", day="the weekend")).startswith("Alarm cancelled: ")
    assert [one["when"] for one in (await world.ok("alarms.list")).data["alarms"]] == ["every weekday at 7 AM"]


async def test_this_weekend_is_left_out_only_once(world: Any) -> None:
    await world.ok("alarms.set", when="every day at nine")
    assert (await world.said("alarms.cancel", day="the weekend")).startswith("Skipping")


async def test_a_day_that_is_skipped_already_is_not_skipped_again(world: Any) -> None:
    await world.ok("alarms.set", when="every day at ten pm")
    await world.ok("alarms.skip", day="tomorrow")
    assert (await world.refused("alarms.skip", day="tomorrow")).text == (
        "There is no alarm tomorrow. There is: every day at 10 PM, but not tomorrow."
    )


async def test_only_alarms_that_were_named_can_be_meant(world: Any) -> None:
    for hour in range(1, 8):
        await world.ok("alarms.set", when=f"tomorrow at {hour} pm")
    answer = await world.refused("alarms.cancel")
    assert answer.text.endswith("tomorrow at 4 PM, tomorrow at 5 PM or one of 2 more?")
    assert (len(answer.data["alarms"]), answer.data["more"]) == (5, 2)


async def test_an_alarm_that_was_taken_back_is_put_back(world: Any) -> None:
    await world.ok("alarms.set", when="tomorrow at seven")
    undone = await world.ok("history.undo")
    await world.ok("history.undo", receipt=undone.receipt.id)
    assert await world.said("alarms.list") == "There is 1 alarm: tomorrow at 7 AM."


async def test_which_of_a_days_alarms_is_asked(world: Any) -> None:
    await world.ok("alarms.set", when="every day at seven")
    await world.ok("alarms.set", when="every day at eight")
    answer = await world.refused("alarms.skip", day="tomorrow")
    assert answer.text == "Which alarm: every day at 7 AM or every day at 8 AM?"
    second = answer.data["alarms"][1]["id"]
    assert (await world.said("alarms.skip", day="Sunday", name=second)).startswith(
        "Skipping the 8 AM alarm on Sunday. "
    )
    assert (await world.said("alarms.skip", day="tomorrow", time="8 AM")).startswith("Skipping the 8 AM alarm tomorrow")


async def test_cancelling_tomorrows_takes_no_other_days_ring(world: Any) -> None:
    await world.ok("alarms.set", when="every day at ten pm")
    await world.ok("alarms.set", when="tomorrow at eight")
    await world.ok("alarms.set", when="today at eight pm")
    assert await world.said("alarms.cancel", day="today", time="8") == "Alarm cancelled: today at 8 PM."
    assert await world.said("alarms.cancel", day="tomorrow", time="8") == "Alarm cancelled: tomorrow at 8 AM."
    text = "Skipping the 10 PM alarm tomorrow. The next is today at 10 PM."
    assert await world.said("alarms.cancel", day="tomorrow") == text


async def test_one_that_rings_once_is_not_skipped(world: Any) -> None:
    await world.ok("alarms.set", when="at seven")
    for day in ("", "tomorrow"):
        assert (await world.refused("alarms.skip", day=day)).text == (
            "There is no recurring alarm to skip. The 7 AM alarm rings only once: cancel it instead."
        )


async def test_it_can_be_turned_off_and_on_again(world: Any) -> None:
    await world.ok("alarms.set", when="at seven")
    assert await world.said("alarms.switch", on=False) == "7 AM alarm is off."
    assert (await world.ok("alarms.switch", on=False)).receipt is None
    assert await world.said("alarms.list") == "There is 1 alarm: tomorrow at 7 AM, which is off."
    world.pass_seconds(2 * DAY)
    assert await due(world) == []
    assert await world.said("alarms.switch", on=True) == "7 AM alarm is on: tomorrow at 7 AM."


async def test_alarms_are_told_apart_by_name_and_time(world: Any) -> None:
    await world.ok("alarms.set", when="at seven")
    await world.ok("alarms.set", when="at eight", name="gym")
    await world.ok("alarms.set", when="at nine pm")
    answer = await world.refused("alarms.cancel")
    assert answer.text == "Which alarm: today at 9 PM, tomorrow at 7 AM or gym, tomorrow at 8 AM?"
    assert await world.said("alarms.cancel", time="at 9") == "Alarm cancelled: today at 9 PM."
    assert await world.said("alarms.cancel", name="the gym alarm") == "Alarm cancelled: gym, tomorrow at 8 AM."
    answer = await world.refused("alarms.cancel", time="8 PM")
    assert answer.text == "There is no alarm at 8 PM. There is: tomorrow at 7 AM."
    assert await world.said("alarms.cancel") == "Alarm cancelled: tomorrow at 7 AM."
    assert (await world.refused("alarms.cancel")).text == "There are no alarms."


@pytest.mark.parametrize("name", ["weekday", "the weekday alarm", "weekdays"])
async def test_one_without_a_name_is_called_by_the_days_that_it_rings_on(world: Any, name: str) -> None:
    await world.ok("alarms.set", when="every weekday at seven")
    await world.ok("alarms.set", when="every Saturday at nine")
    await world.ok("alarms.set", when="every day at ten")
    assert (await world.said("alarms.skip", name=name)).startswith("Skipping the 7 AM alarm on Monday.")
    assert (await world.said("alarms.cancel", name="Saturday")) == "Alarm cancelled: every Saturday at 9 AM."
    assert (await world.refused("alarms.cancel", name="Sunday")).text.startswith("There is no sunday alarm.")
    assert (await world.refused("alarms.cancel", name="gym")).text.startswith("There is no gym alarm.")


async def test_a_name_goes_before_the_days(world: Any) -> None:
    await world.ok("alarms.set", when="every weekday at seven")
    await world.ok("alarms.set", when="tomorrow at eight", name="weekday")
    assert await world.said("alarms.cancel", name="weekday") == "Alarm cancelled: weekday, tomorrow at 8 AM."


async def test_a_long_list_is_summarised(world: Any) -> None:
    for hour in range(4, 12):
        await world.ok("alarms.set", when=f"tomorrow at {hour} AM")
    assert (await world.said("alarms.list")).endswith("tomorrow at 8 AM; and 3 more.")


@pytest.mark.parametrize("deed", ["set", "cancel", "skip", "switch", "snooze", "stop"])
async def test_every_deed_can_be_undone(world: Any, deed: str) -> None:
    await world.ok("alarms.set", actor=ANNA, when="every day at seven")
    if deed in ("snooze", "stop"):
        world.pass_seconds(22 * HOUR)
        await ring(world)
    before = (await world.ok("alarms.list")).data
    arguments: dict[str, Any] = {"set": {"when": "at noon"}, "switch": {"on": False}}.get(deed, {})
    await world.ok(f"alarms.{deed}", actor=ANNA, **arguments)
    assert (await world.ok("alarms.list")).data != before
    await world.ok("history.undo", actor=ANNA)
    assert (await world.ok("alarms.list")).data == before


async def test_only_the_house_rings(world: Any) -> None:
    assert (await world.refused("alarms.due")).error == "denied"
    assert (await world.refused("alarms.announced", ids=[])).error == "denied"


async def test_an_alarm_goes_by_the_clock_of_the_wall_however_that_is_set(world: Any) -> None:
    await world.ok("alarms.set", actor=ANNA, when="at seven")
    world.set_clock(-HOUR)
    world.pass_seconds(22 * HOUR)
    assert await due(world) == [], "it is six now"
    world.set_clock(HOUR)
    assert len(await due(world)) == 1


async def test_the_alarms_of_a_day_are_told_by_themselves(world: Any) -> None:
    await world.ok("alarms.set", when="on Saturday at eight")
    await world.ok("alarms.set", when="every weekday at seven")
    assert await world.said("alarms.list", day="Monday") == "There is 1 alarm: every weekday at 7 AM."
    assert "at 8 AM" in await world.said("alarms.list", day="on Saturday")
    assert await world.said("alarms.list", day="on Sunday") == "There are no alarms on Sunday."


async def test_a_guest_is_told_the_alarms_of_guests_and_what_rings_and_not_when_the_household_gets_up(
    world: Any,
) -> None:
    await world.ok("alarms.set", actor=ANNA, when="at seven", name="therapy")
    assert await world.said("alarms.list", actor=GUEST) == "There are no alarms."
    refused = await world.refused("alarms.cancel", actor=GUEST, name="gym")
    assert refused.text == "There are no alarms.", "nor by asking for one that is not there"
    await world.ok("alarms.set", actor=GUEST, when="at eight", name="train")
    assert [alarm["name"] for alarm in (await world.ok("alarms.list", actor=GUEST)).data["alarms"]] == ["train"]
    assert "therapy" not in (await world.refused("alarms.cancel", actor=GUEST, name="gym")).text
    assert len((await world.ok("alarms.list", actor=ANNA)).data["alarms"]) == 2
    world.pass_seconds(22 * HOUR)
    await ring(world)
    told = {alarm["name"] for alarm in (await world.ok("alarms.list", actor=GUEST)).data["alarms"]}
    assert told == {"train", "therapy"}, "who hears it may stop it"


async def test_all_alarms_are_cancelled_at_once_and_can_be_taken_back(world: Any) -> None:
    assert await world.said("alarms.cancel_all") == "There are no alarms to cancel."
    await world.ok("alarms.set", when="at 7")
    await world.ok("alarms.set", when="every weekday at 8")
    answer = await world.ok("alarms.cancel_all")
    assert answer.text.startswith("Both alarms cancelled: ")
    assert await world.said("alarms.list") == "There are no alarms."
    await world.ok("history.undo")
    assert len((await world.ok("alarms.list")).data["alarms"]) == 2


async def test_a_guest_cancels_all_alarms_of_guests_and_no_other(world: Any) -> None:
    guest = {"person": "", "device": "sofa", "role": "guest", "room": ""}
    await world.ok("alarms.set", when="at 7")
    assert await world.said("alarms.cancel_all", actor=guest) == "There are no alarms to cancel."
    await world.ok("alarms.set", actor=guest, when="at 8")
    assert (await world.said("alarms.cancel_all", actor=guest)).startswith("Alarm cancelled: ")
    assert len((await world.ok("alarms.list")).data["alarms"]) == 1


async def test_a_guest_without_a_place_ends_nothing_that_rings_in_a_room(world: Any) -> None:
    await world.ok("alarms.set", actor=ANNA, when="in ten minutes", room="attic")
    world.pass_seconds(600)
    await ring(world)
    assert await world.said("alarms.stop", actor={"role": "guest"}) == "Nothing is ringing."


async def test_skipping_all_alarms_leaves_out_the_next_ring_of_each_and_loses_none(world: Any) -> None:
    await world.ok("alarms.set", actor=ANNA, when="every day at seven")
    await world.ok("alarms.set", actor=ANNA, when="every weekday at 6:30", name="gym")
    await world.ok("alarms.set", actor=ANNA, when="tomorrow at nine")
    before = (await world.ok("alarms.list")).data
    assert await world.said("alarms.skip", actor=ANNA, every=True) == (
        "Skipping the next ring of 2 alarms: every day at 7 AM; and gym, every weekday at 6:30 AM."
    )
    assert await world.said("alarms.list") == (
        "There are 3 alarms: tomorrow at 9 AM; every day at 7 AM, next Sunday at 7 AM; "
        "and gym, every weekday at 6:30 AM, next Tuesday at 6:30 AM."
    )
    await world.ok("history.undo", actor=ANNA)
    assert (await world.ok("alarms.list")).data == before


async def test_skipping_all_alarms_of_a_day_leaves_none_that_rings_then(world: Any) -> None:
    await world.ok("alarms.set", when="every day at seven")
    await world.ok("alarms.set", when="tomorrow at nine", name="train")
    await world.ok("alarms.set", when="today at nine pm")
    assert await world.said("alarms.skip", every=True, day="tomorrow") == (
        "2 alarms will not ring tomorrow: every day at 7 AM; and train, tomorrow at 9 AM."
    )
    assert await world.said("alarms.list", day="tomorrow") == "There are no alarms tomorrow."
    assert await world.said("alarms.list") == (
        "There are 2 alarms: today at 9 PM; and every day at 7 AM, next Sunday at 7 AM."
    )
    refused = await world.refused("alarms.skip", every=True, day="tomorrow")
    assert refused.text.startswith("There is no alarm tomorrow.")


async def test_skipping_all_alarms_where_there_is_one_says_what_of_it(world: Any) -> None:
    await world.ok("alarms.set", when="tomorrow at nine")
    assert "rings only once: cancel it instead" in (await world.refused("alarms.skip", every=True)).text
    assert await world.said("alarms.skip", every=True, day="tomorrow") == "Alarm cancelled: tomorrow at 9 AM."
    await world.ok("alarms.set", when="every day at seven")
    assert await world.said("alarms.skip", every=True, day="tomorrow") == (
        "Skipping the 7 AM alarm tomorrow. The next is Sunday at 7 AM."
    )


@pytest.mark.parametrize(("time", "day"), [("tomorrow", ""), ("", "tomorrow"), ("tomorrow at seven", "")])
@pytest.mark.parametrize("deed", ["cancel", "skip", "switch"])
async def test_a_day_that_is_said_for_the_time_is_that_day_and_takes_no_other_ring(
    world: Any, deed: str, time: str, day: str
) -> None:
    await world.ok("alarms.set", when="every day at seven")
    await world.ok("alarms.set", when="on Monday at seven")
    arguments = {"on": False, "time": time or day} if deed == "switch" else {"time": time, "day": day}
    assert await world.said(f"alarms.{deed}", **arguments) == (
        "Skipping the 7 AM alarm tomorrow. The next is Sunday at 7 AM."
    )
    assert len((await world.ok("alarms.list")).data["alarms"]) == 2


async def test_an_alarm_is_switched_on_again_by_the_day_it_was_for(world: Any) -> None:
    await world.ok("alarms.set", when="tomorrow at nine")
    assert await world.said("alarms.switch", on=False, time="tomorrow") == "9 AM alarm is off."
    assert await world.said("alarms.switch", on=True, time="tomorrow") == "9 AM alarm is on: tomorrow at 9 AM."


async def test_on_a_friday_whose_alarms_have_rung_the_friday_alarm_is_next_weeks(world: Any) -> None:
    await world.ok("alarms.set", when="at eight on Friday")
    await world.refused("alarms.cancel", day="today")
    assert await world.said("alarms.cancel", day="Friday") == "Alarm cancelled: Friday, January 22 at 8 AM."


async def test_on_a_friday_an_alarm_that_still_rings_is_the_friday_alarm(world: Any) -> None:
    await world.ok("alarms.set", when="at eight in the evening on Friday")
    assert await world.said("alarms.cancel", day="Friday") == "Alarm cancelled: today at 8 PM."
