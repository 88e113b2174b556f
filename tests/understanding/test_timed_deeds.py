"""Deeds that are put off, bounded or repeated are done at the time that is named, and never for a mere remark."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.understanding.grammar import open_grammar
from atlas.understanding.home_tools import TARGETS
from tests.understanding.both_languages import meant
from tests.understanding.talking import GERMAN_NAMES, NAMES, Talk

pytestmark = pytest.mark.real
OFF, ON = {"on": False}, {"on": True}


def deeds(text: str, language: str) -> list[tuple[str, Any]]:
    """Return what is done: a tool and nothing, or what is put off and until when."""
    return [(one.due_tool, _when(one.arguments)) for one in meant(text, language).commands]


def _when(arguments: Any) -> Any:
    return next((arguments[name] for name in ("seconds", "when", "timer") if arguments.get(name)), None)


@pytest.mark.parametrize(
    ("language", "text", "done"),
    [
        ("en", "lock the front door once we've left, say in five minutes", [("home.lock", 300)]),
        ("en", "when I'm in bed switch off the hall light, like in half an hour", [("home.turn", 1800)]),
        ("en", "turn the kitchen light off when the kids have gone up at eight", [("home.turn", "at eight")]),
        ("en", "close the kitchen blind after dinner, so about seven", [("home.close", "at seven")]),
        ("en", "lock the back door as soon as we've gone, give us ten minutes", [("home.lock", 600)]),
        ("en", "not the kitchen blind yet, but you can close it in ten minutes", [("home.close", 600)]),
        ("en", "turn the hall light off when the rice timer goes off", [("home.turn", "rice")]),
        ("en", "turn the kettle off once the timer rings", [("home.turn", "timer")]),
        ("de", "sperr die Haustür ab, sobald wir weg sind, sagen wir in fünf Minuten", [("home.lock", 300)]),
        ("de", "wenn ich im Bett bin, so um zehn, mach das Küchenlicht aus", [("home.turn", "um zehn")]),
        ("de", "nach dem Essen mach das Küchenlicht aus, also um acht", [("home.turn", "um acht")]),
        ("de", "mach das Küchenlicht aus, wenn der Nudel-Timer klingelt", [("home.turn", "nudel")]),
        ("de", "wenn der Timer klingelt, mach das Küchenlicht an", [("home.turn", "timer")]),
    ],
)
def test_the_time_that_is_named_decides_and_the_reason_does_not(language: str, text: str, done: list[Any]) -> None:
    assert deeds(text, language) == done


@pytest.mark.parametrize(
    ("language", "text", "done"),
    [
        ("en", "put the bedroom heating on twenty for an hour, then back to what it was", [("home.set", None), 3600]),
        ("en", "set the living room heating to 22 until I go up at eleven", [("home.set", None), "at eleven"]),
        (
            "en",
            "we're off out, home about five, turn the bedroom heating down till then",
            [("home.adjust", None), "at five"],
        ),
        ("en", "make the reading lamp brighter for the next half hour", [("home.adjust", None), 1800]),
        ("de", "stell die Büroheizung auf 23, aber nur bis ich schlafe, so um neun", [("home.set", None), "um neun"]),
        ("de", "stell die Büroheizung für zwei Stunden auf 22 und dann wieder wie vorher", [("home.set", None), 7200]),
        ("de", "mach die Leselampe bis Mitternacht heller", [("home.adjust", None), "um Mitternacht"]),
    ],
)
def test_what_ends_goes_back_to_what_it_was(language: str, text: str, done: list[Any]) -> None:
    assert deeds(text, language) == [done[0], ("history.undo", done[1])]


@pytest.mark.parametrize(
    ("language", "text", "when"),
    [
        ("en", "the kettle on for ten minutes", 600),
        ("en", "fifteen minutes of hall light please", 900),
        ("en", "turn the hall light on and off again in ten minutes", 600),
        ("en", "turn the hall light on for an hour and then off", 3600),
        ("en", "turn on the hall light till nine", "at nine"),
        ("en", "hall light on till nine, then turn it off", "at nine"),
        ("de", "mach das Küchenlicht für eine halbe Stunde an", 1800),
        ("de", "Licht im Flur an bis acht Uhr", "um acht Uhr"),
        ("de", "mach das Küchenlicht eine Stunde lang an und danach aus", 3600),
        ("de", "mach das Küchenlicht an und in einer Stunde wieder aus", 3600),
    ],
)
def test_what_is_turned_on_for_a_while_goes_off(language: str, text: str, when: Any) -> None:
    on, off = meant(text, language).commands
    assert (on.tool, on.arguments["on"]) == ("home.turn", True)
    assert (off.due_tool, off.due_arguments["on"], _when(off.arguments)) == ("home.turn", False, when)


@pytest.mark.parametrize(
    ("language", "text", "when"),
    [
        ("en", "put the living room heating on 22 for an hour, then off", 3600),
        ("en", "dim the hall light for ten minutes then turn it off", 600),
        ("de", "stell die Büroheizung für zwei Stunden auf 22 und dann aus", 7200),
    ],
)
def test_what_is_set_for_a_while_and_then_off_goes_off(language: str, text: str, when: Any) -> None:
    made, off = meant(text, language).commands
    assert made.tool in ("home.set", "home.adjust")
    assert (off.due_tool, off.due_arguments["on"], _when(off.arguments)) == ("home.turn", False, when)
    for target in TARGETS:
        assert off.due_arguments.get(target) == made.arguments.get(target)


@pytest.mark.parametrize(
    ("language", "text", "when"),
    [
        ("en", "leave the hall light on for half an hour and then off", 1800),
        ("en", "keep the reading lamp on until midnight", "at midnight"),
        ("de", "lass das Küchenlicht noch eine Viertelstunde an und mach es dann aus", 900),
        ("de", "lass die Leselampe bis elf brennen", "um elf"),
    ],
)
def test_what_stays_on_is_not_touched_before_its_end(language: str, text: str, when: Any) -> None:
    [off] = meant(text, language).commands
    assert (off.due_tool, off.due_arguments["on"], _when(off.arguments)) == ("home.turn", False, when)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "the shop on the corner is open till five"),
        ("en", "we had the bedroom heating on for an hour last night"),
        ("en", "Tom turned the heating down when he left at six"),
        ("en", "if I'm not back by nine, lock the front door"),
        ("en", "when I'm still up at eleven turn the hall light off"),
        ("en", "don't turn the hall light off till five"),
        ("en", "as soon as the baby wakes, put the hall light on"),
        ("en", "repeat after me: open the garage door"),
        ("en", "when did you turn the hall light off, at six?"),
        ("en", "the kids leave the hall light on until ten"),
        ("de", "der Laden hat bis fünf auf"),
        ("de", "wir hatten die Büroheizung gestern eine Stunde lang an"),
        ("de", "wenn es um sieben noch kalt ist, mach die Büroheizung an"),
        ("de", "wenn ich bis neun nicht da bin, sperr die Haustür ab"),
        ("de", "die Kinder lassen das Küchenlicht immer bis zehn an"),
    ],
)
def test_a_remark_or_a_condition_in_earnest_sets_nothing_for_later(language: str, text: str) -> None:
    assert not meant(text, language).commands


@pytest.mark.parametrize(
    ("language", "text", "tool"),
    [
        ("en", "turn the kettle on and set a pasta timer for ten minutes", "home.turn"),
        ("en", "I've been cold for an hour, turn the bedroom heating up", "home.adjust"),
        ("en", "turn off the hall light, I'm leaving in ten minutes", "home.turn"),
        ("en", "is the bedroom heating on until nine?", "home.state"),
        ("en", "do the bedroom heating at nineteen while you're at it", "home.set"),
        ("de", "mir ist seit einer Stunde kalt, mach die Büroheizung wärmer", "home.adjust"),
        ("de", "ich bin in zehn Minuten weg, mach das Küchenlicht aus", "home.turn"),
    ],
)
def test_a_time_that_belongs_to_a_remark_puts_nothing_off(language: str, text: str, tool: str) -> None:
    first, *others = deeds(text, language)
    assert first == (tool, None)
    assert [one for one, _ in others] in ([], ["timers.start"])


@pytest.mark.parametrize(
    ("language", "text", "answer"),
    [
        ("en", "turn the hall light off when nobody's in", "at nine"),
        ("en", "when I go to bed lock the front door", "say in half an hour"),
        ("de", "mach das Küchenlicht aus, wenn keiner da ist", "um neun"),
    ],
)
async def test_what_cannot_be_waited_for_is_done_at_the_time_that_is_said_then(
    language: str, text: str, answer: str
) -> None:
    talk = Talk(open_grammar(language), names=NAMES if language == "en" else GERMAN_NAMES)
    said = await talk.say(text)
    assert said.startswith(("I can't tell when that is.", "Wann das ist, kann ich nicht feststellen."))
    assert talk.calls() == []
    await talk.say(answer)
    [(tool, _)] = talk.calls()
    assert tool == "later.do"


@pytest.mark.parametrize("words", ["cancel that", "actually don't", "no, leave it on", "forget it"])
async def test_a_deed_to_come_is_called_off_behind_it(words: str) -> None:
    talk = Talk(open_grammar("en"))
    await talk.say("turn off the kitchen light in ten minutes")
    talk.calls()
    await talk.say(words)
    assert [tool for tool, _ in talk.calls()] == ["history.undo"]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "what's happening in ten minutes"),
        ("en", "what is going to happen in half an hour?"),
        ("en", "what's coming up later"),
        ("de", "was passiert in zehn Minuten"),
        ("de", "was machst du in einer Stunde noch"),
    ],
)
def test_what_is_to_come_is_looked_up(language: str, text: str) -> None:
    assert [one.tool for one in meant(text, language).commands] == ["later.list"]
