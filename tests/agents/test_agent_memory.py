"""What people say about what was said: found, forgotten, asked about first, or left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from atlas.agents.agent import Agent, AgentAnswer
from atlas.agents.agent_asking import Asking, ConfirmationSource
from atlas.agents.agent_commands import Commands
from atlas.agents.agent_memory import Recall, WithMemory
from atlas.agents.facts import FactLookup
from atlas.agents.minds import InOrder, open_agent
from atlas.agents.past_times import PastTimes
from atlas.config import LlmConfig
from atlas.conversation import Actor, Message, Tool, ToolCall, Turn
from atlas.events import Emit, TextDelta
from atlas.store.conversations import conversation_of
from atlas.store.memory import Memory, open_memory
from atlas.store.recall import TimeSpan, belonging_to
from atlas.store.turns import TurnRecord
from atlas.understanding.grammar import Grammar
from atlas.understanding.understanding import Understanding
from tests.conftest import for_every
from tests.houses import reader_of
from tests.scripted_tools import ScriptedResult, ScriptedTools

from .conftest import ANNA, Room, ask, says

NOW = datetime(2026, 11, 22, 16, 30, tzinfo=UTC)  # a Sunday
GUEST = Actor("", "tablet", "guest", "kitchen")
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


def whole(data: Path) -> bytes:
    return b"".join(file.read_bytes() for file in data.iterdir())


class Hums:
    """A model's place: whatever nobody else answers gets "Hm."."""

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer:
        await emit(TextDelta("Hm."))
        return AgentAnswer("Hm.", "model", "done", (Message("assistant", "Hm."),))

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        return True


class World:
    """An agent with a memory."""

    def __init__(self, agent: Agent, memory: Memory) -> None:
        self.agent = agent
        self.memory = memory
        self.turns = 0
        self.last: dict[Actor, tuple[Message, ...]] = {}  # what each said last, and was answered

    async def ask(self, text: str, actor: Actor = ANNA, ago: float = 0.0, **more: Any) -> str:
        """Say something now, or so many seconds ago, and have it remembered as the house does."""
        self.turns += 1
        at = NOW.timestamp() - ago
        turn = Turn(f"turn_{self.turns}", text, actor, at, **more)
        room = Room()
        with self.memory.under_way(conversation_of("family", actor), turn.id) as one:
            turn = replace(turn, history=self.last.get(actor, ()))
            answer = await self.agent.respond(turn, room.emit)
            assert answer
            assert answer.text == room.said
            if turn.remembered:
                record = TurnRecord(turn.id, "family", "default", answer.path, actor.device, False, at, at, "done")
                self.last[actor] = (Message("user", text), *answer.messages)
                await self.memory.keep(record, self.last[actor], one)
        return answer.text

    async def told(self, text: str, ago: float, actor: Actor = ANNA) -> None:
        """Have something said so many seconds ago."""
        assert await self.ask(text, actor, ago) == "Hm."

    async def remembered(self, actor: Actor = ANNA) -> list[str]:
        """What that actor's past holds now, without what was said about it."""
        exchanges = await self.memory.exchanges(belonging_to("family", actor))
        return [one.messages[0].text for one in exchanges if one.messages[-1].text == "Hm."]


@pytest.fixture
async def world(
    data: Path, tools: ScriptedTools, grammar: Grammar, confirmations: ConfirmationSource
) -> AsyncIterator[World]:
    confirmations.now = NOW.timestamp  # type: ignore[attr-defined]
    async with open_memory(data / "atlas.db") as memory:
        answerers = Recall("family", grammar, memory, UTC), Commands(grammar.tables, tools), Hums()
        with_memory = WithMemory("family", tools, memory, grammar)
        yield World(Asking(InOrder("family", reader_of(grammar), answerers), with_memory, confirmations), memory)


# ── forgetting ─────────────────────────────────────────────────────────────────────────────────────


