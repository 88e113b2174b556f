"""What is a yes and what is none, who may give it, and what the house signs."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from atlas.confirmations import (
    LATE_SECONDS,
    MOST_PUT,
    OPEN_SECONDS,
    HouseConfirmations,
    HouseKey,
    open_answers,
    open_wording,
    read_house_key,
)
from atlas.conversation import (
    Actor,
    ConfirmationRequest,
    Message,
    PendingConfirmation,
    SettledConfirmation,
    Tool,
    ToolCall,
    Turn,
)
from atlas.errors import ConfigError, EngineError, RequestError
from atlas.own_words import speaking
from tests.conftest import for_every
from tests.scripted_tools import ScriptedRefusal, ScriptedResult, ScriptedTools
from tools_server.gate import confirmations as confirm
from tools_server.sdk.state import ToolsDatabase

KEY = Ed25519PrivateKey.generate()
ANNA = Actor("Anna", "phone", "adult", "kitchen")
BEN = Actor("Ben", "tablet", "child")
REMOVE = ToolCall("call_1", "tasks.remove", {"title": "buy milk"})
SEND = ToolCall("call_2", "email.send", {"to": "Bob", "text": "hello"})


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class World:
    """The house's questions, and a tool server that has them too."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.rows: list[dict[str, Any]] = []
        self.brought: list[str] = []
        self.taken_back: list[str] = []  # ids of the questions that nobody will answer any more
        self.broken = False
        tools = [(tool("asks.waiting"), self._waiting), (tool("asks.answer"), self._answer)]
        self.confirmations = HouseConfirmations(
            HouseKey(KEY),
            open_wording("en"),
            ScriptedTools(tools),
            may_talk=lambda actor, agent: agent == "family" or actor.role == "owner",
            now=self.clock,
        )

    def _waiting(self, arguments: Any, actor: Actor) -> ScriptedResult:
        if self.broken:
            raise ScriptedRefusal("gone", "I can't reach my tools right now.")
        return ScriptedResult("", {"missed" if arguments.get("missed") else "asks": self.rows})

    def _answer(self, arguments: Any, actor: Actor) -> ScriptedResult:
        statement = arguments["statement"]
        if any(read(earlier)["ask"] == read(statement)["ask"] for earlier in self.brought):
            raise ScriptedRefusal("confirm", "That question was answered already.")
        self.brought.append(statement)
        return ScriptedResult("Noted: yes.")

    def asked(
        self, call: ToolCall = REMOVE, by: Actor = ANNA, agent: str = "family", **turn: Any
    ) -> ConfirmationRequest:
        level: Any = "explicit" if call is SEND else "confirm"
        sentence = "Send hello to Bob?" if call is SEND else "Remove the task buy milk for good?"
        ask = ConfirmationRequest(f"ask_{len(self.rows)}", sentence, level, self.clock.now + 60, call.name, "0" * 64)
        self.note(
            self.confirmations.put(agent, said("remove the task buy milk", by, **turn), PendingConfirmation(call, ask))
        )
        self.wait(ask, by, agent)
        return ask

    def note(self, older: SettledConfirmation | None) -> None:
        self.taken_back += [older.assent.ask_id] if older else []

    def wait(self, ask: ConfirmationRequest, by: Actor, agent: str = "family") -> None:
        actor = {"person": by.person, "device": by.device, "role": by.role, "room": by.room}
        row = {key: getattr(ask, key) for key in ("id", "sentence", "level", "expires_at", "tool", "arguments_sha256")}
        self.rows.append({**row, "agent": agent, "actor": actor, "asked_at": self.clock.now})

    async def hear(self, text: str, by: Actor = ANNA, agent: str = "family", **turn: Any) -> Any:
        """Return "yes" or "no" when the call was answered, what is said, or None when it was no answer."""
        heard = self.confirmations.hear(agent, said(text, by, **turn))
        if not isinstance(heard, SettledConfirmation):
            return heard
        if heard.assent.statement:
            return {**read(heard.assent.statement), "call": heard.call}
        self.note(heard)
        return heard.reply or None


def tool(name: str) -> Tool:
    return Tool(name, name, {"type": "object"})


