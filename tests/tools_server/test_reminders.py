"""Reminders as a household uses them. It is Friday, January 15, 2027, nine in the morning in Paris."""

from __future__ import annotations

import signal
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from wall.roles import ROLES

ANNA = {"person": "Anna", "device": "kitchen-satellite", "role": "adult", "room": "kitchen"}
TOM = {"person": "Tom", "device": "phone", "role": "adult", "room": ""}
PARIS = ZoneInfo("Europe/Paris")
HOUR, DAY = 3600, 86_400
MORNING = 1_800_000_000.0


@pytest.fixture
def world(world: Any) -> Any:
    world.agents["house"] = replace(world.agents["house"], tools=("*",))
    return world


async def due(world: Any) -> list[dict[str, Any]]:
    return list((await world.ok("reminders.due", "house")).data["due"])


async def say_all(world: Any) -> list[dict[str, Any]]:
    """What the house does: say what is due, and note that it did."""
    rows = await due(world)
    await world.ok("reminders.announced", "house", ids=[reminder["id"] for reminder in rows])
    return rows


async def test_what_was_understood_is_said_back(world: Any) -> None:
    text = await world.said("reminders.add", actor=ANNA, text="to take the bins out.", when="at five")
    assert text == "I'll remind you today at 5 PM: take the bins out."


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"when": "tomorrow at seven", "person": "Tom"}, "I'll remind Tom tomorrow at 7 AM: tea."),
        ({"when": "tomorrow at 7", "person": "me"}, "I'll remind you tomorrow at 7 AM: tea."),
        ({"when": "at six", "person": "everyone"}, "I'll remind everyone today at 6 PM: tea."),
        ({"when": "at six", "room": "study"}, "I'll remind you in the study today at 6 PM: tea."),
        ({"when": "at eight", "repeat": "every day"}, "I'll remind you every day at 8 AM: tea."),
        (
            {"when": "every other Tuesday at seven"},
            "I'll remind you every other Tuesday at 7 AM, starting Tuesday: tea.",
        ),
        ({"when": "when Bea is next heard"}, "When I next hear Bea, I'll say: tea."),
        ({"when": "when you next hear me"}, "When I next hear you, I'll say: tea."),
    ],
)
async def test_it_can_be_for_anybody_anywhere_and_often(world: Any, arguments: dict[str, str], text: str) -> None:
    assert await world.said("reminders.add", actor=ANNA, text="tea", **arguments) == text


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("at purple", "I don't understand “at purple”."),
        ("when I get home", "I can't tell when that happens."),
        ("yesterday", "That is already past."),
        ("every month", "On which day of the month?"),
    ],
)
async def test_a_time_that_is_not_understood_makes_no_reminder(world: Any, when: str, text: str) -> None:
    answer = await world.refused("reminders.add", text="tea", when=when)
    assert (answer.error, answer.text.startswith(text)) == ("invalid", True)
    assert await world.said("reminders.list") == "There are no reminders."


async def test_a_reminder_is_due_where_it_was_asked_for_until_it_was_said(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="tea", when="in an hour")
    answer = await world.ok("reminders.due", "house")
    assert (answer.data["due"], answer.data["next_at"]) == ([], MORNING + HOUR)
    world.pass_seconds(HOUR)
    (tea,) = await due(world)
    assert (tea["text"], tea["person"], tea["device"], tea["room"], tea["late_seconds"], tea["urgent"]) == (
        "Anna, a reminder: tea.",
        "Anna",
        "kitchen-satellite",
        "kitchen",
        0,
        False,
    )
    assert await due(world) == [tea]  # asking is not saying
    await world.ok("reminders.announced", "house", ids=[tea["id"]])
    assert await due(world) == []