async def test_the_last_minutes_are_forgotten_at_once_and_counted(world: World) -> None:
    await world.told("the code is 4711", 11 * MINUTE)
    for number in range(4):
        await world.told(f"secret {number}", number * MINUTE)
    assert await world.ask("Forget the last ten minutes.") == "I've forgotten the last ten minutes: four exchanges."
    assert await world.remembered() == ["the code is 4711"]


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ("forget what I just said", "I've forgotten that: one exchange."),
        ("please forget the last thing I said", "I've forgotten that: one exchange."),
        ("forget the last three things I said", "I've forgotten that: three exchanges."),
        ("forget the last half hour", "I've forgotten the last 30 minutes: three exchanges."),
        ("could you forget the last hour", "I've forgotten the last hour: three exchanges."),
        ("forget everything I said in the last two hours", "I've forgotten the last two hours: three exchanges."),
    ],
)
async def test_there_are_many_ways_to_say_what_shall_be_forgotten(world: World, wish: str, text: str) -> None:
    for number in (20, 15, 10):
        await world.told(f"{number} minutes ago", number * MINUTE)
    assert await world.ask(wish) == text


async def test_much_is_forgotten_only_after_a_yes(world: World) -> None:
    await world.told("the code is 4711", 3 * DAY)
    await world.told("the dog is ill", MINUTE)
    question = "That is two exchanges, the first on Thursday at 4:30 PM. Shall I forget everything we said?"
    assert await world.ask("forget everything we talked about") == question
    assert len(await world.remembered()) == 2
    assert await world.ask("yes") == "I've forgotten everything we said: three exchanges."
    assert await world.remembered() == []


@pytest.mark.parametrize("answer", ["no", "what time is it", "never mind"])
async def test_anything_but_a_yes_forgets_nothing(world: World, answer: str) -> None:
    await world.told("the code is 4711", 3 * DAY)
    await world.ask("forget this conversation")
    await world.ask(answer)
    await world.ask("yes")
    assert "the code is 4711" in await world.remembered()


async def test_a_yes_forgets_what_was_asked_about_and_not_what_those_words_mean_by_then(world: World) -> None:
    await world.told("of yesterday", DAY)
    await world.told("of today", MINUTE)
    assert (await world.ask("forget what I said yesterday")).endswith("Shall I forget what was said yesterday?")
    assert await world.ask("yes", ago=-10.0) == "I've forgotten what was said yesterday: one exchange."
    assert await world.remembered() == ["of today"]


async def test_what_was_said_about_something_is_forgotten_after_a_yes(world: World, data: Path) -> None:
    await world.told("the pasta was awful", 3 * DAY)
    await world.told("we need more pasta", DAY)
    await world.told("the dog is ill", MINUTE)
    question = "That is two exchanges, the first on Thursday at 4:30 PM. Shall I forget what was said about pasta?"
    assert await world.ask("forget what I said about the pasta") == question
    assert len(await world.remembered()) == 3
    assert (await world.ask("yes")).startswith("I've forgotten what was said about pasta: three exchanges.")
    assert await world.remembered() == ["the dog is ill"]
    assert b"awful" not in whole(data)
    assert await world.ask("forget what we said about the boiler") == "I find nothing about boiler in what we said."


async def test_of_what_is_remembered_as_a_fact_the_fact_is_forgotten_first(
    grammar: Grammar, confirmations: ConfirmationSource, data: Path
) -> None:
    facts = ["the pasta is in the cellar"]

    def told(arguments: Any, actor: Actor) -> ScriptedResult:
        return ScriptedResult("I was told things.", {"facts": [{"text": one, "own": True} for one in facts]})

    def forget(arguments: Any, actor: Actor) -> ScriptedResult:
        facts.clear()
        return ScriptedResult(f"I forgot {arguments['text']}.", changed="forgot a fact")

    schema = {"type": "object"}
    tools = ScriptedTools(
        [(Tool("facts.list", "", schema, True), told), (Tool("facts.forget", "", schema), forget)],
    )
    async with open_memory(data / "atlas.db") as memory:
        recall = Recall("family", grammar, memory, UTC, FactLookup(tools))
        world = World(InOrder("family", reader_of(grammar), [recall, Hums()]), memory)
        await world.told("we need more pasta", DAY)
        assert await world.ask("forget what I said about the pasta") == "I forgot pasta."
        assert "Shall I forget" in await world.ask("forget what I said about the pasta")


