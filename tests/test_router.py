"""Which agent takes a turn: every circumstance alone and all of them together, and the words that ask for somebody."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from atlas.config import AgentConfig
from atlas.conversation import Actor, Message, Turn
from atlas.errors import ConfigError, RequestError
from atlas.router import Routing, choose, may_talk, open_addressing
from tests.conftest import for_every
from wall.roles import Role

AGENTS = {
    "family": AgentConfig(),
    "work": AgentConfig(roles=("owner",), wake_words=("hey_jarvis",), devices=("study",)),
}
THREE = {**AGENTS, "aunt_may": AgentConfig(roles=("owner", "adult", "guest"))}
ADDRESSING = open_addressing(["en"], THREE)
NOBODY = "nobody"  # is refused


def turn(role: Role = "owner", text: str = "hello", device: str = "phone", **more: Any) -> Turn:
    return Turn("turn_1", text, Actor("Anna", device, role), 0.0, **more)


def chosen(*arguments: Any, **more: Any) -> Routing | None:
    try:
        return choose(*arguments, **more)
    except RequestError as refused:
        assert refused.code == "forbidden"
        assert refused.spoken
        return None


@for_every(
    ("question_turn", "agent", "because"),
    [
        (turn(), "family", "the house's default"),
        (turn("child"), "family", "the house's default"),
        (turn(text="ask work what's next"), "work", "asked for in words"),
        (turn(text="ask work, do I have any new emails"), "work", "asked for in words"),
        (turn(text="ask work is there any new mail"), "work", "asked for in words"),
        (turn(agent="work"), "work", "asked for by name"),
        (turn(wake_word="hey jarvis"), "work", 'woken by "hey jarvis"'),
        (turn(wake_word="okay nabu"), "family", "the house's default"),
        (turn(device="study"), "work", "the agent of the device study"),
        (turn(device="study", wake_word="hey jarvis", agent="family"), "family", "asked for by name"),
        (turn(device="study", text="ask the family agent to sing", agent="work"), "family", "asked for in words"),
        (turn("child", text="ask work what's next"), NOBODY, ""),
        (turn("adult", agent="work"), NOBODY, ""),
        (turn("satellite", wake_word="hey jarvis"), NOBODY, ""),
        (turn("satellite", device="study"), NOBODY, ""),
    ],
)
def test_who_answers_and_why(question_turn: Turn, agent: str, because: str) -> None:
    choice = chosen(question_turn, AGENTS, "family", ADDRESSING)
    assert (choice.agent, choice.reason) == (agent, because) if choice else agent == NOBODY


@for_every(
    ("role", "away", "agent", "because"),
    [
        ("owner", (), "family", "the house's default"),
        ("owner", ("work",), "family", "the house's default"),
        ("owner", ("family",), "aunt_may", "family is away"),
        ("owner", ("family", "aunt_may"), "work", "family is away"),
        ("owner", ("family", "aunt_may", "work"), "family", "the house's default"),
        ("child", ("family",), "family", "the house's default"),
    ],
)
def test_who_asked_for_nobody_gets_an_agent_whose_model_is_there(
    role: Role, away: tuple[str, ...], agent: str, because: str
) -> None:
    choice = choose(turn(role), THREE, "family", ADDRESSING, away=away)
    assert (choice.agent, choice.reason) == (agent, because)


def test_a_default_that_is_not_for_somebody_is_replaced_by_one_that_is() -> None:
    assert choose(turn("child"), AGENTS, "work").reason == "the house's default is not for a child"
    with pytest.raises(RequestError, match="no agent talks to a guest"):
        choose(turn("guest"), {"work": AGENTS["work"]}, "work")


def test_in_every_combination_who_is_asked_for_answers_or_nobody_does() -> None:
    names = ("", "family", "work")
    values = {"": "hello", "family": "ask the family agent to sing", "work": "ask work to sing"}
    for role, words, named, asker, wake, device, default in product(
        ("owner", "child"), names, names, names, ("", "okay nabu", "hey jarvis"), ("phone", "study"), ("family", "work")
    ):
        one = turn(role, values[words], device, agent=named, wake_word=wake)  # type: ignore[arg-type]
        wakes, owns = "work" if wake == "hey jarvis" else "", "work" if device == "study" else ""
        wanted = words or named or asker or wakes or owns
        for away in ((), ("family",), ("work",), ("family", "work")):
            choice = chosen(one, AGENTS, default, ADDRESSING, asker=asker, away=away)
            agent = choice.agent if choice else NOBODY
            if wanted:
                assert agent == (NOBODY if role == "child" and wanted == "work" else wanted)
            elif role == "child":
                assert agent == "family", "the only one for children, wherever its model is"
            else:
                assert agent == default if default not in away or len(away) == 2 else agent not in away


@for_every(
    ("text", "agent", "rest"),
    [
        ("ask work what's next", "work", "what's next"),
        ("Ask work, what's next?", "work", "what's next?"),
        ("ask work to add milk to my tasks", "work", "add milk to my tasks"),
        ("ask work add a task to call the bank", "work", "add a task to call the bank"),
        ("ask the work agent, remind me at five to leave", "work", "remind me at five to leave"),
        ("please ask the work agent to send it", "work", "send it"),
        ("Could you ask Work about the merger?", "work", "about the merger?"),
        ("Ask the family agent to put bread on the list.", "family", "put bread on the list."),
        ("ask aunt may if it rains", "aunt_may", "if it rains"),
        ("tell the work agent that the merger is off", "work", "the merger is off"),
        ("Work, what’s my next meeting?", "work", "what's my next meeting?"),
        ("work what's my next meeting", "work", "what's my next meeting"),
        ("Ask Work. What is the time?", "work", "What is the time?"),
        ("Work. What's my next meeting?", "work", "What's my next meeting?"),
        ("Hey! Work! The merger is off.", "work", "The merger is off."),
        ("Hey work, the merger is off.", "work", "the merger is off."),
        ("hey work please summarise my mail", "work", "please summarise my mail"),
        ("work, any new mail?", "work", "any new mail?"),
        ("Work any new mail", "work", "any new mail"),
        ("ask work any new mail", "work", "any new mail"),
        ("ask work for any new mail", "work", "any new mail"),
        ("Ask work for my next meeting.", "work", "my next meeting."),
        ("Work agent, the merger is off.", "work", "the merger is off."),
        ("work, summarise this:\nfirst line\nsecond line", "work", "summarise this:\nfirst line\nsecond line"),
    ],
)
def test_words_that_begin_with_an_agent_are_for_that_agent_without_its_name(text: str, agent: str, rest: str) -> None:
    choice = choose(turn(text=text), THREE, "family", ADDRESSING)
    assert (choice.agent, choice.turn.text) == (agent, rest)


@for_every(
    "text",
    [
        "what does work want me to do",
        "remind me to ask work what's next",
        "set a timer and ask work to call me",
        "ask the work council about it",
        "ask workers to leave",
        "ask the family what they want for dinner",
        "tell the family that dinner is ready",
        "tell work I'm ill",
        "tell family to come",
        "work is hard",
        "work, life and home",
        "Work. Life. Home.",
        "Okay. Work is done.",
        "Family comes first, what else?",
        "okay work is done",
        "ask work",
        "ask work additional questions",
        "ask work to ",
        "work,",
        "hey work",
        "",
        "Why do we work, please?",
    ],
)
def test_other_words_are_for_nobody_in_particular_and_stay_as_they_are(text: str) -> None:
    choice = choose(turn(text=text), THREE, "family", ADDRESSING)
    assert (choice.reason, choice.turn.text) == ("the house's default", text)


def test_whoever_is_asked_for_in_any_reading_is_and_readings_for_others_are_dropped() -> None:
    heard = turn(text="ask walk what's next", alternatives=("ask work what's next", "work what is next", "what's next"))
    choice = choose(heard, AGENTS, "family", ADDRESSING)
    assert (choice.agent, choice.turn.text, choice.turn.alternatives) == ("work", "what's next", ("what is next",))
    assert ADDRESSING.bare("ask work what's next") == "what's next"
    assert ADDRESSING.bare("what's next") == "what's next"


def test_what_no_person_said_asks_for_nobody() -> None:
    prompt = turn(text="ask work to read the mail out", channel=None)
    assert choose(prompt, AGENTS, "family", ADDRESSING).agent == "family"


def test_a_conversation_that_a_client_keeps_is_not_told_to_another_agent() -> None:
    past = (Message("user", "the merger is on friday"),)
    question_turn = turn(text="ask the family agent to sing", agent="work", history=past, remembered=False)
    assert choose(question_turn, AGENTS, "family", ADDRESSING).turn.history == ()
    same = turn(text="ask work when", agent="work", history=past, remembered=False)
    assert choose(same, AGENTS, "family", ADDRESSING).turn.history == past
    stands_in = turn(text="when?", history=past, remembered=False)
    assert choose(stands_in, AGENTS, "work", ADDRESSING, away=("work",)).turn.history == ()
    assert choose(stands_in, AGENTS, "work", ADDRESSING).turn.history == past


def test_a_name_that_is_no_agent_is_refused_with_the_names_that_are() -> None:
    with pytest.raises(RequestError) as refused:
        choose(turn(agent="marvin"), AGENTS, "family")
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
    assert "family, work" in refused.value.hint


def test_who_is_refused_is_told_whom_the_agent_talks_to() -> None:
    with pytest.raises(RequestError) as refused:
        choose(turn("adult", agent="work"), AGENTS, "family")
    assert refused.value.code == "forbidden"
    assert "the work agent isn't for you" in refused.value.spoken
    assert "owner" in refused.value.hint


def test_a_language_in_which_nobody_is_addressed_yet_is_named() -> None:
    for language in ("tlh", "../en", ""):
        with pytest.raises(ConfigError, match="how agents are addressed") as unknown:
            open_addressing([language], AGENTS)
        assert "en" in unknown.value.hint


def test_a_long_text_is_looked_at_in_no_time_that_grows_with_it() -> None:
    for beginning in ("please " * 20_000, "ask work, " + "work, " * 20_000, "hey " * 20_000):
        assert choose(turn(text=beginning + "and"), AGENTS, "family", ADDRESSING).agent


@for_every(
    ("role", "agent", "may"),
    [
        ("adult", "family", True),
        ("adult", "work", False),
        ("owner", "work", True),
        ("owner", "ide", True),
        ("adult", "ide", False),
    ],
)
def test_an_agent_that_is_not_the_houses_own_is_for_the_owner(role: Role, agent: str, may: bool) -> None:
    assert may_talk(AGENTS, Actor("Anna", "phone", role), agent) is may
