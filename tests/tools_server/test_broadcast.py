"""What is to be said everywhere waits until it is said, through a restart too."""

from __future__ import annotations

from typing import Any

from tools_server.tools.broadcast import MOST_MISSED


async def waiting(world: Any) -> list[dict[str, Any]]:
    due: list[dict[str, Any]] = (await world.ok("broadcast.due", agent="house")).data["due"]
    return due


async def missed(world: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (await world.ok("broadcast.due", agent="house", missed=True)).data["missed"]
    return rows


async def test_what_is_said_everywhere_is_due_until_it_was_said(world: Any, reopened: Any) -> None:
    assert await world.said("broadcast.say", text="Dinner is ready!") == "I'm saying it everywhere."
    [due] = await waiting(world)
    assert (due["text"], due["room"], due["device"], due["person"]) == ("Dinner is ready!", "", "", "")
    with reopened(world.clock[0] + 200) as again:
        [due] = await waiting(again)
        assert due["text"] == "From 3 minutes ago: Dinner is ready!"
        await again.ok("broadcast.announced", agent="house", ids=[due["id"]])
        assert await waiting(again) == []


async def test_what_nobody_could_hear_for_an_hour_is_not_said_to_who_comes_later(world: Any) -> None:
    await world.ok("broadcast.say", text="Dinner is ready!")
    world.clock[0] += 3_601
    assert await waiting(world) == []
    await world.ok("broadcast.say", text="Good night")
    assert [due["text"] for due in await waiting(world)] == ["Good night"]


async def test_what_nobody_heard_is_told_for_a_week_to_who_asks_what_they_missed(world: Any) -> None:
    await world.ok("broadcast.say", text="Dinner is ready")
    await world.ok("broadcast.say", text="Come down", room="Kids Room")
    assert await missed(world) == [], "it may still be said"
    world.clock[0] += 3_601
    assert {(row["text"], row["room"]) for row in await missed(world)} == {
        ("Dinner is ready", ""),
        ("Come down", "Kids Room"),
    }
    await world.ok("broadcast.say", text="Good night")
    [due] = await waiting(world)
    await world.ok("broadcast.announced", agent="house", ids=[due["id"]])
    world.clock[0] += 3_601
    assert len(await missed(world)) == 2, "what was said was not missed"
    world.clock[0] += 7 * 86_400
    assert await missed(world) == []


async def test_of_many_that_nobody_heard_only_the_latest_are_remembered(world: Any) -> None:
    for number in range(60):
        await world.ok("broadcast.say", text=f"number {number}")
        world.clock[0] += 4_000
    unheard = await missed(world)
    assert [row["text"] for row in unheard[:2]] == ["number 59", "number 58"]
    assert len(unheard) == MOST_MISSED
    await world.ok("broadcast.say", text="now")
    rows = len(world.gate._state.rows("SELECT id FROM broadcast"))
    assert rows == MOST_MISSED + 1


async def test_what_was_not_said_yet_is_taken_back_and_what_was_said_is_not(world: Any) -> None:
    await world.ok("broadcast.say", text="Dinner is ready!")
    assert await world.said("history.undo") == "I won't say it."
    assert await waiting(world) == []
    await world.ok("broadcast.say", text="Come down")
    [due] = await waiting(world)
    await world.ok("broadcast.announced", agent="house", ids=[due["id"]])
    answer = await world.refused("history.undo")
    assert answer.text == "I have said that already."