async def test_a_person_forgets_in_every_room_and_a_room_only_there(world: World) -> None:
    in_the_study = Actor("Anna", "desk", "adult", "study")
    await world.told("said in the study", 2 * MINUTE, in_the_study)
    await world.told("said in the kitchen", MINUTE)
    await world.ask("forget what I just said")
    assert await world.remembered() == ["said in the study"]
    await world.ask("forget the last five minutes")
    assert await world.remembered() == []


async def test_nobody_forgets_what_is_anothers(world: World) -> None:
    hall = Actor("", "panel", "satellite", "hall")
    for actor in (ANNA, GUEST, hall):
        await world.told("hello", MINUTE, actor)
    await world.ask("forget the last ten minutes", GUEST)
    await world.ask("forget everything", GUEST)
    await world.ask("yes", GUEST)
    assert await world.remembered(GUEST) == []
    assert await world.remembered(ANNA) == await world.remembered(hall) == ["hello"]


async def test_who_forgets_what_was_done_is_told_that_it_stays_done(world: World) -> None:
    call = ToolCall("call_1", "timers.start", {"seconds": 600})
    with world.memory.under_way(conversation_of("family", ANNA), "turn_x") as one:
        record = TurnRecord("turn_x", "family", "default", "command", "phone", False, NOW.timestamp(), 0.0, "done")
        await world.memory.keep(record, (Message("user", "a timer"), Message("assistant", calls=(call,))), one)
    text = await world.ask("forget what I just said")
    assert text == "I've forgotten that: one exchange. What I did then stays done, and on record."


async def test_to_ask_about_the_past_or_to_forget_it_is_no_deed(world: World) -> None:
    await world.told("hello", 3 * DAY)
    await world.ask("what did I say about hello")
    await world.ask("forget everything")
    assert await world.ask("yes") == "I've forgotten everything we said: three exchanges."
    assert await world.ask("forget the last ten minutes") == "I've forgotten the last ten minutes: one exchange."


async def test_with_nothing_to_forget_that_is_said(world: World) -> None:
    assert await world.ask("forget the last ten minutes") == "There was nothing to forget."
    await world.ask("forget the last ten minutes")
    assert await world.ask("forget what I said yesterday") == "There was nothing to forget."


@pytest.mark.parametrize(
    "text",
    [
        "don't forget the last ten minutes",
        "please do not forget what I just said",
        "why did you forget the last ten minutes",
        "did you forget what I just said",
        "I forget what I just said",
        "never forget everything we talked about",
        "forget everything but the boiler",
        "he said forget the last ten minutes",
    ],
)
async def test_a_negation_or_a_question_forgets_nothing(world: World, text: str) -> None:
    await world.told("the code is 4711", MINUTE)
    assert await world.ask(text) == "Hm."
    assert "the code is 4711" in await world.remembered()


async def test_a_reading_that_says_not_to_wins(world: World) -> None:
    await world.told("the code is 4711", MINUTE)
    assert await world.ask("forget the last ten minutes", alternatives=("don't forget the last ten minutes",)) == "Hm."


async def test_a_wish_together_with_another_is_asked_for_by_itself(world: World) -> None:
    await world.told("the code is 4711", MINUTE)
    text = await world.ask("set a timer for five minutes and forget the last ten minutes")
    assert text == "Please ask me that by itself."
    assert len(await world.remembered()) == 1


async def test_a_program_or_an_app_that_keeps_the_conversation_forgets_nothing(world: World) -> None:
    await world.told("the code is 4711", MINUTE)
    assert await world.ask("forget the last ten minutes", channel=None) == "Only a person can ask me that."
    text = await world.ask("forget the last ten minutes", remembered=False)
    assert text == "This app keeps our conversation itself; I remember nothing of it."
    assert len(await world.remembered()) == 1


