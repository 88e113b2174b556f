"""Whoever answers a question first, in whatever order their calls arrive: one answer counts, and what is told is so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from atlas.agents.agent import AgentAnswer
from atlas.agents.agent_asking import Asking
from atlas.agents.tool_use import carry_out
from atlas.config import load
from atlas.confirmations import HouseConfirmations, HouseKey
from atlas.conversation import (
    Actor,
    ConfirmationRequest,
    Message,
    SignedAnswer,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    fresh_id,
)
from atlas.errors import RequestError
from atlas.events import Emit, Event, TextDelta, TurnEnded
from atlas.house import House, Mind
from tests.conftest import ROOT
from tests.houses import house_of, wording
from tools_server.gate import confirmations as confirm
from tools_server.sdk.state import ToolsDatabase

KEY = Ed25519PrivateKey.generate()
ANNA = Actor("Anna", "phone", "adult", "kitchen")
BEN = Actor("Ben", "panel", "adult", "hall")
NOW = 1_800_000_000.0
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where syncing costs nothing
REMOVE = "remove the task"
QUESTION = "Remove the task for good?"
DONE = "Removed the task."
REFUSED = "All right, I won't."
BUSY = "talk on another device of the same conversation"
PRESSES = ("press yes", "press no")
YES, NO, OTHER = ("press yes", "yes"), ("press no", "no"), ("what time is it",)


@dataclass
class Turnstile:
    """Holds every call to the tool server, on its way there and on its way back, until the test lets it pass."""

    queue: list[tuple[str, anyio.Event]] = field(default_factory=list)
    is_open: bool = True

    async def wait(self, who: str) -> None:
        if self.is_open:
            await anyio.lowlevel.checkpoint()
            return
        event = anyio.Event()
        self.queue.append((who, event))
        await event.wait()


@dataclass
class ToolServer:
    """The real store of open confirmations, before one deed; the wire to it is a turnstile."""

    turnstile: Turnstile
    clock: Callable[[], float]
    state: ToolsDatabase
    deeds: int = 0

    def __post_init__(self) -> None:
        self.asks = confirm.Confirmations(KEY.public_key(), self.clock, self.state)

    async def listed(self) -> Sequence[Tool]:
        return ()

    async def aclose(self) -> None:
        """Nothing is open."""

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        await self.turnstile.wait(f"{call.name} >")
        try:
            result = self._house(call) if call.name.startswith("asks.") else self._deed(call, actor, assent)
        except confirm.AnswerRefused as refused:
            result = ToolResult(call.id, False, str(refused), error=refused.error)
        await self.turnstile.wait(f"{call.name} <")
        return result

    def _house(self, call: ToolCall) -> ToolResult:
        if call.name == "asks.answer":
            answer = self.asks.hear(call.arguments["statement"]).answer
            assert answer
            return ToolResult(call.id, True, f"Noted: {answer.answer}.")
        rows = [
            {
                **ask.shown(),
                "agent": ask.deed.agent,
                "actor": {"person": "Anna", "device": "phone", "role": "adult", "room": "kitchen"},
            }
            for ask in self.asks.waiting()
        ]
        return ToolResult(call.id, True, "", {"asks": rows})

    def _deed(self, call: ToolCall, actor: Actor, assent: SignedAnswer | None) -> ToolResult:
        deed = confirm.ConfirmedCall(
            "family", confirm.CallActor(actor.person, actor.device, "adult"), call.name, "0" * 64
        )
        action: Any = "cancel" if assent and not (assent.yes or assent.statement) else "accept"
        reply = confirm.ConfirmationReply(assent.ask_id, action, assent.statement) if assent else confirm.NO_REPLY
        result = self.asks.settle(deed, "confirm", QUESTION, reply)
        if isinstance(result, confirm.Confirmation):
            return ToolResult(call.id, False, QUESTION, error="confirm", ask=ConfirmationRequest(**result.shown()))
        if result.answer == "no":
            return ToolResult(call.id, False, REFUSED, error="denied")
        self.deeds += 1
        return ToolResult(call.id, True, DONE)


class Wishes:
    """The mind behind the question: asks for the deed, and takes its time over anything else."""

    name = "family"

    def __init__(self, server: ToolServer) -> None:
        self._server = server

    async def respond(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        if turn.text == REMOVE:
            return await carry_out(ToolCall(fresh_id("call"), "tasks.remove", {}), self._server, turn, emit)
        await self._server.turnstile.wait("thinking")
        await emit(TextDelta("It is noon."))
        return AgentAnswer("It is noon.", "command", "done", (Message("assistant", "It is noon."),))

    def answers(self, turn: Turn) -> bool:
        return False

    async def prepare(self, turn: Turn) -> bool:
        return False


@dataclass
class World:
    house: House
    server: ToolServer
    turnstile: Turnstile
    details: dict[str, str] = field(default_factory=dict)  # who → the last thing they heard

    async def say(self, who: str, text: str, actor: Actor = ANNA) -> None:
        async def emit(event: Event) -> None:
            if isinstance(event, TurnEnded):
                self.details[who] = event.text

        await self.house.reply(Turn(fresh_id("turn"), text, actor, NOW, agent="family"), emit)

    async def act(self, who: str, act: str, ask_id: str) -> None:
        if act == BUSY:
            await self.say(who, "what time is it", replace(ANNA, device="tablet"))
        elif act in PRESSES:
            await self.press(who, ask_id, yes=act == "press yes")
        else:
            await self.say(who, act)

    async def press(self, who: str, ask_id: str, *, yes: bool) -> None:
        try:
            self.details[who] = (await self.house.answer_ask(ask_id, BEN, "button", yes=yes)).text
        except RequestError as refused:
            self.details[who] = f"refused: {refused}"


class Forgetful:
    """A memory that keeps nothing and takes no time: only the calls to the tool server are put in order here."""

    def under_way(self, *conversation: Any) -> Any:
        return nullcontext(object())

    async def history(self, *conversation: Any) -> Sequence[Message]:
        return ()

    async def keep(self, *turn: Any) -> None:
        pass


def world_of(config: Any, state: ToolsDatabase) -> World:
    turnstile = Turnstile()
    server = ToolServer(turnstile, lambda: NOW, state)
    confirmations = HouseConfirmations(
        HouseKey(KEY), wording(), server, may_talk=lambda actor, agent: True, now=server.clock
    )
    memory: Any = Forgetful()
    mind = Mind(Asking(Wishes(server), server, confirmations), memory)
    return World(house_of(config, {"family": mind}, confirmations), server, turnstile)


async def race(world: World, acts: Sequence[str], order: Callable[[Sequence[str]], int]) -> None:
    """Have the question put, then let all act at once; `order` picks whose call passes the turnstile next."""
    await world.say("first", REMOVE)
    assert world.details["first"] == QUESTION
    (ask,) = world.server.asks.waiting()
    world.turnstile.is_open = False
    async with anyio.create_task_group() as group:
        for number, act in enumerate(acts):
            who = f"{act} {number}"
            group.start_soon(world.act, who, act, ask.id)
            if act == BUSY:
                await anyio.wait_all_tasks_blocked()  # it has the conversation before all others
        await anyio.wait_all_tasks_blocked()
        while world.turnstile.queue:
            _, event = world.turnstile.queue.pop(order([name for name, _ in world.turnstile.queue]))
            event.set()
            await anyio.wait_all_tasks_blocked()
    world.turnstile.is_open = True


@pytest.fixture
def state(data: Path) -> Iterator[ToolsDatabase]:
    with closing(ToolsDatabase(data / "tools.db", {})) as opened:
        yield opened


def talk_last(queue: Sequence[str]) -> int:
    return next((number for number, name in enumerate(queue) if name != "thinking"), 0)


async def test_a_yes_pressed_after_a_no_does_nothing_though_the_conversation_is_busy(
    config: Any, state: ToolsDatabase
) -> None:
    world = world_of(config, state)
    await race(world, [BUSY, "press no", "press yes"], talk_last)
    assert world.server.deeds == 0, world.details
    assert world.details["press no 1"] == REFUSED
    assert world.details["press yes 2"].startswith("refused")


async def test_a_no_pressed_after_a_yes_is_not_told_that_nothing_will_be_done(
    config: Any, state: ToolsDatabase
) -> None:
    world = world_of(config, state)
    await race(world, [BUSY, "press yes", "press no"], talk_last)
    assert world.server.deeds == 1, world.details
    assert world.details["press yes 1"] == DONE
    assert world.details["press no 2"].startswith("refused")


async def test_who_says_no_hears_so_when_another_has_said_yes_meanwhile(config: Any, state: ToolsDatabase) -> None:
    world = world_of(config, state)
    await race(world, ["no", "press yes"], lambda queue: len(queue) - 1)
    assert (world.details["no 0"] == REFUSED) == (world.server.deeds == 0), world.details


@given(
    acts=st.lists(st.sampled_from((BUSY, *YES, *NO, *OTHER)), min_size=1, max_size=5),
    picks=st.lists(st.integers(0, 7), min_size=40, max_size=40),
)
def test_one_answer_counts_in_whatever_order_they_arrive_and_what_is_told_is_so(
    acts: list[str], picks: list[int]
) -> None:
    anyio.run(_one_answer_counts, acts, iter(picks * 3))


async def _one_answer_counts(acts: list[str], picks: Any) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, closing(ToolsDatabase(Path(folder) / "tools.db", {})) as state:
        await _raced(world_of(load({}, ROOT / "atlas.toml"), state), acts, picks)


async def _raced(world: World, acts: list[str], picks: Any) -> None:
    await race(world, acts, lambda queue: next(picks) % len(queue))
    done = world.server.deeds
    assert done <= 1
    assert done == list(world.details.values()).count(DONE)
    if REFUSED in world.details.values():
        assert done == 0, world.details
    if not set(acts) & {*NO, *OTHER}:
        assert done == bool(set(acts) & set(YES)), world.details
    await world.say("again", REMOVE)
    assert (world.details["again"], world.server.deeds) == (QUESTION, done), "an answer that was used up does no more"


def test_of_two_processes_that_know_a_question_the_first_to_hear_an_answer_has_it(data: Path) -> None:
    with closing(ToolsDatabase(data / "tools.db", {})) as one, closing(ToolsDatabase(data / "tools.db", {})) as two:
        first, second = (confirm.Confirmations(KEY.public_key(), lambda: NOW, state) for state in (one, two))
        deed = confirm.ConfirmedCall("family", confirm.CallActor("Anna", "phone", "adult"), "tasks.remove", "0" * 64)
        theirs = first.settle(deed, "confirm", QUESTION, confirm.NO_REPLY)
        assert isinstance(theirs, confirm.Confirmation)
        ask = ConfirmationRequest(**theirs.shown())
        yes, no = (HouseKey(KEY).statement(ask, BEN, "button", NOW, yes=answer) for answer in (True, False))
        second.hear(no)
        with pytest.raises(confirm.AnswerRefused, match="answered already"):
            first.settle(deed, "confirm", QUESTION, confirm.ConfirmationReply(ask.id, "accept", yes))
        text = first.settle(deed, "confirm", QUESTION, confirm.NO_REPLY)
        assert isinstance(text, confirm.PersonAnswer)
        assert text.answer == "no"


def test_an_answer_survives_a_kill_and_is_used_up_once(data: Path) -> None:
    deed = confirm.ConfirmedCall("family", confirm.CallActor("Anna", "phone", "adult"), "tasks.remove", "0" * 64)
    left_open = ToolsDatabase(data / "tools.db", {})  # as by a process that was killed: it is never closed
    before = confirm.Confirmations(KEY.public_key(), lambda: NOW, left_open)
    theirs = before.settle(deed, "confirm", QUESTION, confirm.NO_REPLY)
    assert isinstance(theirs, confirm.Confirmation)
    before.hear(HouseKey(KEY).statement(ConfirmationRequest(**theirs.shown()), BEN, "button", NOW, yes=True))
    with closing(ToolsDatabase(data / "tools.db", {})) as state:
        after = confirm.Confirmations(KEY.public_key(), lambda: NOW, state)
        text = after.settle(deed, "confirm", QUESTION, confirm.NO_REPLY)
        assert isinstance(text, confirm.PersonAnswer)
        assert text.answer == "yes"
        assert isinstance(after.settle(deed, "confirm", QUESTION, confirm.NO_REPLY), confirm.Confirmation)
    left_open.close()