async def test_what_nobody_answers_is_said_again_then_everywhere_and_then_kept_as_unanswered(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="tea", when="in an hour")
    world.pass_seconds(HOUR)
    texts = []
    for _ in range(4):
        texts += [(tea["text"], tea["device"], tea["urgent"]) for tea in await say_all(world)]
        world.pass_seconds(300)
    assert texts == [
        ("Anna, a reminder: tea.", "kitchen-satellite", False),
        ("Anna, a reminder, again: tea.", "kitchen-satellite", False),
        ("Anna, a reminder, again: tea.", "", True),
    ]
    assert await world.said("reminders.list", actor=ANNA) == (
        "There is 1 reminder: tea, from 10 AM, which nobody answered."
    )
    assert await world.said("reminders.done", actor=ANNA) == "Done: tea."
    assert await world.said("reminders.list", actor=ANNA) == "There are no reminders."


async def test_one_that_was_acknowledged_is_not_said_again(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="tea", when="in an hour")
    await world.ok("reminders.add", actor=ANNA, text="call mum", when="tomorrow at noon")
    world.pass_seconds(HOUR)
    await say_all(world)
    assert await world.said("reminders.done", actor=ANNA) == "Done: tea."  # the one just said, though there are two
    world.pass_seconds(HOUR)
    assert await due(world) == []


async def test_an_answer_that_is_quicker_than_the_houses_note_counts(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="tea", when="in an hour")
    await world.ok("reminders.add", actor=ANNA, text="call mum", when="tomorrow at noon")
    world.pass_seconds(HOUR)
    (tea,) = await due(world)
    assert await world.said("reminders.done", actor=ANNA) == "Done: tea."
    assert (await world.ok("reminders.announced", "house", ids=[tea["id"]])).receipt is None
    assert await due(world) == []


async def test_snoozed_it_comes_back_when_told_and_starts_over(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="tea", when="in an hour")
    world.pass_seconds(HOUR)
    await say_all(world)
    text = await world.said("reminders.snooze", actor=ANNA, minutes=20)
    assert text == "I'll say it again in 20 minutes: tea."
    world.pass_seconds(19 * 60)
    assert await due(world) == []
    world.pass_seconds(60)
    assert [tea["text"] for tea in await say_all(world)] == ["Anna, a reminder: tea."]


async def test_what_was_missed_while_the_house_was_off_says_how_late_it_is(reopened: Any) -> None:
    with reopened(MORNING) as before:
        await before.ok("reminders.add", actor=ANNA, text="tea", when="at five")
    with reopened(MORNING + DAY) as after:
        (tea,) = await due(after)
        assert tea["text"] == "Anna, a reminder: tea. This was for 5 PM yesterday."
        assert tea["late_seconds"] == 16 * HOUR


async def test_a_week_off_tells_a_daily_reminder_once_and_goes_on(reopened: Any) -> None:
    with reopened(MORNING) as before:
        await before.ok("reminders.add", actor=ANNA, text="pills", when="every day at ten")
    with reopened(MORNING + 7 * DAY) as after:
        (pills,) = await say_all(after)
        assert (
            pills["text"]
            == "Anna, a reminder: pills. This was for 10 AM on Friday, January 15, and 6 more times since."
        )
        assert await after.said("reminders.done", actor=ANNA) == "Done: pills. The next time is today at 10 AM."
        assert await due(after) == []
        after.pass_seconds(HOUR)
        assert [again["text"] for again in await due(after)] == ["Anna, a reminder: pills."]


async def test_one_that_came_late_is_known_until_somebody_says_that_it_is_done(reopened: Any) -> None:
    with reopened(MORNING) as before:
        await before.ok("reminders.add", actor=ANNA, text="pills", when="every day at ten")
        await before.ok("reminders.add", actor=ANNA, text="tea", when="at five")
    with reopened(MORNING + 30 * DAY) as after:

        async def missed() -> list[tuple[str, float]]:
            reminders = (await after.ok("reminders.list", actor=ANNA)).data["reminders"]
            return sorted((one["text"], one["missed_at"]) for one in reminders if one["missed_at"] is not None)

        at = after.clock[0]
        for _ in range(3):
            assert len(await say_all(after)) == 2
            after.pass_seconds(300)
        assert await missed() == [("pills", at), ("tea", at)]
        await after.ok("reminders.done", actor=ANNA, about="tea")
        after.pass_seconds(HOUR - 900)
        assert len(await say_all(after)) == 1
        assert await missed() == [("pills", at)], "that one came in time says nothing about the other"
        await after.ok("reminders.done", actor=ANNA)
        assert await missed() == []


