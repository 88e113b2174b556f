"""Messages as households leave them: for a room, a person, everybody; until they were heard; to no others."""

from __future__ import annotations

from typing import Any

import pytest

ANNA = {"person": "Anna", "device": "annas-phone", "role": "adult"}
EVA = {"person": "Eva", "device": "evas-phone", "role": "adult"}
TOM = {"person": "Tom", "device": "toms-phone", "role": "child"}
BEN = {"person": "Ben", "device": "bens-phone", "role": "owner"}
KITCHEN = {"device": "kitchen-pi", "role": "satellite", "room": "kitchen"}
ATTIC = {"device": "attic-pi", "role": "satellite", "room": "attic"}
GUEST = {"device": "guest-phone", "role": "guest"}
DAY = 86_400


async def listed(world: Any, actor: dict[str, str]) -> list[str]:
    return [one["text"] for one in (await world.ok("messages.list", actor=actor)).data["messages"]]


async def due(world: Any) -> list[dict[str, Any]]:
    return list((await world.ok("messages.due", "house")).data["due"])


async def test_a_message_goes_to_a_room_a_person_or_everybody_and_says_so(world: Any) -> None:
    say = world.said
    assert await say("messages.leave", actor=ANNA, text="Dinner is ready") == "Your message goes out to everybody."
    world.pass_seconds(1)
    assert await say("messages.leave", actor=ANNA, text="Dinner", room="attic") == "Your message goes out, attic."
    world.pass_seconds(1)
    assert await say("messages.leave", actor=ANNA, text="Dinner", person="Tom") == "I'll give Tom your message: Dinner"
    assert [(one["room"], one["person"]) for one in await due(world)] == [("", ""), ("attic", ""), ("", "Tom")]


async def test_it_waits_until_it_was_played_and_can_be_heard_again_for_a_week(world: Any) -> None:
    await world.ok("messages.leave", actor=ANNA, text="Dinner is ready", room="attic")
    world.pass_seconds(3 * 60)
    (message,) = await due(world)
    assert message["text"] == "A message from Anna, 3 minutes ago: Dinner is ready"
    await world.ok("messages.announced", "house", ids=[message["id"]])
    assert await due(world) == []
    assert await listed(world, ATTIC) == ["Dinner is ready"]
    world.pass_seconds(8 * DAY)
    later = (await world.ok("messages.leave", actor=ANNA, text="Dinner again")).data["message"]
    assert (await world.ok("messages.due", "house")).data["stored"] == [later["id"]]


async def test_a_device_of_the_same_name_has_left_no_message_of_the_one_before(world: Any) -> None:
    tablet = {"device": "tablet", "role": "adult", "device_id": "device_1"}
    await world.ok("messages.leave", actor=tablet, text="For Tom alone", person="Tom")
    assert await listed(world, tablet) == ["For Tom alone"]
    assert await listed(world, tablet | {"device_id": "device_2"}) == []


@pytest.mark.parametrize("days", [10_000, -10_000])
async def test_a_clock_that_is_far_out_takes_no_unheard_message_away(world: Any, days: int) -> None:
    first = (await world.ok("messages.leave", actor=ANNA, text="Dinner is ready", room="attic")).data["message"]
    world.pass_seconds(days * DAY)
    second = (await world.ok("messages.leave", actor=EVA, text="Tea", room="attic")).data["message"]
    world.pass_seconds(-days * DAY)
    await world.ok("messages.leave", actor=EVA, text="Cake", room="attic")
    texts = {one["id"]: one["text"] for one in await due(world)}
    assert texts[first["id"]] == "A message from Anna: Dinner is ready"
    assert texts[second["id"]] == "A message from Eva: Tea"
    assert set((await world.ok("messages.due", "house")).data["stored"]) >= {first["id"], second["id"]}


async def test_what_is_for_one_person_is_for_nobody_else_not_even_the_owner(world: Any) -> None:
    message = (await world.ok("messages.leave", actor=ANNA, text="a surprise", person="tom")).data["message"]
    for stranger in (BEN, EVA, KITCHEN):
        assert await listed(world, stranger) == []
        assert (await world.refused("messages.heard", actor=stranger, message=message["id"])).error == "not_found"
    for stranger in (EVA, KITCHEN):
        assert (await world.refused("messages.delete", actor=stranger, message=message["id"])).error == "not_found"
    assert await listed(world, TOM) == await listed(world, ANNA) == ["a surprise"]
    assert await world.said("messages.list", actor=TOM) == "A message from Anna: a surprise"
    await world.ok("messages.heard", actor=TOM, message=message["id"])
    assert await due(world) == []
    assert await world.said("messages.list", actor=TOM) == "There are no new messages."


async def test_who_left_it_has_not_heard_it_for_others(world: Any) -> None:
    message = (await world.ok("messages.leave", actor=ANNA, text="Dinner", person="Tom")).data["message"]
    await world.ok("messages.heard", actor=ANNA, message=message["id"])
    assert len(await due(world)) == 1


async def test_what_is_for_others_was_not_heard_by_a_child_or_in_another_room(world: Any) -> None:
    for_all = (await world.ok("messages.leave", actor=ANNA, text="Dinner")).data["message"]["id"]
    for_attic = (await world.ok("messages.leave", actor=ANNA, text="Tea", room="attic")).data["message"]["id"]
    for other, message in ((TOM, for_all), (TOM, for_attic), (EVA, for_attic), (KITCHEN, for_attic)):
        answer = await world.ok("messages.heard", actor=other, message=message)
        assert (answer.text, answer.receipt) == ("It still waits for those whom it is for.", None)
    assert len(await due(world)) == 2
    await world.ok("messages.heard", actor=KITCHEN, message=for_all)
    await world.ok("messages.heard", actor=ATTIC, message=for_attic)
    assert await due(world) == []


