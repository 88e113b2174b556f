"""What is to be said everywhere waits until it is said, through a restart too."""

from __future__ import annotations

from typing import Any


async def waiting(world: Any) -> list[dict[str, Any]]:
    due: list[dict[str, Any]] = (await world.ok("broadcast.due", agent="house")).data["due"]
    return due


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


async def test_one_room_is_told_and_what_nobody_heard_can_be_taken_back(world: Any) -> None:
    text = await world.ok("broadcast.say", text="Wake up", room="Kids Room")
    assert text.text == "I'm saying it, Kids Room."
    assert [due["room"] for due in await waiting(world)] == ["Kids Room"]
    await world.ok("history.undo", receipt=text.receipt.id)
    assert await waiting(world) == []
    assert (await world.refused("broadcast.say", text="   ")).text == "What should I say?"