async def test_an_unanswered_recurring_one_goes_on_with_its_next_time(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="pills", when="every day at ten")
    world.pass_seconds(HOUR)
    for _ in range(3):
        assert len(await say_all(world)) == 1
        world.pass_seconds(300)
    assert await due(world) == []
    world.pass_seconds(DAY)
    assert len(await due(world)) == 1


async def test_the_last_of_several_times_ends_it(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="pills", when="every day at ten for two days")
    for _ in range(2):
        world.pass_seconds(HOUR)
        await say_all(world)
        await world.ok("reminders.done", actor=ANNA)
        world.pass_seconds(DAY - HOUR)
    assert await world.said("reminders.list", actor=ANNA) == "There are no reminders."


async def test_it_waits_until_somebody_is_heard_and_is_said_there(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="happy birthday", when="when Bea is next heard")
    world.pass_seconds(DAY)
    answer = await world.ok("reminders.due", "house")
    assert (answer.data["due"], answer.data["waiting_for"]) == ([], ["Bea"])
    assert (await world.ok("reminders.heard", "house", person="Tom", room="hall")).receipt is None
    (wish,) = (await world.ok("reminders.heard", "house", person="bea", room="hall", device="hall-satellite")).data[
        "due"
    ]
    assert (wish["text"], wish["person"], wish["room"], wish["device"]) == (
        "Bea, a reminder: happy birthday.",
        "Bea",
        "hall",
        "hall-satellite",
    )
    assert [reminder["id"] for reminder in await say_all(world)] == [wish["id"]]
    assert (await world.ok("reminders.heard", "house", person="Bea")).data["due"] == []


async def test_only_the_house_hears_and_says(world: Any) -> None:
    for tool, arguments in (("due", {}), ("announced", {"ids": []}), ("heard", {"person": "Bea"})):
        assert (await world.refused(f"reminders.{tool}", **arguments)).error == "denied"


async def test_nobody_is_told_what_others_are_reminded_of(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="wrap Tom's present", when="at six")
    await world.ok("reminders.add", actor=ANNA, text="call the dentist", when="at five", person="Tom")
    await world.ok("reminders.add", actor=ANNA, text="lights out", when="at ten pm", person="everyone")
    assert await world.said("reminders.list", actor=TOM) == (
        "There are 2 reminders: call the dentist, today at 5 PM; and lights out, today at 10 PM, for everyone."
    )
    assert (await world.refused("reminders.cancel", actor=TOM, about="present")).error == "not_found"
    assert "present" in await world.said("reminders.list", actor=ANNA)


async def test_what_was_said_aloud_can_be_answered_by_a_voice_that_nobody_knows(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="tea", when="in an hour")
    somebody = {"device": "kitchen-satellite", "role": "satellite", "room": "kitchen"}
    assert (await world.refused("reminders.done", actor=somebody)).text == "There are no reminders."
    world.pass_seconds(HOUR)
    await say_all(world)
    assert await world.said("reminders.done", actor=somebody) == "Done: tea."


async def test_a_long_list_is_summarised(world: Any) -> None:
    for number in range(1, 9):
        await world.ok("reminders.add", actor=ANNA, text=f"thing {number}", when=f"in {number} hours")
    answer = await world.ok("reminders.list", actor=ANNA)
    assert answer.text.startswith("There are 8 reminders: thing 1, today at 10 AM; thing 2")
    assert answer.text.endswith("thing 5, today at 2 PM; and 3 more.")
    assert len(answer.data["reminders"]) == 8


