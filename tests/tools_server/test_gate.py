"""Every call takes one path, and leaves a row, whatever becomes of it."""

from __future__ import annotations

import errno
import json
import math
import os
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from tests.conftest import for_every
from tools_server.gate import record
from tools_server.gate.call_request import CallRequest
from tools_server.gate.confirmations import ConfirmationReply
from tools_server.sdk.toolkit import ToolFailed
from tools_server.values.policy import Action, AgentAccount, CallActor, Decision, Policy, decide
from wall.chain import verify


async def test_what_an_agent_may_call_is_done_and_recorded(world: Any) -> None:
    answer = await world.ok("timers.start", seconds=600)
    assert answer.text == "Timer set for 10 minutes."
    row = world.record[-1]
    assert (row["agent"], row["tool"], row["outcome"], row["verdict"]) == ("family", "timers.start", "ok", "allow")
    assert row["rule"] == "agent.tools:*"
    assert row["receipt"] == answer.receipt.id
    assert row["turn"] == "turn_1"


async def test_arguments_are_recorded_as_a_hash_only(world: Any) -> None:
    await world.ok("tasks.add", title="Buy a secret present for Anna")
    assert "secret" not in (world.data / "audit.jsonl").read_text()


async def test_only_the_names_of_arguments_that_a_tool_takes_are_recorded(world: Any) -> None:
    await world.ok("timers.start", seconds=60, name="surprise party")
    row = world.record[-1]
    assert (row["risk"], row["arguments"], row["confirmation"]) == ("change", ["seconds", "name"], None)
    await world.refused("timers.start", seconds=60, surprise="for Anna")
    assert world.record[-1]["arguments"] == ["seconds"]
    await world.refused("timers.strat", seconds=60, surprise="for Anna")
    assert world.record[-1]["arguments"] == []
    assert "surprise" not in (world.data / "audit.jsonl").read_text()


async def test_the_same_call_has_the_same_hash_however_it_was_written(world: Any) -> None:
    await world.ok("timers.start", seconds=60)
    await world.ok("timers.start", room="", name="", seconds=60.0)
    await world.ok("timers.start", seconds=61)
    one, same, other = (row["arguments_sha256"] for row in world.record)
    assert one == same != other


TRACES = {
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": "0af7651916cd43dd8448eb211c80319c",
    "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more": "0af7651916cd43dd8448eb211c80319c",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": "",
    "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01": "",
    "00-0af7-b7ad-01": "",
    "": "",
}


@pytest.mark.parametrize("trace", [*TRACES, None, 7, {"traceparent": "x"}])
async def test_the_trace_that_a_call_belongs_to_is_recorded_when_it_is_one(world: Any, trace: Any) -> None:
    await world.gate.call(CallRequest(world.agents["family"], "clock.time", {}, trace=trace))
    assert world.record[-1]["trace"] == (TRACES.get(trace, "") if isinstance(trace, str) else "")


async def test_a_way_out_of_a_folder_is_refused_with_its_code_and_reason(world: Any) -> None:
    (world.data / "outside").mkdir()
    world.board.parent.mkdir(parents=True)
    world.board.symlink_to(world.data / "outside")
    answer = await world.refused("tasks.list")
    assert (answer.error, answer.code) == ("denied", -32001)
    assert (world.record[-1]["outcome"], world.record[-1]["reason"]) == ("denied", "escape")


async def test_an_actor_is_shown_what_it_may_call(world: Any) -> None:
    family = world.agents["family"]

    def shown(claimed: Any) -> set[str]:
        return {spec.name for spec in world.gate.visible_to(family, claimed)}

    assert shown(None) == shown({"role": "adult"})
    assert shown({"role": "guest"}) < shown({"role": "child"}) < shown(None)
    assert {"clock.time", "timers.start", "history.undo"} <= shown({"role": "guest"})
    assert not {"asks.answer", "asks.waiting", "timers.due"} & shown({"role": "owner"})
    with pytest.raises(ToolFailed, match="Who is asking cannot be read"):
        shown({"role": 7})


async def test_an_agent_without_the_tool_is_denied_and_that_is_recorded(world: Any) -> None:
    answer = await world.refused("timers.start", "guest", seconds=60)
    assert (answer.error, answer.text) == ("denied", "The guest agent may not use timers.start.")
    assert world.record[-1]["outcome"] == "denied"
    assert world.record[-1]["rule"] == "agent.tools"
    assert await world.said("timers.list") == "There are no timers."