def said(text: str, by: Actor = ANNA, **more: Any) -> Turn:
    return replace(Turn("turn_1", text, by, 0.0), **more)


def read(statement: str) -> dict[str, Any]:
    return jwt.decode(
        statement,
        KEY.public_key(),
        algorithms=["EdDSA"],
        audience="atlas-tools",
        options={"verify_exp": False, "verify_iat": False},
    )


# ── the words ──────────────────────────────────────────────────────────────────────────────────────

YES = """
Yes.|yes|Yes!|YES PLEASE|yes, please.|Yeah|yep|Sure.|sure thing|Of course.|Do it.|Go ahead.|Yes, go ahead.|Yes, do that.
Please do.|ok, do it|Okay, yes.|Yes. Yes.|yes yes yes|Atlas, yes.|yes thank you|I'm sure.|yes, I am sure|Absolutely
Well, yes.|all right, go ahead|You may.|that’s right
"""
NO = """
No.|no|nope|No, thanks.|No thank you.|Don't.|Don’t do that.|do not|Please don't.|Cancel that.|cancel|Never mind.
nevermind|no no no|Not now.|Stop.|forget it|Leave it.|oh no|No, leave it.|Certainly not.|no, cancel that|no way
"""
NEITHER = """
|yes and turn on the light|yes, but not the milk|yes or no|no, the other one|yesterday|okay|ok.|right|thank you|hm
Which task?|yes remove all of them|remove it|set a timer|do you know|yes I know|not yes|is it yes|say yes
"yes" he said|yes if you must|yes no|no yes|I said: the answer is yes|done|please|now|true|1|y|да|👍|go
it's sure|no wonder
"""


def table(text: str) -> list[str]:
    return [one for line in text.strip("\n").splitlines() for one in line.split("|")]


@for_every("text", table(YES))
def test_this_is_a_yes(text: str) -> None:
    assert open_wording("en").means(text, "tasks.forget") in ("yes", "named")


@for_every("text", ["na ja", "Naja.", "ach ja", "na", "ach"])
def test_who_hesitates_in_german_says_no_yes(text: str) -> None:
    assert open_wording("de").means(text, "home.unlock") == ""


@for_every(("language", "text"), [("de", "ja ja"), ("de", "Jaja."), ("de", "Ja, ja, ja!"), ("en", "yeah, yeah")])
def test_who_only_shows_to_have_listened_is_asked_again(language: str, text: str) -> None:
    assert open_wording(language).means(text, "home.unlock") == "unclear"


@for_every("text", table(NO))
def test_this_is_a_no(text: str) -> None:
    assert open_wording("en").means(text, "tasks.remove") == "no"


@for_every("text", table(NEITHER))
def test_this_is_neither(text: str) -> None:
    assert open_wording("en").means(text, "tasks.remove") == ""


@for_every("text", ["Yes?", "sure?", "yes, do it??", "Yes, remove it? "])
def test_a_yes_that_asks_is_asked_about(text: str) -> None:
    assert open_wording("en").means(text, "tasks.remove") == "unclear"


@for_every(
    ("text", "tool_name", "meaning"),
    [
        ("Yes, send it.", "email.send", "named"),
        ("yes please send that", "email.send", "named"),
        ("Yes, do it.", "email.send", "yes"),
        ("yes, remove it", "email.send", ""),
        ("send it", "email.send", ""),
        ("yes, send it to Carol", "email.send", ""),
        ("yes, do it", "teapot.boil", "named"),
        ("Yes, cancel it.", "calendar.cancel", "named"),
        ("cancel it", "calendar.cancel", "unclear"),
        ("no, cancel it", "calendar.cancel", "unclear"),
        ("cancel it", "tasks.remove", "no"),
        ("yes " * 40, "tasks.remove", ""),
    ],
)
def test_the_deed_can_be_named(text: str, tool_name: str, meaning: str) -> None:
    assert open_wording("en").means(text, tool_name) == meaning


def test_a_book_is_no_answer_and_costs_nothing() -> None:
    for text in ("yes " * 1_000_000, "okay " * 1_000_000, "please okay " * 6 + "x", "oh " * 26 + "y"):
        assert open_wording("en").means(text, "tasks.remove") == ""