async def test_one_that_is_not_there_is_answered_with_the_nearest(world: Any) -> None:
    assert (await world.refused("reminders.done", about="bins")).text == "There are no reminders."
    await world.ok("reminders.add", text="water the plants", when="at five")
    answer = await world.refused("reminders.done", about="the plantation")
    assert (answer.error, answer.text) == (
        "not_found",
        "There is no reminder about the plantation. The nearest is water the plants.",
    )


@pytest.mark.parametrize(
    "about", ["bins", "bin", "the bins", "take the bins out", "my reminder about the bins", "BINS"]
)
async def test_a_few_of_its_words_are_enough(world: Any, about: str) -> None:
    await world.ok("reminders.add", text="take the bins out", when="at five")
    await world.ok("reminders.add", text="call mum", when="at six")
    assert await world.said("reminders.done", about=about) == "Done: take the bins out."


async def test_only_reminders_that_were_named_can_be_meant(world: Any) -> None:
    for hour in range(1, 8):
        await world.ok("reminders.add", text="call mum", when=f"tomorrow at {hour} pm")
    answer = await world.refused("reminders.cancel", about="mum")
    assert answer.text.endswith("call mum tomorrow at 5 PM, or one of 2 more?")
    assert (len(answer.data["reminders"]), answer.data["more"]) == (5, 2)


async def test_when_several_could_be_meant_it_asks_which(world: Any) -> None:
    await world.ok("reminders.add", text="call mum", when="at five")
    await world.ok("reminders.add", text="call dad", when="at six")
    answer = await world.refused("reminders.cancel", about="call")
    assert answer.text == "Which reminder: call mum today at 5 PM, or call dad today at 6 PM?"


async def test_those_of_one_name_are_told_apart_by_what_differs_and_one_is_meant_by_its_id(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="call mum", when="at five")
    await world.ok("reminders.add", actor=ANNA, text="call mum", when="at seven")
    answer = await world.refused("reminders.cancel", actor=ANNA, about="mum")
    assert answer.text == "Which reminder: call mum today at 5 PM, or call mum today at 7 PM?"
    await world.ok("reminders.add", actor=ANNA, text="call mum", when="at five", person="Ben")
    answer = await world.refused("reminders.cancel", actor=ANNA, about="mum")
    assert answer.text == (
        "Which reminder: call mum today at 5 PM for you, call mum today at 5 PM for Ben,"
        " or call mum today at 7 PM for you?"
    )
    second = answer.data["reminders"][1]["id"]
    assert await world.said("reminders.cancel", actor=ANNA, about=second) == "Reminder cancelled: call mum."
    left = (await world.ok("reminders.list", actor=ANNA)).data["reminders"]
    assert [item["person"] for item in left] == ["Anna", "Anna"]


async def test_those_in_two_rooms_are_told_apart_by_them(world: Any) -> None:
    for room in ("study", "hall"):
        await world.ok("reminders.add", text="open the window", when="at five", room=room)
    answer = await world.refused("reminders.cancel", about="window")
    assert answer.text.endswith("5 PM in the study, or open the window today at 5 PM in the hall?")


async def test_of_two_that_nobody_could_tell_apart_one_is_taken_and_the_other_told(world: Any) -> None:
    for _ in range(2):
        await world.ok("reminders.add", text="call mum", when="at five")
    assert await world.said("reminders.cancel", about="mum") == (
        "Reminder cancelled: call mum. There is another one like it, which stays."
    )
    assert await world.said("reminders.cancel", about="mum") == "Reminder cancelled: call mum."


async def test_cancelling_takes_no_yes_for_it_can_be_taken_back(world: Any) -> None:
    await world.ok("reminders.add", text="call mum", when="tomorrow at five")
    assert await world.said("reminders.cancel", about="mum") == "Reminder cancelled: call mum."
    assert await world.said("reminders.list") == "There are no reminders."
    await world.ok("history.undo")
    assert "call mum" in await world.said("reminders.list")


