"""A house's own sentences are done behind the gate, listed to who asks, and read anew when their file changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from atlas.agents.agent_commands import Commands
from atlas.agents.agent_help import Help
from atlas.agents.house_sentences import FILE, HouseSentences
from atlas.agents.minds import InOrder
from atlas.agents.taught_sentences import TAUGHT_FILE, Teaching
from atlas.errors import ConfigError, RequestError
from atlas.understanding.custom import CustomSentences
from atlas.understanding.grammar import Grammar
from atlas.understanding.names import Names
from atlas.understanding.understanding import Reader
from tests.houses import reader_of
from tests.scripted_tools import ScriptedHousehold, ScriptedTools

from .conftest import ask

TEA = """\
intents:
  Tea: {data: [{sentences: ["tea (time|break)"]}]}
  Spring:
    data: [{sentences: ["spring cleaning of {title}"]}]
  Motto: {data: [{sentences: [our motto]}]}
lists: {title: {values: [everything, windows]}}
responses: {intents: {Motto: {default: Slowly but surely.}}}
intent_script:
  Tea:
    action: [{action: timers.start, data: {seconds: 240, name: tea}}, {action: clock.time}]
    speech: {text: Put the kettle on.}
  Spring:
    action: [{action: tasks.remove, data: {title: "{{ title }}"}}]
    speech: {text: Gone it is.}
"""


class World:
    """A house in memory with a file of sentences."""

    def __init__(self, folder: Path, grammar: Grammar, tools: ScriptedTools) -> None:
        self.file = folder / FILE
        self.tools = tools
        self.prepared: list[CustomSentences] = []
        self.sentences = HouseSentences(self.file, "en", [tools], prepare=self.prepared.append)
        reader = Reader(grammar, custom=self.sentences)
        answerers = [Commands(grammar.tables, tools), Help(grammar.tables, tools, reader.custom_examples)]
        self.agent = InOrder("family", reader, answerers)

    async def writes(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")
        await self.sentences.look()

    async def says(self, text: str) -> str:
        answer, _ = await ask(self.agent, text)
        return answer.text

    def made(self) -> Sequence[str]:
        return [call.name for call in self.tools.calls]


@pytest.fixture
def world(tmp_path: Path, grammar: Grammar, tools: ScriptedTools) -> World:
    return World(tmp_path, grammar, tools)


async def test_its_calls_are_made_and_its_own_words_said(world: World, house: ScriptedHousehold) -> None:
    await world.writes(TEA)
    assert await world.says("Tea break!") == "Put the kettle on."
    assert world.made() == ["timers.start", "clock.time"]
    assert house.timers == {"tea": 240}


async def test_words_alone_call_nothing(world: World) -> None:
    await world.writes(TEA)
    assert await world.says("our motto") == "Slowly but surely."
    assert world.made() == []


async def test_the_gate_asks_first_as_it_does_for_any_call(world: World, house: ScriptedHousehold) -> None:
    house.tasks["windows"] = "home"
    await world.writes(TEA)
    assert await world.says("spring cleaning of windows") == "Remove the task windows for good?"
    assert "windows" in house.tasks


async def test_words_for_what_was_done_are_not_said_of_what_was_not(world: World) -> None:
    await world.writes(TEA.replace("seconds: 240", "seconds: 0"))
    assert "kettle" not in await world.says("Tea time")


async def test_who_asks_what_the_house_can_do_hears_of_them(world: World) -> None:
    await world.writes(TEA)
    text = await world.says("what can you do")
    assert "Sentences of your own: “tea time”, “spring cleaning of everything”, “our motto”." in text


async def test_what_needs_a_tool_that_an_agent_lacks_is_not_offered(
    world: World, tools: ScriptedTools, grammar: Grammar
) -> None:
    await world.writes(TEA)
    custom = world.sentences()
    assert custom
    assert custom.sentences.possible(["timers.start", "clock.time"]) == ["tea time", "our motto"]


async def test_a_change_is_understood_and_heard_at_once(world: World) -> None:
    await world.sentences.look()
    assert world.prepared == []
    await world.writes(TEA)
    await world.writes(TEA.replace("our motto", "what is our motto"))
    assert await world.says("What is our motto?") == "Slowly but surely."
    assert len(world.prepared) == 2
    await world.sentences.look()
    assert len(world.prepared) == 2, "what has not changed is left alone"


async def test_a_mistake_leaves_the_sentences_of_before_and_is_told(world: World) -> None:
    await world.writes(TEA)
    await world.writes(TEA.replace("timers.start", "timers.begin"))
    assert await world.says("Tea break!") == "Put the kettle on."
    with pytest.raises(ConfigError, match=r"sentences\.yaml, line 10: there is no tool timers\.begin"):
        await world.sentences.health()
    await world.writes(TEA)
    assert await world.sentences.health() == "3 in sentences.yaml"


async def test_without_the_file_there_are_none(world: World) -> None:
    await world.writes(TEA)
    world.file.unlink()
    await world.sentences.look()
    assert world.sentences() is None
    assert await world.sentences.health() == "none yet"


async def test_they_are_held_to_the_tools_once_those_are_known(
    tmp_path: Path, grammar: Grammar, tools: ScriptedTools
) -> None:
    agents: list[ScriptedTools] = []
    sentences = HouseSentences(tmp_path / FILE, "en", agents)
    (tmp_path / FILE).write_text(TEA.replace("timers.start", "timers.begin"))
    await sentences.look()
    assert await sentences.health() == "3 in sentences.yaml"
    agents.append(tools)
    await sentences.look()
    with pytest.raises(ConfigError, match="there is no tool"):
        await sentences.health()


async def test_what_cannot_be_read_is_said(world: World) -> None:
    world.file.write_bytes(b"intents: \xff\xfe")
    await world.sentences.look()
    with pytest.raises(ConfigError, match="cannot be read"):
        await world.sentences.health()


async def test_a_sentence_taught_by_pressing_is_done_at_once_beside_those_of_the_file(
    world: World, house: ScriptedHousehold, grammar: Grammar
) -> None:
    await world.writes(TEA)
    reader = reader_of(grammar)
    teaching = Teaching(
        world.file.with_name(TAUGHT_FILE), lambda text: reader.read(text, Names()), world.sentences.look, "en"
    )
    taught = await teaching.add("pasta o'clock", "set a pasta timer for nine minutes")
    await world.says("Pasta o'clock!")
    assert house.timers == {"pasta": 540}
    assert await world.says("our motto") == "Slowly but surely."
    assert await world.sentences.health() == "3 in sentences.yaml, 1 in taught.json"
    await world.writes("intents: [")  # a mistake in the one takes nothing from the other
    assert [one.text for one in await teaching.list()] == ["pasta o'clock"]
    assert await teaching.remove(taught.id)
    assert "pasta" not in world.sentences().sentences.examples.values()


async def test_what_is_no_command_and_what_says_not_to_cannot_be_taught(world: World, grammar: Grammar) -> None:
    reader = reader_of(grammar)
    teaching = Teaching(
        world.file.with_name(TAUGHT_FILE), lambda text: reader.read(text, Names()), world.sentences.look, "en"
    )
    for meaning in ("the sky is blue", "don't set a timer for nine minutes"):
        with pytest.raises(RequestError) as refused:
            await teaching.add("pasta o'clock", meaning)
        assert refused.value.code == "not_understood"
    assert await teaching.list() == ()
