"""What somebody asked to be remembered is said again in their words, before any model could make something up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from atlas.agents.agent import Agent
from atlas.agents.minds import open_agent
from atlas.agents.prompt import words_of_others
from atlas.config import LlmConfig
from atlas.confirmations import HouseConfirmations
from atlas.conversation import Actor, Message, Tool, Turn
from atlas.understanding.grammar import Grammar
from atlas.understanding.names import Names
from tests.conftest import for_every
from tests.houses import reader
from tests.scripted_backend import ScriptedBackend
from tests.scripted_tools import Action, Preview, ScriptedRefusal, ScriptedResult, ScriptedTools

from .conftest import ANNA, Room, ask, says, turn

BEN = Actor("Ben", "phone", "adult", "kitchen")
HALL = Actor("", "panel", "satellite", "hall")


class Knowing:
    """A tool server that remembers: each person's own facts, everybody's under ""; and a calendar."""

    def __init__(self) -> None:
        self.facts: dict[str, list[str]] = {"": []}
        self.events: list[str] = []
        self.untrusted = False
        self.tools = ScriptedTools(
            [
                _tool("facts.list", self.list, reads=True),
                _tool("facts.remember", self.remember),
                _tool("facts.forget", self.forget),
                _tool("calendar.find", self.find, reads=True),
            ],
            {"facts.forget": Preview(lambda arguments, actor: f"Forget that {arguments['text']}?")},
        )

    def list(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        own_names = self.facts.get(actor.person, []) if actor.person else []
        rows = [{"text": fact, "own": False} for fact in self.facts[""]] + [
            {"text": fact, "own": True} for fact in own_names
        ]
        return ScriptedResult("I was told things.", {"facts": rows}, untrusted=self.untrusted)

    def remember(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        fact = str(arguments["text"])
        self.facts.setdefault(actor.person, []).append(fact)
        return ScriptedResult(f"I'll remember: {fact}.", {"fact": fact}, f"remembered {fact}")

    def forget(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self.facts[actor.person].remove(str(arguments["text"]))
        return ScriptedResult(f"I forgot: {arguments['text']}.", changed="forgot a fact")

    def find(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        return ScriptedResult(f"I found {self.events}.", {"events": self.events})


def _tool(name: str, does: Action, *, reads: bool = False) -> tuple[Tool, Action]:
    return Tool(name, f"Does what {name} says.", {"type": "object"}, reads), does


@pytest.fixture
def knowing() -> Knowing:
    return Knowing()


class Talk:
    """A conversation with an agent, as the house keeps it."""

    def __init__(self, agent: Agent, model: ScriptedBackend) -> None:
        self.agent = agent
        self.model = model
        self.history: tuple[Message, ...] = ()

    async def __call__(self, text: str, **more: Any) -> str:
        answer, _ = await ask(self.agent, text, history=self.history, **more)
        messages = [replace(m, ours=answer.path == "command" and m.author == "assistant") for m in answer.messages]
        self.history += (Message("user", text), *messages)
        return answer.text


def opened(knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations, *, trusted: bool = False) -> Talk:
    confirmations.tools = knowing.tools
    model = says(["The moon knows."])
    return Talk(
        open_agent("family", LlmConfig(tools=trusted), model, knowing.tools, reader("en"), confirmations), model
    )


@pytest.fixture
def talk(knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations) -> Talk:
    return opened(knowing, grammar, confirmations)


@pytest.fixture
def talk_with_tools(knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations) -> Talk:
    """A model with tools answers, and is shown the facts."""
    return opened(knowing, grammar, confirmations, trusted=True)


async def test_what_was_told_answers_the_question_and_no_model_is_asked(talk: Talk) -> None:
    assert await talk("remember that bin day is Thursday") == "I'll remember: bin day is Thursday."
    assert await talk("when is bin day?") == "You told me: bin day is Thursday."
    assert await talk("Is bin day tomorrow?") == "You told me: bin day is Thursday."


async def test_what_nobody_told_is_left_to_the_model(talk: Talk) -> None:
    await talk("remember that bin day is Thursday")
    for question in ("why is the sky blue?", "when is the war over", "what colour is the moon", "how do bins work"):
        assert await talk(question) == "The moon knows."


LOOKED_UP = "I can't look that up."
LOOKED_UP_TODAY = "I can't look that up: nobody here tells me."
NOTHING = "I don't know that. Tell me with “remember that”, and I will."


OURS = """
Where did I put the passport? | where are my keys | do you know where we keep the spare key | what is our door code
what's the plumber's number? | tell me the wifi password | what is my locker number again | what's my favourite colour
What colour is my car? | where is the boiler | when is bin day | Where is my coat? | where's the fuse box
where is the stopcock | where are the scissors kept | where is the remote | where can I find the ladder
where are the spare keys | where's the first aid kit | when do the bins go out | what day is recycling
when does the cleaner come | when is the rent due | how often are the bins emptied | tell me where my coat is
what size are my shoes | what make is our boiler | what year is my car | what breed is our dog
who is our dentist | who's my landlord | how old is our boiler | how tall is my daughter | how much is our rent
how far is my office | how often is my inhaler due | when does my train leave | where does my sister live
what's the dog's name | what's the alarm code | what is the gate code again | tell me the safe combination
what time do I start on Monday | what is our cat called | what kind of boiler do we have
what colour is the sofa | where did we park | how old is the dog | where did mum put the keys
where are the Christmas decorations | what's my sister's phone number
when did our warranty expire | remind me where the spare key is
"""
THE_WORLDS = """
what's the world's largest number | what is my purpose | what's the number of gold | where is Paris
where is the Eiffel Tower | what colour is the sky | when is the war over | where is the Great Wall of China
where is the equator | where is the nearest car | where is the liver | where is my appendix | where are my kidneys
where is our galaxy | how old is our universe | how big is our planet | how far is our nearest star
what colour are bananas | how big is my brain | what colour is my blood | what is the sun's size | where are my ribs
what year was the car invented | when was recycling invented | when did recycling start | when was the umbrella invented
who is our prime minister | who is our king | who was the first president | who painted the Mona Lisa
how many bones do we have | what type of joints do we have | how many planets are there | how tall is Mount Everest
how old is the earth | how much is a barrel of oil | what is the capital of France | what is the code of Hammurabi
where do penguins live | where do our surnames come from | where does the Nile start | when do swallows leave
when is the summer solstice | where is the key of Solomon | where is the Tower of London | what size is a football pitch
what breed is Lassie | what kind of animal is a whale | what is pi | what is the king's name | where does rubbish go
where can I get a tent | what day did the war end | where was the telephone invented | why is the sky blue
"""


def each(questions: str) -> list[str]:
    return [one.strip() for line in questions.strip().splitlines() for one in line.split("|")]


@for_every("question", each(OURS))
async def test_what_nobody_can_know_but_who_was_told_is_not_made_up(talk: Talk, question: str) -> None:
    await talk("remember that my cat is black")
    for _ in range(2):  # to have asked before is no knowledge
        assert await talk(question) == NOTHING


@for_every("question", each(THE_WORLDS))
async def test_what_the_world_knows_is_left_to_others(talk: Talk, question: str) -> None:
    assert await talk(question) in ("The moon knows.", LOOKED_UP, LOOKED_UP_TODAY)


# ── what cannot be looked up ───────────────────────────────────────────────────────────────────────

UNREAD = "I can't look up what I was told right now, so I don't know."


@pytest.mark.parametrize(
    ("refusal", "text"),
    [
        (
            ("failed", "I could not read facts/Anna.md: it is not text."),
            f"{UNREAD} I could not read facts/Anna.md: it is not text.",
        ),
        (("gone", "I can't reach my tools right now, so nothing was done."), UNREAD),
        (("timeout", "That took too long, so I gave it up."), UNREAD),
        (("denied", "That is private to the people who live here."), "That is private to the people who live here."),
    ],
)
async def test_where_the_paper_cannot_be_read_it_says_so_and_makes_nothing_up(
    talk: Talk, knowing: Knowing, refusal: tuple[str, str], text: str
) -> None:
    def refused(arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        raise ScriptedRefusal(*refusal)

    knowing.tools._actions["facts.list"] = _tool("facts.list", refused, reads=True)
    answer, _ = await ask(talk.agent, "where is my coat")
    assert answer.text == text
    assert (answer.end, bool(answer.error)) == (("done", False) if refusal[0] == "denied" else ("failed", True))
    assert await talk("where is the Eiffel Tower") == "The moon knows.", "for that no paper is needed"


async def test_a_tool_server_that_was_never_reached_has_not_said_that_it_knows_nothing(
    knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations
) -> None:
    knowing.tools = ScriptedTools([])
    assert await opened(knowing, grammar, confirmations)("where is my coat") == UNREAD


async def test_what_was_only_told_in_passing_is_not_looked_up(talk: Talk) -> None:
    await talk("I left my keys in the blue bowl this morning.")
    assert await talk("where are my keys") == NOTHING


async def test_a_house_that_remembers_no_facts_does_not_offer_to(
    knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations
) -> None:
    knowing.tools = ScriptedTools([_tool("calendar.find", knowing.find, reads=True)])
    assert await opened(knowing, grammar, confirmations)("where are my keys") == LOOKED_UP


async def test_a_person_is_told_their_own_facts_and_everybodys_and_no_others(talk: Talk, knowing: Knowing) -> None:
    knowing.facts |= {"Anna": ["My pin is 4711"], "": ["The rent is 900 euros"]}
    assert await talk("what's my pin") == "You told me: My pin is 4711."
    assert await talk("how much is the rent") == "I was told: The rent is 900 euros."
    for other in (BEN, HALL):
        assert await talk("what's my pin", actor=other) == NOTHING
        assert await talk("how much is the rent", actor=other) == "I was told: The rent is 900 euros."
    assert set(knowing.tools.actors) == {ANNA, BEN, HALL}


async def test_of_all_that_was_told_only_the_answer_enters_the_conversation(talk: Talk, knowing: Knowing) -> None:
    knowing.facts["Anna"] = ["Bin day is Thursday", "My pin is 4711"]
    await talk("when is bin day?")
    assert not any("4711" in message.text for message in talk.history)
    assert [call.name for message in talk.history for call in message.calls] == ["facts.list"]


async def test_what_may_repeat_strangers_stays_marked_so(talk: Talk, knowing: Knowing) -> None:
    knowing.facts["Anna"] = ["The plumber's number is 555"]
    await talk("what is the plumber's number")
    assert not words_of_others(talk.history)
    knowing.untrusted = True
    await talk("what is the plumber's number")
    assert words_of_others(talk.history)


async def test_whoever_watches_sees_that_it_was_looked_up_and_a_question_without_answer_shows_nothing(
    talk: Talk, knowing: Knowing
) -> None:
    knowing.facts["Anna"] = ["Bin day is Thursday"]
    _, room = await ask(talk.agent, "when is bin day")
    assert room.kinds == ["ToolStarted", "ToolFinished", "TextDelta"]
    _, room = await ask(talk.agent, "when is the big day")
    assert room.kinds == ["TextDelta"]


async def test_reading_ahead_says_nothing(talk: Talk, knowing: Knowing) -> None:
    knowing.facts["Anna"] = ["Bin day is Thursday"]
    assert await talk.agent.prepare(turn("when is bin day"))
    assert [call.name for call in knowing.tools.calls] == ["facts.list"]


async def test_a_client_that_instructs_the_model_gets_the_model(talk: Talk, knowing: Knowing) -> None:
    knowing.facts["Anna"] = ["Bin day is Thursday"]
    assert await talk("when is bin day?", instructions="Translate into French.") == "The moon knows."


async def test_a_model_that_has_tools_is_not_asked_either(
    knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations
) -> None:
    talk = opened(knowing, grammar, confirmations, trusted=True)
    knowing.facts["Anna"] = ["Bin day is Thursday"]
    assert await talk("when is bin day?") == "You told me: Bin day is Thursday."


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_birthday_that_is_not_in_the_calendar_may_have_been_told(
    knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations, trusted: bool
) -> None:
    talk = opened(knowing, grammar, confirmations, trusted=trusted)
    knowing.facts["Anna"] = ["Mum's birthday is on the 3rd of May"]
    assert await talk("when is mum's birthday") == "You told me: Mum's birthday is on the 3rd of May."
    knowing.events = ["mum's birthday"]
    assert await talk("when is mum's birthday") == 'I found ["mum\'s birthday"].'
    assert await talk("when is dad's birthday") == 'I found ["mum\'s birthday"].'


def with_notes(knowing: Knowing, *texts: str) -> None:
    def search(arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        words = str(arguments["words"]).split()
        matches = [text for text in texts if all(word in text for word in words)]
        return ScriptedResult(f"It is in the note {matches}.", {"matches": matches})

    knowing.tools._actions["notes.search"] = _tool("notes.search", search, reads=True)


@pytest.mark.parametrize("question", ["where is the wifi password", "what's the wifi password", "where are my keys"])
async def test_what_was_not_told_may_stand_in_the_notes(talk: Talk, knowing: Knowing, question: str) -> None:
    assert await talk(question) == NOTHING
    with_notes(knowing, "wifi password is 1234", "keys of the shed")
    assert (await talk(question)).startswith("It is in the note")
    knowing.facts[""] = ["The wifi password is 4711", "My keys are in the bowl"]
    assert (await talk(question)).startswith("I was told:")


async def test_what_neither_facts_nor_notes_hold_is_not_known(talk: Talk, knowing: Knowing) -> None:
    with_notes(knowing, "wifi password is 1234")
    assert await talk("where is my passport") == NOTHING


async def test_who_lives_here_is_nobody_whom_the_world_knows(
    knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations
) -> None:
    def names() -> Names:
        return Names(people=("Emma",))

    confirmations.tools = knowing.tools
    model = says(["The moon knows."])
    agent = open_agent("family", LlmConfig(), model, knowing.tools, reader("en"), confirmations, names=names)
    talk = Talk(agent, model)
    assert await talk("how old is Emma") == NOTHING
    assert await talk("how old is Emma Watson") == LOOKED_UP, "which is no offer to remember it"
    await talk("remember that Emma is seven years old")
    assert await talk("how old is Emma") == "You told me: Emma is seven years old."


# ── forget that ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("before", ["remember that bin day is Thursday", "when is bin day"])
async def test_forget_that_means_the_fact_that_was_just_spoken_of(talk: Talk, knowing: Knowing, before: str) -> None:
    if before.startswith("when"):
        knowing.facts["Anna"] = ["bin day is Thursday"]
    await talk(before)
    assert await talk("Forget that, please.") == "Forget that bin day is Thursday?"
    assert await talk("yes") == "I forgot: bin day is Thursday."
    assert knowing.facts["Anna"] == []


async def test_a_program_forgets_no_fact_by_that(talk: Talk, knowing: Knowing) -> None:
    await talk("remember that bin day is Thursday")
    await talk("forget that", channel=None)
    assert [call.name for call in knowing.tools.calls] == ["facts.remember"]


async def test_of_several_facts_none_is_meant(talk: Talk, knowing: Knowing) -> None:
    knowing.facts["Anna"] = ["The key is under the mat", "The key is in the shed"]
    message = await talk("where is the key")
    assert message == "You told me: The key is under the mat; The key is in the shed."
    await talk("forget that")
    assert "facts.forget" not in [call.name for call in knowing.tools.calls]


async def test_no_result_of_a_tool_can_break_this(talk: Talk) -> None:
    for result in ("", "[]", '{"ok": true, "data": []}', '{"ok": true, "data": {"facts": [{}, 3]}}', "{" * 9):
        talk.history = (Message("user", "x"), Message("tool", result, call_id="c"))
        assert await talk("when is bin day") == NOTHING
        talk.history = (Message("user", "x"), Message("tool", result, call_id="c"))
        assert await talk.agent.respond(Turn("t", "forget that", ANNA, 0.0, history=talk.history), Room().emit)


# ── looked up once: every look is a row of the audit, and a write to the disk ──────────────────────


def looks(knowing: Knowing) -> int:
    return sum(call.name == "facts.list" for call in knowing.tools.calls)


@pytest.mark.parametrize("trusted", [True, False])
async def test_one_turn_looks_once_whoever_answers_it(
    knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations, trusted: bool
) -> None:
    talk = opened(knowing, grammar, confirmations, trusted=trusted)
    assert await talk("when is the war over?") == "The moon knows."
    assert looks(knowing) == 1
    await talk("turn that into a poem")
    assert looks(knowing) == (2 if trusted else 1), "a model without tools is shown no facts"
    before = looks(knowing)
    await talk("remember that bin day is Thursday")
    assert looks(knowing) == before, "a command needs no facts"


async def test_while_somebody_speaks_it_is_looked_up_once_and_by_the_turn_itself_anew(
    talk_with_tools: Talk, knowing: Knowing
) -> None:
    talk = talk_with_tools
    for words in ("", "", "when is", "when is the war over", "when is the war over"):
        assert await talk.agent.prepare(turn(words))
    assert looks(knowing) == 1
    knowing.facts["Anna"] = ["The sky is a lid"]
    await talk("when is the war over")
    assert looks(knowing) == 2
    assert "The sky is a lid" in talk.model.prompts[-1].messages[-1].text, "what was told meanwhile is known"


async def test_what_was_forgotten_is_not_read_ahead_again(
    knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations, talk_with_tools: Talk
) -> None:
    talk = talk_with_tools

    async def read_ahead() -> str:
        await talk.agent.prepare(turn("", history=talk.history))
        return talk.model.read_ahead[-1].messages[-1].text

    await talk("remember that my pin is 4711")
    assert "4711" in await read_ahead()
    assert await talk("forget that") == "Forget that my pin is 4711?"
    assert "4711" in await read_ahead()
    assert await talk("yes") == "I forgot: my pin is 4711."
    assert "4711" not in await read_ahead()
    assert await opened(knowing, grammar, confirmations)("what is my pin") == NOTHING


async def test_what_was_read_ahead_for_nothing_is_not_believed_much_later(
    talk_with_tools: Talk, knowing: Knowing
) -> None:
    talk = talk_with_tools
    knowing.facts["Anna"] = ["My pin is 4711"]
    await talk.agent.prepare(turn(""))
    assert "4711" in talk.model.read_ahead[-1].messages[-1].text
    knowing.facts["Anna"] = []
    await talk.agent.prepare(turn("", at=turn("").at + 3600))
    assert "4711" not in talk.model.read_ahead[-1].messages[-1].text


async def test_two_people_at_once_are_each_told_their_own(
    knowing: Knowing, grammar: Grammar, confirmations: HouseConfirmations, talk: Talk, talk_with_tools: Talk
) -> None:
    knowing.facts |= {"Anna": ["My pin is 4711"], "Ben": ["My pin is 1234"]}
    values: dict[str, str] = {}

    async def asks(actor: Actor) -> None:
        values[actor.person] = (await ask(talk.agent, "what is my pin", actor=actor, id="one"))[0].text
        await ask(talk_with_tools.agent, "tell me a story", actor=actor, id="two")

    for actor in (ANNA, BEN):
        await talk_with_tools.agent.prepare(turn("", actor=actor))
    async with anyio.create_task_group() as tasks:
        for actor in (ANNA, BEN):
            tasks.start_soon(asks, actor)
    assert values == {"Anna": "You told me: My pin is 4711.", "Ben": "You told me: My pin is 1234."}
    model = talk_with_tools.model
    shown = [prompt.messages[-1].text for prompt in (*model.read_ahead, *model.prompts)]
    assert sorted(text.rpartition("pin is ")[2][:4] for text in shown) == ["1234", "1234", "4711", "4711"]
    assert looks(knowing) == 6