async def test_forget_that_is_asked_about_and_the_talk_is_forgotten_with_the_question(world: World) -> None:
    await world.told("the code is 4711", MINUTE)
    await world.told("the dog is ill", MINUTE)
    assert await world.ask("Forget that.") == "The last thing we said, or a fact you told me?"
    assert await world.remembered() == ["the code is 4711", "the dog is ill"]
    assert await world.ask("the last thing we said") == "I've forgotten that: two exchanges."
    assert await world.remembered() == ["the code is 4711"]


@pytest.mark.parametrize("answer", ["a fact", "The second one.", "the fact I told you"])
async def test_which_fact_to_forget_is_asked_for_in_one_sentence(world: World, answer: str) -> None:
    await world.told("the code is 4711", MINUTE)
    await world.ask("could you please forget that")
    assert await world.ask(answer) == "Which one? Please say “forget that”, and the fact."
    assert await world.remembered() == ["the code is 4711"]


@pytest.mark.parametrize("answer", ["the first one", "a fact", "the last thing"])
async def test_an_answer_to_no_such_question_is_none(world: World, answer: str) -> None:
    await world.told("the code is 4711", MINUTE)
    assert await world.ask(answer) == "Hm."
    await world.ask("forget that")
    await world.told("something else", MINUTE)
    assert await world.ask(answer) == "Hm."


@pytest.mark.parametrize("text", ["don't forget that", "I forget that", "forget that bird", "did you forget that"])
async def test_only_forget_that_alone_is_asked_about(world: World, text: str) -> None:
    assert await world.ask(text) != "The last thing we said, or a fact you told me?"


async def test_an_app_that_keeps_the_conversation_is_not_asked_which(world: World) -> None:
    text = await world.ask("forget that", remembered=False)
    assert text == "This app keeps our conversation itself; I remember nothing of it."
    assert await world.ask("forget that", channel=None) == "Only a person can ask me that."


async def test_no_tool_server_is_ever_asked_to_forget(world: World, tools: ScriptedTools) -> None:
    await world.told("x", 3 * DAY)
    await world.ask("forget everything")
    await world.ask("no")
    await world.ask("forget everything")
    await world.ask("something else")
    await world.ask("forget the last ten minutes")
    assert not [call for call in tools.calls if call.name.startswith("conversation")]


# ── finding ────────────────────────────────────────────────────────────────────────────────────────


async def test_what_was_said_about_something_is_quoted_with_its_time(world: World) -> None:
    await world.told("The boiler is making a noise.", 4 * DAY)
    await world.told("Is the boiler old?", DAY)
    assert await world.ask("What did I say about the boiler?") == (
        "On Wednesday at 4:30 PM you said “The boiler is making a noise.” "
        "Yesterday at 4:30 PM you said “Is the boiler old?”"
    )


@pytest.mark.parametrize("question", ["what did I say", "what did I just ask you"])
async def test_what_was_said_last_is_quoted(world: World, question: str) -> None:
    await world.told("The boiler is making a noise.", HOUR)
    assert await world.ask(question) == "Today at 3:30 PM you said “The boiler is making a noise.”"


async def test_of_many_the_newest_are_said_and_all_are_counted(world: World) -> None:
    for number in range(5):
        await world.told(f"boiler {number}", (10 - number) * MINUTE)
    text = await world.ask("what did I say about boilers")
    assert "boiler 1" not in text
    assert text.endswith("“boiler 4.” There are five in all.")


async def test_asking_about_the_past_is_no_talk_about_it_and_leaves_no_copy_of_it(world: World, data: Path) -> None:
    await world.told("the wedding is in June", HOUR)
    first = await world.ask("what did I say about the wedding")
    assert await world.ask("what did I say about the wedding") == first
    await world.ask("forget the last two hours")
    assert await world.ask("what did I say about the wedding") == "I find nothing about wedding in what you said to me."
    assert b"June" not in whole(data)


async def test_what_an_answer_quoted_is_forgotten_with_what_it_quoted(world: World, data: Path) -> None:
    await world.told("the wedding is in June", DAY)
    assert "June" in await world.ask("what did I say about the wedding")
    await world.ask("forget what I said yesterday")
    assert await world.ask("yes") == "I've forgotten what was said yesterday: one exchange."
    assert b"June" not in whole(data)