def test_a_language_nobody_wrote_down_is_said_so() -> None:
    with pytest.raises(ConfigError, match="'tlh'"):
        open_wording("tlh")


# ── whose words, and when ──────────────────────────────────────────────────────────────────────────


async def test_a_yes_is_signed_for_this_question_and_no_other() -> None:
    world = World()
    ask = world.asked()
    heard = await world.hear("Yes, please.")
    assert heard.pop("call").arguments == {"title": "buy milk"}
    assert heard == {
        "aud": "atlas-tools",
        "ask": ask.id,
        "answer": "yes",
        "channel": "chat",
        "person": "Anna",
        "device": "phone",
        "tool": "tasks.remove",
        "arguments_sha256": "0" * 64,
        "sentence_sha256": hashlib.sha256(ask.sentence.encode()).hexdigest(),
        "iat": 1_800_000_000,
        "exp": 1_800_000_030,
    }
    assert await world.hear("yes") is None, "one question takes one answer"


async def test_a_no_closes_the_question_too() -> None:
    world = World()
    world.asked()
    assert (await world.hear("no"))["answer"] == "no"
    assert await world.hear("yes") is None


async def test_without_a_question_yes_is_a_word_like_any_other() -> None:
    assert await World().hear("yes") is None


@for_every(
    "other",
    [
        replace(ANNA, device="tablet"),
        replace(ANNA, person="Ben"),
        replace(ANNA, room="hall"),
        replace(ANNA, role="guest"),
    ],
)
async def test_nobody_else_can_answer_it_in_words(other: Actor) -> None:
    world = World()
    world.asked()
    assert await world.hear("yes", other) is None
    assert (await world.hear("yes"))["answer"] == "yes", "and it still waits for whom it was put to"


async def test_another_agent_does_not_take_the_answer() -> None:
    world = World()
    world.asked()
    assert await world.hear("yes", agent="work") is None


async def test_other_words_drop_the_question() -> None:
    world = World()
    ask = world.asked()
    assert await world.hear("what time is it") is None
    assert await world.hear("yes") is None
    assert world.taken_back == [ask.id], "once"


async def test_only_what_somebody_else_still_waits_for_is_taken_back() -> None:
    world = World()
    world.asked()
    await world.hear("yes")
    world.asked()
    await world.hear("no")
    world.asked()
    world.clock.now += 60
    await world.hear("what time is it")
    assert world.taken_back == [], "answered, and gone by itself"
    last = world.asked()
    await world.hear("what time is it", agent="work")
    assert world.taken_back == [], "another agent's questions are not its own"
    await world.hear("what time is it")
    assert world.taken_back == [last.id]


async def test_a_question_that_is_put_once_more_is_not_taken_back() -> None:
    world = World()
    ask = world.asked(remembered=False)
    world.note(
        world.confirmations.put("family", said("remove the task", remembered=False), PendingConfirmation(REMOVE, ask))
    )
    assert world.taken_back == []
    world.asked(SEND, remembered=False)
    assert world.taken_back == [ask.id], "but one whose place is taken is"


@for_every(("came", "channel"), [("voice", "voice"), ("chat", "chat")])
async def test_the_record_tells_a_spoken_yes_from_a_typed_one_whose_reply_is_spoken(came: Any, channel: str) -> None:
    world = World()
    world.asked(spoken=True)
    assert (await world.hear("yes", spoken=True, channel=came))["channel"] == channel


async def test_what_a_program_has_its_agent_say_is_nobodys_yes() -> None:
    world = World()
    world.asked()
    assert await world.hear("yes", channel=None) is None
    assert await world.hear("yes") is None, "and other words drop the question"


async def test_a_newer_question_takes_the_place_of_the_older() -> None:
    world = World()
    world.asked()
    newer = world.asked(SEND)
    assert (await world.hear("yes, send it"))["ask"] == newer.id


