"""What was done for whom, and "undo that": only as far as nobody has touched it since."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result
from tools_server.values.policy import Rule

KITCHEN = {"person": "Anna", "device": "speaker", "role": "adult", "room": "kitchen"}
PHONE = {"person": "Anna", "device": "phone", "role": "adult", "room": ""}
SPEAKER = {"person": "", "device": "speaker", "role": "satellite", "room": "kitchen"}
MIA = {"person": "Mia", "device": "speaker", "role": "child", "room": "kitchen"}
GUEST = {"person": "", "device": "visitor", "role": "guest", "room": "kitchen"}
OWNER = {"person": "Ola", "device": "desk", "role": "owner", "room": "office"}


# ── what was done ──────────────────────────────────────────────────────────────────────────────────


async def test_it_says_what_it_did_last_and_when(world: Any) -> None:
    assert await world.said("history.last", actor=KITCHEN) == "I haven't changed anything for you."
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    await world.ok("timers.list", actor=KITCHEN)
    assert await world.said("history.last", actor=KITCHEN) == "Just now: Timer set for 10 minutes."
    world.pass_seconds(60)
    assert await world.said("history.last", actor=KITCHEN) == "1 minute ago: Timer set for 10 minutes."
    await world.ok("tasks.add", actor=KITCHEN, title="Buy milk")
    assert await world.said("history.last", actor=KITCHEN, count=5) == (
        "Just now: Added Buy milk to your tasks. 1 minute ago: Timer set for 10 minutes."
    )
    world.pass_seconds(7200)
    assert await world.said("history.last", actor=KITCHEN) == "Today at 9:01 AM: Added Buy milk to your tasks."
    world.pass_seconds(86_400)
    assert await world.said("history.last", actor=KITCHEN) == "Yesterday at 9:01 AM: Added Buy milk to your tasks."
    world.pass_seconds(86_400)
    assert (await world.said("history.last", actor=KITCHEN)).startswith("Friday, January 15 at 9:01 AM: ")


async def test_everybody_hears_of_their_own_conversation_only(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    for actor in (PHONE, SPEAKER):  # the same person, or the same speaker that does not know who talks
        assert "10 minutes" in await world.said("history.last", actor=actor)
    for actor in (MIA, GUEST, OWNER, None):
        assert await world.said("history.last", actor=actor) == "I haven't changed anything for you."


async def test_a_device_hears_of_nothing_that_another_of_its_name_changed(world: Any) -> None:
    first, second = ({"device": "tablet", "role": "guest", "device_id": one} for one in ("device_1", "device_2"))
    await world.ok("timers.start", actor=first, seconds=600)
    assert "10 minutes" in await world.said("history.last", actor=first)
    assert await world.said("history.last", actor=second) == "I haven't changed anything for you."
    assert (await world.refused("history.undo", actor=second)).error == "not_found"


async def test_an_owner_may_hear_of_everybodys_and_nobody_else(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    answer = await world.refused("history.last", actor=PHONE, everyone=True)
    assert (answer.error, answer.text) == ("denied", "Only an owner may hear what was done for everybody.")
    answer = await world.ok("history.last", actor=OWNER, everyone=True)
    (change,) = answer.data["changes"]
    assert (change["tool"], change["actor"], change["undo"]) == ("timers.start", KITCHEN, True)


async def test_what_one_agent_does_is_no_other_agents_business(world: Any) -> None:
    await world.ok("timers.start", "work", OWNER, seconds=600)
    assert await world.said("history.last", actor=OWNER, everyone=True) == "I haven't changed anything for you."
    assert "10 minutes" in await world.said("history.last", "owner", OWNER, everyone=True)


# ── undo ───────────────────────────────────────────────────────────────────────────────────────────


async def test_undo_takes_back_the_last_change_of_this_conversation(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600, name="pizza")
    await world.ok("timers.start", actor=MIA, seconds=300, name="tea")
    answer = await world.ok("history.undo", actor=SPEAKER)
    assert answer.text == "Tea timer cancelled.", "the speaker's last: it does not know who talks"
    assert await world.said("history.undo", actor=PHONE) == "Pizza timer cancelled."
    assert await world.said("timers.list") == "There are no timers."
    assert world.record[-2]["tool"] == "history.undo"


async def test_an_undo_is_a_change_with_a_receipt_and_can_be_undone(world: Any) -> None:
    started = await world.ok("timers.start", actor=KITCHEN, seconds=600, name="pizza")
    assert started.receipt.undo
    before = await world.said("timers.list")
    undone = await world.ok("history.undo", actor=KITCHEN)
    assert (undone.receipt.tool, undone.receipt.undo) == ("timers.start", True)
    assert await world.said("timers.list") == "There are no timers."
    again = await world.said("history.undo", actor=KITCHEN, again=True)
    assert again == "Your pizza timer is back, with 10 minutes left."
    assert await world.said("timers.list") == before
    assert await world.said("history.undo", actor=KITCHEN) == "Pizza timer cancelled."
    details = await world.said("history.last", actor=KITCHEN, count=4)
    assert details.count("That is taken back since.") == 3


async def test_a_second_undo_takes_back_the_change_before_and_only_again_does_it_again(world: Any) -> None:
    async def undo(**more: Any) -> str:
        return str(await world.said("history.undo", actor=KITCHEN, **more))

    async def items() -> list[str]:
        return [item["text"] for item in (await world.ok("lists.read", actor=KITCHEN)).data["items"]]

    for thing in ("milk", "eggs", "jam"):
        await world.ok("lists.add", actor=KITCHEN, items=[thing])
    assert await undo() == "Taken back: Added jam to the shopping list."
    assert await undo() == "Taken back: Added eggs to the shopping list."
    assert await items() == ["milk"]
    assert await undo(again=True) == "Done again: Added eggs to the shopping list."
    assert await items() == ["milk", "eggs"]
    assert await undo() == "Taken back: Added eggs to the shopping list.", "what was done again is a change like any"
    assert await undo(again=True) == "Done again: Added eggs to the shopping list."
    assert await undo(again=True) == "Done again: Added jam to the shopping list."
    assert await items() == ["milk", "eggs", "jam"]
    for thing in ("jam", "eggs", "milk"):
        assert await undo() == f"Taken back: Added {thing} to the shopping list."
    assert await items() == []
    answer = await world.refused("history.undo", actor=KITCHEN)
    assert answer.text == "I haven't changed anything for you that I could take back."


async def test_what_was_never_taken_back_is_not_done_again(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600)
    answer = await world.refused("history.undo", actor=KITCHEN, again=True)
    assert answer.text == "I haven't taken back anything for you that I could do again."


async def test_the_same_change_is_not_taken_back_twice(world: Any) -> None:
    receipt = (await world.ok("timers.start", actor=KITCHEN, seconds=600)).receipt.id
    await world.ok("history.undo", actor=KITCHEN, receipt=receipt)
    answer = await world.refused("history.undo", actor=KITCHEN, receipt=receipt)
    assert answer.text == "That is taken back already: Timer set for 10 minutes."


async def test_an_older_change_is_taken_back_by_its_receipt(world: Any) -> None:
    receipt = (await world.ok("timers.start", actor=KITCHEN, seconds=86_400, name="bread")).receipt.id
    await world.ok("timers.start", actor=KITCHEN, seconds=86_400, name="pizza")
    assert await world.said("history.undo", actor=KITCHEN, receipt=receipt) == "Bread timer cancelled."
    for actor in (MIA, GUEST):
        other = (await world.ok("timers.start", actor=KITCHEN, seconds=60)).receipt.id
        answer = await world.refused("history.undo", actor=actor, receipt=other)
        assert (answer.error, answer.text) == ("not_found", "I know of no such change.")
    assert (await world.refused("history.undo", actor=KITCHEN, receipt="receipt_none")).error == "not_found"
    assert await world.said("history.undo", actor=OWNER, receipt=other) == "1 minute timer cancelled."


async def test_that_is_not_last_nights(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=604_800)
    world.pass_seconds(3 * 3600)
    answer = await world.refused("history.undo", actor=KITCHEN)
    assert answer.text == (
        "I haven't changed anything for you in the last hour that I could take back."
        " Today at 9 AM: Timer set for 7 days."
    )
    await world.ok("history.undo", actor=KITCHEN, receipt=answer.data["changes"][0]["receipt"])


async def test_what_cannot_be_taken_back_is_said_instead_of_taking_back_something_older(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=60)
    tools = world.gate._tools
    world.gate._tools = {**tools, "timers.pause": replace(tools["timers.pause"], run=rung)}
    rang = await world.ok("timers.pause", actor=KITCHEN)
    assert not rang.receipt.undo
    answer = await world.refused("history.undo", actor=KITCHEN)
    assert answer.text == "I can't take that back: The bell rang."
    assert "10 minute" not in await world.said("timers.list")


async def rung(call: Call, **_: Any) -> Result:
    return Result("The bell rang.", {}, call.receipt("The bell rang.", before=None, after=None))


async def test_who_may_not_do_a_thing_may_not_undo_it(world: Any) -> None:
    await world.ok("tasks.add", actor=KITCHEN, title="Buy milk")
    guest = {**KITCHEN, "person": "", "role": "guest"}  # at the same speaker
    answer = await world.refused("history.undo", actor=guest)
    assert (answer.error, answer.text) == ("denied", "Guests can't change the household's lists.")
    assert "Buy milk" in await world.said("tasks.list")


async def test_a_rule_about_what_was_said_to_a_tool_holds_for_taking_it_back(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=60, room="attic")
    rule = Rule("attic", "deny", "The attic is Mia's.", roles=("satellite",), arguments={"room": ("attic",)})
    world.gate._policy = replace(world.gate._policy, rules=(*world.gate._policy.rules, rule))
    assert (await world.refused("history.undo", actor=SPEAKER)).text == "The attic is Mia's."
    await world.ok("history.undo", actor=KITCHEN)


async def test_where_an_undo_reaches_into_the_world_every_tool_it_might_stand_for_must_be_allowed(world: Any) -> None:
    """To undo closing the garage is to open it."""
    await world.ok("timers.start", actor=KITCHEN, seconds=60, room="garage")
    rule = Rule("garage", "deny", "Not the garage.", tools=("timers.cancel",), arguments={"room": ("garage",)})
    world.gate._policy = replace(world.gate._policy, rules=(*world.gate._policy.rules, rule))
    tools = world.gate._tools
    world.gate._tools = {**tools, "timers.start": replace(tools["timers.start"], open_world=True)}
    assert (await world.refused("history.undo", actor=KITCHEN)).text == "Not the garage."
    world.gate._tools = tools
    await world.ok("history.undo", actor=KITCHEN)


async def test_taking_back_the_taking_back_of_what_needed_a_yes_is_not_a_way_around_the_yes(world: Any) -> None:
    await world.ok("tasks.add", actor=KITCHEN, title="Buy milk")
    await world.ok("tasks.remove", actor=KITCHEN, title="Buy milk")
    assert await world.said("history.undo", actor=KITCHEN) == "Buy milk is back on the task board, to do."
    answer = await world.refused("history.undo", actor=KITCHEN, again=True)
    assert answer.text == "I don't do that again just by taking it back. Ask me for it anew."
    assert "Buy milk" in await world.said("tasks.list")


async def test_two_at_once_take_it_back_once(world: Any) -> None:
    go, ran, answers = anyio.Event(), [], []

    async def slowly(call: Call, stored_receipt: StoredReceipt) -> Result:
        ran.append(stored_receipt.id)
        await go.wait()
        return Result("Back.", {}, call.receipt("Back.", before=stored_receipt.after, after=stored_receipt.before))

    world.gate._toolbox = replace(world.gate._toolbox, undo={"timers": slowly})
    receipt = (await world.ok("timers.start", actor=KITCHEN, seconds=60)).receipt.id
    async with anyio.create_task_group() as tasks:

        async def undo() -> None:
            answers.append(await world.call("history.undo", actor=KITCHEN, receipt=receipt))

        for _ in range(3):
            tasks.start_soon(undo)
        await anyio.wait_all_tasks_blocked()
        go.set()
    assert ran == [receipt]
    assert sorted(answer.text for answer in answers) == ["Back.", *["That is being taken back just now."] * 2]


async def test_a_receipt_survives_a_restart_and_so_does_what_it_can_do(world: Any, reopened: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=600, name="pizza")
    with reopened(world.clock[0] + 30) as later:
        assert await later.said("history.undo", actor=KITCHEN) == "Pizza timer cancelled."


# ── timers ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_cancelled_timer_comes_back_with_its_deadline(world: Any) -> None:
    await world.ok("timers.start", seconds=600, name="pizza")
    await world.ok("timers.cancel")
    world.pass_seconds(60)
    assert await world.said("history.undo") == "Your pizza timer is back, with 9 minutes left."


async def test_a_cancelled_timer_that_has_ended_meanwhile_says_so_and_does_not_ring(world: Any) -> None:
    await world.ok("timers.start", seconds=60, name="pizza")
    await world.ok("timers.cancel")
    world.pass_seconds(300)
    assert await world.said("history.undo") == "Your pizza timer is back, but it ended 4 minutes ago."
    assert (await world.ok("timers.due", "house")).data["timers"] == []
    assert await world.said("timers.left", name="pizza") == "Your pizza timer ended 4 minutes ago."


async def test_all_timers_come_back_and_those_that_ended_are_named(world: Any) -> None:
    for seconds, name in ((60, "egg"), (600, "pizza"), (1200, "")):
        await world.ok("timers.start", seconds=seconds, name=name)
    await world.ok("timers.pause", name="pizza")
    await world.ok("timers.cancel_all")
    world.pass_seconds(120)
    assert await world.said("history.undo") == "3 timers are back. Your egg timer ended 1 minute ago."
    assert await world.said("timers.list") == (
        "There are 2 timers. Your pizza timer is paused with 10 minutes left. Your 20 minute timer has 18 minutes left."
    )
    await world.ok("history.undo", again=True)
    assert await world.said("timers.list") == "There are no timers."


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("timers.pause", {}, "Your pizza timer is as it was, with 10 minutes left."),
        ("timers.add", {"by_seconds": 60}, "Your pizza timer is as it was, with 10 minutes left."),
    ],
)
async def test_a_changed_timer_is_as_it_was(world: Any, tool: str, arguments: Any, text: str) -> None:
    await world.ok("timers.start", seconds=600, name="pizza")
    before = await world.said("timers.list")
    await world.ok(tool, **arguments)
    assert await world.said("timers.list") != before
    assert await world.said("history.undo") == text
    assert await world.said("timers.list") == before


async def test_a_resumed_timer_is_paused_again(world: Any) -> None:
    await world.ok("timers.start", seconds=600, name="pizza")
    await world.ok("timers.pause")
    await world.ok("timers.resume")
    world.pass_seconds(100)
    assert await world.said("history.undo") == "Your pizza timer is as it was, paused with 10 minutes left."


async def test_a_timer_that_somebody_changed_since_is_left_alone_and_named(world: Any) -> None:
    receipt = (await world.ok("timers.start", seconds=600, name="pizza")).receipt.id
    await world.ok("timers.add", by_seconds=60)
    answer = await world.refused("history.undo", receipt=receipt)
    assert answer.text == "I can't take that back: your pizza timer was changed since."
    await world.ok("timers.cancel")
    answer = await world.refused("history.undo", receipt=receipt)
    assert answer.text == "I can't take that back: your pizza timer is gone."


async def test_a_timer_that_rang_cannot_be_unstarted(world: Any) -> None:
    await world.ok("timers.start", actor=KITCHEN, seconds=60, name="pizza")
    world.pass_seconds(61)
    ids = [timer["id"] for timer in (await world.ok("timers.due", "house")).data["timers"]]
    announced = await world.ok("timers.announced", "house", ids=ids)
    assert not announced.receipt.undo
    answer = await world.refused("history.undo", actor=KITCHEN)
    assert answer.text == "I can't take that back: your pizza timer has ended."


# ── tasks ──────────────────────────────────────────────────────────────────────────────────────────


async def test_an_added_task_goes_away_and_comes_back(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    text = (world.board / "buy-milk.md").read_bytes()
    assert await world.said("history.undo") == "Buy milk is off the task board again."
    assert list(world.board.iterdir()) == []
    assert await world.said("history.undo", again=True) == "Buy milk is back on the task board, to do."
    assert (world.board / "buy-milk.md").read_bytes() == text


async def test_a_moved_task_is_byte_for_byte_as_it_was(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    file = world.board / "buy-milk.md"
    file.write_bytes(file.read_bytes() + b"\r\nfrom the *corner* shop \xf0\x9f\xa5\x9b\n")
    before = file.read_bytes()
    await world.ok("tasks.done", title="Buy milk")
    assert file.read_bytes() != before
    assert await world.said("history.undo") == "Buy milk is to do again."
    assert file.read_bytes() == before
    assert await world.said("history.undo", again=True) == "Buy milk is done again."


async def test_a_task_that_somebody_edited_since_is_left_alone_and_named(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    file = world.board / "buy-milk.md"
    file.write_text(file.read_text() + "two litres\n")
    answer = await world.refused("history.undo")
    assert answer.text == "I can't take that back: Buy milk was edited since."
    assert file.read_text().endswith("two litres\n")
    file.unlink()
    assert (await world.refused("history.undo")).text == "I can't take that back: Buy milk was removed since."


async def test_a_removed_task_does_not_come_back_over_another(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    await world.ok("tasks.remove", title="Buy milk")
    file = world.board / "buy-milk.md"
    file.write_text("# Buy milk\nby hand\n")
    answer = await world.refused("history.undo")
    assert answer.text == "I can't take that back: there is another Buy milk in its place now."
    assert file.read_text() == "# Buy milk\nby hand\n"


async def test_a_bare_stop_silences_what_rings_before_it_takes_anything_back(world: Any) -> None:
    await world.ok("alarms.set", actor=KITCHEN, when="in ten minutes")
    world.pass_seconds(590)
    await world.ok("tasks.add", actor=KITCHEN, title="Buy milk")
    world.pass_seconds(10)
    assert (await world.ok("alarms.due", "house")).data["due"]
    assert await world.said("history.undo", actor=KITCHEN, silence=True) == "Alarm stopped."
    await world.ok("timers.start", actor=KITCHEN, seconds=5)
    world.pass_seconds(6)
    ended = [one["id"] for one in (await world.ok("timers.due", "house")).data["timers"]]
    await world.ok("timers.announced", "house", ids=ended, ringing=True)
    await world.ok("tasks.add", actor=KITCHEN, title="Wash up")
    assert "stopped" in await world.said("history.undo", actor=KITCHEN, silence=True)
