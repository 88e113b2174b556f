"""Who asks what Atlas can do is told what it really can, and something to try that works."""

from __future__ import annotations

import pytest

from atlas.agents.agent_help import Help
from atlas.agents.minds import InOrder
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.understanding import Reader
from tests.scripted_tools import ScriptedTools

from .conftest import ask, turn


def help_of(grammar: Grammar, tools: ScriptedTools) -> InOrder:
    return InOrder("family", Reader(grammar), [Help(grammar.tables, tools)])


@pytest.mark.parametrize(
    "text", ["What can you do?", "help", "Atlas, what can you do for me?", "what can I say", "how do I use this?"]
)
async def test_help_names_what_there_is(grammar: Grammar, tools: ScriptedTools, text: str) -> None:
    answer, _ = await ask(help_of(grammar, tools), text)
    assert answer.text.startswith("Ask me for the time, timers, ")
    assert "weather" not in answer.text, "this agent has no tool for it"
    assert answer.text.endswith("Try “set a timer for ten minutes.”")


@pytest.mark.parametrize(
    "text", ["help me with maths", "what can you do about the noise", "we need help", "what can we do today"]
)
async def test_what_asks_for_something_else_is_no_cry_for_help(
    grammar: Grammar, tools: ScriptedTools, text: str
) -> None:
    assert not await help_of(grammar, tools).prepare(turn(text))


async def test_an_app_with_instructions_of_its_own_says_itself_what_it_can(
    grammar: Grammar, tools: ScriptedTools
) -> None:
    assert not await help_of(grammar, tools).prepare(turn("what can you do", instructions="You are a pirate."))


async def test_an_agent_without_tools_promises_nothing(grammar: Grammar) -> None:
    assert not await Help(grammar.tables, ScriptedTools([]))._words()


def test_what_is_suggested_is_understood(grammar: Grammar) -> None:
    for spoken in (grammar, open_grammar("de")):
        for tool, text in spoken.tables["help"]["such_as"].items():
            command = spoken.read(text)
            assert command, text
            assert command.tool == tool