async def test_a_late_yes_is_told_so_and_a_very_late_one_is_talk() -> None:
    world = World()
    world.asked()
    world.clock.now += 60
    assert await world.hear("yes") == "That was too long ago; please ask me again."
    assert await world.hear("yes") is None
    world.asked()
    world.clock.now += 61 + LATE_SECONDS
    assert await world.hear("yes") is None


async def test_a_tool_server_cannot_keep_a_question_open_for_longer() -> None:
    world = World()
    ask = ConfirmationRequest("a", "Really?", "confirm", world.clock.now + 1e9, "tasks.remove", "0" * 64)
    world.confirmations.put("family", said("x"), PendingConfirmation(REMOVE, ask))
    world.clock.now += OPEN_SECONDS
    assert "too long ago" in await world.hear("yes")


async def test_a_yes_that_sounded_like_a_no_is_asked_about() -> None:
    world = World()
    world.asked()
    assert await world.hear("yes", alternatives=("guess", "no")) == "Please say yes or no."
    assert (await world.hear("yes"))["answer"] == "yes"


async def test_where_a_yes_is_not_enough_the_deed_is_asked_for_once() -> None:
    world = World()
    world.asked(SEND)
    assert await world.hear("yes") == "Please say: yes, send it."
    heard = await world.hear("yes, send it")
    assert (heard["answer"], heard["explicit"]) == ("yes", True)
    world.asked(SEND)
    await world.hear("yes")
    assert await world.hear("yes") == "Then I leave it. You can ask me again."
    assert await world.hear("yes, send it") is None


@for_every(
    ("language", "text"),
    [
        *(("en", one) for one in ("Pardon?", "Sorry?", "What did you say?", "say that again please", "repeat that")),
        *(("en", one) for one in ("I didn't catch that", "Could you repeat the question?", "Huh?", "come again")),
        *(("de", one) for one in ("Wie bitte?", "Was?", "Was hast du gesagt?", "sag das noch mal", "wiederhol das")),
    ],
)
async def test_who_did_not_hear_the_question_hears_it_again_and_their_yes_counts(language: str, text: str) -> None:
    world = World()
    world.confirmations.wording = open_wording(language)
    ask = world.asked()
    assert [await world.hear(text) for _ in range(3)] == [ask.sentence] * 3
    assert (await world.hear("yes" if language == "en" else "ja"))["answer"] == "yes"


async def test_who_did_not_hear_what_was_asked_back_hears_that_again_and_has_not_tried_the_patience() -> None:
    world = World()
    world.asked()
    assert await world.hear("yeah yeah") == "Please say yes or no."
    assert [await world.hear("pardon?") for _ in range(3)] == ["Please say yes or no."] * 3
    assert (await world.hear("yes"))["answer"] == "yes"


async def test_who_heard_it_again_and_is_unclear_once_more_is_left_alone() -> None:
    world = World()
    world.asked()
    await world.hear("yeah yeah")
    await world.hear("pardon?")
    assert await world.hear("yeah yeah") == "Then I leave it. You can ask me again."


async def test_a_bell_after_what_was_asked_back_has_the_question_put_again() -> None:
    world = World()
    ask = world.asked()
    await world.hear("yeah yeah")
    world.confirmations.said_in_between("phone")
    assert await world.hear("yes") == ask.sentence
    assert (await world.hear("yes"))["answer"] == "yes"


@for_every("seconds", [60, 61 + LATE_SECONDS])
async def test_who_wishes_to_hear_a_question_again_that_is_over_is_told_so(seconds: float) -> None:
    world = World()
    world.asked()
    world.clock.now += seconds
    assert await world.hear("pardon?") == "That was too long ago; please ask me again."
    assert await world.hear("yes") is None


@for_every("text", ["what time is it", "sorry", "repeat the alarm every day", "add that once more", "what"])
def test_words_that_only_look_like_it_do_not_ask_to_hear_it_again(text: str) -> None:
    assert not open_wording("en").asks_again(text)


async def test_who_was_spoken_over_is_asked_again() -> None:
    world = World()
    ask = world.asked(spoken=True)
    world.confirmations.was_heard("turn_1", "Remove the")
    assert await world.hear("yes", id="turn_2") == ask.sentence
    world.confirmations.was_heard("turn_2", " Remove the task buy  milk for good?")
    assert (await world.hear("yes"))["answer"] == "yes"