async def test_an_agent_without_the_folder_is_denied_though_its_tools_match(world: Any) -> None:
    answer = await world.refused("tasks.list", "guest")
    assert answer.error == "denied"
    assert answer.text == "The guest agent has no folder of its own."
    assert world.record[-1]["rule"] == "agent.roots"


@pytest.mark.parametrize(("tool", "arguments"), [("timers.due", {}), ("timers.announced", {"ids": []})])
async def test_only_the_house_announces_even_where_patterns_are_generous(world: Any, tool: str, arguments: Any) -> None:
    assert (await world.refused(tool, "owner", **arguments)).text == f"Only house may use {tool}."
    await world.ok(tool, "house", **arguments)


async def test_who_asks_can_narrow_what_an_agent_does(world: Any) -> None:
    child = {"person": "Mia", "device": "tablet", "role": "child", "room": "attic", "device_id": "device_1"}
    assert (await world.refused("clock.time", "owner", child)).text == "The owner agent does not act for a child."
    assert world.record[-1]["actor"] == child
    await world.ok("clock.time", "owner", {**child, "role": "owner"})


async def test_who_asks_can_never_widen_it(world: Any) -> None:
    answer = await world.refused("timers.start", "guest", {"role": "owner"}, seconds=60)
    assert answer.error == "denied"


@for_every("claimed", ["anna", 7, [], {"name": "x"}, {"person": 3}, {"person": "x" * 101}, {"room": "\ud800"}])
async def test_an_asker_who_cannot_be_read_is_refused(world: Any, claimed: Any) -> None:
    assert (await world.refused("clock.time", "family", claimed)).error == "invalid"
    assert world.record[-1]["outcome"] == "invalid"


async def test_an_unknown_tool_is_named_with_its_nearest(world: Any) -> None:
    answer = await world.refused("timer.start", seconds=5)
    assert answer.error == "not_found"
    assert answer.text == "There is no tool called timer.start. The nearest is timers.start."
    assert world.record[-1]["outcome"] == "not_found"


async def test_the_nearest_tool_is_never_one_that_the_agent_may_not_see(world: Any) -> None:
    assert "nearest" not in (await world.refused("timers.strat", "guest")).text


async def test_the_nearest_tool_is_never_one_that_the_asker_may_not_use(world: Any) -> None:
    owner, guest = ({"person": "", "device": "", "role": role, "room": ""} for role in ("owner", "guest"))
    assert "email.search" in (await world.refused("email.serch", actor=owner)).text
    assert "email" not in (await world.refused("email.serch", actor=guest)).text.replace("email.serch", "")


WRONG = {
    "nothing given": ({}, "timers.start needs seconds."),
    "an extra one": ({"seconds": 5, "x": 1}, "timers.start does not take x; it takes seconds, name, room."),
    "a text for a number": ({"seconds": "5"}, "seconds: '5' is not of type 'integer'."),
    "a truth for a number": ({"seconds": True}, "seconds: True is not of type 'integer'."),
    "too small": ({"seconds": 0}, "That is too little for seconds: 1 is the least."),
    "too large": ({"seconds": 604_801}, "That is too much for seconds: 604,800 is the most."),
    "no number": ({"seconds": math.nan}, "The arguments hold a number that is not a number."),
    "endless": ({"seconds": math.inf}, "The arguments hold a number that is not a number."),
    "half a character": ({"seconds": 5, "name": "\ud83d"}, "The arguments hold half of a character."),
    "half a character as a name": ({"\udc00": 5}, "The arguments hold half of a character."),
    "too much": ({"seconds": 5, "name": "x" * 70_000}, "The arguments are too large."),
}


@for_every("case", WRONG)
async def test_wrong_arguments_are_refused_in_words_and_recorded(world: Any, case: str) -> None:
    arguments, sentence = WRONG[case]
    answer = await world.refused("timers.start", **arguments)
    assert (answer.error, answer.text) == ("invalid", sentence)
    assert world.record[-1]["outcome"] == "invalid"
    assert await world.said("timers.list") == "There are no timers."


