"""Dialogues of three turns: what leans on the last exchange does what is meant, and nothing acts on the wrong thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.errors import ConfigError
from atlas.understanding.dialogue import LEANS_SECONDS
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.spoken_tools import open_spoken_tools
from tests.conftest import for_every, sample
from tests.houses import reader_of
from tests.understanding.talking import GERMAN_NAMES, NAMES, Call, Talk, dialogues

ENGLISH, GERMAN = (
    dialogues((Path(__file__).parent / f"dialogues_{language}.txt").read_text(encoding="utf-8"))
    for language in ("en", "de")
)


def agrees(made: Call, wanted: Call) -> bool:
    """Tell whether a call is the one that is wanted, with all the arguments that were written."""
    return made[0] == wanted[0] and dict(wanted[1]).items() <= dict(made[1]).items()


@for_every("turns", sample(ENGLISH))
async def test_a_dialogue_of_three_turns_does_what_is_meant(
    grammar: Grammar, turns: list[tuple[str, list[Call] | str]]
) -> None:
    await does_what_is_meant(Talk(grammar), turns)


async def does_what_is_meant(talk: Talk, turns: list[tuple[str, list[Call] | str]]) -> None:
    for text, wanted in turns:
        answer, made = await talk.say(text), talk.calls()
        if isinstance(wanted, str):
            assert made == [], text
            assert wanted in ("-", answer), text
        else:
            assert len(made) == len(wanted) and all(map(agrees, made, wanted)), (text, made)


@for_every("turns", sample(GERMAN))
async def test_a_german_dialogue_does_what_is_meant(turns: list[tuple[str, list[Call] | str]]) -> None:
    await does_what_is_meant(Talk(open_grammar("de"), "Küche", GERMAN_NAMES), turns)


def test_there_are_forty_of_them() -> None:
    assert len(ENGLISH) >= 40


async def test_after_two_minutes_nobody_knows_what_it_was(grammar: Grammar) -> None:
    talk = Talk(grammar)
    await talk.say("turn on the kitchen light")
    talk.calls()
    await talk.say("turn it off", after=LEANS_SECONDS + 1)
    assert talk.calls() == []


async def test_a_question_is_answered_within_two_minutes_or_not_at_all(grammar: Grammar) -> None:
    talk = Talk(grammar)
    await talk.say("turn on the reading lamp and the kitchen radio")
    assert await talk.say("turn it off") == "The Reading Lamp, or the Kitchen Radio?"
    talk.calls()
    await talk.say("the lamp", after=LEANS_SECONDS + 1)
    assert talk.calls() == []


async def test_other_words_than_an_answer_are_heard_as_something_new(grammar: Grammar) -> None:
    talk = Talk(grammar)
    await talk.say("turn on the reading lamp and the kitchen radio")
    await talk.say("turn it off")
    talk.calls()
    await talk.say("what time is it")
    assert talk.calls() == [("clock.time", {})]
    await talk.say("the lamp")
    assert talk.calls() == []


@for_every(
    ("text", "wanted"),
    [
        ("set a timer for ten, no, fifteen minutes", [("timers.start", {"seconds": 900})]),
        ("set a timer for ten minutes, no, fifteen", [("timers.start", {"seconds": 900})]),
        ("add milk, no, oat milk to the list", [("lists.add", {"items": ["oat milk"]})]),
        ("wake me at six, sorry, at seven", [("alarms.set", {"when": "at seven"})]),
        ("turn on the kitchen light, I mean the hall light", [("home.turn", {"on": True, "device": "Hall Light"})]),
        ("don't turn on the kitchen light, no, the hall light", []),
        ("no, really, no", []),
    ],
)
def test_a_sentence_that_corrects_itself_means_what_it_says_last(
    grammar: Grammar, text: str, wanted: list[Call]
) -> None:
    meant = reader_of(grammar).read(text, NAMES)
    assert [(command.tool, dict(command.arguments)) for command in meant.commands] == wanted


def test_a_row_that_says_what_none_can_is_refused(tmp_path: Path) -> None:
    for row in ("{wehn: start}", "{undo: yes please}", "{when: true}"):
        file = tmp_path / f"{len(row)}.yaml"
        file.write_text(f"tools: {{calendar.add: {row}}}\nthings: {{}}\nlooks: []\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=r"calendar\.add"):
            open_spoken_tools(file)


@for_every("text", ["start over", "Let's start again, please.", "new conversation"])
def test_who_starts_over_wants_nothing_done(grammar: Grammar, text: str) -> None:
    meant = reader_of(grammar).read(text, NAMES)
    assert meant.restart and meant.empty


@for_every("text", ["start the timer again", "start a new timer", "turn it over"])
def test_not_all_that_starts_again_is_a_new_conversation(grammar: Grammar, text: str) -> None:
    assert not reader_of(grammar).read(text, NAMES).restart


def test_a_day_off_is_nothing_that_was_bought(grammar: Grammar) -> None:
    assert reader_of(grammar).read("oh I've got the day off", NAMES).empty