async def test_a_no_counts_before_the_question_is_over() -> None:
    world = World()
    world.asked(spoken=True)
    world.confirmations.was_heard("turn_1", "")
    assert (await world.hear("no"))["answer"] == "no"


async def test_a_client_that_keeps_its_conversations_answers_only_in_the_one_that_asked() -> None:
    world = World()
    ask = world.asked(remembered=False)
    question = Message("assistant", ask.sentence)
    assert await world.hear("yes", remembered=False) is None
    assert await world.hear("yes", remembered=False, history=(Message("assistant", "The sky is blue."),)) is None
    assert await world.hear("yes", remembered=False, history=(Message("user", ask.sentence),)) is None
    assert await world.hear("yes", remembered=False, history=(question, Message("assistant", "Else?"))) is None
    assert await world.hear("yes") is None, "what the house remembers is another conversation"
    assert (await world.hear("yes", remembered=False, history=(question,)))["answer"] == "yes"


async def test_questions_do_not_pile_up() -> None:
    world = World()
    for number in range(3 * MOST_PUT):
        world.asked(by=replace(ANNA, device=f"phone {number}"))
    assert len(world.confirmations._put) == MOST_PUT
    assert (await world.hear("yes", replace(ANNA, device=f"phone {3 * MOST_PUT - 1}")))["answer"] == "yes"


# ── buttons ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_pressed_yes_is_acted_on_in_the_conversation_that_asked() -> None:
    world = World()
    ask = world.asked()
    turn = await world.confirmations.answer(ask.id, Actor("", "panel", "owner"), "button", yes=True)
    assert isinstance(turn, Turn)
    assert (turn.actor, turn.agent, turn.text) == (ANNA, "family", "Yes.")
    claims = read(world.brought[0])
    assert (claims["answer"], claims["channel"], claims["device"]) == ("yes", "button", "panel")
    heard = world.confirmations.hear("family", turn)
    assert isinstance(heard, SettledConfirmation)
    assert (heard.call.name, heard.assent.ask_id, heard.assent.yes) == ("tasks.remove", ask.id, True)
    assert not heard.assent.statement, "the tool server has it already"
    assert await world.hear("yes") is None, "it was answered"


async def test_who_presses_second_is_told_that_it_was_answered() -> None:
    world = World()
    ask = world.asked()
    await world.confirmations.answer(ask.id, ANNA, "button", yes=False)
    with pytest.raises(RequestError, match="answered already"):
        await world.confirmations.answer(ask.id, Actor("", "panel", "owner"), "button", yes=True)


async def test_a_program_of_its_own_is_answered_through_the_tool_server() -> None:
    world = World()
    ask = ConfirmationRequest(
        "ask_ide", "Overwrite plan.md?", "explicit", world.clock.now + 60, "files.write", "1" * 64
    )
    world.wait(ask, Actor("", "", "owner"), "ide")
    text = await world.confirmations.answer("ask_ide", Actor("", "owner", "owner"), "terminal", yes=True)
    assert text == "Noted: yes."
    claims = read(world.brought[0])
    assert (claims["ask"], claims["answer"], claims["explicit"]) == ("ask_ide", "yes", True)


@for_every("which", ["waiting", "missed"])
async def test_grown_ups_see_the_questions_of_their_agents_and_others_only_their_own(which: str) -> None:
    world = World()
    world.asked(by=BEN)
    world.asked(by=ANNA)
    world.asked(by=Actor("", "desk", "owner"), agent="work")

    async def seen(by: Actor) -> int:
        return len(await getattr(world.confirmations, which)(by))

    assert await seen(Actor("", "owner", "owner")) == 3
    assert await seen(ANNA) == 2
    assert await seen(BEN) == 1
    assert await seen(replace(BEN, device="phone")) == 0
    assert await seen(Actor("", "visitor", "guest")) == 0


async def test_what_one_may_not_see_one_may_not_answer() -> None:
    world = World()
    ask = world.asked()
    with pytest.raises(RequestError, match="not waiting"):
        await world.confirmations.answer(ask.id, BEN, "button", yes=True)
    with pytest.raises(RequestError, match="not waiting"):
        await world.confirmations.answer("ask_guess", ANNA, "button", yes=True)
    assert (await world.hear("yes"))["answer"] == "yes"