async def test_it_can_be_moved_to_another_time_and_person(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="call mum", when="at five")
    text = await world.said("reminders.change", actor=ANNA, when="tomorrow at noon", person="Tom")
    assert text == "Changed. I'll remind Tom tomorrow at noon: call mum."
    text = await world.said("reminders.change", actor=ANNA, new_text="to call mum and dad.")
    assert text == "Changed. I'll remind Tom tomorrow at noon: call mum and dad."
    assert (await world.refused("reminders.change", actor=ANNA)).error == "invalid"


@pytest.mark.parametrize("deed", ["add", "change", "snooze", "done", "cancel"])
async def test_every_deed_can_be_undone_and_the_undo_too(world: Any, deed: str) -> None:
    def shown(answer: Any) -> Any:
        return answer.data["reminders"]

    await world.ok("reminders.add", actor=ANNA, text="call mum", when="every day at five")
    if deed == "add":
        await world.ok("reminders.add", actor=ANNA, text="tea", when="at six")
    before = shown(await world.ok("reminders.list", actor=ANNA))
    arguments = {
        "add": {"text": "more", "when": "at seven"},
        "change": {"when": "tomorrow at noon", "about": "mum"},
        "snooze": {"minutes": 5},
    }.get(deed, {})
    done = await world.ok(f"reminders.{deed}", actor=ANNA, **arguments)
    after = shown(await world.ok("reminders.list", actor=ANNA))
    assert before != after
    undone = await world.ok("history.undo", actor=ANNA)
    assert undone.text == f"Taken back: {done.receipt.changed}"
    assert shown(await world.ok("reminders.list", actor=ANNA)) == before
    if deed != "cancel":  # to cancel again takes a yes again
        await world.ok("history.undo", actor=ANNA, receipt=undone.receipt.id)
        assert shown(await world.ok("reminders.list", actor=ANNA)) == after


async def test_what_has_changed_since_is_not_undone(world: Any) -> None:
    first = await world.ok("reminders.add", actor=ANNA, text="call mum", when="in an hour")
    world.pass_seconds(HOUR)
    await say_all(world)
    answer = await world.refused("history.undo", actor=ANNA, receipt=first.receipt.id)
    assert answer.text.startswith("I can't take that back, for it has changed since")


async def test_a_reminder_goes_by_the_clock_of_the_house_when_summer_time_comes(world: Any) -> None:
    await world.ok("reminders.add", actor=ANNA, text="pills", when="every day at 8 AM")
    world.clock[0] = datetime(2027, 3, 27, 19, 30, tzinfo=PARIS).timestamp()  # the clocks go forward in the night
    await say_all(world)
    await world.ok("reminders.done", actor=ANNA)
    answer = await world.ok("reminders.due", "house")
    assert answer.data["next_at"] - world.clock[0] == (4.5 + 7) * HOUR  # not 8


async def test_there_is_an_end_to_how_many_there_may_be(world: Any) -> None:
    await world.ok("reminders.add", text="tea", when="at five")
    (first,) = world.gate._state.rows("SELECT * FROM reminders")
    for number in range(299):
        world.gate._state.run(
            f"INSERT INTO reminders VALUES ({', '.join('?' * len(first))})", f"reminder_{number}", *tuple(first)[1:]
        )
    assert (await world.refused("reminders.add", text="one more", when="at five")).error == "failed"


@pytest.mark.parametrize("text", ["'; DROP TABLE reminders; --", "te\x00a", "🍵", "a\nb", "{text}", "%s"])
async def test_odd_texts_are_only_texts(world: Any, text: str) -> None:
    await world.ok("reminders.add", text=text, when="at five")
    assert "\n" not in await world.said("reminders.list")
    await world.ok("reminders.cancel")
    assert await world.said("reminders.list") == "There are no reminders."