async def test_when_something_was_talked_about_last(world: World) -> None:
    await world.told("where shall we go on holiday", 20 * DAY)
    assert await world.ask("when did we last talk about the holiday") == (
        "The last time was on 2 November 2026 at 4:30 PM."
    )
    assert await world.ask("when did we last talk about cheese") == "I find nothing about cheese in what we said."


async def test_what_was_said_on_a_day(world: World) -> None:
    await world.told("is it going to rain", DAY)
    await world.told("of today", HOUR)
    assert await world.ask("what did I ask you yesterday") == "Yesterday at 4:30 PM you said “is it going to rain.”"
    assert await world.ask("what did I say on Monday") == "I find nothing that you said to me on Monday."
    assert await world.ask("what did I just say") == "Today at 3:30 PM you said “of today.”"


async def test_nobody_finds_what_another_said(world: World) -> None:
    await world.told("my boiler is a secret", MINUTE)
    nothing = "I find nothing about boiler in what you said to me."
    assert await world.ask("what did I say about the boiler", GUEST) == nothing
    assert await world.ask("what did I say about the boiler", Actor("Ben", "phone", "owner", "kitchen")) == nothing


# ── days ───────────────────────────────────────────────────────────────────────────────────────────

BERLIN = ZoneInfo("Europe/Berlin")


@for_every(
    ("words", "first", "last"),
    [
        ("today", "2026-11-22T00:00", "2026-11-23T00:00"),
        ("yesterday", "2026-11-21T00:00", "2026-11-22T00:00"),
        ("yesterday evening", "2026-11-21T17:00", "2026-11-22T00:00"),
        ("last night", "2026-11-21T18:00", "2026-11-22T06:00"),
        ("this morning", "2026-11-22T00:00", "2026-11-22T12:00"),
        ("on Monday", "2026-11-16T00:00", "2026-11-17T00:00"),
        ("last Sunday", "2026-11-15T00:00", "2026-11-16T00:00"),
        ("Saturday morning", "2026-11-21T00:00", "2026-11-21T12:00"),
        ("this week", "2026-11-16T00:00", "2026-11-23T00:00"),
        ("last week", "2026-11-09T00:00", "2026-11-16T00:00"),
    ],
)
def test_a_day_gone_by_is_a_span(grammar: Grammar, words: str, first: str, last: str) -> None:
    wanted = (datetime.fromisoformat(edge).replace(tzinfo=BERLIN).timestamp() for edge in (first, last))
    assert PastTimes(grammar.tables["remembering"]).span(words, NOW.astimezone(BERLIN)) == TimeSpan(*wanted)


@for_every("words", ["tomorrow", "next Monday", "at five", "on the 3rd of May", "every day", ""])
def test_what_is_no_known_day_of_the_past_is_none(grammar: Grammar, words: str) -> None:
    assert PastTimes(grammar.tables["remembering"]).span(words, NOW) is None


def test_a_day_on_which_the_clock_jumps_still_goes_from_midnight_to_midnight(grammar: Grammar) -> None:
    after = datetime(2026, 10, 26, 9, 0, tzinfo=BERLIN)
    span = PastTimes(grammar.tables["remembering"]).span("yesterday", after)
    assert span
    assert span.until - span.since == timedelta(hours=25).total_seconds()


async def test_a_language_without_words_for_the_past_still_has_an_agent(
    data: Path,
    tools: ScriptedTools,
    grammar: Grammar,
    confirmations: ConfirmationSource,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nobody wrote down how a language speaks of what was said, such as German, the model gets such wishes."""
    monkeypatch.delitem(grammar.tables, "remembering")  # type: ignore[arg-type]
    async with open_memory(data / "atlas.db") as memory:
        agent = open_agent("family", LlmConfig(), says(["Hm."]), tools, reader_of(grammar), confirmations, UTC, memory)
        answer, _ = await ask(agent, "what is the capital of France?")
    assert answer.text == "Hm."