async def test_an_owner_sees_for_whom_messages_wait_and_deletes_them_and_never_their_words(world: Any) -> None:
    first = (await world.ok("messages.leave", actor=ANNA, text="a surprise", person="Tom")).data["message"]["id"]
    told = await world.ok("messages.list", actor=BEN)
    assert told.data["messages"] == []
    assert [(one["id"], one["person"]) for one in told.data["others"]] == [(first, "Tom")]
    assert "others" not in (await world.ok("messages.list", actor=EVA)).data
    assert (await world.refused("messages.delete", actor=BEN)).error == "not_found", "the latest is one's own"
    deleted = await world.ok("messages.delete", actor=BEN, message=first)
    assert "surprise" not in str((told, deleted))
    assert await due(world) == []
    heard = (await world.ok("messages.leave", actor=ANNA, text="bed", person="Tom")).data["message"]["id"]
    await world.ok("messages.announced", "house", ids=[heard])
    assert (await world.refused("messages.delete", actor=BEN, message=heard)).error == "not_found"


async def test_a_guest_neither_leaves_nor_hears_messages(world: Any) -> None:
    await world.ok("messages.leave", actor=ANNA, text="Dinner")
    for tool, arguments in (("messages.leave", {"text": "boo"}), ("messages.list", {}), ("messages.delete", {})):
        assert (await world.refused(tool, actor=GUEST, **arguments)).error == "denied"


async def test_a_child_deletes_its_own_and_what_is_for_it_and_not_what_is_for_everybody(world: Any) -> None:
    for_all = (await world.ok("messages.leave", actor=ANNA, text="Dinner")).data["message"]
    for_tom = (await world.ok("messages.leave", actor=ANNA, text="Bed", person="Tom")).data["message"]
    toms = (await world.ok("messages.leave", actor=TOM, text="No")).data["message"]
    assert (await world.refused("messages.delete", actor=TOM, message=for_all["id"])).error == "denied"
    for message in (for_tom, toms):
        await world.ok("messages.delete", actor=TOM, message=message["id"])
    assert await listed(world, ANNA) == ["Dinner"]


async def test_nobody_leaves_more_than_a_house_can_hear(world: Any) -> None:
    for actor, most in ((TOM, 10), (ANNA, 20)):
        for number in range(most):
            await world.ok("messages.leave", actor=actor, text=f"number {number}")
        assert "Too many" in (await world.refused("messages.leave", actor=actor, text="one more")).text
    assert (await world.refused("messages.leave", actor=BEN, text=" ")).text == "What is the message?"
    assert await world.ok("messages.leave", actor=BEN, recorded=True)


async def test_a_message_survives_a_restart_and_a_deleted_one_does_not_come_back(world: Any, reopened: Any) -> None:
    message = (await world.ok("messages.leave", actor=ANNA, text="Dinner")).data["message"]
    with reopened(world.clock[0] + 60) as again:
        assert len(await due(again)) == 1
        await again.ok("messages.delete", actor=ANNA, message=message["id"])
    with reopened(world.clock[0] + 120) as again:
        assert await due(again) == []


async def test_what_nobody_has_heard_can_be_taken_back_and_what_was_heard_cannot(world: Any) -> None:
    receipt = (await world.ok("messages.leave", actor=ANNA, text="Dinner")).receipt
    await world.ok("history.undo", actor=ANNA, receipt=receipt.id)
    assert await due(world) == []
    left = await world.ok("messages.leave", actor=ANNA, text="Dinner")
    await world.ok("messages.announced", "house", ids=[left.data["message"]["id"]])
    assert (await world.refused("history.undo", actor=ANNA, receipt=left.receipt.id)).error == "failed"


async def test_the_record_holds_who_left_and_deleted_a_message_and_not_its_words(world: Any) -> None:
    message = (await world.ok("messages.leave", actor=ANNA, text="a surprise party")).data["message"]
    await world.ok("messages.delete", actor=ANNA, message=message["id"])
    rows = [row for row in world.record if row.get("tool", "").startswith("messages.")]
    assert [row["tool"] for row in rows] == ["messages.leave", "messages.delete"]
    assert "surprise" not in str(rows)


@pytest.mark.parametrize("text", ["x" * 1901, None])
async def test_what_is_no_message_is_refused(world: Any, text: Any) -> None:
    assert (await world.refused("messages.leave", actor=ANNA, text=text)).error == "invalid"


async def test_a_voice_in_a_room_is_told_nothing_that_is_for_one_person_and_speaks_for_nobody(world: Any) -> None:
    by_voice = {**KITCHEN, "person": "Tom"}  # which a recording of Tom can be, or his sister
    message = (await world.ok("messages.leave", actor=ANNA, text="a surprise", person="Tom")).data["message"]
    assert await listed(world, by_voice) == []
    assert (await world.refused("messages.delete", actor=by_voice, message=message["id"])).error == "not_found"
    forged = (await world.ok("messages.leave", actor=by_voice, text="Anna may stay up", room="attic")).data["message"]
    assert forged["sender"] == ""