async def test_a_tool_server_that_is_away_is_said_so() -> None:
    world = World()
    world.broken = True
    with pytest.raises(EngineError, match="can't reach"):
        await world.confirmations.waiting(ANNA)


def test_a_key_that_is_none_stops_the_start_with_a_sentence(data: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as missing:
        read_house_key(data / "house.key")
    assert "atlas run" in missing.value.hint
    (data / "house.key").write_text("not a key")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_house_key(data / "house.key")


# ── the other side of the wall ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("channel", "explicit", "taken"),
    [("voice", True, True), ("voice", False, False), ("button", False, True), ("terminal", False, True)],
)
def test_the_tool_server_takes_what_the_house_signs_where_a_bare_yes_is_not_enough(
    channel: Any, explicit: bool, taken: bool, data: Path
) -> None:
    clock, state = Clock(), ToolsDatabase(data / "tools.db", {})
    asks = confirm.Confirmations(KEY.public_key(), clock, state)
    deed = confirm.ConfirmedCall("work", confirm.CallActor("Anna", "phone", "owner"), "email.send", "0" * 64)
    theirs = asks.settle(deed, "explicit", "Send hello to Bob?", confirm.NO_REPLY)
    assert isinstance(theirs, confirm.Confirmation)
    ours = ConfirmationRequest(**theirs.shown())
    statement = HouseKey(KEY).statement(ours, ANNA, channel, clock.now, yes=True, explicit=explicit)
    reply = confirm.ConfirmationReply(ours.id, "accept", statement)
    if taken:
        text = asks.settle(deed, "explicit", "Send hello to Bob?", reply)
        assert isinstance(text, confirm.PersonAnswer)
        assert (text.answer, text.channel, text.person) == ("yes", channel, "Anna")
    else:
        with pytest.raises(confirm.AnswerRefused):
            asks.settle(deed, "explicit", "Send hello to Bob?", reply)


# ── several agents ─────────────────────────────────────────────────────────────────────────────────


def test_a_yes_is_for_the_agent_that_has_just_asked_and_other_words_are_not() -> None:
    world = World()
    world.asked(agent="work")
    assert world.confirmations.asker(said("Yes.")) == "work"
    assert world.confirmations.asker(said("No, thanks.")) == "work"
    assert world.confirmations.asker(said("what's for dinner?")) == ""
    assert world.confirmations.asker(said("Yes.", BEN)) == "", "nobody asked him"
    assert world.confirmations.asker(said("Yes.", remembered=False)) == ""
    assert world.confirmations.asker(said("Yes.", channel=None)) == ""
    world.clock.now += 61
    assert world.confirmations.asker(said("Yes.")) == ""


async def test_a_yes_after_words_with_another_agent_is_not_taken_for_the_older_question() -> None:
    world = World()
    world.asked(agent="work")
    assert await world.hear("should I take an umbrella?", agent="family") is None
    assert world.confirmations.asker(said("Yes.")) == "", "it may be to what the family agent has just said"
    assert await world.hear("Yes.", agent="work") == "Remove the task buy milk for good?", "asked again, not done"
    assert world.confirmations.asker(said("Yes.")) == "work"
    assert (await world.hear("Yes.", agent="work"))["answer"] == "yes"


async def test_what_somebody_else_says_meanwhile_leaves_a_question_as_it_is() -> None:
    world = World()
    world.asked(agent="work")
    assert await world.hear("what's for dinner?", BEN, agent="family") is None
    assert world.confirmations.asker(said("Yes.")) == "work"


def test_a_page_is_answered_in_its_language_and_means_no_more_than_the_house_hears():
    answers = open_answers(["en"])
    with speaking("de"):
        assert answers.says("refused", "tasks.remove") == open_wording("de").says("refused", "tasks.remove")
        assert answers.means("ja", "tasks.remove") == ""
    assert answers.says("refused", "tasks.remove") == open_wording("en").says("refused", "tasks.remove")
