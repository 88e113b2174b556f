"""Rules speak of people and things; no other way to write their names goes round them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conftest import for_every
from tools_server.values.policy import (
    ANY_TIME,
    Action,
    AgentAccount,
    CallActor,
    Policy,
    Rule,
    Verdict,
    decide,
)
from tools_server.values.prove import SoundnessQuestion, prove
from tools_server.values.rules import RulesWrong
from wall.patterns import fits_any

FAMILY = AgentAccount("family", ("*",))
ADULT = {"role": "adult"}


def deny(world: Any, tools: Sequence[str], **arguments: Sequence[str]) -> None:
    """Add a rule to the house's."""
    rule = Rule(
        "no", "deny", "That is not done.", tools=tuple(tools), arguments={k: tuple(v) for k, v in arguments.items()}
    )
    world.gate._policy = Policy((*world.gate._policy.rules, rule))


@pytest.mark.parametrize("role", ["kid", "guest ", "Guest", "CHILD", "ｇuest", "\u200bguest", "nobody", "*", "guest\n"])
async def test_a_role_that_no_rule_speaks_of_is_nobodys(world: Any, role: str) -> None:
    answer = await world.refused("lists.add", actor={"role": role}, items=["milk"])
    assert answer.error == "invalid"
    assert "owner, adult, teen, child, guest, satellite" in answer.text
    assert world.record[-1]["outcome"] == "invalid"


@for_every(
    "room",
    [
        *("Kids' room", "kids’ room", "kids‘ room", "kids'\u00a0room", "ki\u200bds' room", "kids' room\u200f"),
        *("ｋids' room", "\u202ekids' room", "kids'\troom", "ki\u00adds' room", "kids'\u3164 room", "KIDS' ROOM\0"),
    ],
)
def test_what_a_person_would_read_as_the_same_is_the_same_to_a_rule(room: str) -> None:
    rule = Rule("kids", "deny", "Not there.", arguments={"room": ("kids' room",)})
    play = Action("home.play", risk="change")
    assert decide(Policy((rule,)), FAMILY, CallActor(role="adult"), play, {"room": room}, ANY_TIME).rule == "kids"
    in_it = Rule("in-it", "deny", "Not there.", rooms=("KIDS’ ROOM",))
    assert decide(Policy((in_it,)), FAMILY, CallActor(role="adult", room=room), play, {}, ANY_TIME).rule == "in-it"


def test_what_is_another_thing_to_a_person_is_another_to_a_rule() -> None:
    assert not fits_any(("kids' room",), "kids room two")
    assert fits_any(("cafe*",), "Café") is False
    assert fits_any(("*",), "")


@pytest.mark.parametrize(
    "called", ["secret gifts", "the secret gifts", "secrt gifts", "my secret gifts list", "se\u200bcret gifts"]
)
async def test_a_rule_about_a_list_holds_whatever_the_list_was_called(world: Any, called: str) -> None:
    await world.ok("lists.add", list="secret gifts", items=["bike"])
    deny(world, ["lists.*"], list=["secret*"])
    for tool, more in (
        ("lists.read", {}),
        ("lists.add", {"items": ["doll"]}),
        ("lists.clear", {"checked_only": False}),
        ("lists.delete", {}),
    ):
        answer = await world.refused(tool, list=called, **more)
        assert (answer.error, answer.data["rule"]) == ("denied", "no"), tool
    assert "doll" not in (world.data / "family-agent-config/lists/secret gifts.md").read_text()


@pytest.mark.parametrize("path", ["private/diary.txt", "family-agent-config/private/diary.txt", "Private/diary.txt"])
async def test_a_rule_about_a_folder_holds_by_both_of_its_paths(world: Any, path: str) -> None:
    await world.ok("files.create", path="private/diary.txt", text="dear diary")
    await world.ok("files.create", path="other.txt", text="x")
    deny(world, ["files.*"], path=["private/*"])
    for tool, more in (("files.read", {}), ("files.remove", {}), ("files.write", {"text": "gone"})):
        answer = await world.refused(tool, path=path, **more)
        assert (answer.error, answer.data["rule"]) == ("denied", "no"), tool
    deny(world, ["files.move"], to=["private/*"])
    for to in ("private/", "private", "family-agent-config/private/", "family-agent-config/private/new.txt"):
        assert (await world.refused("files.move", path="other.txt", to=to)).data["rule"] == "no"


