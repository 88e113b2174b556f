"""Between a question and a yes nothing is done; after it, it is done once, and told from the receipt."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from atlas.agents.agent import Agent
from atlas.agents.minds import open_agent
from atlas.agents.reply import ONE_AT_A_TIME
from atlas.config import LlmConfig
from atlas.confirmations import HouseConfirmations, open_wording
from atlas.conversation import HOUSE, Message, ToolCall
from atlas.events import TextDelta, ToolFinished
from atlas.llm.backend import Calls
from atlas.understanding.grammar import Grammar
from tests.conftest import for_every
from tests.houses import reader_of
from tests.scripted_backend import ScriptedBackend
from tests.scripted_tools import ScriptedHousehold, ScriptedTools

from .conftest import Room, ask, says, turn, wants

QUESTION = "Remove the task buy milk for good?"
REMOVE = wants("tasks.remove", title="buy milk")


async def waiting(tools: ScriptedTools) -> list[str]:
    result = await tools.for_the_house().call(ToolCall("c", "asks.waiting", {}), HOUSE, "")
    return [row["id"] for row in result.data["asks"]]


@pytest.fixture
def open_with(grammar: Grammar, tools: ScriptedTools, confirmations: HouseConfirmations, house: ScriptedHousehold):
    house.tasks["buy milk"] = "todo"

    def opened(model: ScriptedBackend) -> Agent:
        return open_agent("family", LlmConfig(tools=True), model, tools, reader_of(grammar), confirmations)

    return opened


async def test_a_command_that_takes_something_away_asks_and_then_does_it_once(open_with, house, tools) -> None:
    agent = open_with(says(["Mhm."]))
    answer, room = await ask(agent, "remove the task buy milk")
    assert (answer.text, answer.end, answer.receipts) == (QUESTION, "done", ())
    assert room.kinds == ["ToolStarted", "ToolFinished", "TextDelta"]
    assert house.tasks
    done, _ = await ask(agent, "Yes, please.")
    assert done.text == "Removed buy milk."
    assert done.receipts[0].changed == "removed the task buy milk"
    assert not house.tasks
    again, _ = await ask(agent, "yes")
    assert (again.text, again.path) == ("Mhm.", "model")
    assert [call.name for call in tools.calls] == ["tasks.remove", "tasks.remove"]


async def test_who_did_not_hear_an_answer_hears_it_again(open_with) -> None:
    agent = open_with(says(["Mhm."]))
    before = (Message("user", "how are you"), Message("assistant", "All is well."))
    again, _ = await ask(agent, "Sorry, what?", history=before)
    assert (again.text, again.path) == ("All is well.", "command")
    assert (await ask(agent, "pardon?"))[0].text == "I haven't said anything yet."


async def test_a_question_that_is_put_again_still_waits_for_its_answer(open_with, tools) -> None:
    agent, history = open_with(says(["Mhm."])), tuple[Message, ...]()
    for text in ("set a timer", "Pardon?"):
        answer, _ = await ask(agent, text, history=history)
        assert answer.text == "For how long: five minutes, or ten?"
        spoken = (Message("user", text), *answer.messages)
        history = (*history, *(replace(one, at=turn("").at) for one in spoken))
    await ask(agent, "ten minutes", history=history)
    assert [call.name for call in tools.calls] == ["timers.start"]


async def test_the_same_question_asked_of_two_wishes_is_answered_for_the_last(open_with, tools) -> None:
    agent, history = open_with(says(["Mhm."])), tuple[Message, ...]()
    for text in ("set a pizza timer", "set a tea timer"):
        answer, _ = await ask(agent, text, history=history)
        assert answer.text == "For how long: five minutes, or ten?"
        history = (*history, *(replace(one, at=turn("").at) for one in (Message("user", text), *answer.messages)))
    await ask(agent, "ten minutes", history=history)
    assert [call.arguments["name"] for call in tools.calls] == ["tea"]


async def test_the_exchange_is_remembered_like_any_other(open_with) -> None:
    agent = open_with(says(["Mhm."]))
    answer, _ = await ask(agent, "remove the task buy milk")
    assert answer.messages[-1] == Message("assistant", QUESTION)
    done, _ = await ask(agent, "yes")
    assert [message.author for message in done.messages] == ["assistant", "tool", "assistant"]
    assert done.messages[0].calls[0].name == "tasks.remove"
    assert done.messages[0].calls[0].id == done.messages[1].call_id != answer.messages[0].calls[0].id


async def test_a_no_leaves_it_and_closes_the_question_at_the_tool_server(open_with, house, tools) -> None:
    agent = open_with(says(["Mhm."]))
    await ask(agent, "remove the task buy milk")
    left, room = await ask(agent, "No, don't.")
    assert (left.text, room.kinds) == ("All right, I won't.", ["TextDelta"])
    assert house.tasks
    assert not tools.signed_answers[-1].yes
    assert (await ask(agent, "yes"))[0].text == "Mhm."
    assert house.tasks


async def test_other_words_are_a_new_request_and_nothing_is_done(open_with, house) -> None:
    agent = open_with(says(["Mhm."]))
    await ask(agent, "remove the task buy milk")
    other, _ = await ask(agent, "what time is it")
    assert other.text == "It's noon."
    assert (await ask(agent, "yes"))[0].text == "Mhm."
    await ask(agent, "remove the task buy milk")
    assert (await ask(agent, "yes and turn on the light"))[0].text.startswith("I didn't understand that, so nothing")
    assert house.tasks


async def test_what_is_not_answered_is_taken_back_at_the_tool_server(open_with, house, tools) -> None:
    agent = open_with(says(["Mhm."]))
    first, _ = await ask(agent, "remove the task buy milk")
    assert await waiting(tools) == [first.pending.ask.id]
    await ask(agent, "what time is it")
    assert await waiting(tools) == [], "nobody can press yes to it any more"
    second, _ = await ask(agent, "remove the task buy milk")
    third, _ = await ask(agent, "remove the task buy milk")
    assert second.pending.ask.id != third.pending.ask.id, "who asks again has the whole minute again"
    assert await waiting(tools) == [third.pending.ask.id]
    assert house.tasks


async def test_a_model_that_wants_it_is_asked_through_the_person_and_not_through_its_own_words(
    open_with, house
) -> None:
    model = says(["Sure, I've removed buy milk from your tasks. ", REMOVE], ["Done, it's gone!"])
    agent = open_with(model)
    answer, _ = await ask(agent, "we have milk now, that task of mine can go away")
    assert answer.text == QUESTION
    assert len(model.prompts) == 1, "the model is not asked what it thinks of the question"
    assert house.tasks
    done, _ = await ask(agent, "yes")
    assert (done.text, done.path) == ("Removed buy milk.", "command")
    assert not house.tasks


async def test_a_model_cannot_say_yes_to_itself(open_with, house) -> None:
    model = says([REMOVE, "yes"], ["Yes. ", REMOVE], ["yes"])
    agent = open_with(model)
    await ask(agent, "we have milk now, that task of mine can go away")
    await ask(agent, "hm", history=(Message("assistant", QUESTION), Message("user", "yes")))
    assert house.tasks


async def test_what_was_done_before_the_question_is_told_and_what_comes_after_waits(open_with, house) -> None:
    calls = (
        ToolCall("c1", "tasks.add", {"title": "buy eggs"}),
        ToolCall("c2", "tasks.remove", {"title": "buy milk"}),
        ToolCall("c3", "timers.start", {"seconds": 60}),
    )
    agent = open_with(says([Calls(calls)], ["never asked"]))
    answer, room = await ask(agent, "add eggs to my tasks in the place of milk, and start a timer too")
    assert answer.text == f"Added buy eggs to your tasks. {ONE_AT_A_TIME}{QUESTION}"
    assert not house.timers
    assert room.kinds.count("ToolFinished") == 3
    last = [event.result for event in room.events if isinstance(event, ToolFinished)][-1]
    assert not last.ok


async def test_what_leaves_the_house_needs_its_name(open_with, house) -> None:
    agent = open_with(says([wants("email.send", to="Bob", text="hello")], ["Mhm."]))
    assert (await ask(agent, "tell Bob hello"))[0].text == "Send hello to Bob?"
    assert (await ask(agent, "yes"))[0].text == "Please say: yes, send it."
    assert not house.mails
    assert (await ask(agent, "Yes, send it."))[0].text == "Sent to Bob."
    assert house.mails == ["Bob: hello"]


async def test_when_it_is_gone_before_the_yes_that_is_said(open_with, house) -> None:
    agent = open_with(says(["Mhm."]))
    await ask(agent, "remove the task buy milk")
    house.tasks.clear()
    gone, _ = await ask(agent, "yes")
    assert gone.text == "There is no task called buy milk."


async def test_a_turn_that_was_cut_off_while_it_asked_has_asked_nothing(open_with, house) -> None:
    agent = open_with(says(["Mhm."]))
    with anyio.CancelScope() as scope:

        async def emit(event: object) -> None:
            if isinstance(event, TextDelta):
                scope.cancel()
                await anyio.lowlevel.checkpoint()

        await agent.respond(turn("remove the task buy milk"), emit)
    assert (await ask(agent, "yes"))[0].text == "Mhm."
    assert house.tasks


async def test_a_yes_that_is_cut_off_is_used_up(open_with, house, tools) -> None:
    agent, room = open_with(says(["Mhm."])), Room()
    await ask(agent, "remove the task buy milk")
    with anyio.CancelScope() as scope:

        async def emit(event: object) -> None:
            scope.cancel()
            await anyio.lowlevel.checkpoint()
            await room.emit(event)  # type: ignore[arg-type]

        await agent.respond(turn("yes"), emit)
    assert house.tasks
    assert (await ask(agent, "yes"))[0].text == "Mhm."


# ── an answer to nothing ───────────────────────────────────────────────────────────────────────────

NOTHING_OPEN = "There is nothing open that waits for a yes or a no."


@pytest.fixture
def small(grammar: Grammar, tools: ScriptedTools, confirmations: HouseConfirmations) -> Agent:
    """An agent whose model would imitate anything."""
    return open_agent(
        "family", LlmConfig(tools=False), says(["Yes yes yes."]), tools, reader_of(grammar), confirmations
    )


@pytest.mark.parametrize(
    ("text", "answered"),
    [
        ("Yes.", NOTHING_OPEN),
        ("no", NOTHING_OPEN),
        ("yes please, do it", NOTHING_OPEN),
        ("Okay!", "All right."),
        ("ok thanks", "You're welcome."),
        ("never mind", "All right."),
    ],
)
@pytest.mark.parametrize("before", [(), (Message("user", "hello"), Message("assistant", "Good evening."))])
async def test_a_yes_to_nothing_is_answered_calmly_and_never_imitated(small, text, answered, before) -> None:
    assert await small.prepare(turn(text, history=before))
    answer, _ = await ask(small, text, history=before)
    assert (answer.text, answer.path) == (answered, "command"), "what a command said is shown to no small model"


@for_every("text", ["yes and no", "yes, it rains", "no idea", "okay then", "well", "hello", "thanks"])
async def test_what_says_more_than_a_yes_or_a_no_is_talk(small, text) -> None:
    assert (await ask(small, text))[0].text != NOTHING_OPEN


async def test_a_yes_to_what_the_model_asked_goes_to_the_model(small) -> None:
    before = (Message("user", "I am bored"), Message("assistant", "Shall I tell you a story?"))
    assert (await ask(small, "yes", history=before))[0].text == "Yes yes yes."
    ours = (before[0], Message("assistant", "The music, or the timer?", ours=True))
    assert (await ask(small, "yes", history=ours))[0].text == NOTHING_OPEN


async def test_a_program_or_a_client_that_instructs_gets_the_model_for_a_bare_word_too(small) -> None:
    assert (await ask(small, "yes", channel=None))[0].text == "Yes yes yes."
    assert (await ask(small, "yes", instructions="Translate into French."))[0].text == "Yes yes yes."


async def test_a_yes_that_answers_a_question_is_heard_as_that_by_a_small_model_too(small, house) -> None:
    house.tasks["buy milk"] = "todo"
    await ask(small, "remove the task buy milk")
    assert (await ask(small, "yes"))[0].text == "Removed buy milk."
    assert (await ask(small, "yes"))[0].text == NOTHING_OPEN


async def test_in_german_too(tools: ScriptedTools, grammar: Grammar, confirmations: HouseConfirmations) -> None:
    confirmations.wording = open_wording("de")
    agent = open_agent("family", LlmConfig(tools=False), says(["Ja ja."]), tools, reader_of(grammar), confirmations)
    assert (await ask(agent, "Ja."))[0].text == "Es ist nichts offen, worauf ein Ja oder Nein fehlt."
    assert (await ask(agent, "Alles klar, danke"))[0].text == "Gut."


@for_every(
    ("request_text", "question", "text", "answers"),
    [
        ("set a timer", "For how long: five minutes, or ten?", "half an hour", True),
        ("set a timer", "For how long: five minutes, or ten?", "the second one", True),
        ("set a timer", "For how long: five minutes, or ten?", "never mind", True),
        ("set a timer", "For how long: five minutes, or ten?", "what time is it", False),
        ("set a timer", "For how long: five minutes, or ten?", "the weather was nice", False),
        ("remove the task buy milk", QUESTION, "yes please", True),
        ("remove the task buy milk", QUESTION, "half an hour", False),
    ],
)
def test_it_is_known_what_answers_a_question(open_with, request_text, question, text, answers) -> None:
    agent = open_with(says(["Mhm."]))
    said = Message("user", request_text), Message("assistant", question)
    assert agent.answers(turn(text, history=said, channel="voice")) is answers
