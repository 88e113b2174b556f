"""A wish for several moments is done for each of them: none is left out, and none becomes words of the other."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.understanding.several_moments import SeveralMoments
from tests.conftest import for_every
from tests.houses import english
from tests.understanding.test_changes import calls, german
from tests.understanding.test_exemptions import meant
from tests.understanding.test_follow_ups import Talk


@pytest.mark.real
@pytest.mark.parametrize(
    ("text", "words", "whens"),
    [
        (
            "remind me to take my medicine every day at 8 AM and 8 PM",
            "take my medicine",
            ["every day at 8 AM and at 8 PM"],
        ),
        ("remind me every day at 8 am and 8 pm to take my pills", "take my pills", ["every day at 8 am and at 8 pm"]),
        (
            "remind me to take my pills at 8 in the morning and 8 in the evening",
            "take my pills",
            ["at 8 in the morning", "at 8 in the evening"],
        ),
        ("remind me at 8 and at 20 to take my pills", "take my pills", ["at 8 am", "at 20"]),
        (
            "remind me on monday and on friday at nine to water the plants",
            "water the plants",
            ["on monday at nine", "on friday at nine"],
        ),
        ("remind me every day at 8 and 12:30 to eat", "eat", ["every day at 8", "every day 12:30"]),
    ],
)
def test_a_reminder_at_several_moments_is_set_for_each(text: str, words: str, whens: list[str]) -> None:
    assert calls(meant(text).commands) == [("reminders.add", {"text": words, "when": when}) for when in whens]


@pytest.mark.real
@pytest.mark.parametrize(
    ("text", "whens"),
    [
        ("wake me at six and at half past six", ["at six", "at half past six"]),
        ("set an alarm for six and another for seven", ["at six", "at seven"]),
        ("wake me at six and seven tomorrow", ["tomorrow at six", "tomorrow at seven"]),
        ("wake me at seven and on saturday at nine", ["at seven", "on saturday at nine"]),
        ("wake me at 6 and 7 in the morning", ["at 6 in the morning", "at 7 in the morning"]),
    ],
)
def test_an_alarm_is_set_for_each_of_several_moments(text: str, whens: list[str]) -> None:
    assert calls(meant(text).commands) == [("alarms.set", {"when": when}) for when in whens]


@pytest.mark.real
@pytest.mark.parametrize(
    ("text", "tool", "wished"),
    [
        ("weck mich um sechs und um halb sieben", "alarms.set", [{"when": "um sechs"}, {"when": "um halb sieben"}]),
        ("stell den Wecker auf sechs und sieben", "alarms.set", [{"when": "um sechs"}, {"when": "um sieben"}]),
        (
            "erinnere mich morgens um acht und abends um acht an die Pillen",
            "reminders.add",
            [{"text": "Pillen", "when": "um acht morgens"}, {"text": "Pillen", "when": "um acht abends"}],
        ),
    ],
)
def test_german_sets_one_for_each(text: str, tool: str, wished: list[dict[str, Any]]) -> None:
    assert german(text) == [(tool, arguments) for arguments in wished]


@for_every("text", ["add milk and two eggs", "a timer for six and ten minutes", "at five", "dinner for 6"])
def test_other_numbers_are_no_moments(text: str) -> None:
    assert SeveralMoments(english().tables["several_moments"]).joined(text) is None


async def test_several_moments_answer_when() -> None:
    talk = Talk(english())
    await talk.say("remind me to take my pills")
    await talk.say("at 8 and at 20")
    pills = {"text": "take my pills"}
    assert talk.did == [("reminders.add", pills | {"when": "at 8 am"}), ("reminders.add", pills | {"when": "at 20"})]


async def test_a_reminder_whose_times_were_asked_for_is_set_at_those_that_are_named() -> None:
    talk = Talk(english())
    talk.refuses = "reminders.add"
    await talk.say("remind me to take my pills twice a day")
    talk.refuses = ""
    await talk.say("every day at 8 AM and 8 PM")
    pills = {"text": "take my pills", "when": "every day at 8 AM and at 8 PM"}
    assert talk.did[-1] == ("reminders.add", pills)


@pytest.mark.real
@pytest.mark.parametrize(
    ("text", "wished"),
    [
        (
            "remind me in 20 minutes to check the oven and in an hour to call the plumber",
            [("in 20 minutes", "check the oven"), ("in an hour", "call the plumber")],
        ),
        (
            "remind me to check the oven in 20 minutes and to call the plumber at six",
            [("in 20 minutes", "check the oven"), ("at six", "call the plumber")],
        ),
        (
            "remind me tomorrow at 9 to call mum, and on Friday at ten to pay the rent",
            [("tomorrow at 9", "call mum"), ("on Friday at ten", "pay the rent")],
        ),
    ],
)
def test_two_things_with_a_moment_each_are_two_reminders(text: str, wished: list[tuple[str, str]]) -> None:
    made = [(one.arguments["when"], one.arguments["text"]) for one in meant(text).commands]
    assert made == wished


@pytest.mark.real
@pytest.mark.parametrize(
    "text",
    [
        "remind me at five to buy milk and to call mum",
        "remind me at five to buy milk and at the shop to look for eggs",
        "remind me in an hour to wash and to dry the dishes",
        "remind me at 8 to call Tom and Mia at the office",
        "remind me tomorrow to ask when the train on Friday leaves and to book it",
    ],
)
def test_one_moment_is_one_reminder_whatever_its_words_join(text: str) -> None:
    assert [one.tool for one in meant(text).commands] == ["reminders.add"]