async def test_rules_about_notes_and_tasks_hold_for_what_is_meant(world: Any) -> None:
    await world.ok("notes.create", title="Diary of Anna", text="dear diary")
    await world.ok("tasks.add", title="Buy a present")
    deny(world, ["notes.*"], title=["*diary*"])
    deny(world, ["tasks.*"], title=["*present*"])
    for tool, title in (
        ("notes.read", "of Anna"),
        ("notes.remove", "anna"),
        ("tasks.done", "buy"),
        ("tasks.remove", "a buy"),
    ):
        answer = await world.refused(tool, title=title)
        assert (answer.error, answer.data.get("rule")) == ("denied", "no"), (tool, answer.text)


async def test_a_rule_that_asks_about_everything_does_not_ask_about_the_answer(world: Any) -> None:
    rule = Rule("ask-first", "explicit", "Somebody has to say so.", risks=("change", "read"))
    world.gate._policy = Policy((*world.gate._policy.rules, rule))
    ask = (await world.call("timers.start", seconds=60)).ask
    assert ask.level == "explicit"
    assert (await world.ok("asks.waiting", "house")).data["asks"]
    await world.ok("asks.answer", "house", statement=world.house.says(ask.shown()))
    assert (await world.ok("timers.start", seconds=60)).receipt
    assert (await world.call("asks.waiting", "family")).error == "denied"


@pytest.mark.parametrize("then", ["confirm", "deny"])
def test_a_rule_that_speaks_only_of_the_houses_own_errands_can_never_fire(then: Verdict) -> None:
    answering = Action("asks.answer", agents=("house",), risk="change")
    rule = Rule("ask-about-asks", then, "Somebody has to say so.", tools=("asks.*",))
    question = SoundnessQuestion(
        Policy((rule,)), (AgentAccount("house", ("*",)),), (answering,), {"asks.answer": ("statement",)}
    )
    with pytest.raises(RulesWrong, match="'ask-about-asks' can never fire"):
        prove(question)


@pytest.mark.parametrize("tool", ["alarms.stop", "alarms.snooze"])
@pytest.mark.parametrize(("tools", "names"), [(["timers.*"], {}), (["timers.cancel", "timers.add"], {"name": ["egg"]})])
async def test_a_rule_about_timers_holds_for_what_is_said_to_an_alarm(
    world: Any, tool: str, tools: list[str], names: dict[str, list[str]]
) -> None:
    kitchen = {"role": "child", "device": "kitchen", "room": "kitchen"}
    await world.ok("timers.start", actor=kitchen, seconds=60, name="egg")
    world.pass_seconds(60)
    (egg,) = (await world.ok("timers.due", "house")).data["timers"]
    await world.ok("timers.announced", "house", ids=[egg["id"]], ringing=True)
    deny(world, tools, **names)
    answer = await world.refused(tool, actor=kitchen)
    assert (answer.error, answer.text, answer.data["rule"]) == ("denied", "That is not done.", "no")
    assert [timer["id"] for timer in (await world.ok("timers.due", "house")).data["ringing"]] == [egg["id"]]
    await world.ok("alarms.set", actor=kitchen, when="in ten minutes")
    world.pass_seconds(600)
    await world.ok("alarms.announced", "house", ids=[(await world.ok("alarms.due", "house")).data["due"][0]["id"]])
    await world.ok(tool, actor=kitchen)


async def test_who_may_stop_a_timer_only_with_a_yes_is_told_so_by_an_alarm_too(world: Any) -> None:
    kitchen = {"role": "adult", "device": "kitchen", "room": "kitchen"}
    await world.ok("timers.start", actor=kitchen, seconds=60, name="egg")
    world.pass_seconds(60)
    rule = Rule("ask", "confirm", "Somebody has to say yes to that.", tools=("timers.cancel",))
    world.gate._policy = Policy((*world.gate._policy.rules, rule))
    answer = await world.refused("alarms.stop", actor=kitchen)
    assert answer.text == "Somebody has to say yes to that. Ask for it by its own name."
    assert (await world.ok("timers.cancel", actor=kitchen)).text == "Your egg timer is done."


async def test_who_may_not_read_a_note_is_not_shown_it_by_a_refusal(world: Any) -> None:
    await world.ok("notes.create", title="Wi-Fi", text="the password is hunter2")
    deny(world, ["notes.read"])
    answer = await world.refused("notes.write", title="Wi-Fi", parts=["mine"], revision="of another text")
    assert answer.error == "invalid"
    assert "hunter2" not in f"{answer.text}{answer.data}"
