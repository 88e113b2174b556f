"""Which agent takes a turn: a table of who asks whom."""

from __future__ import annotations

import pytest

from atlas.config import AgentConfig
from atlas.conversation import Actor, Role, Turn
from atlas.errors import RequestError
from atlas.router import choose, may_talk

AGENTS = {"family": AgentConfig(), "work": AgentConfig(roles=("owner",))}


def turn(role: Role, agent: str) -> Turn:
    return Turn("turn_1", "hello", Actor("Anna", "phone", role), 0.0, agent=agent)


@pytest.mark.parametrize(
    ("role", "asked", "default", "chosen", "because"),
    [
        ("owner", "", "family", "family", "default"),
        ("owner", "", "work", "work", "default"),
        ("owner", "work", "family", "work", "by name"),
        ("owner", "family", "work", "family", "by name"),
        ("child", "", "family", "family", "default"),
        ("child", "", "work", "family", "not for a child"),
        ("guest", "family", "work", "family", "by name"),
        ("satellite", "", "family", "family", "default"),
    ],
)
def test_who_answers_and_why(role: Role, asked: str, default: str, chosen: str, because: str) -> None:
    choice = choose(turn(role, asked), AGENTS, default)
    assert choice.agent == chosen
    assert because in choice.reason


@pytest.mark.parametrize("role", ["adult", "child", "guest", "satellite"])
def test_who_may_not_talk_to_work_is_refused_in_words_and_given_nobody_else(role: Role) -> None:
    with pytest.raises(RequestError) as refused:
        choose(turn(role, "work"), AGENTS, "family")
    assert refused.value.code == "forbidden"
    assert refused.value.spoken
    assert "owner" in refused.value.hint


def test_a_name_that_is_no_agent_is_refused_with_the_names_that_are() -> None:
    with pytest.raises(RequestError) as refused:
        choose(turn("owner", "marvin"), AGENTS, "family")
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
    assert "family, work" in refused.value.hint


def test_when_no_agent_talks_to_somebody_they_are_told() -> None:
    with pytest.raises(RequestError) as refused:
        choose(turn("guest", ""), {"work": AGENTS["work"]}, "work")
    assert refused.value.code == "forbidden"


@pytest.mark.parametrize(
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
