"""What is said about the last command is understood in German as well, and only right after it."""

from __future__ import annotations

import pytest

from atlas.conversation import HOUSE, Message, ToolCall, Turn
from atlas.understanding.concern import SmallTalk
from atlas.understanding.grammar import Grammar, open_grammar
from tests.conftest import for_every
from tests.houses import reader_of

from .test_follow_ups import Talk

UNDO = ("history.undo", {})


@pytest.fixture(scope="module")
def german() -> Grammar:
    return open_grammar("de")


@pytest.fixture
def talk(german: Grammar) -> Talk:
    return Talk(german)


FIVE, NOODLES, MILK, WASHING = (
    "stelle einen Timer auf fünf Minuten",
    "stelle einen Nudel-Timer auf zehn Minuten",
    "setze Milch auf die Einkaufsliste",
    "erinnere mich in einer Stunde an die Wäsche",
)


@pytest.mark.parametrize(
    ("first", "then", "wanted"),
    [
        (FIVE, "nein, zehn Minuten", ("timers.start", {"seconds": 600})),
        (FIVE, "Ich meinte zehn Minuten.", ("timers.start", {"seconds": 600})),
        (FIVE, "nee, eine halbe Stunde", ("timers.start", {"seconds": 1800})),
        (FIVE, "ich meinte sieben", ("timers.start", {"seconds": 420})),
        (FIVE, "mach anderthalb Minuten daraus", ("timers.start", {"seconds": 90})),
        (NOODLES, "nein, doch lieber acht Minuten", ("timers.start", {"name": "Nudel", "seconds": 480})),
        (WASHING, "sag lieber zwei Stunden", ("reminders.add", {"when": "in zwei Stunden"})),
        (WASHING, "nein, eine halbe Stunde", ("reminders.add", {"when": "in 30 Minuten"})),
        (MILK, "ich meinte Butter", ("lists.add", {"items": ["Butter"]})),
    ],
)
async def test_a_correction_takes_the_last_command_back_and_does_it_right(
    talk: Talk, first: str, then: str, wanted: tuple[str, dict[str, object]]
) -> None:
    await talk.say(first)
    assert (await talk.say(then) or "").startswith("Stattdessen: ")
    undone, (name, arguments) = talk.did[1:]
    assert undone == UNDO
    assert (name, arguments | wanted[1]) == (wanted[0], arguments)


@pytest.mark.parametrize(
    "then",
    [
        "vergiss das",
        "Ach, vergiss es.",
        "lass das",
        "mach das rückgängig",
        "nimm das wieder zurück",
        "lösch das wieder",
    ],
)
async def test_what_was_done_is_taken_back_in_so_many_words(talk: Talk, then: str) -> None:
    await talk.say(FIVE)
    await talk.say(then)
    assert talk.did[1:] == [UNDO]


@pytest.mark.parametrize("then", ["vergiss es", "vergiss das", "schon gut", "egal"])
async def test_what_needs_no_taking_back_is_left_with_a_calm_word(talk: Talk, then: str) -> None:
    assert await talk.say(then) == "In Ordnung."
    assert talk.did == []


@pytest.mark.parametrize(
    ("first", "then", "wanted"),
    [
        (MILK, "und Eier", ("lists.add", ["Eier"])),
        (MILK, "und noch Brot und Butter", ("lists.add", ["Brot", "Butter"])),
        (MILK, "noch Eier, bitte", ("lists.add", ["Eier"])),
        (MILK, "Zucker auch", ("lists.add", ["Zucker"])),
        (FIVE, "noch zwei Minuten", ("timers.add", 120)),
        (FIVE, "zwei Minuten länger", ("timers.add", 120)),
        (FIVE, "eine Minute weniger", ("timers.add", -60)),
    ],
)
async def test_a_follow_up_does_the_same_for_one_thing_more(
    talk: Talk, first: str, then: str, wanted: tuple[str, object]
) -> None:
    await talk.say(first)
    await talk.say(then)
    [(name, arguments)] = talk.did[1:]
    assert (name, arguments.get("items", arguments.get("by_seconds"))) == wanted


@pytest.mark.parametrize(
    "then",
    [
        "nein",
        "nein danke",
        "ich meine es gut",
        "und du",
        "zehn Minuten",
        "auch gut",
        "noch etwas",
        "noch mal",
        "noch eins",
        "und wo",
        "und warum",
        "noch einen",
        "und noch was",
        "und wer bist du",
        "und das war alles",
        "nein, das ist gut so",
        "ich meinte das nicht so",
        "lieber nicht",
        "und jetzt",
        "auch schön",
    ],
)
async def test_what_corrects_nothing_does_nothing(talk: Talk, then: str) -> None:
    for first in (FIVE, MILK):
        await talk.say(first)
        done = len(talk.did)
        await talk.say(then)
        assert len(talk.did) == done


@pytest.mark.parametrize("then", ["nein, zehn Minuten", "und Eier", "noch zwei Minuten"])
async def test_only_the_last_turn_is_corrected(talk: Talk, then: str) -> None:
    await talk.say(FIVE)
    await talk.say(MILK)
    await talk.say("Warum ist der Himmel blau?")
    done = len(talk.did)
    await talk.say(then)
    assert len(talk.did) == done


@pytest.mark.parametrize(
    "text",
    [
        "stelle keinen Timer auf fünf Minuten",
        "Stelle bitte keinen Timer auf fünf Minuten.",
        "setze Milch nicht auf die Einkaufsliste",
    ],
)
async def test_who_says_not_to_do_something_hears_that_it_was_not_done(talk: Talk, text: str) -> None:
    assert await talk.say(text) == "In Ordnung. Ich habe nichts getan."
    assert talk.did == []


@pytest.mark.parametrize("text", ["was steht nicht auf der Einkaufsliste", "es ist nicht kalt", "keine Ahnung"])
async def test_other_denials_are_left_to_the_model(talk: Talk, text: str) -> None:
    assert await talk.say(text) is None


async def test_a_correction_to_what_is_so_already_says_that_it_is(talk: Talk) -> None:
    await talk.say(FIVE)
    assert await talk.say("nein, fünf Minuten") == "Das ist schon so: fünf Minuten."
    assert len(talk.did) == 1


@for_every("text", ["wie lange noch?", "Wann geht die an?", "und wann ist das so weit"])
def test_how_long_is_asked_of_the_deed_that_is_to_be_done_later(german: Grammar, text: str) -> None:
    coffee = {"seconds": 600, "tool": "home.turn", "arguments": {"on": True, "device": "Kaffeemaschine"}}
    history = (
        Message("user", "in zehn Minuten die Kaffeemaschine an"),
        Message("assistant", "", calls=(ToolCall("call", "later.do", coffee),)),
        Message("tool", '{"ok": true, "changed": true, "data": {}}', call_id="call"),
    )
    meant = reader_of(german).understand(Turn("turn", text, HOUSE, 0.0, history=history))
    assert [command.tool for command in meant.commands] == ["later.list"]


@for_every("text", ["passt so", "so ist gut", "danke das reicht", "ja so ist es gut", "das wär's"])
def test_who_is_content_with_what_was_done_is_heard(german: Grammar, text: str) -> None:
    assert SmallTalk(german.tables).answer(text) == "Gut."


@for_every("text", ["das reicht nicht", "es passt nicht", "ist es besser so", "ist das Fenster zu"])
def test_who_is_not_content_is_not_taken_for_it(german: Grammar, text: str) -> None:
    assert SmallTalk(german.tables).answer(text) == ""