@for_every(
    ("language", "tool", "arguments", "sentence"),
    [
        (
            "en",
            "home.set",
            {"device": "heating", "temperature": 200.0},
            "That is too much for temperature: 120 is the most.",
        ),
        (
            "de",
            "home.set",
            {"device": "heating", "temperature": 200.0},
            "Das ist zu viel, es dürfen höchstens 120 sein.",
        ),
        (
            "en",
            "home.set",
            {"device": "lamp", "unit": "miles"},
            "That is not among the choices for unit: °C, °F.",
        ),
        ("de", "timers.start", {"seconds": "5"}, "Das passt nicht zu seconds."),
    ],
)
async def test_what_does_not_fit_is_said_in_a_sentence_that_a_person_may_hear(
    world: Any, language: str, tool: str, arguments: Any, sentence: str
) -> None:
    world.language = language
    answer = await world.refused(tool, **arguments)
    assert (answer.error, answer.text) == ("invalid", sentence)


async def test_arguments_nested_without_end_are_refused(world: Any) -> None:
    nested: Any = "x"
    for _ in range(10_000):
        nested = [nested]
    assert (await world.refused("timers.start", seconds=nested)).text == "The arguments are too large."


@pytest.mark.parametrize("arguments", [[], "seconds", 5])
async def test_arguments_that_are_no_object_are_refused(world: Any, arguments: Any) -> None:
    answer = await world.gate.call(CallRequest(world.agents["family"], "timers.list", arguments))
    assert answer.error == "invalid"


async def test_a_whole_number_may_come_as_a_float(world: Any) -> None:
    assert await world.said("timers.start", seconds=60.0) == "Timer set for 1 minute."


async def test_every_answer_survives_every_wire(world: Any) -> None:
    answer = await world.refused("nope\ud800")
    json.dumps(answer.text, ensure_ascii=False).encode()


async def test_a_tool_that_takes_too_long_is_given_up(world: Any) -> None:
    slow = world.make_slow(limit_seconds=0.02)
    answer = await world.refused("clock.time")
    assert (answer.error, answer.text) == ("timeout", "That took longer than 0.02 seconds, so I gave up.")
    assert slow["cancelled"]
    assert world.record[-1]["outcome"] == "timeout"


async def test_cancelling_a_call_reaches_the_tool_and_is_recorded(world: Any) -> None:
    slow = world.make_slow(limit_seconds=60)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.call, "clock.time")
        await slow["started"].wait()
        tasks.cancel_scope.cancel()
    assert slow["cancelled"]
    assert world.record[-1]["outcome"] == "cancelled"


async def test_while_draining_live_calls_finish_and_new_ones_are_refused(world: Any) -> None:
    slow = world.make_slow(limit_seconds=60)
    answers = []
    async with anyio.create_task_group() as tasks:

        async def live() -> None:
            answers.append(await world.call("clock.time"))

        tasks.start_soon(live)
        await slow["started"].wait()
        tasks.start_soon(world.gate.requests.drain, 30)
        await anyio.wait_all_tasks_blocked()
        refused = await world.call("clock.date")
        slow["go"].set()
    assert refused.text == "The tool server is stopping. Please ask again in a moment."
    assert [answer.text for answer in answers] == ["at last"]


def refusing(number: int) -> Any:
    """Return what takes the place of `os.write` on a disk that refuses."""

    def write(file: int, line: bytes) -> int:
        raise OSError(number, os.strerror(number))

    return write


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
async def test_while_the_record_cannot_be_written_nothing_more_is_done(
    world: Any, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refusing(number))
        first = await world.call("timers.start", seconds=60)
        assert (first.error, first.receipt is not None) == ("failed", True)  # it happened, and the answer says both
        assert "can't write down" in first.text
        assert "can't write down" in (await world.refused("timers.cancel_all")).text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_once_a_full_disk_has_room_what_is_owed_to_the_record_is_written_and_work_goes_on(
    world: Any, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refusing(number))
        first = await world.call("timers.start", seconds=60)
        world.gate.stranger("http")
        await world.refused("timers.list")
    assert (await world.ok("timers.list")).text == "Your 1 minute timer has 1 minute left."
    assert [(row["tool"], row["outcome"]) for row in world.record] == [("timers.start", "ok"), ("timers.list", "ok")]
    assert world.record[0]["receipt"] == first.receipt.id
    assert not verify(world.data / "audit.jsonl").problems


