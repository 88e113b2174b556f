"""What people say becomes the right tool call, at once, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import tools_server.tools
from atlas.conversation import Tool
from atlas.errors import ConfigError
from atlas.events import ToolFinished
from atlas.understanding.endings import CLOSED_SECONDS
from atlas.understanding.grammar import LONGEST_CHARACTERS, OPEN_COMMAND_SECONDS, Command, Grammar, open_grammar
from atlas_bench.commands import corpus
from tests.conftest import for_every, sample
from tests.houses import reader_of
from tests.scripted_tools import ScriptedHousehold, ScriptedResult, ScriptedTools
from tools_server.sdk.toolkit import find

from .conftest import Room, ask, commands_of, turn

ROWS = [row for row in corpus("en") if not row.held_out]
COMMANDS = [row for row in ROWS if row.wanted]
SAID = [row.sentence for row in COMMANDS]
URGENT = "stop"  # acted on at once, though "stop the music" begins so: it stops nothing but an alarm that rings


def calls(commands: Sequence[Command]) -> list[tuple[str, dict[str, Any]]]:
    return [(command.tool, dict(command.arguments)) for command in commands]


@for_every("file", sorted({row.file for row in ROWS}))
def test_a_sentence_becomes_its_calls_with_all_its_words_or_nothing_at_all(grammar: Grammar, file: str) -> None:
    read = reader_of(grammar).read
    rows = sample(row for row in ROWS if row.file == file)
    heard = {row.sentence: (calls(read(row.sentence).commands), list(row.wanted)) for row in rows}
    assert {text: got for text, (got, wanted) in heard.items() if got != wanted} == {}


def test_every_command_is_a_call_that_the_tool_server_takes() -> None:
    offered = {name: Draft202012Validator(tool.schema) for name, tool in find(tools_server.tools).tools.items()}
    for row in ROWS:
        for tool, arguments in row.wanted:
            offered[tool].validate(arguments)


def test_a_command_is_understood_however_it_was_written_down(grammar: Grammar) -> None:
    for text in sample(SAID[::5]):
        usual = [command.tool for command in grammar.commands(text)]
        mark = "?" if text.rstrip().endswith("?") else "."  # "tomorrow is cold or hot?" asks by its mark alone
        for written in (f"  {text.strip(' .?!')}{mark} ", f"Hey, {text[0].lower()}{text[1:]}"):
            assert [command.tool for command in grammar.commands(written)] == usual, written


def test_a_denied_command_does_nothing(grammar: Grammar) -> None:
    for text in sample(SAID):
        if "forget" not in text:  # "don't forget" asks for something
            assert grammar.commands(f"don't {text}") == ()
            assert grammar.commands(f"Please do not {text}") == ()


@for_every(
    "fact",
    [
        "the boiler was serviced in March",
        "bin day is Thursday",
        "Ben doesn't eat eggs",
        "the spare key is at the neighbours",
        "Grandma lives in Bristol",
    ],
)
def test_a_fact_is_told_without_a_that_as_well(grammar: Grammar, fact: str) -> None:
    assert calls(grammar.commands(f"remember {fact}")) == [("facts.remember", {"text": fact})]


def test_a_fact_may_come_before_the_wish_to_have_it_remembered(grammar: Grammar) -> None:
    rows = [("facts.remember", {"text": "my favourite colour is green"})]
    assert calls(grammar.commands("my favourite colour is green, please remember that.")) == rows
    assert grammar.commands("my favourite colour is green, don't remember that") == ()
    assert grammar.commands("the teacher has always said remember that") == ()


@for_every(
    "text",
    [
        "remember the film that was on last night",
        "remember the day we were in Rome",
        "remember when it was warm",
        "remember the boiler",
        "remember who is coming",
        "remember the time is short",
        "remember kids it is only a game",
    ],
)
def test_what_is_only_called_to_mind_is_no_fact(grammar: Grammar, text: str) -> None:
    assert grammar.commands(text) == ()


@for_every("text", ["hey " * 250_000, "set a timer for ten minutes " * 40_000, "a" * 1_000_000])
def test_a_text_as_long_as_a_book_is_no_command_and_costs_nothing(grammar: Grammar, text: str) -> None:
    assert grammar.read(text) is None
    assert not grammar.is_negated(text)


@given(st.text(max_size=LONGEST_CHARACTERS))
def test_any_text_at_all_can_be_read(grammar: Grammar, text: str) -> None:
    command = grammar.read(text)
    assert command is None or command.tool


def test_a_door_that_is_to_open_later_is_nothing_to_be_done_now(grammar: Grammar) -> None:
    for text in ("open the door tomorrow", "lock the garage tomorrow", "close the gate at five"):
        assert grammar.commands(text) == ()


def test_a_day_is_neither_the_name_nor_the_hour_of_an_alarm(grammar: Grammar) -> None:
    for literal in ("turn off today's alarm", "disable my alarm for tomorrow", "cancel my alarm for every Monday"):
        assert grammar.commands(literal) == ()


# ── may a voice act at the first pause? ────────────────────────────────────────────────────────────


def test_a_command_that_could_go_on_needs_a_moment_of_silence_and_no_command_is_not_hurried(grammar: Grammar) -> None:
    assert reader_of(grammar).settle_seconds("Mark buy milk as done.") == CLOSED_SECONDS
    assert reader_of(grammar).settle_seconds("Stop.") == CLOSED_SECONDS
    assert reader_of(grammar).settle_seconds("Set a timer for ten minutes.") == OPEN_COMMAND_SECONDS
    assert reader_of(grammar).settle_seconds("Why is the sky blue?") is None


def test_nothing_that_can_be_continued_counts_as_whole(grammar: Grammar) -> None:
    """Whoever pauses inside a command of the table is not interrupted before its end."""
    wrong = []
    for text in sample(SAID[::6]):  # of each topic some: all of them take as long as everything else here together
        words = text.strip(" .?!").split()
        full = calls(grammar.commands(text))
        for length in range(1, len(words)):
            begun = grammar.commands(" ".join(words[:length]))
            if length == 1 and words[0].lower() == URGENT:
                continue
            if begun and begun[-1].whole and full[: len(begun)] != calls(begun):
                wrong.append((" ".join(words[:length]), text))
    assert wrong == []


@for_every(
    "text",
    [
        "set a timer for ten",
        "set a timer for ten minutes",  # and thirty seconds
        "set a ten minute timer",  # for the pizza
        "set a timer for ten minutes called tea",  # tea and toast
        "timer ten minutes",
        "cancel the timer",  # in the kitchen
        "cancel all timers",  # in the kitchen
        "what time is it",  # in Tokyo
        "what time is it in New",  # York
        "add milk to my tasks",  # and eggs
        "what are my tasks",
        "how much time is left",  # on the pizza timer
        "what is the date",
        "cancel the timer called pizza",
        "add five minutes to my timer",
        "tell me a story",
        "",
    ],
)
def test_a_sentence_that_may_go_on_is_waited_for(grammar: Grammar, text: str) -> None:
    command = grammar.read(text)
    assert command is None or not command.whole


@for_every(
    "text",
    [
        "set a ten minute pizza timer",
        "set a timer for ten minutes please",
        "cancel the pizza timer",
        "pause the ten minute timer",
        "how long is left on the pizza timer",
        "what's the date today",
        "mark buy milk as done",
        "move buy milk to doing",
        "remove buy milk from my tasks",
        "cancel all timers, thank you",
        "what time is it please",
    ],
)
def test_a_sentence_that_is_closed_may_be_acted_on(grammar: Grammar, text: str) -> None:
    command = grammar.read(text)
    assert command and command.whole


# ── the agent ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_command_is_done_and_told_in_the_tools_own_words(
    grammar: Grammar, tools: ScriptedTools, house: ScriptedHousehold
) -> None:
    answer, room = await ask(commands_of(grammar, tools), "Set a timer for ten minutes.")
    assert house.timers == {"": 600}
    assert room.said == "Timer set for 600 seconds."
    assert room.kinds == ["ToolStarted", "ToolFinished", "TextDelta"]
    assert (answer.path, answer.end) == ("command", "done")
    assert [message.author for message in answer.messages] == ["assistant", "tool", "assistant"]
    assert answer.messages[0].calls[0].id == answer.messages[1].call_id
    assert answer.receipts[0].changed == "started a timer"


async def test_what_was_changed_before_this_conversation_is_named_before_it_is_taken_back(grammar: Grammar) -> None:
    now = turn("undo").at
    changes = [
        {"receipt": "receipt_2", "at": now - 9, "changed": "Lamp on.", "undo": False},
        {"receipt": "receipt_1", "at": now - 60, "changed": "Added milk to the list.", "undo": True},
    ]
    long_ago = [{**changes[1], "at": now - 7_200}]
    schema = {"type": "object"}
    last, undo = Tool("history.last", "", schema, read_only=True), Tool("history.undo", "", schema)

    def house(known: list[dict[str, Any]]) -> ScriptedTools:
        told = ScriptedResult("Some changes.", {"changes": known})
        back = ScriptedResult("Taken back.", changed="undo")
        return ScriptedTools([(last, lambda *_: told), (undo, lambda *_: back)])

    answer, _ = await ask(commands_of(grammar, house(changes)), "undo")
    assert answer.text == "Last I did this: Added milk to the list. Shall I take it back?"
    assert answer.choices
    assert answer.choices.choices[0].commands == (Command("history.undo", {"receipt": "receipt_1"}),)
    for known in (long_ago, []):
        answer, _ = await ask(commands_of(grammar, house(known)), "undo")
        assert answer.text == "Taken back." and not answer.choices


async def test_what_is_no_command_is_declined_without_a_sound(grammar: Grammar, tools: ScriptedTools) -> None:
    room = Room()
    assert await commands_of(grammar, tools).respond(turn("What is the capital of France?"), room.emit) is None
    assert room.events == [] and tools.calls == []


async def test_the_first_reading_that_is_a_command_is_taken(
    grammar: Grammar, tools: ScriptedTools, house: ScriptedHousehold
) -> None:
    readings = ("set a time for ten minutes", "set a timer for ten minutes", "set a timer for two minutes")
    await ask(commands_of(grammar, tools), "said a timer for ten minutes", alternatives=readings)
    assert house.timers == {"": 600}


async def test_when_any_reading_says_dont_none_is_acted_on(grammar: Grammar, tools: ScriptedTools) -> None:
    commands = commands_of(grammar, tools)
    question_turn = turn("set a timer for ten minutes", alternatives=("don't set a timer for ten minutes",))
    assert await commands.respond(question_turn, Room().emit) is None
    assert tools.calls == []


async def test_a_tool_this_agent_may_not_use_is_left_to_a_model_that_has_tools(
    grammar: Grammar, house: ScriptedHousehold
) -> None:
    only_clock = ScriptedTools([entry for entry in house.tools()._actions.values() if entry[0].name == "clock.time"])
    assert await commands_of(grammar, only_clock).respond(turn("cancel all timers"), Room().emit) is None


async def test_what_nobody_here_has_a_tool_for_is_said_so_instead_of_being_made_up(
    grammar: Grammar, house: ScriptedHousehold
) -> None:
    only_clock = ScriptedTools([entry for entry in house.tools()._actions.values() if entry[0].name == "clock.time"])
    room = Room()
    commands = commands_of(grammar, only_clock, model_has_tools=False)
    answer = await commands.respond(turn("have I got any new mail"), room.emit)
    assert answer and answer.text == room.said == "I can't do that: I have no tool for it."
    assert only_clock.calls == []


async def test_what_is_not_there_is_an_answer_and_no_breakdown(grammar: Grammar, tools: ScriptedTools) -> None:
    answer, _ = await ask(commands_of(grammar, tools), "cancel the pizza timer")
    assert (answer.text, answer.end, answer.receipts) == ("There is no such timer.", "done", ())


async def test_an_interrupted_command_still_reports_how_its_tool_ended(grammar: Grammar) -> None:
    began = anyio.Event()

    async def forever(arguments: object, actor: object) -> ScriptedResult:
        began.set()
        await anyio.sleep_forever()
        raise AssertionError

    tool = (await ScriptedHousehold().tools().listed())[0]
    assert tool.name == "clock.date"
    room = Room()
    async with anyio.create_task_group() as group:
        group.start_soon(
            commands_of(grammar, ScriptedTools([(tool, forever)])).respond, turn("what's the date"), room.emit
        )
        await began.wait()
        group.cancel_scope.cancel()
    assert room.kinds == ["ToolStarted", "ToolFinished"]
    finished = room.events[1]
    assert isinstance(finished, ToolFinished) and (finished.result.ok, finished.result.error) == (False, "cancelled")


async def test_two_asked_at_once_do_not_mix(grammar: Grammar, tools: ScriptedTools, house: ScriptedHousehold) -> None:
    commands = commands_of(grammar, tools)
    async with anyio.create_task_group() as group:
        for number in range(2, 12):
            group.start_soon(ask, commands, f"set a {number} minute timer called tea")
    assert sorted(call.arguments["seconds"] for call in tools.calls) == [number * 60 for number in range(2, 12)]


def test_what_is_said_over_a_reply_may_want_silence(grammar: Grammar) -> None:
    wanted = (
        "Stop.",
        "Okay, stop!",
        "never mind",
        "Please be quiet.",
        "shut up",
        "That's enough.",
        "stop talking, please",
    )
    assert [text for text in wanted if not grammar.wants_silence(text)] == []
    unwanted = ("stop the timer", "Quiet night.", "What is enough?", "enough of what", "")
    assert [text for text in unwanted if grammar.wants_silence(text)] == []


def test_another_language_is_another_folder() -> None:
    """Whatever a household says in German is understood by sentences, and what is only talk is left alone."""
    german = open_grammar("de")
    rows = list(corpus("de"))
    assert len(rows) > 300
    heard = {row.sentence: (calls(german.commands(row.sentence)), list(row.wanted)) for row in sample(rows)}
    assert {text: got for text, (got, wanted) in heard.items() if got != wanted} == {}
    assert german.is_negated("Stell keinen Timer")
    assert german.wants_silence("Bitte sei still.")
    assert not german.wants_silence("Stopp den Timer.")
    assert (half := german.half("Stell einen Timer"))
    assert half.question == "Wie lange: fünf Minuten oder zehn?"


def test_a_language_without_sentences_says_which_there_are() -> None:
    with pytest.raises(ConfigError) as missing:
        open_grammar("xx")
    assert "en" in missing.value.hint