@pytest.mark.real
@pytest.mark.timeout(120)
async def test_kill_9_between_two_calls_loses_nothing(data: Path, wire: Any) -> None:
    path = data / "tools.sock"
    async with wire.process(data, "--socket", str(path)) as (process, _):
        async with wire.client(path, "owner-token") as client:
            for tool, arguments in (
                ("reminders.add", {"text": "water the plants", "when": "every other Tuesday at seven"}),
                ("reminders.add", {"text": "happy birthday", "when": "when Bea is next heard"}),
                ("alarms.set", {"when": "every weekday at 6:30"}),
            ):
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer.content[0].text
            before = [await listed(client, kind) for kind in ("reminders", "alarms")]
        process.send_signal(signal.SIGKILL)
        await process.wait()
    async with wire.process(data, "--socket", str(path)), wire.client(path, "owner-token") as client:
        assert [await listed(client, kind) for kind in ("reminders", "alarms")] == before
        assert [len(kind) for kind in before] == [2, 1]


async def listed(client: Any, kind: str) -> Any:
    return (await client.call_tool(f"{kind}.list", {})).structured_content[kind]


async def test_the_reminders_of_a_day_are_told_by_themselves(world: Any) -> None:
    await world.ok("reminders.add", text="feed the cat", when="on Saturday at eight")
    await world.ok("reminders.add", text="stretch", when="every weekday at noon")
    assert await world.said("reminders.list", day="Monday") == "There is 1 reminder: stretch, every weekday at noon."
    assert "feed the cat" in await world.said("reminders.list", day="on Saturday")
    assert await world.said("reminders.list", day="on Sunday") == "There are no reminders on Sunday."


@pytest.mark.parametrize("role", ROLES)
async def test_what_somebody_else_is_reminded_of_is_told_to_no_role(world: Any, role: str) -> None:
    await world.ok("reminders.add", actor=ANNA, text="brush his teeth", when="at six", person="Tom")
    bea = {"person": "Bea", "device": "phone", "role": role, "room": ""}
    assert await world.said("reminders.list", actor=bea) == "There are no reminders."


async def test_a_guest_is_told_what_is_for_them_by_name_and_nothing_of_the_household(world: Any) -> None:
    nobody = {"person": "", "device": "kitchen-satellite", "role": "satellite", "room": "kitchen"}
    await world.ok("reminders.add", actor=nobody, text="brush his teeth", when="at six", person="Tom")
    await world.ok("reminders.add", actor=nobody, text="take the pills", when="at six")
    await world.ok("reminders.add", actor=ANNA, text="pay the rent", when="at six", person="everyone")
    guest = {"person": "", "device": "phone of a guest", "role": "guest", "room": ""}
    assert (await world.ok("reminders.list", actor=guest)).data["reminders"] == []
    await world.ok("reminders.add", actor=ANNA, text="catch the train", when="at eight", person="Pia")
    told = (await world.ok("reminders.list", actor={**guest, "person": "pia"})).data["reminders"]
    assert [reminder["text"] for reminder in told] == ["catch the train"]


async def test_what_was_said_to_another_long_ago_is_nobodys_to_answer_but_theirs(world: Any) -> None:
    ben = {"person": "Ben", "device": "tablet", "role": "child"}
    await world.ok("reminders.add", actor=ANNA, text="take the pill", when="in ten minutes")
    world.pass_seconds(600)
    for _ in range(3):
        (said,) = (await world.ok("reminders.due", "house")).data["due"]
        await world.ok("reminders.announced", "house", ids=[said["id"]])
        world.pass_seconds(300)
    world.pass_seconds(3600)
    for tool in ("reminders.done", "reminders.snooze"):
        assert (await world.refused(tool, actor=ben)).text == "There are no reminders."
    assert await world.said("reminders.done", actor=ANNA) == "Done: take the pill."