async def test_addresses_that_lead_nowhere_fill_no_memory_while_the_disk_is_full(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refusing(errno.ENOSPC))
        for number in range(100):
            world.gate.misaddressed(CallRequest(world.agents["family"], f"nothing://{number}", None), "Nowhere.")
    await world.ok("timers.list")
    assert len(world.record) == 2


async def test_strangers_in_a_flood_are_counted_and_fill_no_disk(world: Any) -> None:
    for _ in range(500):
        world.gate.stranger("http")
    assert len(world.record) == 20
    world.pass_seconds(60)
    world.gate.stranger("http")
    assert (len(world.record), world.record[-1]["reason"]) == (21, "480 more")
    world.pass_seconds(-3600)  # a clock that is set back silences nobody
    world.gate.stranger("http")
    assert (len(world.record), world.record[-1]["reason"]) == (22, "")


async def test_refusals_in_a_flood_are_counted_and_fill_no_disk(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.gate, "_refusals", {"family": record.Flood(lambda: world.clock[0], 10)})
    for _ in range(15):
        await world.refused("timers.start")
        await world.refused("no.such.tool")
        await world.refused("asks.waiting")
        await world.refused("files.write", path="new.txt", text="asked again and again")
    world.gate.misaddressed(CallRequest(world.agents["family"], "nothing://", None), "Nowhere.")
    assert len(world.record) == 10
    await world.ok("files.write", path="new.txt", text="asked again and again")
    assert [row["outcome"] for row in world.record[10:]] == ["ok"], "what was done is always told"
    yes = (await world.call("files.write", path="other.txt", text="x")).ask
    no = ConfirmationReply(yes.id, "accept", world.house.says(yes.shown(), "no"))
    await world.refused("files.write", reply=no, path="other.txt", text="x")
    assert world.record[-1]["confirmation"]["answer"] == "no", "and so is what a person has answered"
    world.pass_seconds(60)
    await world.refused("timers.start")
    assert world.record[-1]["reason"] == "53 more"


async def test_a_disk_that_breaks_is_not_trusted_again(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refusing(errno.EIO))
        await world.call("timers.start", seconds=60)
    assert "can't write down" in (await world.refused("timers.list")).text


async def test_when_what_was_recorded_cannot_be_kept_nothing_more_is_done(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    await world.ok("timers.list")
    with monkeypatch.context() as patched, anyio.fail_after(5):
        patched.setattr(os, "fdatasync", full)
        patched.setattr(record, "FLUSH_SECONDS", 0)
        await world.gate.keep_flushed()
    assert "can't write down" in (await world.refused("timers.list")).text


async def test_a_full_disk_is_told_of_with_the_way_out(world: Any) -> None:
    world.gate._state.run("PRAGMA max_page_count = 1")  # no page more than it has
    answers = [await world.call("timers.start", seconds=60, name=f"{'long ' * 10}{number}") for number in range(30)]
    assert answers[-1].error == "failed"
    assert answers[-1].text == "The disk is full, so I can't do that. Make room on it first."


async def test_the_houses_own_polling_fills_no_disk(world: Any) -> None:
    for _ in range(5):
        await world.ok("timers.due", "house")
    assert not (world.data / "audit.jsonl").read_text()


# ── policy alone ───────────────────────────────────────────────────────────────────────────────────


def decided(agent: AgentAccount, action: Action, actor: CallActor = CallActor()) -> Decision:
    return decide(Policy(), agent, actor, action, {}, datetime(2026, 11, 22, 12, tzinfo=UTC))


def test_what_no_rule_allows_is_denied() -> None:
    assert not decided(AgentAccount("nobody", ()), Action("clock.time")).allowed


def test_a_pattern_is_the_whole_name_not_a_beginning() -> None:
    agent = AgentAccount("x", ("timers",))
    assert not decided(agent, Action("timers.start")).allowed
    assert not decided(AgentAccount("x", ("timers.*",)), Action("timersx.start")).allowed


def test_every_decision_has_a_rule_and_a_reason() -> None:
    for agent in (AgentAccount("a", ()), AgentAccount("a", ("*",)), AgentAccount("a", ("*",), roles=("owner",))):
        for action in (Action("t.x"), Action("t.x", ("b",)), Action("t.x", root="r")):
            decision = decided(agent, action, CallActor(role="child"))
            assert decision.rule
            assert decision.reason.endswith(".")
