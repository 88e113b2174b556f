"""Nothing that a model writes is said of this house or of a deed; call-shaped text is never said of anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from atlas.agents.minds import open_agent
from atlas.config import LlmConfig
from atlas.confirmations import HouseConfirmations
from atlas.conversation import Message
from atlas.llm.backend import Calls
from atlas.understanding.concern import Concerns, SmallTalk
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.understanding import Reader
from tests.conftest import for_every, sample
from tests.houses import english, reader_of
from tests.scripted_tools import ScriptedHousehold, ScriptedTools

from .conftest import ANNA, Room, ask, says, turn, wants

CORPUS = Path(__file__).parent / "corpus" / "honest"


def lines(name: str) -> list[str]:
    return (CORPUS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


NAMES = Names(
    devices=(
        NamedDevice("Reading Lamp", "light", "Living Room", aliases=("the glow",)),
        NamedDevice("Bathroom Fan", "fan", "Bathroom"),
        NamedDevice("Robbie", "vacuum"),
        NamedDevice("Front Door", "lock"),
    ),
    rooms=(NamedPlace("Living Room"), NamedPlace("Den"), NamedPlace("Nursery")),
    floors=(NamedPlace("Top Floor"),),
    people=("Anna", "Ben"),
    lists=("shopping list", "camping"),
)
THINGS = (
    *("Reading Lamp", "glow", "Bathroom Fan", "Robbie", "front door", "living room", "den", "nursery", "top floor"),
    *("kitchen window", "garage", "heating", "washing machine", "oven", "fridge", "alarm", "back gate", "thermostat"),
    *("dog", "car", "camping list", "calendar"),
)
ASKED = (
    *("is the {} on", "is the {} open", "what's the {} doing", "how warm is the {}", "is anything left on in the {}"),
    *("who used the {}", "when was the {} last used", "why is the {} off", "tell me about the {}", "is the {} broken"),
    *("what is the state of the {}", "how long has the {} been running"),
)
BY_HAND = lines("house")
HOUSE = [form.format(thing) for form, thing in product(ASKED, THINGS)] + BY_HAND
DEEDS = lines("deeds")
WORLD = lines("world")


@pytest.fixture
def reader() -> Reader:
    return reader_of(english())


def plain(text: str) -> str:
    return english().plain_words(text)


def test_three_hundred_questions_about_this_house_are_known_as_such() -> None:
    concerns = Concerns(english().tables)
    assert len(HOUSE) >= 300
    assert [text for text in HOUSE if concerns.of(plain(text), NAMES) not in ("house", "deed", "present")] == []


def test_deeds_are_known_as_such() -> None:
    concerns = Concerns(english().tables)
    assert [text for text in DEEDS if concerns.of(plain(text), NAMES) in ("world", "talk")] == []


def test_the_world_is_not_taken_for_this_house() -> None:
    concerns = Concerns(english().tables)
    assert [text for text in WORLD if concerns.of(plain(text), NAMES) != "world"] == []


INVENTED = "The living room is at 120 degrees. I've locked the door."


@pytest.mark.parametrize("tools_too", [True, False], ids=["with tools", "without"])
async def test_of_this_house_no_word_of_a_model_is_said(
    tools: ScriptedTools, reader: Reader, confirmations: HouseConfirmations, tools_too: bool
) -> None:
    model = says([INVENTED])
    agent = open_agent("family", LlmConfig(tools=tools_too), model, tools, reader, confirmations, names=lambda: NAMES)
    for text in sample((*HOUSE[::5], *DEEDS)):
        room = Room()
        answer = await agent.respond(turn(text), room.emit)
        assert answer
        assert "120" not in answer.text and "locked" not in answer.text, text
        assert answer.text
    assert tools_too or not model.prompts, "it is not even asked"


async def test_a_model_with_tools_is_answered_for_by_its_tools(
    tools: ScriptedTools, house: ScriptedHousehold, reader: Reader, confirmations: HouseConfirmations
) -> None:
    model = says(["Sure! ", wants("timers.start", seconds=600)], ["I've set two timers and fed the cat."])
    agent = open_agent("family", LlmConfig(tools=True), model, tools, reader, confirmations, names=lambda: NAMES)
    answer, _ = await ask(agent, "make sure I get the cake out in a bit")
    assert answer.text == "Timer set for 600 seconds."
    assert house.timers == {"": 600}


CALL = '{"name": "timers__start", "arguments": {"seconds": 600}}'


@pytest.mark.parametrize(
    "written",
    [
        ["```json\n", CALL, "\n```"],
        [CALL],
        list(CALL),
        ["<tool_call>", CALL, "</tool_call>"],
        ["Let me see. ", "`", "``json\n", CALL],
        ["[", CALL, "]"],
        ['Of course: {"name":', ' "x"}'],
        ["```", "python\n", "timers__start(seconds=600)\n```"],
        list("```python\ntimers__start(seconds=600)\n```"),
        ["```yaml\nname: ", "timers__start\narguments:\n  seconds: 600\n```"],
        list(f"~~~json\n{CALL}\n~~~"),
        ["~~~\n", CALL],
        ["timers", "__", "start(seconds=600)"],
        ["Sure, let me call ", *"timers__start(seconds=600)", "."],
        [*"start(", "seconds=600)"],
        ["timers.start", "()"],
    ],
)
@pytest.mark.parametrize("tools_too", [True, False])
async def test_what_has_the_shape_of_a_call_is_never_said(
    written: Sequence[str | Calls],
    tools_too: bool,
    tools: ScriptedTools,
    reader: Reader,
    confirmations: HouseConfirmations,
) -> None:
    agent = open_agent("family", LlmConfig(tools=tools_too), says(written), tools, reader, confirmations)
    answer, _ = await ask(agent, "why is the sky blue")
    assert not set("{}[]<>`~_=()") & set(answer.text), answer.text


async def test_brackets_in_words_are_said(
    tools: ScriptedTools, reader: Reader, confirmations: HouseConfirmations
) -> None:
    agent = open_agent(
        "family", LlmConfig(tools=True), says(["It is a < b [", "or so].", ""]), tools, reader, confirmations
    )
    answer, _ = await ask(agent, "why is the sky blue")
    assert answer.text == "It is a < b [or so]."
    written = [
        ["The class has ", "an __init__ ", "(a method)", "."],
        ["Rome (", "Italy)", " is old."],
        ["~5 or snake_", "case"],
    ]
    for pieces in written:
        agent = open_agent("family", LlmConfig(tools=True), says(pieces), tools, reader, confirmations)
        assert (await ask(agent, "why is the sky blue"))[0].text == "".join(pieces)


async def test_a_model_without_tools_says_two_sentences_of_the_world(
    tools: ScriptedTools, reader: Reader, confirmations: HouseConfirmations
) -> None:
    agent = open_agent(
        "family", LlmConfig(), says(["One. ", "Two. ", "Three. ", "Four."]), tools, reader, confirmations
    )
    answer, _ = await ask(agent, "why is the sky blue")
    assert answer.text.strip() == "One. Two."


async def test_a_model_that_may_not_answer_is_not_asked(
    tools: ScriptedTools, reader: Reader, confirmations: HouseConfirmations
) -> None:
    model = says(["Because of Neptune."])
    agent = open_agent("family", LlmConfig(answers=False), model, tools, reader, confirmations)
    answer, _ = await ask(agent, "why is the sky blue", spoken=True)
    assert answer.text == "I don't know that. I know about this house, the time, the calendar and the lists."
    owner = replace(ANNA, role="owner")
    assert "The house, Models" in (await ask(agent, "why is the sky blue", actor=owner))[0].text  # who may choose it
    assert (await ask(agent, "good night"))[0].text == "Good night."
    assert (await ask(agent, "who is winning the cricket in Australia"))[0].text.startswith("I can't look that up")
    assert not model.prompts


@for_every(
    "text",
    [
        *("hello", "Hello.", "hello Atlas", "Hello, Atlas!", "Good morning.", "good morning, everyone", "Hi there!"),
        *("hey Atlas, good evening", "hello again", "Morning!"),
    ],
)
@for_every("llm", [LlmConfig(answers=False), LlmConfig(), LlmConfig(tools=True)])
async def test_who_greets_is_greeted_also_where_there_is_nothing_to_switch(
    text: str, llm: LlmConfig, tools: ScriptedTools, reader: Reader, confirmations: HouseConfirmations
) -> None:
    agent = open_agent("family", llm, says(["Hello."]), tools, reader, confirmations)
    answer, _ = await ask(agent, text)
    assert answer.text == "Hello."


@for_every("text", ["hello world program", "good morning vietnam", "hi fi"])
def test_what_only_begins_like_a_greeting_is_none(text: str) -> None:
    assert SmallTalk(english().tables).answer(text) == ""


async def test_what_the_recogniser_hardly_believes_never_reaches_a_model_that_is_not_trusted(
    reader: Reader, tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    model = says(["Crocodiles are large reptiles."])
    agent = open_agent("family", LlmConfig(answers=True), model, tools, reader, confirmations)
    misheard = "We'll be in the main terminal."
    answer, _ = await ask(agent, misheard, doubtful=True)
    assert answer.text == "I didn't catch that."
    again = (Message("user", misheard), Message("assistant", answer.text))
    helped, _ = await ask(agent, "The malumka family behind.", doubtful=True, history=again)
    assert helped.text == "I didn't catch that. Ask “what can you do?”, and I'll tell you what I understand."
    once_more = (*again, Message("user", "The malumka."), Message("assistant", helped.text))
    assert (await ask(agent, misheard, doubtful=True, history=once_more))[0].text == "I didn't catch that."
    assert not model.prompts
    await ask(agent, "What is a crocodile?", doubtful=True)
    assert len(model.prompts) == 1, "a question is answered"
    assert (await ask(agent, "Thank you.", doubtful=True))[0].text == "You're welcome."


async def test_two_misses_in_a_row_offer_help_however_they_came(
    reader: Reader, tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    agent = open_agent("family", LlmConfig(answers=False), says([""]), tools, reader, confirmations)
    first, _ = await ask(agent, "the bus was on saturday")
    assert first.text == "I didn't understand that."
    history = (Message("user", "the bus was on saturday"), Message("assistant", first.text))
    second, _ = await ask(agent, "the match starts later", history=history)
    assert second.text.endswith("Ask “what can you do?”, and I'll tell you what I understand.")
